"""Norms of many tensors at once, and whether all of their elements are finite."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch


def fused_norms(tensors: list[torch.Tensor]) -> tuple[float, ...]:
    """The 2-norm of every tensor; non-finite where an element is, and where a sum of squares overflows."""
    if not tensors:
        return ()
    try:
        return tuple(torch.stack(torch._foreach_norm(tensors)).tolist())
    except (RuntimeError, TypeError):  # several devices or types, sparse tensors
        return tuple(float(torch.linalg.vector_norm(_dense(tensor))) for tensor in tensors)


def total_norm(norms: Sequence[float]) -> float:
    """The 2-norm over all tensors from the norms of each."""
    return math.sqrt(sum([norm * norm for norm in norms]))


def all_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether every element of every tensor is finite."""
    return all(bool(torch.isfinite(_dense(tensor)).all()) for tensor in tensors)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor
