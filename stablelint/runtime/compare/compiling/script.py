"""A script that runs by itself and shows what a compiler makes of a few operations."""

from __future__ import annotations

import inspect
import platform
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch.fx import GraphModule

from stablelint.runtime.compare.compiling.minimise import Reduced
from stablelint.runtime.program.frames import codes_in
from stablelint.runtime.tensors.measure import tensors_in

_TEMPLATE = Path(__file__).with_suffix(".template")
_LITERAL = 256  # elements of an input that are written into the script; more stand in a file beside it


def write(found: Reduced, backend: Any, spec: str | None, path: Path, title: str) -> list[str]:
    """Write the script to `path`, larger inputs into a file beside it; returns the lines of the graph.

    `spec` is "module:function" where that is how the backend was named.
    """
    name, imports, source = _backend(backend, spec)
    judged = found.judged
    eager, compiled = f"{judged.eager:.3g}", f"{judged.compiled:.3g}"
    verdict = f"{judged.place}: eager is {eager} ulps from float64, compiled {compiled}."
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        title=title.replace('"""', "'''"),
        version=torch.__version__,
        machine=f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        backend=name.strip("'\""),
        verdict=verdict,
        imports=imports,
        backend_source=source,
        forward=textwrap.indent(_forward(found.graph), "    "),
        inputs="\n".join(f"    {one}," for one in _inputs(found, path)),
        backend_name=name,
    )
    path.write_text(text, encoding="utf-8")
    return _operations(found.graph)


def _operations(graph: GraphModule) -> list[str]:
    lines = (line.split(";")[0].strip() for line in graph.code.splitlines())
    return [line for line in lines if " = " in line]


def _forward(graph: GraphModule) -> str:
    return "\n".join(
        line.partition(";  ")[0] if " = None" in line else line for line in graph.code.strip().splitlines()
    )


def _inputs(found: Reduced, path: Path) -> Iterator[str]:
    stored: list[torch.Tensor] = []
    for one in tensors_in(found.inputs):
        gradient = ".requires_grad_()" if one.requires_grad else ""
        if found.seeded and one.is_floating_point():
            yield f"torch.randn({tuple(one.shape)}, generator=generator).to({one.dtype}){gradient}"
        elif one.numel() <= _LITERAL:
            yield f"torch.tensor({_literal(one)}, dtype={one.dtype}){gradient}"
        else:
            yield f"torch.load(__file__[:-3] + '.pt', weights_only=True)[{len(stored)}]{gradient}"
            stored.append(one.detach().cpu().contiguous())
    if stored:
        torch.save(stored, path.with_suffix(".pt"))


def _literal(tensor: torch.Tensor) -> str:
    text = repr(tensor.detach().cpu().tolist())
    return re.sub(r"\b(inf|nan)\b", r"math.\1", text)


def _backend(backend: Any, spec: str | None) -> tuple[str, str, str]:
    """How a script names a backend: by its registered name, by an import, or by its own source."""
    if isinstance(backend, str):
        return repr(backend), _settings(), ""
    if spec is not None and ":" in spec:
        path, _, attribute = spec.partition(":")
        return attribute, _import(sys.modules[path], attribute), ""
    module = inspect.getmodule(backend)
    if module is None or not isinstance(backend, FunctionType):
        return repr(getattr(backend, "__name__", str(backend))), "", ""
    if module.__name__ != "__main__":
        return backend.__name__, _import(module, backend.__name__), ""
    parts, imports = _sources(backend, module)
    return backend.__name__, "\n".join(imports), "\n\n".join(parts) + "\n\n"


def _settings() -> str:
    """What the program set of the compiler's options, as torch writes it."""
    config = getattr(getattr(torch, "_inductor", None), "config", None)
    lines = config.codegen_config() if config is not None else ""
    return f"import torch._inductor.config\n\n{lines}" if lines else ""


def _import(module: ModuleType, name: str) -> str:
    """Lines that import a name of a module from wherever the script runs."""
    folder = Path(module.__file__ or ".").resolve().parent
    root = folder.parents[module.__name__.count(".") - 1] if "." in module.__name__ else folder
    return f"import sys\n\nsys.path.insert(0, {str(root)!r})\nfrom {module.__name__} import {name}"


def _sources(function: FunctionType, module: ModuleType) -> tuple[list[str], list[str]]:
    """The source of a function of the program and of what it uses of it, and the modules that these use."""
    parts: list[str] = []
    imports: list[str] = []
    waiting, seen = [function], {function}
    while waiting:
        one = waiting.pop()
        parts.insert(0, textwrap.dedent(inspect.getsource(one)))
        for name in (name for code in (one.__code__, *codes_in(one.__code__)) for name in code.co_names):
            value = module.__dict__.get(name)
            if isinstance(value, ModuleType):
                alias = f" as {name}" if value.__name__ != name else ""
                imports.append(f"import {value.__name__}{alias}")
            elif isinstance(value, FunctionType) and value.__module__ == "__main__" and value not in seen:
                seen.add(value)
                waiting.append(value)
            elif getattr(value, "__module__", None) not in (None, "__main__", "builtins"):
                imports.append(f"from {value.__module__} import {getattr(value, '__name__', name)}")
    return parts, sorted(set(imports))
