"""One fused look at all gradients: their norm, and by layer only where that says something new."""

from __future__ import annotations

import math
import weakref

import torch
from torch._utils import _flatten_dense_tensors

from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.tensors.measure import fused_norms, total_norm
from stablelint.runtime.tensors.names import gradients_of

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
