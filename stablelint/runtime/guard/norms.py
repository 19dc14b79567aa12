"""One fused look at all gradients: a norm for each tensor and one number for all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch


def fused_norm(tensors: Sequence[torch.Tensor]) -> tuple[float, torch.Tensor | None]:
    """The 2-norm over `tensors` and the vector of the single norms; one synchronisation on one device.

    Non-finite when any element is; it may also overflow for finite elements, which `all_finite` tells apart.
    """
    dense = [_dense(tensor) for tensor in tensors]
    if not dense:
        return 0.0, None
    try:
        norms = torch._foreach_norm(dense)
    except RuntimeError:  # devices or types the fused kernel does not take together
        norms = tuple(torch.linalg.vector_norm(tensor).float() for tensor in dense)
    first = norms[0]
    if any(norm.device != first.device or norm.dtype != first.dtype for norm in norms):
        norms = tuple(norm.to(first.device, torch.float32) for norm in norms)
    vector = torch.stack(list(norms))
    return float(torch.linalg.vector_norm(vector)), vector


def all_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether every element of every tensor is finite."""
    return all(bool(torch.isfinite(_dense(tensor)).all()) for tensor in tensors)


def is_finite(value: float) -> bool:
    """`math.isfinite`, named for what the callers ask."""
    return math.isfinite(value)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor
