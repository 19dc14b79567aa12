"""Regression tests: one file per proved site, with its witness, that fails until the fix is in."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import decode_source
from pathlib import Path

import torch

from stablelint.runtime.program.nodes import enclosing
from stablelint.runtime.tensors.measure import dtype_name
from stablelint.runtime.verify.replay.accuracy import mantissa_bits
from stablelint.runtime.verify.replay.compare import SEEN, Replayer, Result
from stablelint.runtime.verify.replay.expression import key_of, parse_expression
from stablelint.runtime.verify.replay.namespace import ALLOWED, imported
from stablelint.runtime.verify.replay.values import Opaque, Value
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.runtime.verify.verify import Verification
from stablelint.syntax.names import names_in

_ORIGINS = {
    "search": "reached by a search over inputs",
    **dict.fromkeys(("made", "varied"), "reached by a call made for it"),
}
_INLINE = 400  # elements of a tensor that are written out; larger ones go beside the test

_TEMPLATE = '''\
"""{title}

{message}
Verified as {verdict}: the operands below were {origin}.
"""

{imports}

SOURCE = Path(__file__).parent / {source!r}
FUNCTION = {function!r}
ORIGINAL = {original!r}
FIXED = {fixed!r}


def operands():
{operands}


def original({parameters}):
    return {original_code}


def fixed({parameters}):
    return {fixed_code}


def spelling():
    """The expressions that stand in the function today, in one spelling each."""
    nodes = ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8")))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    scopes = [n for n in nodes if isinstance(n, kinds) and n.name == FUNCTION] if FUNCTION else []
    if not scopes:
        scopes = [ast.parse(SOURCE.read_text(encoding="utf-8"))]
    parts = [part for scope in scopes for part in ast.walk(scope)]
    return {{ast.unparse(part) for part in parts if isinstance(part, (ast.expr, ast.AugAssign))}}


{check}


@pytest.mark.skipif(not SOURCE.exists(), reason="the file has moved")
def test_{name}():
    assert holds(fixed), "the fix no longer holds on these operands"
    if ORIGINAL in spelling():
        assert holds(original), f"{{SOURCE}}: use `{{FIXED}}`"
'''

_FINITE = '''\
def holds(function):
    """Whether results and gradients are finite."""
    values = operands()
    leaves = [v.requires_grad_() for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
    result = function(*(v.clone() if isinstance(v, torch.Tensor) else v for v in values))
    results = result if isinstance(result, (tuple, list)) else [result]
    checked = [r for r in results if isinstance(r, torch.Tensor) and r.is_floating_point()]
    total = [r.sum() for r in checked if r.requires_grad]
    if total and leaves:
        gradients = torch.autograd.grad(sum(total), leaves, allow_unused=True)
        checked += [g for g in gradients if g is not None]
    return all(bool(torch.isfinite(value).all()) for value in checked)'''

_ACCURATE = '''\
def holds(function):
    """Whether a third of the digits are right in every element, against the fix in float64."""
    wide = [v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in operands()]
    exact, found = fixed(*wide), function(*operands())
    error = (found.double() - exact).abs() / exact.abs().clamp_min(torch.finfo(found.dtype).tiny)
    return bool((error <= torch.finfo(found.dtype).eps ** (1 / 3)).all())'''


def emit_tests(folder: Path, verification: Verification) -> list[Path]:
    """Write a test for each confirmed or reachable site with a replayable fix. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for report in verification.report.sites:
        examination = verification.examinations.get(report.site.id)
        if examination is None or report.verdict not in (Verdict.CONFIRMED, Verdict.REACHABLE):
            continue
        witness, replayer = examination.decision.witness, examination.replayer
        if witness is None or replayer is None or replayer.fixed is None:
            continue
        if witness.original_failed not in ("forward", "backward") and not _is_accurate(witness):
            continue  # meaning is no matter of numbers alone
        path = folder / f"test_{_slug(report.site)}.py"
        path.write_text(_test(report.site, report.verdict, witness, replayer, path), encoding="utf-8")
        written.append(path)
    return written


def _is_accurate(witness: Result) -> bool:
    """Whether digits are the matter, and the fix keeps at least half of them."""
    values = witness.fixed.values if witness.fixed is not None else ()
    if witness.original_failed != "accuracy" or len(values) != 1 or witness.fixed_bits is None:
        return False
    return witness.fixed_bits >= mantissa_bits(values[0].dtype) / 2


