"""Accuracy of both expressions along the range of one operand, with where captured elements lie."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from stablelint.catalog import contract as contracts
from stablelint.numerics.formats import FORMATS
from stablelint.runtime.tensors.measure import dtype_name
from stablelint.runtime.verify.outcome import Curve
from stablelint.runtime.verify.replay.accuracy import bits_of
from stablelint.runtime.verify.replay.compare import Replayer, poisoned
from stablelint.runtime.verify.replay.evaluate import Outcome, calm, evaluate
from stablelint.runtime.verify.replay.values import Call

_POINTS = 61
_BINS = 36
_LEAST = -6.0  # power of ten below which magnitudes of either sign share a bin


def curve_of(replayer: Replayer, calls: Sequence[Call]) -> Curve | None:
    """Sweep the operand that the contract speaks of (or the first floating one) through its range.

    The sweep is logarithmic in magnitude on both sides of 0, in one representative call's context. None when
    nothing floating is there to sweep, or the expression refuses.
    """
    usable = [call for call in calls if not poisoned(call)]
    chosen = _operand(replayer, usable)
    if chosen is None:
        return None
    call, source = chosen
    call = _small(call)
    value = call.operands[source]
    assert isinstance(value, torch.Tensor)
    points = _points(value.dtype, _is_positive(replayer, usable, source))
    with calm():
        rest = _healthy(replayer, call, source, value)
        rows = [_at(replayer, call, source, rest, point) for point in points]
    known = [row for row in rows if row is not None]
    if len(known) < len(points) // 2:
        return None
    edges, counts = _histogram(usable, source)
    swept, original, fixed, failing = zip(*known, strict=True)
    return Curve(source, dtype_name(value.dtype), swept, original, fixed, failing, edges, counts)


def _small(call: Call) -> Call:
    """The call's first rows, where all its tensors have equally many: a curve needs no more."""
    tensors = {n: v for n, v in call.operands.items() if isinstance(v, torch.Tensor) and v.ndim}
    if len({v.shape[0] for v in tensors.values()}) != 1 or any(v.ndim == 1 for v in tensors.values()):
        return call
    return Call({**call.operands, **{n: v[:2] for n, v in tensors.items()}}, call.context)


def _operand(replayer: Replayer, calls: Sequence[Call]) -> tuple[Call, str] | None:
    texts = [text for text in (replayer.site.forward, replayer.site.backward) if text]
    named = [
        replayer.metavariables[variable]
        for text in texts
        for variable in sorted(contracts.parse(text).variables)
        if variable in replayer.metavariables
    ]
    needed = set((replayer.fixed or replayer.original).operands.values())
    for call in calls:
        for source in (*named, *needed):
            value = call.operands.get(source)
            known = isinstance(value, torch.Tensor) and dtype_name(value.dtype) in FORMATS
            if known and isinstance(value, torch.Tensor) and value.numel():
                return call, source
    return None


def _is_positive(replayer: Replayer, calls: Sequence[Call], source: str) -> bool:
    """Whether negative operands are no part of the plot: the contract excludes them, or no call had one.

    A standard deviation is divided by as well as any other number, and never below 0.
    """
    text = replayer.site.forward or replayer.site.backward
    named = next((name for name, each in replayer.metavariables.items() if each == source), None)
    if text and named is not None:
        parsed = contracts.parse(text)
        if named in parsed.variables and not parsed.holds({named: -1.0}, FORMATS["float32"]):
            return True
    values = [call.operands.get(source) for call in calls if call.origin != "invented"]
    seen = [value for value in values if isinstance(value, torch.Tensor) and value.numel()]
    return bool(seen) and not any(bool((value < 0).any()) for value in seen)


def _points(dtype: torch.dtype, positive: bool) -> list[float]:
    info = torch.finfo(dtype)
    low = math.log10(info.smallest_normal) / (1 if dtype.itemsize == 2 else 2)
    high = min(math.log10(info.max), 6.0)
    sizes = [10 ** (low + (high - low) * index / (_POINTS - 1)) for index in range(_POINTS)]
    # 1 itself is among them: many an edge lies there
    if positive:
        return [0.0, *sorted({1.0, *sizes})]
    half = sorted({1.0, *sizes[::2]})
    return [*(-size for size in reversed(half)), 0.0, *half]


def _at(
    replayer: Replayer, call: Call, source: str, rest: torch.Tensor, point: float
) -> tuple[float, float | None, float | None, bool] | None:
    filled = _placed(rest, point)
    changed = Call({**call.operands, source: filled}, call.context)
    original = evaluate(replayer.spelled_out, changed, replayer.names)
    if original.error:
        return None
    fixed = evaluate(replayer.fixed, changed, replayer.names) if replayer.fixed else None
    exact = replayer.reference(changed, replayer.spelled_out, original)
    return (
        point,
        _bits(original, exact),
        _bits(fixed, exact) if fixed else None,
        original.forward.bad or original.backward.bad,
    )


def _healthy(replayer: Replayer, call: Call, source: str, value: torch.Tensor) -> torch.Tensor:
    """What the sweep leaves in the operand's other elements: nothing that fails by itself, if there is such."""
    ones = torch.ones_like(value)
    for rest in (ones, ones * 0.5, ones * 2.0, value):
        changed = Call({**call.operands, source: rest}, call.context)
        outcome = evaluate(replayer.spelled_out, changed, replayer.names)
        if not (outcome.error or outcome.forward.bad or outcome.backward.bad):
            return rest
    return ones


def _placed(rest: torch.Tensor, point: float) -> torch.Tensor:
    """`rest` with the point once per row, so that expressions over rows see a contrast."""
    if rest.ndim == 0 or rest.shape[-1] <= 1:
        return torch.full_like(rest, point)
    filled = rest.clone()
    filled[..., 0] = point
    return filled


def _bits(outcome: Outcome, exact: Outcome) -> float | None:
    """Least accuracy over the elements; None where value or gradient is not finite."""
    return None if outcome.forward.bad or outcome.backward.bad else bits_of(outcome, exact.values)[1]


def _histogram(calls: Sequence[Call], source: str) -> tuple[tuple[float, ...], tuple[int, ...]]:
    parts = [
        value.flatten().double().cpu()  # only there are histograms to be had
        for call in calls
        if call.origin == "captured" and isinstance(value := call.operands.get(source), torch.Tensor)
    ]
    joined = torch.cat(parts) if parts else torch.empty(0)
    joined = joined[torch.isfinite(joined)]
    if not joined.numel():
        return (), ()
    low, high = float(joined.min()), float(joined.max())
    if low >= 0 and high > 0:
        joined = joined[joined > 0]
        floor = max(float(joined.min()), high * 1e-30)
        edges = _powers(math.log10(floor) - 0.05, high, _BINS + 1)
    else:
        side = _powers(_LEAST, max(-low, high, 1e-3), _BINS // 2)
        edges = torch.cat([-side.flip(0), side])
    counts = torch.histogram(joined, bins=edges).hist
    return tuple(edges.tolist()), tuple(int(count) for count in counts.tolist())


def _powers(least: float, most: float, steps: int) -> torch.Tensor:
    """Numbers from a power of ten to a little more than the largest, at equal ratios."""
    return torch.logspace(least, math.log10(most) + 0.05, steps, dtype=torch.float64)
