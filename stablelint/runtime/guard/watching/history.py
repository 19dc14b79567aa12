"""The last steps of a run, in bounded memory, and the gradient norms that are remembered of them."""

from __future__ import annotations

import math
import statistics
import weakref
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch._utils import _flatten_dense_tensors

from stablelint.runtime.guard.reporting.event import Growth, StepRecord
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.tensors.measure import fused_norms, total_norm
from stablelint.runtime.tensors.names import gradients_of

_GROWTH_FACTOR = 10.0  # over the remembered steps, for a run to count as exploding
_GROWTH_STEPS = 3


# Step, loss, norm over all gradients, norms by layer; made at every step, and nothing is made quicker than a tuple.
_Entry = tuple[int, float | None, float | None, tuple[float, ...]]


class History:
    """Loss and gradient norms of the last `length` steps."""

    def __init__(self, length: int = 64) -> None:
        self._entries: deque[_Entry] = deque(maxlen=length)

    def add(self, step: int, loss: float | None, norm: float | None, layers: tuple[float, ...] = ()) -> None:
        """Remember a step."""
        self._entries.append((step, loss, norm, layers))

    def last(self) -> tuple[float | None, float | None]:
        """Loss and gradient norm of the last remembered step."""
        return self._entries[-1][1:3] if self._entries else (None, None)

    def records(self) -> tuple[StepRecord, ...]:
        """The remembered steps, oldest first; of a step that was added twice, what was added last."""
        return tuple(StepRecord(*entry) for entry in {entry[0]: entry for entry in self._entries}.values())

    def growth(self, learning_rates: tuple[float, ...]) -> Growth:
        """What the remembered norms tell of a run that exploded."""
        norms = [norm for _, _, norm, _ in self._entries if norm is not None and math.isfinite(norm)]
        return Growth(
            learning_rates, statistics.median(norms) if norms else None, norms[-1] if norms else None
        )

    def learned_limit(self) -> float | None:
        """The norm beyond which a step is unlike those before: many times their median, and after a steady rise."""
        norms = [norm for _, _, norm, _ in self._entries if norm is not None]
        if not _grows(norms):
            return None
        return _GROWTH_FACTOR * statistics.median(norms[:-1])

    def way(self, least: float) -> float:
        """How far the remembered steps may have gone at a learning rate of 1: `least`, and the norm of each."""
        norms = (norm for _, _, norm, _ in self._entries if norm is not None and not math.isnan(norm))
        return least * len(self._entries) + sum(norms)

    def is_exploding(self) -> bool:
        """Whether loss or gradient norm grew steadily up to the last remembered step."""
        norms = [norm for _, _, norm, _ in self._entries]
        return _grows(norms) or _grows([loss for _, loss, _, _ in self._entries])


def _grows(values: Sequence[float | None]) -> bool:
    known = [abs(value) for value in values if value is not None and not math.isnan(value)]
    if len(known) < _GROWTH_STEPS:
        return False
    recent = known[-_GROWTH_STEPS:]
    rising = all(later > earlier for earlier, later in pairwise(recent))
    return rising and recent[-1] > _GROWTH_FACTOR * recent[0]


# Below this many elements a tensor, one copy of all and one norm cost less than a norm for each.
_SMALL = 1 << 13
_EARLY = 16  # steps at the start whose layers are all taken
_LAYERS_EVERY = 16
_ROOMY = frozenset({torch.float32, torch.float64})
_RISE = 2.0  # a norm that grew by this factor has its layers taken at once


class Meter:
    """The gradient norm of every step of one optimizer, and norms by layer at the start, at times, and on a rise.

    On an accelerator the layers cost no more than their sum, and are taken at every step.
    """

    def __init__(self, sharded: bool = False) -> None:
        self.sharded = sharded  # over ranks: the norms are of this rank's part
        self.measured: list[weakref.ref[torch.Tensor]] = []  # the parameters behind the norms by layer
        self.limit = math.inf  # a norm beyond it has its layers taken
        self._small = False
        self._reference = 0.0
        self._taken = 0
        self._wait = 0

    def read(
        self, parameters: list[torch.Tensor], clipped: float | None = None
    ) -> tuple[float, tuple[float, ...]]:
        """The 2-norm over all gradients, and that of each or nothing; as they were before they were `clipped`."""
        if self._wait:
            norm = self._joint_norm(parameters) if clipped is None else clipped
            if norm <= self._reference:
                self._wait -= 1
                return norm, ()
        layers = self._by_layer(parameters)
        norm = total_norm(layers)
        if clipped is not None and math.isfinite(clipped) and math.isfinite(norm) and norm > 0:
            layers = tuple(one * clipped / norm for one in layers)
            norm = clipped
        self._taken += 1
        self._reference = min(_RISE * norm, self.limit) if math.isfinite(norm) else 0.0
        self._wait = _LAYERS_EVERY - 1 if self._taken > _EARLY else 0
        return norm, layers

    def _joint_norm(self, parameters: list[torch.Tensor]) -> float:
        """The norm over all gradients, as quickly as it is to be had; NaN where the layers cost no more."""
        gradients = gradients_of(parameters) if self._small else []
        return _joint_norm(gradients) if len(gradients) == len(self.measured) > 0 else math.nan

    def _by_layer(self, parameters: list[torch.Tensor]) -> tuple[float, ...]:
        """The norm of every gradient."""
        gradients = gradients_of(parameters)
        if self.sharded:
            gradients = ranks.local(gradients)
        if len(gradients) != len(self.measured):
            self._small = not self.sharded and _are_small(gradients)
            self.measured = [weakref.ref(one) for one in parameters if one.grad is not None]
        return fused_norms(gradients)


def _are_small(tensors: list[torch.Tensor]) -> bool:
    """Whether the tensors are many small ones, alike, in plain memory of the host."""
    if not tensors or len({(tensor.device, tensor.dtype, tensor.layout) for tensor in tensors}) > 1:
        return False
    first = tensors[0]
    plain = first.device.type == "cpu" and first.layout is torch.strided and not first.is_complex()
    return plain and sum(tensor.numel() for tensor in tensors) < _SMALL * len(tensors)


def _joint_norm(tensors: list[torch.Tensor]) -> float:
    flat = _flatten_dense_tensors(tensors)
    # A dot product is quicker than a norm, but half precision overflows in it far below the norm's own limit.
    if flat.dtype in _ROOMY:
        return math.sqrt(torch.dot(flat, flat).item())
    return float(torch.linalg.vector_norm(flat).item())
