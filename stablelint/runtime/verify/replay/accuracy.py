"""How accurate results are against float64, and by how much a fix moves them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from stablelint.runtime.verify.replay.evaluate import Outcome, sum_is_finite

_CLEARLY = 8.0  # times the original's own error that a fix must be off before it is blamed


def mantissa_bits(dtype: torch.dtype) -> int:
    """Significant bits of an element type (24 for float32)."""
    return 1 - round(math.log2(torch.finfo(dtype).eps))


def element_bits(value: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Correct bits of each element of `value` against a float64 `reference`: float64 in [0, mantissa bits].

    Bits are -log2 of the relative error. Elements whose reference is not finite are NaN; a value that is not
    finite, where the reference is, has 0 bits.
    """
    most = float(mantissa_bits(value.dtype))
    exact = value.detach().double()
    wanted = reference.detach().double()
    if exact.shape != wanted.shape:
        exact = exact + torch.zeros_like(wanted)
        wanted = wanted + torch.zeros_like(exact)
    error = (exact - wanted).abs()
    scale = wanted.abs().clamp_min(torch.finfo(value.dtype).smallest_normal)
    bits = -torch.log2((error / scale).clamp_min(2.0**-60))
    bits = bits.clamp(0.0, most)
    if sum_is_finite(exact) and sum_is_finite(wanted):
        return bits
    bits = torch.where(torch.isfinite(exact), bits, torch.zeros_like(bits))
    return torch.where(torch.isfinite(wanted), bits, torch.full_like(bits, math.nan))


def tolerance(dtype: torch.dtype) -> float:
    """Relative error up to which results of an element type count as equal.

    Rounding accumulates over the operations of an expression; half types have fewer digits to lose.
    """
    eps = torch.finfo(dtype).eps
    return 64 * eps if dtype.itemsize <= 2 else 512 * eps


def same(values: Sequence[torch.Tensor | None], others: Sequence[torch.Tensor | None]) -> bool:
    """Whether they are equal bit for bit; NaN is equal to nothing, and so is what is missing."""
    return len(values) == len(others) and all(
        one is not None and other is not None and one.dtype is other.dtype and torch.equal(one, other)
        for one, other in zip(values, others, strict=True)
    )


def reconciled(exact: Outcome, other: Outcome) -> Outcome:
    """float64 results of the original, or of an equivalent fix where they agree roughly.

    Cancellation costs digits in float64 as well, and what overflows in float32 may in float64: the stable
    form is the better reference wherever it is the same function.
    """
    if other.error or len(other.values) != len(exact.values):
        return exact
    values = tuple(_finer(*pair) for pair in zip(exact.values, other.values, strict=True))
    gradients = {
        source: tuple(
            row if row is None or better is None else _finer(row, better)
            for row, better in zip(rows, other.gradients.get(source, rows), strict=True)
        )
        for source, rows in exact.gradients.items()
    }
    return replace(exact, values=values, gradients=gradients)


