"""Where a run went bad: the first bad batch of a loader, the first bad checkpoint of a series."""

from __future__ import annotations

import copy
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from stablelint.runtime.guard.reporting.event import Kind
from stablelint.runtime.tensors.measure import Badness, badness_of, sum_of, tensors_in
from stablelint.runtime.tensors.state import current_state
from stablelint.runtime.tracing import hooks


@dataclass(frozen=True, slots=True)
class BadBatch:
    """The first batch that makes a step non-finite; `where` is "input", "loss" or "gradient"."""

    index: int
    batch: object
    where: str
    kind: Kind
    name: str | None = None  # the parameter whose gradient is not finite


def find_first_bad_batch(
    step: Callable[[object], object],
    loader: Iterable[object],
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
) -> BadBatch | None:
    """The first batch whose input, loss or gradients are not finite, or None.

    `step` takes a batch and does what training does with it: it may call `backward` and the optimizer, and
    may return the loss. Model, optimizer and random generators are afterwards as they were before, also
    when `step` raises.
    """
    seen = _Losses()
    with _put_back(model, optimizer):
        hooks.attach(seen)
        try:
            for index, batch in enumerate(loader):
                bad = _input(batch)
                if bad is not None:
                    return BadBatch(index, batch, "input", bad)
                seen.found = None
                result = step(batch)
                bad = seen.found or _loss(result)
                if bad is not None:
                    return BadBatch(index, batch, "loss", bad)
                for name, parameter in model.named_parameters():
                    badness = badness_of(parameter.grad) if parameter.grad is not None else None
                    if badness:
                        return BadBatch(index, batch, "gradient", _kind(badness), name)
        finally:
            hooks.detach(seen)
    return None


def find_first_bad_checkpoint(
    checkpoints: Sequence[Path | str], is_bad: Callable[[object], bool] | None = None
) -> int | None:
    """The index of the first bad checkpoint of a run, oldest first; None where the last one is good.

    Looks at as few as bisection needs, which takes it that a run stays bad once it is. `is_bad` is given what
    the file holds; by default a checkpoint is bad when a tensor in it is not finite. Files are loaded as
    weights only: nothing in them is executed. Raises OSError or `pickle.UnpicklingError` for a bad file.
    """

    def test(path: Path | str) -> bool:
        return bool((is_bad or holds_non_finite)(torch.load(path, map_location="cpu", weights_only=True)))

    first = bisect_left(checkpoints, True, key=test)
    return first if first < len(checkpoints) else None


def holds_non_finite(checkpoint: object) -> bool:
    """Whether any tensor in nested dictionaries and lists holds a NaN or an infinity."""
    return any(badness_of(tensor) for tensor in tensors_in(checkpoint))


@contextmanager
def _put_back(model: torch.nn.Module, optimizer: torch.optim.Optimizer | None) -> Iterator[None]:
    held = [(one, copy.deepcopy(one.state_dict())) for one in (model, optimizer) if one is not None]
    gradients = [(one, None if one.grad is None else one.grad.detach().clone()) for one in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    random_state = current_state()
    try:
        yield
    finally:
        for one, state in held:
            one.load_state_dict(state)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, training in modes:
            module.training = training
        random_state.restore()


class _Losses(hooks.Observer):
    """Remembers the first non-finite loss that reached `backward`."""

    def __init__(self) -> None:
        self.found: Kind | None = None

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        self.found = self.found or _of_number(sum_of(losses))


def _input(batch: object) -> Kind | None:
    for tensor in tensors_in(batch):
        badness = badness_of(tensor)
        if badness and badness != Badness.NEGATIVE:  # -inf alone is a mask
            return _kind(badness)
    return None


def _loss(result: object) -> Kind | None:
    if isinstance(result, float):
        return _of_number(result)
    for tensor in tensors_in(result):
        if tensor.numel() == 1 and tensor.is_floating_point():
            return _of_number(sum_of((tensor,)))
    return None


def _of_number(value: float) -> Kind | None:
    if math.isfinite(value):
        return None
    return Kind.NAN if math.isnan(value) else Kind.INF


def _kind(badness: Badness) -> Kind:
    return Kind.NAN if badness & Badness.NAN else Kind.INF
