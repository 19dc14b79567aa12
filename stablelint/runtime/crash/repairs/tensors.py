"""Changes of one tensor among the operands of a call: its dtype, its shape, its size, its values."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from stablelint.runtime.crash.repairs.failing import Call, X
from stablelint.runtime.tensors.measure import dtype_name, is_whole
from stablelint.syntax.operations import having

Change = tuple[str, str, Call]  # its kind, how it is written, and the changed call
Name = Callable[[int], str]  # what the value at a place is called

_TWICE = re.compile(r"(\.transpose\(\d, \d\))\1")  # there and back
SUMS = (operator.add, operator.iadd, torch.add, torch.Tensor.add)
_JOINS = (torch.cat, torch.concat)
_ONE_NUMBER = ("item", "float", "int")
PRODUCTS = (torch.mm, torch.bmm, torch.mv, torch.dot, torch.matmul, operator.matmul)
_ELEMENTWISE = (
    *SUMS, operator.sub, operator.mul, operator.truediv, operator.isub, operator.imul, operator.itruediv,
    torch.sub, torch.mul, torch.div,
)  # fmt: skip


def is_elementwise(call: Call) -> bool:
    """Whether a call is arithmetic, element by element."""
    return call.function in _ELEMENTWISE


def changes_of_tensors(call: Call, name: Name) -> Iterator[Change]:
    """Changes of one tensor by what it says, and of what is set for it."""
    tensors = [(place, one) for place, one in enumerate(call.values) if isinstance(one, torch.Tensor)]
    for kind, templates in _KINDS.items():
        for place, value in reversed(tensors):
            others = [one for _, one in tensors if one is not value]
            for text in templates(value, others, call):
                yield from applied(call, place, value, kind, text, name)
        if kind == "view":
            yield from _other_dimensions(call)
            yield from _resized(call, name)


def applied(call: Call, place: int, value: Any, kind: str, template: str, name: Name) -> Iterator[Change]:
    """The call with a value that a template makes of the one at a place."""
    is_plain = isinstance(value, torch.Tensor) and not value.requires_grad
    # So that a template which asks for gradients leaves it as it is.
    given = value.detach() if is_plain else value
    try:
        # A template of this file.
        made = eval(template, {"x": given, "torch": torch, "F": torch.nn.functional, **call.placed})
    except Exception:  # whatever torch says of it
        return
    text = name(place)
    if call.is_in_place and place == 0:  # a copy would be written
        if kind == "cast":
            yield (
                "target",
                f"{text} of dtype {dtype_name(made.dtype)}",
                call.given(place, made, template),
            )
    elif " of " in text and template.startswith("x."):  # in words
        yield kind, f"{template[2:]} of {text}", call.given(place, made, template)
    else:
        written = _TWICE.sub("", call.named(X.sub(lambda _: text, template)))
        yield kind, written, call.given(place, made, template)


def _casts(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """Other dtypes, and cuts of the graph."""
    state = call.function.parameters() if isinstance(call.function, nn.Module) else ()
    wanted = {one.dtype: None for one in (*state, *others) if one.dtype != value.dtype}
    if value.requires_grad:
        yield "x.detach()"
    if value.is_complex():
        yield "x.abs()"
        return
    computed = value.requires_grad or call.function in (*_ELEMENTWISE, *PRODUCTS)
    if computed and value.is_floating_point():  # whole numbers would lose what is computed
        yield from (f"x.to(torch.{dtype_name(dtype)})" for dtype in wanted if dtype.is_floating_point)
        return
    mask, whole = _is_mask(value, call), _is_whole(value, call)
    for dtype in sorted(wanted, key=lambda one: not one.is_floating_point):
        if dtype.is_floating_point or (value.dtype != torch.bool and whole):
            yield f"x.{_CASTS.get(dtype, f'to(torch.{dtype_name(dtype)})')}"
    if (
        mask
        and call.function is operator.getitem
        and any(value.shape == one.shape[: value.dim()] for one in others)
    ):
        yield "x.bool()"  # one for each that may be picked
        return
    truths = mask or not (value.is_floating_point() or _is_known(value, call))
    kept = {torch.float32: True, torch.int64: whole, torch.bool: truths}  # without a loss of numbers
    for dtype, text in reversed(_CASTS.items()) if mask else _CASTS.items():
        if (
            kept[dtype]
            and dtype not in wanted
            and dtype != value.dtype
            and (value.dtype, dtype) != (torch.bool, torch.int64)
        ):
            yield f"x.{text}"
    if value.is_floating_point() and not value.requires_grad:
        yield "x.requires_grad_()"


def _is_mask(value: torch.Tensor, call: Call) -> bool:
    """Whether all numbers are 0 and 1, as far as they are known."""
    return _is_known(value, call) and bool(((value == 0) | (value == 1)).all())


def _is_whole(value: torch.Tensor, call: Call) -> bool:
    """Whether no number is known to have a fraction."""
    return not _is_known(value, call) or is_whole(value)


def _is_known(value: torch.Tensor, call: Call) -> bool:
    return not value.is_meta and 0 not in value.stride() and call.small


_CASTS = {torch.float32: "float()", torch.int64: "long()", torch.bool: "bool()"}


def _views(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """The same elements in another shape."""
    count = value.dim()
    if not value.is_contiguous():
        yield "x.contiguous()"
    kernel = getattr(call.function, "kernel_size", None)
    has_all = isinstance(kernel, tuple) and count == len(kernel) + 2  # samples, channels and places
    for start in range(1, count - 1) if not has_all else ():
        yield f"x.flatten({start})"
    for place, size in enumerate(value.shape) if not has_all else ():
        if size == 1 and count > 1:
            yield f"x.squeeze({place if place < count - 1 else -1})"
    if count == 4:
        yield from ("x.permute(0, 3, 1, 2)", "x.permute(0, 2, 3, 1)")
    if count == 2:
        yield "x.T"
    pairs = list(combinations(range(count > 3, count), 2)) if count > 2 else []
    for one, other in sorted(pairs, key=lambda pair: (pair[1] - pair[0], -pair[0])):  # neighbours first
        if count < 4 or other == one + 1:  # of more, one is moved and the others keep their order
            yield f"x.transpose({one}, {other})"
    if count > 4:
        yield "x.movedim(-1, 1)"


def _wider(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """Further dimensions of 1."""
    sizes = sum(type(one) is int for one in call.values)
    least = (
        4 if isinstance(call.function, nn.Module) and not call.is_loss else 0
    )  # layers take images as well
    count, most = value.dim(), max([least, sizes, *(one.dim() for one in others)]) or value.dim() + 1
    if count > 1 and call.function in _ELEMENTWISE and all(one.dim() == count for one in others):
        return
    if is_indexed(call):
        yield from _as_index(value, others)
        return
    for place in range(count + 1 if count else 0):
        yield f"x.unsqueeze({place})"
    if 0 < count < most - 1:
        for places in sorted(combinations(range(most), count), key=lambda one: -one[-1]):
            index = ", ".join(":" if one in places else "None" for one in range(most))
            yield f"x[{index}]"


def is_indexed(call: Call) -> bool:
    """Whether a call takes one entry for each of an index, as gather and scatter do."""
    return getattr(call.function, "__name__", "").removesuffix("_") in having("scatter", "pick")


def _as_index(value: torch.Tensor, others: list[torch.Tensor]) -> Iterator[str]:
    """An index with as many dimensions as another operand, whose sizes it keeps; it has an entry for each of a source."""
    for other in others:
        for places in combinations(range(other.dim()), value.dim()):
            if other.dim() > value.dim() > 0 and all(
                value.shape[i] == other.shape[j] for i, j in enumerate(places)
            ):
                added = [one for one in range(other.dim()) if one not in places]
                view = f"x[{', '.join('None' if one in added else ':' for one in range(other.dim()))}]"
                view = f"x.unsqueeze({added[0]})" if len(added) == 1 else view
                has_source = sum(one.dim() == other.dim() for one in others) > 1
                yield f"{view}.expand({', '.join(map(str, other.shape))})" if has_source else view


def _spread(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """What is joined to a tensor of more dimensions, repeated along those that it lacks."""
    dim = next((one for one in call.values if type(one) is int), 0)
    for other in others if call.function in _JOINS and value.dim() else ():
        own = range(other.dim())
        for kept in combinations(own, value.dim()) if other.dim() > value.dim() else ():
            alike = [value.shape[i] == other.shape[j] or j == dim % len(own) for i, j in enumerate(kept)]
            if all(alike) and dim % len(own) in kept:
                view = ", ".join(":" if one in kept else "None" for one in own)
                sizes = ("-1" if one in kept else call.size_of(other, other.shape[one], one) for one in own)
                yield f"x[{view}].expand({', '.join(sizes)})"


def _reductions(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """Fewer elements by what they say."""
    if value.dim() > 1 and any(one.shape == value.shape for one in others):
        yield "x.argmax(1)"
    if getattr(call.function, "__name__", "") in _ONE_NUMBER and value.numel() > 1:
        yield "x.mean()" if value.is_floating_point() else "x.sum()"


def _masks(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """What is made once for the longest sequence, cut to this one."""
    square = value.dim() > 1 and value.shape[-2] == value.shape[-1] and {*value.shape[:-2]} <= {1}
    before = "..., " if value.dim() > 2 else ""
    for other in (
        others if square and call.function not in PRODUCTS and not isinstance(value, nn.Parameter) else ()
    ):
        last = {size: dim for dim, size in enumerate(other.shape) if dim}
        for wanted in sorted(last, reverse=True):
            if 1 < wanted < value.shape[-1]:
                size = call.size_of(other, wanted, last[wanted])
                yield f"x[{before}:{size}, :{size}]"


def _sizes(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """The size of another operand: cut; those of a loss are not."""
    if call.is_loss or isinstance(call.function, nn.Module) or _is_selected(value, others, call):
        return
    for other in (one for one in others if not isinstance(one, nn.Parameter)):
        # Samples and indices are not cut off.
        table = value.dim() < other.dim() and value.dtype != torch.int64
        first = 0 if table or call.function is operator.getitem else 1
        for place in range(first, value.dim() if call.function not in PRODUCTS else 0):
            for wanted in sorted({*other.shape}, reverse=True):
                if 1 < wanted < value.shape[place]:
                    yield f"x[{':, ' * place}:{call.size_of(other, wanted)}]"


def _is_selected(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> bool:
    """Whether a mask selects of a tensor, which is not made to fit the mask."""
    masked = any(one.dtype == torch.bool for one in others)
    return call.function is operator.getitem and value.dtype != torch.bool and masked


_KINDS: dict[str, Callable[[torch.Tensor, list[torch.Tensor], Call], Iterator[str]]] = {
    "cast": _casts,
    "reduction": _reductions,
    "view": _views,
    "wider": _wider,
    "joined": _spread,
    "mask": _masks,
    "size": _sizes,
}


def _resized(call: Call, name: Name) -> Iterator[Change]:
    """An image as large as one that it meets; of those of a loss the scores, beside the labels of their places."""
    images = [(i, one) for i, one in enumerate(call.values) if getattr(one, "ndim", 0) in (3, 4)]
    for (place, one), (beside, two) in permutations(images, 2):
        fits = two.ndim == 4 - call.is_loss and one.ndim == 4 and one.is_floating_point()
        if fits and one.shape[2:] != two.shape[-2:] and one.shape[2:].numel() < two.shape[-2:].numel():
            text = f"F.interpolate({name(place)}, size={name(beside)}.shape[-2:])"
            kind = "joined" if call.function in _JOINS else "size"
            size = call.texts.get(id(two), "") and f"{call.texts[id(two)]}.shape[-2:]"
            template = f"F.interpolate(x, size={size or tuple(two.shape[-2:])})"
            larger = functional.interpolate(one, size=two.shape[-2:])
            yield kind, text, call.given(place, larger, template)


def _other_dimensions(call: Call) -> Iterator[Change]:
    """Another `dim`, where one is taken."""
    most = max((one.dim() for one in call.values if isinstance(one, torch.Tensor)), default=0)
    if "dim" not in call.arguments[1] and not isinstance(call.function, nn.Module):
        for dim in range(most):
            yield "dimension", f"dim={dim}", call.naming("dim", dim)
