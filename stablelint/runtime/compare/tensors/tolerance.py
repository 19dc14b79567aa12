"""Two sets of tensors within tolerances: what is missing, and how far apart the rest is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from stablelint.runtime.plain import shape_text
from stablelint.runtime.tensors.measure import dtype_name

# Relative and absolute tolerance by element type, as `torch.testing.assert_close` documents them.
_DEFAULTS = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_INTEGER_OF = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
_CHUNK = 1 << 22  # elements looked at together: four copies in double precision fit into memory
HISTOGRAM = 25
"""Bins of a histogram of errors: one for equal elements, then one for each doubling of the error in ulps."""


@dataclass(frozen=True, slots=True)
class Tolerances:
    """What counts as close: |a - b| ≤ atol + rtol · |b|; None takes the default of the element type."""

    rtol: float | None = None
    atol: float | None = None
    equal_nan: bool = False

    def of(self, *dtypes: torch.dtype) -> tuple[float, float]:
        """Relative and absolute tolerance for values of these element types: those of the coarsest."""
        defaults = [_defaults(dtype) for dtype in dtypes]
        rtol, atol = (max(pair[index] for pair in defaults) for index in (0, 1))
        return rtol if self.rtol is None else self.rtol, atol if self.atol is None else self.atol


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error of a kind, where it is, and the two values there."""

    error: float
    index: tuple[int, ...]
    first: float | complex
    second: float | complex


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """How two values of one name compare; `problem` says why where they have no elements to compare."""

    name: str
    same: bool
    problem: str | None = None
    shape: tuple[int, ...] = ()
    dtypes: tuple[str, str] = ("", "")
    elements: int = 0
    beyond: int = 0  # elements further apart than the tolerances
    identical: int = 0  # elements with equal bits or values
    nan: tuple[int, int] = (0, 0)
    nan_apart: int = 0  # elements NaN on one side only
    rtol: float = 0.0
    atol: float = 0.0
    absolute: Worst | None = None
    relative: Worst | None = None
    ulps: Worst | None = None
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Two sets of tensors compared: names on one side only, and one entry for each name on both."""

    missing: tuple[str, ...]  # in the second
    extra: tuple[str, ...]  # in the second alone
    tensors: tuple[TensorDifference, ...]
    note: str | None = None

    @property
    def same(self) -> bool:
        """Whether nothing is missing, extra or beyond its tolerance."""
        return not self.missing and not self.extra and all(one.same for one in self.tensors)


def compare_named(
    first: Mapping[str, object], second: Mapping[str, object], tolerances: Tolerances, note: str | None = None
) -> Tolerance:
    """Compare what has a name on both sides; order does not count."""
    return Tolerance(
        tuple(name for name in first if name not in second),
        tuple(name for name in second if name not in first),
        tuple(_compare(name, first[name], second[name], tolerances) for name in first if name in second),
        note,
    )


def _compare(name: str, first: object, second: object, tolerances: Tolerances) -> TensorDifference:
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return compare_tensors(name, first, second, tolerances)
    if isinstance(first, int | float) and isinstance(second, int | float):
        whole = tolerances if isinstance(first, float) or isinstance(second, float) else Tolerances(0.0, 0.0)
        wide = torch.float64 if float in (type(first), type(second)) else torch.int64
        try:
            return compare_tensors(
                name, torch.tensor(first, dtype=wide), torch.tensor(second, dtype=wide), whole
            )
        except (RuntimeError, OverflowError):  # integers beyond 64 bits
            pass
    if isinstance(first, torch.Tensor) or isinstance(second, torch.Tensor):
        return TensorDifference(name, False, f"{_kind(first)} and {_kind(second)}")
    same = type(first) is type(second) and first == second
    return TensorDifference(name, same, None if same else f"{_short(first)} and {_short(second)}")


def compare_tensors(
    name: str, first: torch.Tensor, second: torch.Tensor, tolerances: Tolerances
) -> TensorDifference:
    """Every element of two tensors of one shape; other shapes are a difference in themselves."""
    dtypes = dtype_name(first.dtype), dtype_name(second.dtype)
    if first.shape != second.shape:
        shapes = f"shape {shape_text(first.shape)} and {shape_text(second.shape)}"
        return TensorDifference(name, False, shapes, tuple(first.shape), dtypes)
    first, second = _dense(first), _dense(second)
    rtol, atol = tolerances.of(first.dtype, second.dtype)
    measure = _Measure(rtol, atol, tolerances.equal_nan, tuple(first.shape))
    for start, one, other in _chunks(first, second):
        measure.take(start, one, other)
    problem = None if dtypes[0] == dtypes[1] else f"dtype {dtypes[0]} and {dtypes[1]}"
    return TensorDifference(
        name,
        measure.beyond == 0 and problem is None,
        problem,
        shape=tuple(first.shape),
        dtypes=dtypes,
        elements=first.numel(),
        beyond=measure.beyond,
        identical=measure.identical,
        nan=(measure.nan[0], measure.nan[1]),
        nan_apart=measure.nan_apart,
        rtol=rtol,
        atol=atol,
        **measure.worst,
        histogram=tuple(measure.histogram.tolist()),
    )


class _Measure:
    """Errors of chunks of elements, joined."""

    def __init__(self, rtol: float, atol: float, equal_nan: bool, shape: tuple[int, ...]) -> None:
        self.beyond = self.identical = self.nan_apart = 0
        self.nan = [0, 0]
        self.worst: dict[str, Worst] = {}
        self.histogram = torch.zeros(HISTOGRAM, dtype=torch.int64)
        self._rtol, self._atol, self._equal_nan, self._shape = rtol, atol, equal_nan, shape

    def take(self, start: int, first: torch.Tensor, second: torch.Tensor) -> None:
        """Join a stretch of elements that begins at `start` of the flattened tensors."""
        exact = not (first.is_floating_point() or first.is_complex())
        a, b = (_wide(first), _wide(second)) if not exact else (first, second)
        nan_a, nan_b = a != a, b != b
        same = a == b
        if self._equal_nan:
            same |= nan_a & nan_b
        error = torch.where(same, 0.0, (a.double() - b.double() if exact else a - b).abs().double())
        allowed = self._atol + self._rtol * b.abs().double() if b.dtype != torch.bool else self._atol
        self.beyond += int((~(same | (error <= allowed) & torch.isfinite(error))).sum())
        self.identical += int(same.sum())
        self.nan[0] += int(nan_a.sum())
        self.nan[1] += int(nan_b.sum())
        self.nan_apart += int((nan_a ^ nan_b).sum())
        relative = error / b.abs().double() if b.dtype != torch.bool else error
        measured = {"absolute": error, "relative": torch.where(same, 0.0, relative)}
        ulps = ulps_between(first, second)
        if ulps is not None:
            measured["ulps"] = torch.where(same, 0.0, ulps)
            bins = torch.where(same, 0, (ulps.clamp_min(1).log2().floor() + 1))
            counted = torch.isfinite(error)
            self.histogram += torch.bincount(
                bins[counted].clamp(0, HISTOGRAM - 1).long(), minlength=HISTOGRAM
            )
        for kind, values in measured.items():
            self._keep_worst(kind, values, start, first, second)

    def _keep_worst(
        self, kind: str, values: torch.Tensor, start: int, first: torch.Tensor, second: torch.Tensor
    ) -> None:
        known = torch.where(torch.isfinite(values), values, -1.0)
        place = int(known.argmax())
        error = float(known[place])
        if error > (self.worst[kind].error if kind in self.worst else 0.0):
            index = tuple(int(one) for one in torch.unravel_index(torch.tensor(start + place), self._shape))
            self.worst[kind] = Worst(error, index, first[place].item(), second[place].item())


def ulps_between(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor | None:
    """Representable numbers between the elements, in double precision; None for types without such an order.

    Two element types are counted in the coarser one's numbers.
    """
    if first.dtype != second.dtype:
        if not (first.is_floating_point() and second.is_floating_point()):
            return None
        coarser = max(first.dtype, second.dtype, key=lambda dtype: torch.finfo(dtype).eps)
        first, second = first.to(coarser), second.to(coarser)
    integer = _INTEGER_OF.get(first.dtype)
    if integer is None:
        return None
    one, other = (_ordered(tensor.contiguous().view(integer)) for tensor in (first, second))
    distance = (one.double() - other.double()).abs()
    return torch.where(torch.isfinite(first) & torch.isfinite(second), distance, math.inf)


def _ordered(bits: torch.Tensor) -> torch.Tensor:
    """Integers in the order of the floating-point numbers whose bits they are; both zeros become 0."""
    low = torch.iinfo(bits.dtype).min
    bits = bits.long()
    return torch.where(bits < 0, low - bits, bits)


def _chunks(first: torch.Tensor, second: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    one, other = first.detach().reshape(-1), second.detach().reshape(-1)
    for start in range(0, one.numel(), _CHUNK):
        yield start, one[start : start + _CHUNK].cpu(), other[start : start + _CHUNK].cpu()


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.dequantize() if tensor.is_quantized else tensor.to_dense()


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _defaults(dtype: torch.dtype) -> tuple[float, float]:
    if dtype in _DEFAULTS or not dtype.is_floating_point:
        return _DEFAULTS.get(dtype, (0.0, 0.0))
    return torch.finfo(dtype).eps, 0.0  # float8


def _kind(value: object) -> str:
    return f"tensor {shape_text(value.shape)}" if isinstance(value, torch.Tensor) else _short(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
