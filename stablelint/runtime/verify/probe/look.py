"""Cheap questions about operands: range, finiteness, and the modes in force."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from stablelint.runtime.verify.replay.measure import sum_is_finite
from stablelint.runtime.verify.replay.values import Context, dtype_name


@dataclass(frozen=True, slots=True)
class Row:
    """Range of one tensor; `smallest` is the least magnitude. NaN elements are left out of the range."""

    low: float
    high: float
    smallest: float
    zeros: int = 0
    nan: int = 0
    inf: int = 0


def extent_row(value: object) -> Row | None:
    """The range of a floating tensor or number; None for anything else and for what is empty."""
    if isinstance(value, float):
        return Row(value, value, abs(value), int(value == 0), int(math.isnan(value)), int(math.isinf(value)))
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return None
    plain = value.detach()
    low, high = torch.aminmax(plain)
    size = plain.abs()
    smallest, zeros = size.min(), plain.numel() - torch.count_nonzero(plain)
    bounds = torch.stack([low.double(), high.double(), smallest.double(), zeros.double()]).tolist()
    if math.isfinite(bounds[0]) and math.isfinite(bounds[1]):
        return Row(bounds[0], bounds[1], bounds[2], int(bounds[3]))
    nan = int(torch.isnan(plain).sum())
    inf = int(torch.isinf(plain).sum())
    finite = plain[torch.isfinite(plain)]
    if not finite.numel():
        return Row(math.inf, -math.inf, math.inf, 0, nan, inf)
    low, high = torch.aminmax(finite)
    return Row(float(low), float(high), float(finite.abs().min()), int(bounds[3]), nan, inf)


def all_finite(value: object, nan_only: bool = False) -> bool:
    """Whether no element is NaN (nor, unless `nan_only`, infinite); what is not floating counts as finite."""
    if isinstance(value, float):
        return not math.isnan(value) and (nan_only or math.isfinite(value))
    if isinstance(value, torch.Tensor):
        if not value.is_floating_point() or not value.numel():
            return True
        plain = value.detach()
        if sum_is_finite(plain):
            return True
        return not bool((torch.isnan(plain) if nan_only else ~torch.isfinite(plain)).any())
    if isinstance(value, tuple | list):
        return all(all_finite(item, nan_only) for item in value)
    return True


class Gradients:
    """Looks once at a gradient that reaches several sites, as that of a tensor which all of them use."""

    def __init__(self) -> None:
        self._last: tuple[weakref.ref[torch.Tensor], int, bool] | None = None

    def is_finite(self, gradient: torch.Tensor) -> bool:
        """Whether no element is NaN or infinite."""
        if self._last is not None:
            known, version, finite = self._last
            if known() is gradient and version == gradient._version:
                return finite
        finite = all_finite(gradient)
        self._last = weakref.ref(gradient), gradient._version, finite
        return finite


def being_recorded(operands: Mapping[str, object]) -> bool:
    """Whether a trace, or a graph of `torch.fx` or of CUDA, is being recorded.

    Whatever a probe computes would be part of it.
    """
    if torch._C._get_tracing_state() is not None:
        return True
    for value in operands.values():
        if isinstance(value, torch.Tensor):
            if value.is_cuda:
                return torch.cuda.is_current_stream_capturing()
        elif isinstance(value, torch.fx.Proxy):
            return True
    return False


def requires_grad(value: object) -> bool:
    """Whether a gradient is asked of the value."""
    return isinstance(value, torch.Tensor) and value.requires_grad


def context_of(operands: Mapping[str, object]) -> Context:
    """Device of the operands, and the autocast that is in force there."""
    device = next((str(v.device) for v in operands.values() if isinstance(v, torch.Tensor)), "cpu")
    kind = device.partition(":")[0]
    if not torch.is_autocast_enabled(kind):
        return Context(None, device)
    return Context(dtype_name(torch.get_autocast_dtype(kind)), device)
