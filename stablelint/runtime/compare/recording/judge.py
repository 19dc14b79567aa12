"""One operation against itself in double precision, on the same operands: does rounding explain its result?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_map, tree_map_only

from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tracing.operation import Operation

# Operations whose result is a sum of products: rounding is in proportion to the sum of their magnitudes.
_SUMS = frozenset(
    "mm addmm bmm baddbmm mv addmv dot vdot convolution sum mean cumsum linear matmul index_add scatter_add "
    "index_put".split()
)
_POINTWISE_ULPS = 8.0
_KERNEL_ULPS = 32.0
_GROWTH = 4.0  # times the root of the number of terms: rounding that adds up at random
_WIDEST = 1 << 24  # elements; more are not replayed


class Local(NamedTuple):
    """The error of an operation in units of its result's last place, and what rounding allows."""

    error: float
    allowed: float

    @property
    def explained(self) -> bool:
        """Whether rounding explains the error."""
        return self.error <= self.allowed


class Widened(NamedTuple):
    """What an operation is called with, in double precision."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    unit: float  # the relative spacing of the coarsest type among what was widened


def widened(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Widened:
    """Arguments with every floating-point tensor copied in double precision, and types that name another likewise."""
    given = args, dict(kwargs)
    floating = (one for one in tensors_in(given) if one.is_floating_point())
    unit = max((torch.finfo(one.dtype).eps for one in floating), default=0.0)
    wide = tree_map(_widened, given)
    return Widened(wide[0], wide[1], unit)


def _widened(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    if not isinstance(value, torch.Tensor):
        return value
    if value.is_complex():
        return value.detach().to(torch.complex128, copy=True)
    return value.detach().to(torch.float64 if value.is_floating_point() else value.dtype, copy=True)


def judged(
    func: Callable[..., Any], operation: Operation, wide: Widened, results: Sequence[torch.Tensor]
) -> Local | None:
    """The error of `results` against `func` on the widened arguments; None where no kernel computes those.

    It is counted in ulps, of the coarsest type among operands and result: a kernel may work in either.
    """
    args, kwargs, unit = wide
    tensors = list(tensors_in((args, kwargs)))
    if sum(tensor.numel() for tensor in tensors) > _WIDEST:
        return None
    try:
        reference = list(tensors_in(func(*args, **kwargs)))
        scale = _scale(func, args, kwargs) if operation.name in _SUMS else None
    except (RuntimeError, TypeError, NotImplementedError, ValueError):  # no kernel in double precision
        return None
    worst: Local | None = None
    terms = max((one.numel() for one in tensors), default=1)
    for result, exact in zip(results, reference, strict=False):
        if result.shape != exact.shape or not result.is_floating_point() or not exact.is_floating_point():
            continue
        allowed = _POINTWISE_ULPS
        if not operation.pointwise:
            conditioning = scale or max((_largest(one) for one in tensors), default=0.0)
            conditioning = max(1.0, conditioning / max(_largest(exact), 1e-300))
            allowed = (_KERNEL_ULPS + _GROWTH * math.sqrt(terms / max(result.numel(), 1))) * conditioning
        error = distance(result, exact) / max(1.0, unit / torch.finfo(result.dtype).eps)
        if worst is None or error / allowed > worst.error / worst.allowed:
            worst = Local(error, allowed)
    return worst


def distance(result: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error of `result` in ulps of the largest exact element; inf where only one of them is finite.

    Not of each element: a kernel that adds to a larger number first, as that of `gelu`, has no more to give.
    """
    if result.numel() == 0:
        return 0.0
    values, exact = result.detach().double(), exact.detach()
    # an overflow that rounding itself makes is none of the operation's
    rounded = exact.to(result.dtype).double()
    same = (values == rounded) | (values.isnan() & rounded.isnan())
    error = torch.where(same, 0.0, (values - exact).abs())
    if bool(torch.isnan(error).any() | torch.isinf(error).any()):
        return math.inf
    info = torch.finfo(result.dtype)
    return float(error.max()) / max(_largest(exact) * info.eps, info.smallest_normal * info.eps)


def _scale(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> float | None:
    """For a sum of products, the largest sum of their magnitudes."""
    found = func(*_magnitudes(args), **_magnitudes(kwargs))
    return _largest(found) if isinstance(found, torch.Tensor) else None


def _magnitudes(value: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda one: one.abs() if one.is_floating_point() else one, value)


def _largest(tensor: torch.Tensor) -> float:
    if not tensor.numel() or not tensor.is_floating_point():
        return 0.0
    return float(tensor.detach().abs().nan_to_num(0.0, 0.0, 0.0).max())
