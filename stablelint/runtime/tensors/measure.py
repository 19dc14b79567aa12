"""Is a tensor finite, and if not, how: a cheap filter first, counts only for what failed it. Norms of many at once."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Flag, auto
from typing import TypeGuard

import torch

from stablelint.runtime.plain import Json, plain


@dataclass(frozen=True, slots=True)
class OperandStats:
    """Statistics of one operand; `minimum` and `maximum` run over its finite elements."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    minimum: float | None
    maximum: float | None
    nan: int
    inf: int
    zero: int
    norm: float | None = None  # the 2-norm of its finite elements, where it is asked for

    def as_json(self) -> dict[str, Json]:
        """The operand as ``run --output-format json`` prints it."""
        row = {_IN_JSON.get(name, name): plain(value) for name, value in asdict(self).items()}
        return row if self.norm is not None else {key: row[key] for key in row if key != "norm"}


_IN_JSON = {"minimum": "min", "maximum": "max"}


def floating(value: object) -> TypeGuard[torch.Tensor]:
    """Whether a value is a tensor of floating-point numbers."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


class Badness(Flag):
    """Which non-finite values a tensor holds."""

    NAN = auto()
    POSITIVE = auto()
    NEGATIVE = auto()
    INF = POSITIVE | NEGATIVE


FINE = Badness(0)


def badness_of(tensor: torch.Tensor, nan_suffices: bool = False) -> Badness:
    """The non-finite values in `tensor`; integers, empty and meta tensors have none.

    With `nan_suffices`, a sum that is NaN counts as a NaN, though infinities of both signs make one too.

    A sum is non-finite whenever a term is, so a finite sum clears the tensor; the converse fails when a sum
    of finite terms overflows, hence the second look.
    """
    if hasattr(tensor, "to_local"):  # sharded over ranks: this rank's part
        tensor = tensor.to_local()
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.numel() == 0 or tensor.is_meta:
        return FINE
    if tensor.layout is not torch.strided:
        tensor = tensor.coalesce().values() if tensor.layout is torch.sparse_coo else tensor.to_dense()
    tensor = tensor.detach()
    total = tensor.sum().item()
    if cmath.isfinite(total):
        return FINE
    if nan_suffices and cmath.isnan(total):
        return Badness.NAN
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    found = FINE
    if bool(torch.isnan(tensor).any()):
        found |= Badness.NAN
    if bool(torch.isposinf(tensor).any()):
        found |= Badness.POSITIVE
    if bool(torch.isneginf(tensor).any()):
        found |= Badness.NEGATIVE
    return found


def largest(stats: OperandStats) -> float:
    """The largest magnitude of the finite elements."""
    return max(abs(stats.minimum or 0.0), abs(stats.maximum or 0.0))


def statistics_of(tensor: torch.Tensor, name: str, norm: bool = False) -> OperandStats:
    """Shape, dtype, device, range of the finite elements, counts of NaN, infinities and zeros; the `norm` if asked."""
    values = tensor.detach()
    if hasattr(values, "to_local"):
        values = values.to_local()
    values = values.to_dense()
    if values.is_complex():
        values = values.abs()
    floating = values.is_floating_point()
    finite = values[torch.isfinite(values)] if floating else values
    low = high = None
    if finite.numel() and not values.is_meta:
        ordered = finite.float() if finite.dtype in (torch.float16, torch.bfloat16, torch.bool) else finite
        low, high = (float(value) for value in torch.aminmax(ordered))
    return OperandStats(
        name=name,
        shape=tuple(tensor.shape),
        dtype=dtype_name(tensor.dtype),
        device=str(tensor.device),
        minimum=low,
        maximum=high,
        nan=int(torch.isnan(values).sum()) if floating else 0,
        inf=int(torch.isinf(values).sum()) if floating else 0,
        zero=int((values == 0).sum()),
        norm=float(torch.linalg.vector_norm(finite.double())) if norm and not values.is_meta else None,
    )


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


_MOST_COMPARED = 1 << 20  # elements


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether no number of a tensor is known to have a fraction."""
    known = tensor.is_floating_point() and not tensor.is_meta and tensor.numel() <= _MOST_COMPARED
    return not known or bool((tensor == tensor.round()).all())


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    """The tensors inside nested lists, tuples and dictionaries, which may hold themselves."""
    if isinstance(value, torch.Tensor):
        yield value
        return
    opened = [(id(value), _items(value))]
    while opened:
        for item in opened[-1][1]:
            if isinstance(item, torch.Tensor):
                yield item
            elif isinstance(item, _CONTAINERS) and all(id(item) != outer for outer, _ in opened):
                opened.append((id(item), _items(item)))
                break
        else:
            opened.pop()


_CONTAINERS = (list, tuple, dict)


def _items(value: object) -> Iterator[object]:
    if isinstance(value, _CONTAINERS):
        return iter(value.values() if isinstance(value, dict) else value)
    return iter(())


def sum_of(losses: Sequence[torch.Tensor]) -> float:
    """The sum of all elements as a Python number (one synchronisation)."""
    if len(losses) == 1 and losses[0].numel() == 1:
        value = losses[0].item()
    else:
        value = sum(float(loss.detach().float().sum()) for loss in losses)
    return abs(value) if isinstance(value, complex) else float(value)


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
