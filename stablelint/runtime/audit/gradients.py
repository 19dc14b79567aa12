"""Whether the backward of a custom function gives derivatives of its forward, in float64."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.tensors.measure import floating, tensors_in

_STEP = 1e-6  # by which an element is moved, or this part of it
_MOVED, _SECONDS = 2048, 1.0  # elements of an argument at most, and time for them
_TOLERANCE, _NOISE = 1e-3, 1e-8


def wrong_gradient(apply: Callable[..., Any], arguments: Sequence[Any]) -> str | None:
    """A gradient outside of the differences of forward on both sides; '' where none is: at a kink, any between is right.

    None where there is nothing to compare, or the gradient is another one on purpose: that of a function which gives
    back its argument, or does not change with it.
    """
    wide = [one.detach().double().contiguous() if floating(one) else one for one in arguments]
    places = [at for at, one in enumerate(arguments) if floating(one) and one.requires_grad]
    sources = [wide[at].requires_grad_() for at in places]
    results = _results(apply, wide)
    kept = [one for one in results if one.requires_grad]
    same = any(one.shape == other.shape and torch.equal(one, other) for one in kept for other in sources)
    if same or not kept or any(one.dtype is not torch.float64 for one in results):
        return None
    outer = [torch.randn_like(one) * one.requires_grad for one in results]
    total = torch.stack([(one * weight).sum() for one, weight in zip(results, outer, strict=True)]).sum()
    noise = _NOISE * (1 + max(float(one.detach().abs().max()) for one in kept if one.numel()))
    moves, wrong, furthest = False, "", 0.0
    for at, told in zip(places, torch.autograd.grad(total, sources, allow_unused=True), strict=True):
        for index, low, high in _differences(apply, wide, at, outer):
            given = float(told.flatten()[index]) if told is not None else 0.0
            slack = _TOLERANCE * max(-low, high) + noise
            moves = moves or low * high > 0
            off = max(low - given, given - high)
            if off > max(slack, furthest):
                place = [int(one) for one in torch.unravel_index(torch.tensor(index), wide[at].shape)]
                sides = " … ".join(dict.fromkeys((f"{low:.3g}", f"{high:.3g}")))
                wrong = f"{given:.3g} for {place} of argument {at}, where differences of forward give {sides}"
                furthest = off
    return wrong if moves else None


@torch.no_grad()
def _differences(
    apply: Callable[..., Any], arguments: list[Any], at: int, outer: list[torch.Tensor]
) -> Iterator[tuple[int, float, float]]:
    """For some elements of an argument the least and largest difference, of the sum of results that `outer` weighs."""
    source, middle = arguments[at].flatten(), _results(apply, arguments)
    end = time.perf_counter() + _SECONDS
    for index in torch.randperm(source.numel())[:_MOVED].tolist():
        if time.perf_counter() > end:
            return
        step, sides = _STEP * max(1.0, abs(float(source[index]))), []
        for way in (-step, step):
            moved = source.clone()
            moved[index] += way
            results = _results(apply, [*arguments[:at], moved.view_as(arguments[at]), *arguments[at + 1 :]])
            apart = zip(results, middle, outer, strict=True)
            total = sum(float(((one - other) * weight).sum()) for one, other, weight in apart)
            sides.append(total / float(moved[index] - source[index]))
        if all(map(math.isfinite, sides)):
            yield index, min(sides), max(sides)


def _results(apply: Callable[..., Any], arguments: list[Any]) -> list[torch.Tensor]:
    """What a function makes of copies of its arguments, drawing the same numbers each time."""
    with undisturbed():
        copies = [one.clone() if isinstance(one, torch.Tensor) else one for one in arguments]
        return [one for one in tensors_in(apply(*copies)) if floating(one)]
