"""A fix judged on the enclosing function: what it returns and writes, before and after, on the same arguments."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Protocol

import torch

from stablelint.runtime.program.frames import codes_in, running
from stablelint.runtime.verify.outcome import Counts, FunctionShown
from stablelint.runtime.verify.replay.accuracy import change
from stablelint.runtime.verify.replay.evaluate import SEED, Outcome, calm, count, flatten
from stablelint.runtime.verify.replay.namespace import imported, run_imports

_LOOSE = 8.0  # times the tolerance of one expression: a function adds the rounding of all of its own
_WRITTEN = 64  # tensors of an object that are looked at after a call


class Call(Protocol):
    """Makes the arguments of a function anew, and calls it with them."""

    def __call__(self, function: Callable[..., object]) -> tuple[object, Mapping[str, object]]:
        """What the function returned, and its arguments after the call by name."""


def rebuilt(function: FunctionType, source: bytes) -> FunctionType | None:
    """The same function as `source` has it, in the same module; None where that text has no such function."""
    try:
        module = compile(source, function.__code__.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    own = function.__code__
    named = [code for code in codes_in(module) if code.co_qualname == own.co_qualname]
    code = min(named, key=lambda each: abs(each.co_firstlineno - own.co_firstlineno), default=None)
    if code is None or code.co_freevars != own.co_freevars:
        return None
    return running(function, code, _with_imports(source, function.__globals__))


def _with_imports(source: bytes, scope: dict[str, object]) -> dict[str, object]:
    """The module's names, with those that the text imports beyond them: a fix may bring an import of its own."""
    kinds = ast.Import | ast.ImportFrom
    imports: list[ast.stmt] = [node for node in ast.parse(source).body if isinstance(node, kinds)]
    missing = [alone for _, name, alone in imported(ast.Module(imports, [])) if name not in scope]
    if not missing:
        return scope
    wider = dict(scope)
    run_imports(missing, wider)
    return wider


@dataclass(frozen=True, slots=True)
class Called:
    """What one call gave: its results, what it wrote, and the gradients towards its arguments."""

    outcome: Outcome
    written: tuple[torch.Tensor, ...] = ()

    @property
    def counts(self) -> Counts:
        """Over results and what was written."""
        return self.outcome.forward + count(self.written)


def called(function: Callable[..., object], call: Call) -> Called:
    """One call; what it raises becomes the outcome's error."""
    with calm():
        torch.default_generator.manual_seed(SEED)
        try:
            result, arguments = call(function)
        except Exception as error:
            return Called(Outcome(error=f"{type(error).__name__}: {error}"))
        values = tuple(item for item in flatten(result) if item.is_floating_point())
        leaves = {
            name: value
            for name, value in arguments.items()
            if isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad
        }
        gradients: Mapping[str, tuple[torch.Tensor | None, ...]] = {}
        outputs = [value for value in values if value.requires_grad]
        if outputs and leaves:
            try:
                rows = torch.autograd.grad(_total(outputs), list(leaves.values()), allow_unused=True)
                gradients = {name: (row,) for name, row in zip(leaves, rows, strict=True)}
            except RuntimeError:  # a result that was changed in place: its gradient is nobody's
                gradients = {}
        plain = tuple(value.detach() for value in values)
        backward = count([row for rows in gradients.values() for row in rows])
        written = tuple(_tensors(arguments))
        return Called(Outcome(plain, gradients, count(plain), backward), written)


def _total(outputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """One number made of all results, in which the terms of a normalised one do not cancel."""
    drawn = torch.Generator().manual_seed(SEED + 1)  # the arguments may be drawn from that one
    weighed = [(0.5 + torch.rand(v.shape, generator=drawn).to(v.device)) * v.double() for v in outputs]
    return torch.stack([value.sum() for value in weighed]).sum()


def _tensors(values: object, depth: int = 2) -> Iterator[torch.Tensor]:
    """Copies of the floating tensors in arguments, as they are after a call."""
    match values:
        case torch.Tensor():
            if values.is_floating_point():
                yield values.detach().clone()
        case torch.nn.Module():
            held = [*values.parameters(), *values.buffers(), *vars(values).values()]
            yield from _tensors([item for item in held if isinstance(item, torch.Tensor)][:_WRITTEN], 1)
        case Mapping() if depth:
            yield from _tensors(list(values.values()), depth)
        case str() | bytes():
            return
        case Sequence() if depth:
            for value in values:
                yield from _tensors(value, depth - 1)


def judged(
    original: Callable[..., object],
    fixed: Callable[..., object] | None,
    failing: Call | None,
    healthy: Sequence[Call],
) -> FunctionShown:
    """What both functions give on the failing call and on healthy ones."""
    before = called(original, failing) if failing is not None else None
    after = called(fixed, failing) if failing is not None and fixed is not None else None
    worst, number = 0.0, 0
    for each in healthy:
        one = called(original, each)
        if fixed is None or one.outcome.error or one.counts.bad or one.outcome.backward.bad:
            continue
        number += 1
        worst = max(worst, _moved(one, called(fixed, each)))
    moved = None
    if before is not None and after is not None and not (before.outcome.error or before.counts.bad):
        moved = _moved(before, after)
    changed = worst if number else None
    return FunctionShown(_word(before), _word(after), number, changed, moved, _text(before), _text(after))


def _moved(one: Called, other: Called) -> float:
    """By how many tolerances the results and what is written are apart."""
    if other.outcome.error or len(one.written) != len(other.written):
        return math.inf
    results = change(one.outcome, other.outcome, one.outcome) or 0.0
    written = change(Outcome(one.written), Outcome(other.written), Outcome(one.written)) or 0.0
    return max(results, written) / _LOOSE


def _word(seen: Called | None) -> str | None:
    if seen is None:
        return None
    if seen.outcome.error:
        return "raised"
    if seen.counts.bad:
        return "nan" if seen.counts.nan else "inf"
    if not seen.outcome.forward.finite:
        return None  # it gave no number to be judged by
    if seen.outcome.backward.bad:
        return "gradient"
    return "finite"


def _text(seen: Called | None) -> str | None:
    """The results in short: `nan`, `2 of 6 inf`, `gradient nan`."""
    word = _word(seen)
    if seen is None or word is None:
        return None
    if word == "raised":
        return (seen.outcome.error or "").partition("\n")[0][:100]
    results = seen.outcome.forward if seen.outcome.forward.bad else seen.counts
    counts = seen.outcome.backward if word == "gradient" else results
    kind = "nan" if counts.nan else "inf"
    total = counts.finite + counts.nan + counts.inf
    number = counts.nan or counts.inf
    shown = kind if total == 1 else f"{number} of {total} {kind}"
    return "finite" if word == "finite" else f"gradient: {shown}" if word == "gradient" else shown