def _finer(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    if first.shape != second.shape or not first.numel():
        return first
    apart = (first - second).abs() > 1e-2 * max(_magnitude(first), _magnitude(second))
    return torch.where(torch.isfinite(first) & apart, first, second)


def bits_of(
    outcome: Outcome, truths: tuple[torch.Tensor, ...], taken: torch.Tensor | None = None
) -> tuple[float | None, float | None]:
    """Mean and least bits of accuracy over all elements that have a finite reference.

    `taken` says of the elements of the only result which ones count (None: all).
    """
    found = []
    if outcome.error or len(outcome.values) != len(truths):
        return None, None
    for value, truth in zip(outcome.values, truths, strict=True):
        if value.numel() and value.shape == truth.shape:
            bits = element_bits(value, truth)
            counts = ~torch.isnan(bits) if taken is None else ~torch.isnan(bits) & taken
            found.append(bits[counts].flatten())
    joined = torch.cat(found) if found else torch.empty(0)
    if not joined.numel():
        return None, None
    return round(float(joined.mean()), 2), round(float(joined.min()), 2)


def change(
    original: Outcome, fixed: Outcome, exact: Outcome, gradients: bool = True, share: float = 1.0
) -> float | None:
    """By how many tolerances the fix moves a healthy value away from the original and from the truth.

    Without `gradients` only the results count. `share` is the quantile of the healthy elements that speaks: 1 is
    the worst of them, less lets some of them move, as those beside a bad one may.
    """
    if len(original.values) != len(fixed.values):
        return math.inf
    worst = 0.0
    for first, second, truth in zip(original.values, fixed.values, exact.values, strict=False):
        worst = max(worst, _distance(_sound(original, first, share), second, truth, share=share))
    for source, rows in original.gradients.items() if gradients else ():
        truths = exact.gradients.get(source)
        others = fixed.gradients.get(source, (None,) * len(rows))  # a detached operand has a gradient of 0
        if truths is None or same(rows, others):
            continue
        # with one cotangent all terms may cancel: the size of a gradient is that under any of them
        pairs = zip(rows, truths, strict=True)
        scale = max((_shared_magnitude(*pair) for pair in pairs), default=0.0)
        for row, other, exact_row in zip(rows, others, truths, strict=True):
            if row is not None and exact_row is not None:
                after = torch.zeros_like(row) if other is None else other
                worst = max(worst, _distance(_sound(original, row, share), after, exact_row, scale, share))
    return worst


def _sound(outcome: Outcome, value: torch.Tensor, share: float) -> torch.Tensor:
    """The value with NaN where the result, or a gradient, that belongs to its place is not finite.

    Where every element speaks (`share` is 1) the value as it is.
    """
    if share == 1.0:
        return value
    rows = [row for rows in outcome.gradients.values() for row in rows if row is not None]
    for other in (*outcome.values, *rows):
        bad = ~torch.isfinite(other)
        if bool(bad.any()):
            value = value.masked_fill(_at_places_of(value, bad), math.nan)
    return value


def _at_places_of(value: torch.Tensor, bad: torch.Tensor) -> torch.Tensor:
    """`bad` laid over the elements of `value`: by leading sides, summed sides and broadcasting, else everywhere."""
    everywhere = torch.ones((), dtype=torch.bool, device=bad.device)
    if bad.ndim < value.ndim and bad.ndim and value.shape[: bad.ndim] == bad.shape:
        return bad.reshape(*bad.shape, *(1 for _ in value.shape[bad.ndim :]))
    if bad.shape[: value.ndim] == value.shape:
        return bad.reshape(*value.shape, -1).any(-1)
    summed = [side for side, size in enumerate(value.shape) if size == 1]
    if bad.ndim == value.ndim and summed:
        bad = bad.any(tuple(summed), keepdim=True)
    fits = all(size in (1, wide) for size, wide in zip(bad.shape[::-1], value.shape[::-1], strict=False))
    return bad if fits and bad.ndim <= value.ndim else everywhere


def _magnitude(tensor: torch.Tensor) -> float:
    finite = tensor[torch.isfinite(tensor)]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _shared_magnitude(row: torch.Tensor | None, truth: torch.Tensor | None) -> float:
    """The size of a gradient where the original has one too."""
    if row is None or truth is None or row.shape != truth.shape:
        return 0.0
    return _magnitude(torch.where(torch.isfinite(row), truth, 0.0))


def _distance(
    first: torch.Tensor, second: torch.Tensor, truth: torch.Tensor, scale: float = 0.0, share: float = 1.0
) -> float:
    if first.dtype is second.dtype and torch.equal(first, second):
        return 0.0
    if first.shape != second.shape or first.shape != truth.shape:
        return 0.0 if first.numel() == second.numel() == 1 else math.inf
    if not first.numel():
        return 0.0
    if mantissa_bits(second.dtype) < mantissa_bits(first.dtype):
        return math.inf  # the next operation has fewer digits, and another range
    one, other, exact = first.double(), second.double(), truth.double()
    healthy = torch.isfinite(one) & torch.isfinite(exact)
    if not bool(healthy.any()):
        return 0.0
    allowed = tolerance(first.dtype)
    scale = max(scale, float(exact[healthy].abs().max()))
    limit = allowed * (exact.abs() + 0.05 * scale) + torch.finfo(first.dtype).tiny
    moved = (one - other).abs()
    wrong = (other - exact).abs()
    # rounding of the original is no reason to blame the fix: it must be further off from the truth than that
    noise = (one - exact).abs()
    noise = _CLEARLY * torch.maximum(noise, noise[healthy].mean())
    wrong = torch.where(noise >= wrong, torch.zeros_like(wrong), wrong)
    blame = torch.minimum(moved, wrong) / limit
    blame = torch.where(torch.isfinite(other), blame, torch.full_like(blame, math.inf))
    return _quantile(blame[healthy], share)


def _quantile(blame: torch.Tensor, share: float) -> float:
    ordered = blame.sort().values
    return float(ordered[max(math.ceil(share * ordered.numel()) - 1, 0)])
