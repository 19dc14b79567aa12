"""Searches for inputs of the enclosing function at which a site goes wrong, in the process that has it alive.

Candidates of known kinds come first (zeros, constants, scaled inputs, equal rows, full and empty masks); then
gradient steps that drive the site's operands towards the edge of their contract.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import torch

from stablelint.runtime.verify.probe.look import all_finite
from stablelint.runtime.verify.probe.recorder import RECORDER, Watched
from stablelint.runtime.verify.probe.sample import kept
from stablelint.runtime.verify.probe.subject import Inputs, Subject, calm, subject_of
from stablelint.runtime.verify.replay.values import Call, Context


@dataclass(frozen=True, slots=True)
class _Method:
    """How a climb moves an input: turn, value, gradient and goal to the step to subtract."""

    step: Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
    calls: int


def search_all(seconds: float) -> None:
    """Search for each target that went right in every captured call, for `seconds` in all."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return  # a collective called by one rank alone would wait for ever
    waiting = [watched for watched in RECORDER.targets.values() if not watched.sample.failing]
    deadline = time.perf_counter() + seconds
    for index, watched in enumerate(waiting):
        left = deadline - time.perf_counter()
        subject = subject_of(watched)
        if left <= 0 or subject is None:
            continue
        share = time.perf_counter() + left / (len(waiting) - index)
        RECORDER.listen(watched)
        try:
            found = _search(watched, subject, share)
        finally:
            RECORDER.listen(None)
        if found is not None:
            watched.sample.searched.append(found)


def _search(watched: Watched, subject: Subject, deadline: float) -> Call | None:
    for inputs in _candidates(subject.inputs):
        if time.perf_counter() > deadline:
            return None
        found = _try(watched, subject, inputs)
        if found is not None:
            return found
    for direction in _directions(watched):
        for method in _METHODS:
            found = _climb(watched, subject, direction, method, deadline)
            if found is not None:
                return found
    return None


def _floating(inputs: Mapping[str, object]) -> dict[str, torch.Tensor]:
    return {
        n: v for n, v in inputs.items() if isinstance(v, torch.Tensor) and v.is_floating_point() and v.numel()
    }


def _candidates(inputs: Inputs) -> Iterator[Inputs]:
    floating = _floating(inputs)
    changes: list[Callable[[torch.Tensor], torch.Tensor]] = [
        torch.zeros_like,
        torch.ones_like,
        lambda x: x * 30,
        lambda x: x * 1000,
        lambda x: -x * 1000,
        lambda x: x[:1].expand_as(x) if x.ndim else x,
        lambda x: x[..., :1].expand_as(x) if x.ndim else x,
        lambda x: x * 1e-12,
    ]
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.dtype in (torch.bool, torch.int64):
            yield {**inputs, name: torch.zeros_like(value)}
            yield {**inputs, name: torch.ones_like(value)}
    for change in changes:
        yield {**inputs, **{name: change(value) for name, value in floating.items()}}
        if len(floating) > 1:
            for name, value in floating.items():
                yield {**inputs, name: change(value)}
    names = list(floating)
    for first, second in pairwise(names):
        if floating[first].shape == floating[second].shape:
            yield {**inputs, first: floating[second].clone()}  # prediction equal to target


def _hear(subject: Subject, inputs: Inputs) -> list[tuple[dict[str, object], Context, object]]:
    RECORDER.heard.clear()
    with calm(subject):
        try:
            subject.call(**inputs)
        except Exception:  # inputs that the function refuses prove nothing
            return []
    return list(RECORDER.heard)


def _tracked(inputs: Inputs) -> Inputs:
    return {
        **inputs,
        **{name: value.detach().clone().requires_grad_() for name, value in _floating(inputs).items()},
    }


def _try(watched: Watched, subject: Subject, inputs: Inputs) -> Call | None:
    for operands, context, value in _hear(subject, _tracked(inputs)):
        usual = all(all_finite(item, nan_only=watched.infinite) for item in operands.values())
        felt = watched.grad_calls > 0  # nobody feels a gradient that the command never asks for
        if usual and _bad(operands, value, felt):
            copies, cut = kept(operands)
            plain, _ = kept(inputs)
            return Call(copies, Context(context.autocast, context.device, felt), "search", cut, plain)
    return None


def _bad(operands: Mapping[str, object], value: object, felt: bool) -> bool:
    if not all_finite(value):
        return True
    if not felt:
        return False
    asked = [v for v in operands.values() if isinstance(v, torch.Tensor) and v.requires_grad]
    if not asked or not isinstance(value, torch.Tensor) or not value.requires_grad:
        return False
    gradients = torch.autograd.grad(value.sum(), asked, retain_graph=True, allow_unused=True)
    return not all(all_finite(gradient) for gradient in gradients if gradient is not None)


def _directions(watched: Watched) -> list[tuple[str, str]]:
    """Operand and way to push it: "down", "up" or "zero", as the site's contract has it."""
    if watched.search:
        return [(text, way) for text, ways in watched.search.items() for way in ways]
    return [(name, way) for name in watched.operands for way in ("zero", "down", "up")]


def _objective(value: torch.Tensor, way: str) -> torch.Tensor:
    if way == "up":
        return -value.max()
    return value.abs().min() if way == "zero" else value.min()


def _climb(
    watched: Watched, subject: Subject, direction: tuple[str, str], method: _Method, deadline: float
) -> Call | None:
    name, way = direction
    inputs = dict(subject.inputs)
    for turn in range(method.calls):
        if time.perf_counter() > deadline:
            return None
        tracked = _tracked(inputs)
        heard = _hear(subject, tracked)
        leaves = {n: v for n, v in tracked.items() if isinstance(v, torch.Tensor) and v.requires_grad}
        operand = heard[0][0].get(name) if heard else None
        if not leaves or not isinstance(operand, torch.Tensor) or not operand.requires_grad:
            return None
        goal = _objective(operand.float(), way)
        gradients = torch.autograd.grad(goal, list(leaves.values()), allow_unused=True)
        known = {
            leaf: gradient
            for leaf, gradient in zip(leaves, gradients, strict=True)
            if gradient is not None and all_finite(gradient) and bool(gradient.any())
        }
        if not known:
            return None
        for leaf, gradient in known.items():
            value = leaves[leaf].detach()
            inputs[leaf] = value - method.step(turn, value, gradient, goal)
        found = _try(watched, subject, inputs)
        if found is not None:
            return found
    return None


def _newton(turn: int, value: torch.Tensor, gradient: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
    """The step at whose end a linear operand is 0: it lands on edges that lie there."""
    return float(goal.detach()) / float(gradient.pow(2).sum()) * gradient


def _signed(turn: int, value: torch.Tensor, gradient: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
    """A step that trusts the sign alone and grows with each turn: it reaches what is far away."""
    return 0.05 * 1.6**turn * value.abs().mean().clamp_min(1e-3) * gradient.sign()


_METHODS = (_Method(_newton, 8), _Method(_signed, 24))
