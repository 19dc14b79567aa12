"""What would make a failed call pass: small changes of its arguments, each tried by making the call with it.

Nothing is said that did not pass. Of several, those come first whose result looks most like what was meant: as large as
an operand, by views before casts of sizes, by what stands in the call before what was set elsewhere.
"""

from __future__ import annotations

import copy
import inspect
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from time import monotonic
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.failing import Call
from stablelint.runtime.tensors.measure import dtype_name, tensors_in

_MOST_TRIED = 600
_SECONDS = 5.0
_TOLD = 3
_MOST_GROWN = 4  # times the elements of all operands that a result may have

Name = Callable[[int], str]
GoesOn = Callable[[Call, Any], bool | None]  # of a changed call and its result


@dataclass(frozen=True, slots=True)
class Repair:
    """A change with which the call passes, as it would be written, and the shape that comes of it."""

    text: str
    shape: tuple[int, ...] | None


def repairs(call: Call, name: Name, goes_on: GoesOn) -> list[Repair]:
    """The changes that make a call pass, the likeliest first.

    `name` is what the value at a place is called, `goes_on` whether what follows takes a result.
    """
    until = monotonic() + _SECONDS
    search = _Search(call, until, goes_on)
    search.through(islice(_changes(call, name), _MOST_TRIED))
    if all(kind == "shape" for _, kind, _ in search.found):
        twice = _Search(call, until, goes_on)
        twice.through(_second(call, name, search.other_errors))
        return twice.best()[:1] or search.best()
    return search.best()


@dataclass
class _Search:
    """What passed of the changes of a call that were tried."""

    call: Call
    until: float
    goes_on: GoesOn
    found: list[tuple[int, str, Repair]] = field(default_factory=list)  # with rank and kind
    stuck: list[tuple[int, str, Repair]] = field(
        default_factory=list
    )  # whose results what follows does not take
    other_errors: list[tuple[str, str, Call]] = field(default_factory=list)  # changes that fail otherwise

    def through(self, changes: Iterable[tuple[str, str, Call]]) -> None:
        """Try changes, as long as there is time."""
        error = _failure(self.call)
        for kind, text, changed in changes:
            if monotonic() > self.until:
                break
            same = sum(other == kind for _, other, _ in self.found)
            is_last = _weight(kind).last and any(not _weight(other).last for _, other, _ in self.found)
            if same >= _weight(kind).most or is_last:
                continue
            try:
                self._keep(kind, text, changed)
            except Exception as other:  # whatever torch says: then it does not pass
                if _weight(kind).joins and (
                    _worded(other) != error or _of_one_rank(changed) > _of_one_rank(self.call)
                ):
                    self.other_errors.append((kind, text, changed))

    def _keep(self, kind: str, text: str, changed: Call) -> None:
        """Keep a change that passes. Raises whatever the call raises."""
        result = changed.result()
        shape, told = _shape(changed.unreduced().result()), _shape(result)
        if changed.small:  # kernels ask for more than what is known of shapes
            replace(changed, hollow=False).result()
        if kind == "mean" and shape is not None:
            return
        operands = [tuple(one.shape) for one in self.call.values if hasattr(one, "shape")]
        largest, size = max(map(math.prod, operands), default=1), math.prod(shape or ())
        fixed = _weight(kind).rank
        rank = 0 if told == () or shape in operands else 1 if size <= largest else 2
        rank = rank if fixed is None else fixed
        grown = size > _MOST_GROWN * max(1, sum(map(math.prod, operands))) and not isinstance(
            self.call.function, nn.Module
        )
        if (grown and not _weight(kind).grows) or (kind == "wider" and _is_beaten(rank, self.found)):
            return
        kept = self.stuck if self.goes_on(changed, result) is False else self.found
        if kind == "setting" or all(shape != _.shape or other != kind for _2, other, _ in kept):
            kept.append((rank, kind, Repair(text, told)))

    def best(self) -> list[Repair]:
        """The likeliest first."""
        if not self.found:
            plain = [one for one in self.stuck if not _weight(one[1]).last]
            self.found = plain or self.stuck
        kinds = {kind for _, kind, _ in self.found}
        best = min((rank for rank, _, _ in self.found), default=0)
        samples = next((one.shape[:1] for one in self.call.values if isinstance(one, torch.Tensor)), None)
        views = [one.shape for _, kind, one in self.found if kind in ("view", "wider")]
        kept = [shape for shape in views if shape is not None]
        beaten = {"view", "wider"} if "order" in kinds else set()
        beaten |= {"setting"} if any(shape[:1] == samples for shape in kept) else set()
        likely = [
            (rank, one)
            for rank, kind, one in self.found
            if kind not in beaten and (kind != "wider" or rank <= best)
        ]
        return [one for _, one in sorted(likely, key=lambda one: one[0])][:_TOLD]