def _slug(site: Site) -> str:
    stem = re.sub(r"\W+", "_", Path(site.filename).stem)
    return f"{stem}_{site.span.start.row}_{site.code.lower()}"


def _test(site: Site, verdict: Verdict, witness: Result, replayer: Replayer, path: Path) -> str:
    assert replayer.fixed is not None
    call = witness.case.call
    values = {name: call.operands.get(source) for name, source in replayer.operands.items()}
    used = {name: value for name, value in values.items() if not isinstance(value, Opaque | None)}
    expression = replayer.original if witness.role in SEEN else replayer.spelled_out
    source = Path(site.filename).resolve()
    tree = ast.parse(decode_source(source.read_bytes()))
    around = enclosing(tree, site.probe_span.start.row)
    return _TEMPLATE.format(
        title=f"{site.code} {site.name}, {source.name}:{site.span.start.row}",
        message=site.message,
        verdict=verdict,
        origin=_ORIGINS.get(witness.case.call.origin, "seen in a run"),
        imports="\n".join(_imports(tree, expression.source + "\n" + replayer.fixed.source)),
        source=os.path.relpath(source, path.parent.resolve()),
        function=around.name if around is not None else None,
        original=key_of(parse_expression(site.original)),
        fixed=" ".join((site.fixed or "").split()),
        operands="\n".join(_operand_lines(used, path, dict(replayer.operands))),
        parameters=", ".join(used),
        original_code=expression.source,
        fixed_code=replayer.fixed.source,
        name=_slug(site),
        check=_ACCURATE if witness.original_failed == "accuracy" else _FINITE,
    )


def _imports(tree: ast.Module, code: str) -> Iterator[str]:
    yield from ("import ast", "from pathlib import Path", "", "import pytest", "import torch")
    used = {name for line in code.splitlines() for name in names_in(ast.parse(line))}
    seen = {"torch", "ast", "Path", "pytest"}
    for package, name, alone in imported(tree):
        if name in used - seen and package in ALLOWED:
            seen.add(name)
            yield ast.unparse(alone)
    for name, line in (
        ("F", "import torch.nn.functional as F"),
        ("nn", "from torch import nn"),
        ("math", "import math"),
    ):
        if name in used and name not in seen:
            yield line
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_]) if name in used - seen:
                yield f"\n{ast.unparse(node)}"


def _operand_lines(values: Mapping[str, Value], path: Path, sources: Mapping[str, str]) -> Iterator[str]:
    large = {
        name: value.detach().cpu().contiguous()
        for name, value in values.items()
        if isinstance(value, torch.Tensor) and value.numel() > _INLINE
    }
    if large:
        from safetensors.torch import save_file

        save_file(large, path.with_suffix(".safetensors"))
        yield "    from safetensors.torch import load_file"
        yield ""
        yield '    stored = load_file(Path(__file__).with_suffix(".safetensors"))'
    yield "    return ["
    for name, value in values.items():
        text = f'stored["{name}"]' if name in large else literal(value)
        yield f"        {text},  # {' '.join(sources[name].split())}"
    yield "    ]"


def literal(value: Value) -> str:
    """Python that yields a stored value again."""
    match value:
        case torch.Tensor():
            return f"{_tensor(value)}"
        case torch.dtype():
            return f"torch.{dtype_name(value)}"
        case torch.device():
            return 'torch.device("cpu")'  # where the test's tensors are
        case float() if value != value or value in (float("inf"), float("-inf")):
            return f"float({str(value)!r})"
        case torch.nn.Module():
            return f"torch.nn.{value}"
        case tuple():
            return "(" + "".join(f"{literal(item)}, " for item in value) + ")"
        case list():
            return "[" + ", ".join(literal(item) for item in value) + "]"
    return repr(value)


def _tensor(value: torch.Tensor) -> str:
    plain = value.detach().cpu()
    text = repr(plain.double().tolist() if plain.is_floating_point() else plain.tolist())
    text = re.sub(r"-?\binf\b|\bnan\b", lambda found: f"float('{found.group()}')", text)
    if plain.numel() == 0:
        return f"torch.empty({tuple(plain.shape)}, dtype=torch.{dtype_name(plain.dtype)})"
    return f"torch.tensor({text}, dtype=torch.{dtype_name(plain.dtype)})"
