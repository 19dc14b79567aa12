"""Numbers that describe a tensor, and fingerprints of its rows."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import torch

_BINS = 24
_MOST_PRINTS = 4096  # samples of a batch that are told apart
MOST_ROWS = 64  # rows of a batch that are kept
_ELEMENTS = 1 << 21  # elements of a batch that are kept
_FEW, _MANY = 8, 1e5  # values of a column, and of a row


@dataclass(frozen=True, slots=True)
class Summary:
    """Range, moments and counts of the elements of a tensor; the moments run over finite elements."""

    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    nan: int = 0
    inf: int = 0
    integral: bool = False  # every element is a whole number

    @property
    def spread(self) -> str:
        """Range and moments in words."""
        return f"{self.low:.3g} … {self.high:.3g} (mean {self.mean:.3g}, deviation {self.deviation:.3g})"


def summary_of(tensor: torch.Tensor) -> Summary:
    """The summary of `tensor`, of any dtype and layout; an empty one has a range of zero."""
    values = dense(tensor)
    finite = values[torch.isfinite(values)]
    shape, nan, inf = tuple(tensor.shape), int(values.isnan().sum()), int(values.isinf().sum())
    if not finite.numel():
        return Summary(shape, nan=nan, inf=inf)
    deviation, mean = torch.std_mean(finite, correction=0)
    low, high = torch.aminmax(finite)
    integral = not tensor.is_floating_point() or bool((finite == finite.round()).all())
    return Summary(shape, float(low), float(high), float(mean), float(deviation), nan, inf, integral)


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of `tensor` as real numbers, float32 or float64, in strided memory."""
    values = tensor.detach()
    if hasattr(values, "to_local"):
        values = values.to_local()
    values = values.to_dense()
    if values.is_complex():
        values = torch.view_as_real(values)
    return values.double() if values.dtype in (torch.float64, torch.int64) else values.float()


def sample_of(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of the first rows of `tensor`, as many as are worth keeping."""
    values = tensor.detach()
    if values.layout is torch.strided and values.dim() and values.numel():
        values = values[: max(1, min(MOST_ROWS, _ELEMENTS * len(values) // values.numel()))]
    return values.clone()


def fingerprint(tensor: torch.Tensor) -> bytes:
    """A hash of dtype, shape and elements."""
    values = tensor.detach().cpu().to_dense().contiguous()
    digest = hashlib.blake2b(f"{values.dtype}{tuple(values.shape)}".encode(), digest_size=16)
    digest.update(values.flatten().view(torch.uint8).numpy().tobytes() if values.numel() else b"")
    return digest.digest()


def row_prints(tensors: list[torch.Tensor]) -> list[bytes]:
    """A hash of each sample of a batch: of its row in all tensors that have as many; of the batch where none has."""
    size = next((one.shape[0] for one in tensors if one.dim()), 0)
    rows = [one for one in tensors if one.dim() and one.shape[0] == size]
    if not size or size > _MOST_PRINTS or any(one.layout is not torch.strided for one in rows):
        return [fingerprint(one) for one in tensors]
    near = [one.detach().cpu() for one in rows]
    return [b"".join(map(fingerprint, row)) for row in zip(*near, strict=True)]


def tells_apart(fields: list[torch.Tensor]) -> bool:
    """Whether samples of such rows do not meet by chance: their columns, of measures, take too many values together."""
    total = 1
    for one in (
        one for one in fields if one.dim() and one.is_floating_point() and one.layout is torch.strided
    ):
        for column in (
            one.detach()[:MOST_ROWS].flatten(1)[:, :MOST_ROWS].T if one.dim() > 1 else [one[:MOST_ROWS]]
        ):
            values = len(column.unique())
            total *= values if values > _FEW else 1  # such as kinds, of which one excludes another
    return total > _MANY


def rows_differ(tensor: torch.Tensor) -> bool:
    """Whether the rows (along the first dimension) of `tensor` are not all alike."""
    return not tensor.dim() or tensor.shape[0] < 2 or bool((tensor != tensor[:1]).any())


def uniform_dimensions(matrix: torch.Tensor) -> tuple[int, ...]:
    """The dimensions, of the first two, along which all slices of a matrix are the same."""
    values = matrix.detach()
    if values.dim() < 2:
        return ()
    return tuple(one for one in (0, 1) if values.shape[one] > 1 and not rows_differ(values.transpose(0, one)))


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often values fall into equal bins between `low` and `high`."""

    title: str
    low: float
    high: float
    counts: tuple[int, ...]


def histogram_of(tensor: torch.Tensor, title: str) -> Histogram | None:
    """The histogram of the finite elements of `tensor`; None where there are none."""
    values = dense(tensor).flatten().cpu()
    values = values[torch.isfinite(values)]
    if not values.numel():
        return None
    low, high = float(values.min()), float(values.max())
    if not math.isfinite(high - low):
        return None
    counts = torch.histc(values, _BINS, low, high) if high > low else torch.tensor([values.numel()])
    return Histogram(title, low, high, tuple(int(count) for count in counts))