def _of_one_rank(call: Call) -> bool:
    return len({one.dim() for one in call.values if isinstance(one, torch.Tensor)}) == 1


def _failure(call: Call) -> str:
    try:
        call.result()
    except Exception as error:
        return _worded(error)
    return ""


def _worded(error: Exception) -> str:
    """The kind of an error and its message without numbers."""
    return type(error).__name__ + re.sub(r"[\d\W]+", " ", str(error))


def _second(call: Call, name: Name, firsts: list[tuple[str, str, Call]]) -> Iterator[tuple[str, str, Call]]:
    """Further changes of calls that fail in another way since a first change."""
    for kind, first, begun in firsts:
        changed = {i for i, one in enumerate(begun.values) if one is not call.values[i]}

        def named(place: int, changed: set[int] = changed, first: str = first) -> str:
            return first if place in changed else name(place)

        for other, second, whole in _changes_of_tensors(begun, named):
            if _weight(other).joins and second.startswith(first):
                yield kind, second, whole
            elif "cast" in (kind, other) or (kind, other) == ("wider", "size"):
                yield kind, f"{first} and {second}", whole


def _shape(result: Any) -> tuple[int, ...] | None:
    if type(result).__name__ == "ndarray":
        return tuple(result.shape)
    return next((tuple(one.shape) for one in tensors_in(result)), None)


