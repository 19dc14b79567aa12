"""Cheap questions about operands: range, finiteness, and the modes in force."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

import torch

from stablelint.runtime.tensors.measure import FINE, Badness, badness_of, dtype_name, floating
from stablelint.runtime.verify.replay.values import Context


@dataclass(slots=True)
class Extent:
    """Range of the elements of tensors; `smallest` is the least magnitude. NaN elements are left out of the range."""

    low: float = math.inf
    high: float = -math.inf
    smallest: float = math.inf
    zeros: int = 0
    nan: int = 0
    inf: int = 0
    elements: int = 0

    def add(self, other: Extent) -> None:
        """Widen by the range of others."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.smallest = min(self.smallest, other.smallest)
        self.zeros, self.nan, self.inf = self.zeros + other.zeros, self.nan + other.nan, self.inf + other.inf
        self.elements += other.elements

    def as_json(self) -> dict[str, float | None]:
        """Finite numbers only: None where nothing was seen."""
        finite = {"min": self.low, "max": self.high, "smallest": self.smallest}
        shown: dict[str, float | None] = {k: v if math.isfinite(v) else None for k, v in finite.items()}
        return shown | {"zeros": self.zeros, "nan": self.nan, "inf": self.inf, "elements": self.elements}


def extent_of(value: object) -> Extent | None:
    """The range of a floating tensor or number; None for anything else and for what is empty."""
    if isinstance(value, float):
        return Extent(value, value, abs(value), value == 0, math.isnan(value), math.isinf(value), 1)
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return None
    plain = value.detach()
    found = _finite_extent(plain)
    if math.isfinite(found.low) and math.isfinite(found.high):
        return found
    finite = plain[torch.isfinite(plain)]
    found = _finite_extent(finite) if finite.numel() else Extent()
    nan, inf = int(torch.isnan(plain).sum()), int(torch.isinf(plain).sum())
    return replace(found, nan=nan, inf=inf, elements=plain.numel())


def _finite_extent(plain: torch.Tensor) -> Extent:
    """The range of elements all of which are finite, in one synchronisation."""
    low, high = torch.aminmax(plain)
    zeros = plain.numel() - torch.count_nonzero(plain)
    bounds = torch.stack([one.double() for one in (low, high, plain.abs().min(), zeros)]).tolist()
    return Extent(bounds[0], bounds[1], bounds[2], int(bounds[3]), elements=plain.numel())


def all_finite(value: object, nan_only: bool = False) -> bool:
    """Whether no element is NaN (nor, unless `nan_only`, infinite); what is not floating counts as finite."""
    if isinstance(value, float):
        return not math.isnan(value) and (nan_only or math.isfinite(value))
    if floating(value):
        return not badness_of(value) & (Badness.NAN if nan_only else ~FINE)
    if isinstance(value, tuple | list):
        return all(all_finite(item, nan_only) for item in value)
    return True


@dataclass(slots=True)
class Seen:
    """What calls of one site have shown, in a process or in all of them."""

    calls: int = 0
    bad_results: int = 0
    bad_gradients: int = 0
    grad_calls: int = 0  # of which a gradient could be asked
    raised: int = 0  # evaluations that did not come to their end
    compiled: int = 0  # times that the site was compiled or traced, where probes step aside
    dtypes: set[str] = field(default_factory=set)
    extents: dict[str, Extent] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """The counts alone, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(Seen)}
        return {name: value for name, value in values.items() if isinstance(value, int)}

    def add(self, counts: Mapping[str, int], dtypes: Iterable[str], extents: Mapping[str, Extent]) -> None:
        """Add what others have shown."""
        for name, number in counts.items():
            setattr(self, name, getattr(self, name) + number)
        self.dtypes |= set(dtypes)
        for name, extent in extents.items():
            self.extents.setdefault(name, Extent()).add(extent)


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
