"""Counts and accuracy of results."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from stablelint.runtime.verify.outcome import Counts


def sum_is_finite(tensor: torch.Tensor) -> bool:
    """Whether the sum is finite: then all elements are, as one pass shows. Large ones may overflow in it."""
    return math.isfinite(float(tensor.sum()))


def count(tensors: Sequence[torch.Tensor | None]) -> Counts:
    """Counts over all elements of all floating tensors; a missing gradient counts as nothing.

    The tensors are part of no graph.
    """
    finite = nan = inf = 0
    for tensor in tensors:
        if tensor is None or not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        if not tensor.is_complex() and sum_is_finite(tensor):
            finite += tensor.numel()
            continue
        bad_nan = int(torch.isnan(tensor).sum())
        good = int(torch.isfinite(tensor).sum())
        finite, nan, inf = finite + good, nan + bad_nan, inf + tensor.numel() - good - bad_nan
    return Counts(finite, nan, inf)


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