def _is_beaten(rank: int, found: list[tuple[int, str, Repair]]) -> bool:
    """Whether a view without a further dimension does as well."""
    return any(other == "view" and best <= rank for best, other, _ in found)


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the changes of a kind are weighed."""

    most: int = 2  # that are told
    rank: int | None = None  # of all of them, in place of what their result says: the smallest comes first
    grows: bool = False  # results may be much larger
    last: bool = False  # told where no other kind has passed
    joins: bool = False  # tried together with another change


_PLAIN = _Kind()
_WEIGHED = {
    **dict.fromkeys(("cast", "view", "wider"), _Kind(joins=True)),
    "order": _Kind(rank=-1, grows=True),
    "setting": _Kind(rank=3, grows=True),
    "repeated": _Kind(grows=True),
    **dict.fromkeys(("number", "dimension"), _Kind(most=1)),
    **dict.fromkeys(("size", "shape"), _Kind(most=1, last=True)),
    **dict.fromkeys(("both", "value", "mean", "function", "layer"), _Kind(last=True)),
}


def _weight(kind: str) -> _Kind:
    return _WEIGHED.get(kind, _PLAIN)


_X = re.compile(r"\bx\b")  # in a template: the value that is changed


def _changes(call: Call, name: Name) -> Iterator[tuple[str, str, Call]]:
    """Changes of a call: their kind, how each is written, and the changed call."""
    tensors = [(place, one) for place, one in enumerate(call.values) if isinstance(one, torch.Tensor)]
    for place, one in enumerate(call.values):
        for text in ("x.T", "x[:, None]", "x[None]") if type(one).__name__ == "ndarray" else ():
            yield from _changed(call, place, one, "view", text, name)
    yield from _other_order(call)
    yield from _changes_of_tensors(call, name)
    yield from _other_settings(call)
    yield from _through_a_layer(call, name)
    yield from _gathered(call)
    yield from _repeated(call, name)
    yield from _other_numbers(call)
    for (place, one), (beside, two) in combinations(tensors, 2):
        if one.dim() and one.numel() and two.numel():
            flat = f"reshape(-1, {one.shape[-1]})"
            changed = call.given(place, one.reshape(-1, one.shape[-1])).given(beside, two.reshape(-1))
            yield "both", f"{name(place)}.{flat} and {name(beside)}.reshape(-1)", changed


def _changes_of_tensors(call: Call, name: Name) -> Iterator[tuple[str, str, Call]]:
    """Changes of one tensor by what it says, and of what is set for it."""
    tensors = [(place, one) for place, one in enumerate(call.values) if isinstance(one, torch.Tensor)]
    for kind, templates in _KINDS.items():
        for place, value in reversed(tensors):
            others = [one for _, one in tensors if one is not value]
            for text in templates(value, others, call):
                yield from _changed(call, place, value, kind, text, name)
        if kind == "view":
            yield from _other_dimensions(call)
        if kind == "cast":
            yield from _made(call, name)


def _changed(
    call: Call, place: int, value: Any, kind: str, template: str, name: Name
) -> Iterator[tuple[str, str, Call]]:
    """The call with a value that a template makes of the one at a place."""
    try:
        made = eval(
            template, {"x": value, "torch": torch, "F": torch.nn.functional}
        )  # a template of this file
    except Exception:  # whatever torch says of it
        return
    text = name(place)
    if kind == "shape":
        yield kind, f"{text} of shape {tuple(made.shape)}", call.given(place, made)
    elif " of " in text and template.startswith("x."):  # in words
        yield kind, f"{template[2:]} of {text}", call.given(place, made)
    else:
        yield kind, _X.sub(lambda _: text, template), call.given(place, made)


def _casts(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """Other dtypes, and cuts of the graph."""
    state = call.function.parameters() if isinstance(call.function, nn.Module) else ()
    wanted = {one.dtype: None for one in (*state, *others) if one.dtype != value.dtype}
    if value.requires_grad:
        yield "x.detach()"
    if value.is_complex():
        yield "x.abs()"
        return
    for dtype in sorted(wanted, key=lambda one: not one.is_floating_point):
        if value.dtype != torch.bool or dtype.is_floating_point:
            yield f"x.{_CASTS.get(dtype, f'to(torch.{dtype_name(dtype)})')}"
    for dtype, text in _CASTS.items():
        if dtype not in wanted and dtype != value.dtype and (value.dtype, dtype) != (torch.bool, torch.int64):
            yield f"x.{text}"
    if value.is_floating_point() and not value.requires_grad:
        yield "x.requires_grad_()"


_CASTS = {torch.float32: "float()", torch.int64: "long()", torch.bool: "bool()"}


def _views(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """The same elements in another shape."""
    count = value.dim()
    if not value.is_contiguous():
        yield "x.contiguous()"
    for start in range(1, count - 1):
        yield f"x.flatten({start})"
    for place, size in enumerate(value.shape):
        if size == 1 and count > 1:
            yield f"x.squeeze({place})"
    if count == 4:
        yield "x.permute(0, 3, 1, 2)"
    if count == 2:
        yield "x.T"
    for one, other in reversed(list(combinations(range(count > 3, count), 2)) if count > 2 else []):
        if count < 4 or other == one + 1:  # of more, one is moved and the others keep their order
            yield f"x.transpose({one}, {other})"
    if count > 4:
        yield "x.movedim(-1, 1)"


def _wider(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """Further dimensions of 1."""
    count, most = value.dim(), max([4, *(one.dim() for one in others)])
    if count > 1 and call.function in _ELEMENTWISE and all(one.dim() == count for one in others):
        return
    for place in range(count + 1 if count else 0):
        yield f"x.unsqueeze({place})"
    if 0 < count < most - 1:
        for places in sorted(combinations(range(most), count), key=lambda one: -one[-1]):
            index = ", ".join(":" if one in places else "None" for one in range(most))
            yield f"x[{index}]"


def _reductions(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """Fewer elements by what they say."""
    if value.dim() > 1 and any(one.shape == value.shape for one in others):
        yield "x.argmax(1)"


def _sizes(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """The size of another operand: cut, or resized as an image; those of a loss are neither."""
    if call.unreduced() is not call:
        return
    for other in others:
        images = value.dim() == other.dim() == 4
        if images and value.shape[2:] != other.shape[2:] and value[0, 0].numel() < other[0, 0].numel():
            yield f"F.interpolate(x, size={list(other.shape[2:])})"
        first = (
            0 if value.dim() < other.dim() or call.function is operator.getitem else 1
        )  # samples are not cut off
        for place in range(first, value.dim() if call.function not in _PRODUCTS else 0):
            for wanted in sorted({*other.shape}, reverse=True):
                if 1 < wanted < value.shape[place]:
                    square = value.dim() == 2 and value.shape[0] == value.shape[1]
                    yield f"x[:{wanted}, :{wanted}]" if square else f"x[{':, ' * place}:{wanted}]"


def _shapes(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """An operand that was made in another size."""
    for place, size in enumerate(value.shape):
        for wanted in dict.fromkeys(one for other in others for one in other.shape if one not in (1, size)):
            yield f"x.new_zeros({(*value.shape[:place], wanted, *value.shape[place + 1 :])})"


def _means(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """One number of several."""
    if value.numel() > 1 and len(call.values) == 1 and value.is_floating_point():
        yield "x.mean()"


def _values(value: torch.Tensor, others: list[torch.Tensor], call: Call) -> Iterator[str]:
    """Numbers that begin elsewhere."""
    if not call.hollow and value.dtype == torch.int64 and value.numel() and int(value.min()) == 1:
        yield "x - 1"
    if not call.hollow and value.is_floating_point() and not bool(value.isnan().any()):
        yield from ("x.softmax(-1)", "x.sigmoid()")


_KINDS: dict[str, Callable[[torch.Tensor, list[torch.Tensor], Call], Iterator[str]]] = {
    "cast": _casts,
    "reduction": _reductions,
    "view": _views,
    "wider": _wider,
    "value": _values,
    "size": _sizes,
    "shape": _shapes,
    "mean": _means,
}


def _through_a_layer(call: Call, name: Name) -> Iterator[tuple[str, str, Call]]:
    """A sum of one operand and another, of which the first goes through a layer that gives it the other's shape."""
    tensors = [(place, one) for place, one in enumerate(call.values) if isinstance(one, torch.Tensor)]
    if call.function not in _SUMS or len(tensors) != 2:
        return
    for (place, one), (_, other) in (tensors, tensors[::-1]):
        if one.dim() != other.dim() or one.shape[:1] != other.shape[:1]:
            continue
        for text in _layers(one.shape, other.shape):
            with torch.random.fork_rng(devices=[]), torch.device(other.device):
                layer = eval(text, {"nn": nn})  # a text of this file
            yield "layer", f"{text} of {name(place)}", call.given(place, layer(one.detach().to(other.dtype)))


