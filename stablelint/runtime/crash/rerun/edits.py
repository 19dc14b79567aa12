"""Edits of an expression by the value that it has, each a way to write it and what it gives then."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from stablelint.runtime.crash.rerun.hooked import METHOD
from stablelint.runtime.tensors.measure import dtype_name
from stablelint.syntax.operations import function as operation

_NEAR = (-1, 1, 2)
_MOST_SIZE = 1 << 16
_MOST_PARTS = 64
_IMAGE = 4  # dimensions of a batch of images
_CASTS = {torch.float32: "float()", torch.int64: "long()", torch.bool: "bool()"}
# What an edit costs by its kind: first those that keep every number where it is, then those that guess one, and last those
# that lose some.
COSTS = {
    "copied": -0.5,  # as it is written, with the numbers in the order that their shape says
    "dimension": -0.3,  # as it is written, along another dimension
    **dict.fromkeys(("cast", "moved", "view", "order", "picked"), 0.0),
    **dict.fromkeys(("part", "joined", "turned"), 1.0),
    "option": 0.8,
    **dict.fromkeys(("switch", "resized", "spread"), 1.4),
    **dict.fromkeys(("size", "number", "setting"), 2.0),
    **dict.fromkeys(("without", "repeated"), 4.0),
    **dict.fromkeys(("value", "cut", "narrowed"), 5.0),
    "graph": 6.0,
}


class Edit(NamedTuple):
    """How an edit is written, `{}` for the expression."""

    kind: str
    text: str

    def apply(self, value: Any) -> Any:
        """What it makes of a value."""
        return eval(self.text.replace("{}", "x"), {"x": value, "torch": torch, "F": F})  # a text of this file


class CallEdit(NamedTuple):
    """How a call is made otherwise: its arguments by position and by name that change, and what is done."""

    kind: str
    changes: tuple[tuple[int | str, str], ...]  # which argument, and its new text; `{}` for the old one
    apply: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
    behind: str = ""  # what is written behind the call


@dataclass(frozen=True)
class Pool:
    """What is known of what failed: the sizes, dtypes and devices of its operands."""

    sizes: tuple[int, ...]
    dtypes: tuple[torch.dtype, ...]
    devices: tuple[torch.device, ...]
    told: tuple[int, ...]  # the numbers of the message
    images: tuple[tuple[int, ...], ...]  # the last two sizes of operands that look like images


def edits_of(value: Any, pool: Pool, written: bool = True, along: bool = False) -> Iterator[Edit]:
    """The edits of an expression with a value, which may be written out, or be the dimension along which is computed."""
    if along and type(value) is int:
        yield from (Edit("dimension", str(one)) for one in (3, 2, 1, 0, -1) if one != value)
    elif type(value) is bool:
        yield Edit("switch", str(not value))
    elif type(value) is int:
        yield from _of_number(value, pool, written)
    elif isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
        for edits in (_of_numbers, _of_dimensions, _of_sizes):
            yield from (
                Edit(kind, f"{{}}{text}" if "{}" not in text else text) for kind, text in edits(value, pool)
            )
    elif isinstance(value, tuple | list):
        yield from _of_several(value)
    elif type(value).__name__ == "ndarray":
        yield Edit("cast", '{}.astype("float32")')
        if value.ndim > 1:
            yield Edit("view", "{}.T")


def _of_number(value: int, pool: Pool, written: bool) -> Iterator[Edit]:
    """Other numbers, the nearest first; where one is computed, something is done to it."""
    sizes = [one for one in pool.sizes if 0 < one < _MOST_SIZE]
    multiples = [value // one * one for one in sizes] + [-(-value // one) * one for one in sizes]
    near = [value + one for one in _NEAR] + [2 * value] + [value // 2] * (value % 2 == 0)
    numbers = {one for one in (*sizes, *near, *multiples) if one != value > 0 and one > 0}
    for one in sorted(numbers, key=lambda other: abs(other - value)):
        kind = "size" if one in sizes else "number"
        if written:
            yield Edit(kind, str(one))
        elif one % value == 0 or value % one == 0:
            yield Edit(kind, f"{{}} * {one // value}" if one > value else f"{{}} // {value // one}")
        else:
            yield Edit(kind, f"{{}} {'+' if one > value else '-'} {abs(one - value)}")


def _of_numbers(value: torch.Tensor, pool: Pool) -> Iterator[tuple[str, str]]:
    """A tensor of another dtype, on another device, without its graph, or of other numbers."""
    for dtype in pool.dtypes if len(pool.dtypes) > 1 else (*pool.dtypes, torch.float32, torch.int64):
        if dtype != value.dtype and not (value.is_complex() and not dtype.is_complex):
            narrows = dtype is torch.int64 or (value.is_floating_point() and not dtype.is_floating_point)
            text = _CASTS.get(dtype, f"to(torch.{dtype_name(dtype)})")
            yield "narrowed" if narrows else "cast", f".{text}"
    if (
        value.is_floating_point()
        and value.numel() <= _MOST_SIZE
        and bool(((value == 0) | (value == 1)).all())
    ):
        yield "cast", ".bool()"  # a mask
    yield from (("moved", f".to('{device}')") for device in pool.devices if device != value.device)
    if value.requires_grad:
        yield "graph", ".detach()"
    if value.dtype in (torch.int64, torch.int32):
        yield from (("value", text) for text in (" // 2", " // 4", " // 8", " - 1"))


def _of_dimensions(value: torch.Tensor, pool: Pool) -> Iterator[tuple[str, str]]:
    """The same numbers in other dimensions, of which the first counts samples."""
    count = value.dim()
    if count == _IMAGE:
        yield from (("view", f".permute({order})") for order in ("0, 3, 1, 2", "0, 2, 3, 1"))
    for one, other in combinations(range(count == _IMAGE, count), 2):
        if value.shape[one] != value.shape[other] or count > 2:
            yield "view" if one else "turned", ".T" if count == 2 else f".transpose({one}, {other})"
    if count > 2:
        yield from (("view", ".flatten(1)"), ("turned", ".flatten(0, 1)"), ("cut", "[:, -1]"))
    for place, size in enumerate(value.shape):
        if size == 1:
            yield "view" if place else "turned", f".squeeze({place})"
    for place in range(count + 1):
        yield "view" if place or count < 2 else "turned", f".unsqueeze({place})"


def _of_sizes(value: torch.Tensor, pool: Pool) -> Iterator[tuple[str, str]]:
    """A tensor with a size of another one: repeated, cut off, or resized as images are."""
    for place, size in enumerate(value.shape):
        for wanted in pool.sizes:
            if place and 1 < size < wanted and wanted % size == 0:
                kind = "repeated" if value.is_floating_point() else "spread"
                yield kind, f".repeat_interleave({wanted // size}, {place})"
            if 1 < wanted < size and value.dtype != torch.int64:
                yield "cut", f"[{':, ' * place}:{wanted}]"
    if value.dim() == _IMAGE and value.is_floating_point():
        others = (one for one in pool.images if one != tuple(value.shape[2:]))
        yield from (("resized", f"F.interpolate({{}}, size={one})") for one in others)


def _of_several(value: Any) -> Iterator[Edit]:
    tensors = [one for one in value if isinstance(one, torch.Tensor)]
    if not tensors or len(value) > _MOST_PARTS:
        return
    if type(value) is tuple:
        yield from (Edit("part", f"{{}}[{place}]") for place in range(min(len(value), 3)))
    if len(tensors) == len(value):
        yield from (Edit("joined", f"torch.{name}({{}})") for name in ("stack", "cat"))
        if any(one.requires_grad for one in tensors):
            yield Edit("graph", "tuple(one.detach() for one in {})")
    elif any(one is None for one in value):
        yield Edit("part", "[one for one in {} if one is not None]")


def edits_of_call(
    function: Any, given: tuple[Any, ...], named: dict[str, Any], pool: Pool
) -> Iterator[CallEdit]:
    """The edits of a call."""
    taken = _settings(function)
    for name, default in taken.items():
        value = named.get(name, default)
        if type(value) is bool:
            yield _naming(name, not value, "switch" if inspect.isclass(function) else "option")
        elif type(value) is int and name not in named:
            more = [value + one for one in (1, 2, 3)] if inspect.isclass(function) else pool.told
            yield from (_naming(name, one, "setting") for one in more if one != value)
    if isinstance(function, types.BuiltinFunctionType) and "dim" not in named:
        most = max((one.dim() for one in _tensors((getattr(function, "__self__", None), *given))), default=0)
        known = operation(f"torch.{function.__name__}")
        dims = range(most) if known is not None and "dim" in known.parameters else ()
        yield from (_naming("dim", dim, "dimension") for dim in reversed(dims))
        if function.__name__ == "transpose" and len(given) == 2:
            pairs = (pair for pair in combinations(range(most), 2) if pair != given)
            yield from (CallEdit("dimension", ((0, str(a)), (1, str(b))), _of_pair(a, b)) for a, b in pairs)
    for one, other in combinations(range(min(len(given), 4)), 2):
        if _kind(given[one]) and _kind(given[other]) and _kind(given[one]) != _kind(given[other]):
            yield CallEdit("order", ((one, f"{{{other}}}"), (other, f"{{{one}}}")), _exchanging(one, other))
    owner = getattr(function, "__self__", None)
    if isinstance(owner, torch.Tensor) and function.__name__ == "view":
        yield CallEdit("copied", ((METHOD, "reshape"),), lambda f, a, k: f.__self__.reshape(*a, **k))
    for place, value in enumerate(given):
        if (
            isinstance(value, torch.Tensor)
            and isinstance(owner, torch.Tensor)
            and value.dim() == owner.dim() - 1
        ):
            dim = next((one for one in given if type(one) is int), value.dim())
            yield CallEdit(
                "picked", ((place, f"{{}}.unsqueeze({dim})"),), _picking(place, dim), f".squeeze({dim})"
            )


class Without(NamedTuple):
    """What a call was asked of, or its only argument, in its place."""

    of_owner: bool
    kind: str = "without"


def without(function: Any, given: tuple[Any, ...], result: Any) -> tuple[Without, torch.Tensor] | None:
    """The edit that leaves out a call, and what is left; None where a tensor is not made of one."""
    owner = getattr(function, "__self__", None)
    of_owner = isinstance(owner, torch.Tensor)
    first = owner if of_owner else given[0] if len(given) == 1 else None
    if not isinstance(first, torch.Tensor) or not isinstance(result, torch.Tensor):
        return None
    return Without(of_owner), first


def _settings(function: Any) -> dict[str, Any]:
    """The arguments of a function with defaults that are switches or numbers."""
    found: dict[str, Any] = {}
    if isinstance(
        getattr(function, "__self__", None), nn.Module
    ):  # whether it trains is no mistake of a shape
        return found
    kinds = function.__mro__[:2] if inspect.isclass(function) else [function]
    for one in kinds:
        try:
            parameters = inspect.signature(one).parameters
        except (TypeError, ValueError):
            continue
        found |= {name: p.default for name, p in parameters.items() if type(p.default) in (bool, int)}
    handed_on = inspect.isclass(function) and issubclass(function, nn.RNNBase)
    return {**found, **({"batch_first": False} if handed_on else {})}


def _naming(name: str, value: Any, kind: str) -> CallEdit:
    return CallEdit(kind, ((name, repr(value)),), lambda f, a, k: f(*a, **{**k, name: value}))


def _of_pair(one: int, other: int) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]:
    return lambda function, given, named: function(one, other)


def _exchanging(one: int, other: int) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]:
    def apply(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        changed = list(given)
        changed[one], changed[other] = given[other], given[one]
        return function(*changed, **named)

    return apply


def _picking(place: int, dim: int) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]:
    def apply(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        changed = (*given[:place], given[place].unsqueeze(dim), *given[place + 1 :])
        return function(*changed, **named).squeeze(dim)

    return apply


def _kind(value: Any) -> Any:
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else None


def _tensors(values: tuple[Any, ...]) -> list[torch.Tensor]:
    flat = [each for one in values for each in (one if isinstance(one, list | tuple) else (one,))]
    return [one for one in flat if isinstance(one, torch.Tensor)]
