"""Runs a program and its fixed form on the same operands, and says in what they differ."""

import itertools
import linecache
import random
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch._subclasses import FakeTensorMode

from tests.codemod.differential.cores import Core
from tests.codemod.differential.programs import Program

_TOLERANCE = {torch.float64: 1e-7, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
_TOLERANCE |= {torch.complex64: 1e-4, torch.complex128: 1e-7}
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Case:
    """The operands of a call: a type of element (or "mixed", "numpy", "python") and a shape."""

    sort: str
    shape: tuple[int, ...]


CASES = (
    Case("float32", (3, 4)),
    Case("float64", (2, 3, 4)),
    Case("float16", (3, 4)),
    Case("bfloat16", (3, 4)),
    Case("int64", (3, 4)),
    Case("complex64", (3, 4)),
    Case("float32", (5,)),
    Case("float32", ()),
    Case("uint8", (3, 4)),
    Case("mixed", (3, 4)),
    Case("numpy", (3, 4)),
    Case("python", ()),
)
AUTOCAST = Case("float16", (3, 4))
"""The operands of a program that runs on a GPU, under autocast: a made-up one, which tells element types alone."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, for which operands."""

    what: str
    case: Case
    note: str = ""


def operands(core: Core, case: Case, double: bool = False) -> list[Any]:
    """Fresh operands, the same each time; `double` gives those of floating-point numbers in double precision."""
    generator = torch.Generator().manual_seed(7)
    found: list[Any] = []
    for place, bounds in enumerate(core.operands.values()):
        if bounds is None:
            found.append(
                torch.randint(case.shape[1] if len(case.shape) > 1 else 1, case.shape[:1] + case.shape[2:])
            )
            continue
        low, high = bounds
        value = low + (high - low) * torch.rand(case.shape, generator=generator, dtype=torch.float64)
        if "int" in case.sort:
            value = torch.randint(max(int(low), 1), max(int(high), 3), case.shape, generator=generator)
            value = value.to(getattr(torch, case.sort))
        elif case.sort == "complex64":
            value = torch.complex(value.float(), 0.5 * value.float())
        elif case.sort in ("numpy", "python"):
            found.append(value.numpy() if case.sort == "numpy" else float(value))
            continue
        elif case.sort == "mixed":  # the first in single precision, the others in double, and broadcast
            value = value[:1] if place else value.float()
        else:
            value = value.to(getattr(torch, case.sort))
            value = value.double() if double else value
        found.append(value.requires_grad_() if value.dtype.is_floating_point or value.is_complex() else value)
    return found


def load(source: str) -> types.ModuleType:
    """The program as a module; its source can be read, as TorchScript wants."""
    name = f"differential_{next(_NUMBERS)}"
    module = types.ModuleType(name)
    filename = f"/{name}.py"
    module.__file__ = filename
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[name] = module
    exec(compile(source, filename, "exec"), module.__dict__)
    return module


def calls(source: str, driver: str) -> list[Callable[..., Any]]:
    """The calls that a driver makes of a program."""
    space: dict[str, Any] = {"m": load(source)}
    exec(driver, space)
    return list(space["calls"])


def outcome(call: Callable[..., Any], given: Sequence[Any]) -> tuple[list[Any], str | None]:
    """What a call gives: all that it returns, the operands after it and their gradients; or the name of its error.

    Operands that require a gradient are handed over as the results of an operation, so that they may be written.
    """
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
    torch.set_grad_enabled(True)
    leaves = [one for one in given if isinstance(one, torch.Tensor)]
    passed = [one * 1 if isinstance(one, torch.Tensor) and one.requires_grad else one for one in given]
    try:
        result = list(_flat(call(*passed)))
        tensors = [one for one in result if isinstance(one, torch.Tensor) and one.requires_grad]
        if tensors:
            _weighed(tensors).backward()
    except Exception as error:
        return [], type(error).__name__
    grads = [leaf.grad for leaf in leaves]
    return [*result, "operands", *_flat(passed), "gradients", *grads, torch.is_grad_enabled()], None


def _weighed(tensors: list[torch.Tensor]) -> torch.Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for tensor in tensors:
        real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        weight = torch.linspace(0.5, 1.5, real.numel(), dtype=torch.float64).view(real.shape)
        total = total + (real.double() * weight).sum()
    return total


def _flat(result: Any) -> Iterator[Any]:
    if isinstance(result, list | tuple | Mapping):
        for one in result.values() if isinstance(result, Mapping) else result:
            yield from _flat(one)
    elif isinstance(
        result, torch.Tensor | str | int | float | complex | numpy.ndarray | numpy.generic | None
    ):
        yield result
    else:
        yield type(result).__name__
        yield from _held(result)


def _held(value: Any) -> Iterator[torch.Tensor]:
    """The tensors that an object holds, those of a distribution by their names alone: others are computed when asked."""
    if isinstance(value, torch.distributions.Distribution):
        yield from (getattr(value, name) for name in sorted(value.arg_constraints))
    elif isinstance(value, torch.nn.Module):
        yield from value.state_dict(keep_vars=True).values()
    else:
        yield from (one for one in getattr(value, "__dict__", {}).values() if isinstance(one, torch.Tensor))


def differences(program: Program, fixed: str, core: Core, cases: Sequence[Case] = CASES) -> list[Difference]:
    """In what a program and its fixed source differ, beyond rounding; none where the old one fails itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            old = calls(program.source, program.driver)
        except SyntaxError:
            raise
        except Exception:
            return []
        try:
            new = calls(fixed, program.driver)
        except Exception as error:
            return [Difference("raises", Case("any", ()), f"{type(error).__name__}: {error}")]
        tolerance = dict(_TOLERANCE)
        if (
            ".float()" in program.source or "torch.float32" in program.source
        ):  # rounds so, whatever comes and goes
            tolerance[torch.float64] = tolerance[torch.float32]
        pairs = list(zip(old, new, strict=True))
        found = [one for case in cases for one in _compared(pairs, core, case, tolerance)]
        makes_graph = re.search(r"grad|torch\.func|Parameter", program.source)  # which no made-up device has
        notes = [] if makes_graph else _narrower(pairs, core)
        return found + [Difference("autocast", AUTOCAST, note) for note in notes]


def _narrower(pairs: Any, core: Core) -> Iterator[str]:
    """The element types of results that a program gives under autocast on a GPU, where they are others afterwards."""
    with FakeTensorMode(), torch.no_grad():
        given = [
            torch.empty(one.shape, dtype=one.dtype, device="cuda") if isinstance(one, torch.Tensor) else one
            for one in operands(core, AUTOCAST)
        ]
        for one, other in pairs:
            before, after = (_types(call, given) for call in (one, other))
            if before and before != after:
                yield f"{before} != {after}"


def _types(call: Callable[..., Any], given: Sequence[Any]) -> list[torch.dtype]:
    """The element types of what a call gives under autocast; none where it fails."""
    torch.set_autocast_enabled("cuda", True)
    try:
        return [one.dtype for one in _flat(call(*given)) if isinstance(one, torch.Tensor)]
    except Exception:
        return []
    finally:
        torch.set_autocast_enabled("cuda", False)


def _compared(pairs: Any, core: Core, case: Case, tolerance: Mapping[Any, float]) -> Iterator[Difference]:
    for one, other in pairs:
        before, failed = outcome(one, operands(core, case))
        if failed is not None:
            continue
        after, failed = outcome(other, operands(core, case))
        if failed is not None:
            yield Difference("raises", case, failed)
            continue
        exact, _ = outcome(one, operands(core, case, double=True)) if "float" in case.sort else (before, None)
        exact = exact if len(exact) == len(before) else before
        yield from itertools.islice(compared(before, after, exact, case, tolerance), 1)


def compared(
    before: Sequence[Any],
    after: Sequence[Any],
    exact: Sequence[Any],
    case: Case,
    tolerance: Mapping[Any, float] = _TOLERANCE,
) -> Iterator[Difference]:
    """In what two outcomes differ beyond rounding; `exact` is that of the old program in double precision."""
    if len(before) != len(after):
        yield Difference("shape", case, f"{len(before)} results, then {len(after)}")
        return
    part = "value"
    for old, new, best in zip(before, after, exact, strict=True):
        if isinstance(old, str):
            part = {"operands": "side effect", "gradients": "gradient"}.get(old, part)
        what = _unlike(old, new, best, tolerance)
        if what is not None:
            yield Difference(part if what == "value" else f"{part}: {what}", case, _shown(old, new))


def _shown(old: Any, new: Any) -> str:
    return f"{str(old)[:60]!r} != {str(new)[:60]!r}".replace("\\n", " ")


def _unlike(old: Any, new: Any, best: Any, tolerances: Mapping[Any, float]) -> str | None:
    if type(old) is not type(new):
        return "type"
    if not isinstance(old, torch.Tensor):
        if isinstance(old, numpy.ndarray | numpy.generic):
            return _unlike(torch.as_tensor(old), torch.as_tensor(new), torch.as_tensor(best), tolerances)
        same = old == new or (isinstance(old, float) and abs(old - new) < 1e-4 * max(1.0, abs(old)))
        return None if same else "value"
    for aspect in ("dtype", "shape", "requires_grad"):
        if getattr(old, aspect) != getattr(new, aspect):
            return aspect
    tolerance = tolerances.get(old.dtype, 0.0)
    kind = torch.complex128 if old.is_complex() else torch.float64
    a, b = old.detach().to(kind), new.detach().to(kind)
    c = best.detach().to(kind) if isinstance(best, torch.Tensor) and best.shape == old.shape else a
    healthy = torch.isfinite(a) & torch.isfinite(c)
    a, b, c = a[healthy], b[healthy], c[healthy]
    if not a.numel():
        return None
    scale = max(1e-3, float(a.abs().max()))
    near = ((a - b).abs() <= tolerance * scale) | ((c - b).abs() <= tolerance * scale)
    near |= (c - b).abs() <= 2 * (
        c - a
    ).abs()  # no further from the exact value than the old one's own rounding
    return None if bool(near.all()) else "value"