def _layers(given: torch.Size, wanted: torch.Size) -> Iterator[str]:
    """Layers that give a shape another number of features, or of channels and places."""
    if given[:-1] == wanted[:-1] and len(given) > 1:
        yield f"nn.Linear({given[-1]}, {wanted[-1]})"
    strides = {-(-one // other) for one, other in zip(given[2:], wanted[2:], strict=True)}
    if 2 < len(given) < 6 and len(strides) == 1:
        stride = strides.pop()
        yield f"nn.Conv{len(given) - 2}d({given[1]}, {wanted[1]}, 1{f', stride={stride}' if stride > 1 else ''})"


def _made(call: Call, name: Name) -> Iterator[tuple[str, str, Call]]:
    """A tensor in place of a number or of None, and numbers in place of floats."""
    for place, value in enumerate(call.values):
        if isinstance(value, float) and value.is_integer():
            yield "number", f"{int(value)} in place of {value}", call.given(place, int(value))
        if isinstance(value, bool | int | float):
            yield "made", f"torch.tensor({name(place)})", call.given(place, torch.tensor(value))


def _gathered(call: Call) -> Iterator[tuple[str, str, Call]]:
    """A list in place of single arguments, single arguments or one in place of a list, and another function of its kind."""
    given, named = call.arguments
    for place, value in enumerate(given[: len(call.written)]):
        if isinstance(value, list | tuple):
            text, rest = call.written[place], given[place + 1 :]
            yield "unpacked", f"*{text} in its place", call.with_arguments([*given[:place], *value, *rest])
        if isinstance(value, list) and any(one is None for one in value):
            text = f"[one for one in {call.written[place]} if one is not None] in its place"
            kept = [one for one in value if one is not None]
            yield "unpacked", text, call.with_arguments([*given[:place], kept, *given[place + 1 :]])
        for index, one in _parts(value):
            text = f"{call.written[place]}[{index!r}] in its place"
            yield "part", text, call.with_arguments([*given[:place], one, *given[place + 1 :]])
    for key, value in named.items():
        yield from (
            ("part", f"{key}[{index}] in its place", call.naming(key, one)) for index, one in _parts(value)
        )
    if len(call.written) > 1:
        yield "list", f"[{', '.join(call.written)}], one list,", call.with_arguments([list(given)])
    for function in _KIN.get(call.function, ()):
        yield "function", f"torch.{function.__name__}", replace(call, function=function)


_SUMS = (operator.add, torch.add, torch.Tensor.add)
_ELEMENTWISE = (*_SUMS, operator.sub, operator.mul, operator.truediv, torch.sub, torch.mul, torch.div)
_PRODUCTS = (torch.mm, torch.bmm, torch.mv, torch.dot, torch.matmul, operator.matmul)
_JOINS = (torch.stack, torch.cat)
_KIN: dict[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
    **dict.fromkeys(_PRODUCTS, _PRODUCTS),
    **dict.fromkeys((*_JOINS, torch.tensor, torch.as_tensor), _JOINS),
}


def _parts(value: Any) -> list[tuple[Any, torch.Tensor]]:
    """The tensors of a tuple, such as a recurrent layer gives, or of a dict, with their places."""
    parts = enumerate(value) if isinstance(value, tuple) else value.items() if isinstance(value, dict) else ()
    return [(index, one) for index, one in parts if isinstance(one, torch.Tensor)]


def _repeated(call: Call, name: Name) -> Iterator[tuple[str, str, Call]]:
    """A tensor with a dimension of 1 put in, or further sizes, where a method takes a size for each dimension."""
    (tensor, *sizes), _ = call.arguments if call.arguments[0] else ((None,), {})
    if not isinstance(tensor, torch.Tensor) or not sizes or any(type(one) is not int for one in sizes):
        return
    missing, method = [1] * (tensor.dim() - len(sizes)), call.function.__name__
    for wanted in ([*missing, *sizes], [*sizes, *missing]) if missing else ():
        written = ", ".join(map(str, wanted))
        yield "repeated", f"{name(0)}.{method}({written})", call.with_arguments([tensor, *wanted])
    for place in range(tensor.dim()):
        wanted = [-1] * tensor.dim()
        wanted.insert(place, sizes[place] if place < len(sizes) else -1)
        text = f"{name(0)}.unsqueeze({place}).{method}({', '.join(map(str, wanted))})"
        yield "repeated", text, call.with_arguments([tensor.unsqueeze(place), *wanted])


def _other_dimensions(call: Call) -> Iterator[tuple[str, str, Call]]:
    """Another `dim`, where one is taken."""
    most = max((one.dim() for one in call.values if isinstance(one, torch.Tensor)), default=0)
    if "dim" not in call.arguments[1] and not isinstance(call.function, nn.Module):
        for dim in range(most):
            yield "dimension", f"dim={dim}", call.naming("dim", dim)


def _other_numbers(call: Call) -> Iterator[tuple[str, str, Call]]:
    """Another integer among the arguments: one that the rest leaves open, or the nearest that passes."""
    sizes = {size for one in call.values if isinstance(one, torch.Tensor) for size in one.shape}
    if call.function is operator.getitem:
        return
    for place, value in enumerate(call.values):
        if type(value) is int:
            given = next((f"{key}=" for key, one in call.arguments[1].items() if one is value), "")
            near = sorted(
                {*range(-4, 5), *sizes, *range(value - 4, value + 5)}, key=lambda one: abs(one - value)
            )
            open_size = (-1,) if sizes else ()
            for other in (*open_size, *(one for one in near if one not in (value, *open_size))):
                yield "number", f"{given}{other} in place of {value}", call.given(place, other)


def _other_settings(call: Call) -> Iterator[tuple[str, str, Call]]:
    """The layer made with another size, of those that its operands have, or with a switch turned."""
    layer = call.function
    if not isinstance(layer, nn.Module):
        return
    own = inspect.signature(type(layer)).parameters
    handed_on = inspect.signature(type(layer).__mro__[1]).parameters if "kwargs" in own else {}
    given = {name: _setting(layer, name) for name in (*own, *handed_on)}
    given = {
        name: value
        for name, value in given.items()
        if value is not inspect.Parameter.empty and (name in own or type(value) is not str)
    }
    tensors = [one for one in call.values if isinstance(one, torch.Tensor)]
    made_of = {size for one in layer.state_dict().values() for size in one.shape}
    sizes = {
        size: None for one in call.values if isinstance(one, torch.Tensor) for size in reversed(one.shape)
    }
    if not call.hollow:
        whole = (one for one in call.values if isinstance(one, torch.Tensor) and one.dtype == torch.int64)
        sizes |= {int(one.max()) + 1: None for one in whole if one.numel()}
    kind = f"nn.{type(layer).__name__}"
    for name, value in given.items():
        if type(value) is bool and name == "batch_first":
            others: list[Any] = [not value]
        elif (type(value) is int and (value in made_of or not made_of)) or (
            isinstance(value, tuple) and name == "normalized_shape"
        ):
            others = [one for one in sizes if one != value]
        else:
            continue
        if type(value) is int and any(value in one.shape[1:] for one in tensors):
            continue  # the size is there, in another place
        for other in others:
            try:
                with torch.random.fork_rng():
                    made = type(layer)(**{**given, name: other}).train(layer.training)
                    made = made.to(next(layer.parameters(), torch.empty(0)).dtype)
            except Exception:  # whatever it says of such a setting
                continue
            yield "setting", f"{kind}(…, {name}={other})", replace(call, function=made)


def _other_order(call: Call) -> Iterator[tuple[str, str, Call]]:
    """All layers within told that the batch comes first, or second, where the operands agree on what comes first."""
    inner = list(call.function.modules()) if isinstance(call.function, nn.Module) else []
    told = [one for one in inner if isinstance(getattr(one, "batch_first", None), bool)]
    ahead = [tuple(one.shape[:2]) for one in call.values if isinstance(one, torch.Tensor) and one.dim() > 1]
    if not told or len(ahead) < 2 or len(set(ahead)) > 1:
        return
    assert isinstance(call.function, nn.Module)
    turned, first = copy.deepcopy(call.function), not told[0].batch_first
    for one in turned.modules():
        if hasattr(one, "batch_first"):
            setattr(one, "batch_first", first)  # noqa: B010
    takers = (type(one) for one in inner if "batch_first" in inspect.signature(type(one)).parameters)
    yield (
        "order",
        f"nn.{next(takers, nn.Module).__name__}(…, batch_first={first})",
        replace(call, function=turned),
    )


def _setting(layer: nn.Module, name: str) -> Any:
    """What a layer was made with under a name; empty where it does not keep it."""
    value = getattr(layer, name, inspect.Parameter.empty)
    if name == "bias":
        return value is not None and value is not False
    return inspect.Parameter.empty if isinstance(value, torch.Tensor | nn.Module) else value
