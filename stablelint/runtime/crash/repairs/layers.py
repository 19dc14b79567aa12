"""Changes of a call: of its tensors, of its layer, or to another function of its kind."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.repairs.edits import Edit, Revision, Setting
from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.remade import is_optional, remade, settings_of, sizes_of
from stablelint.runtime.crash.repairs.tensors import PRODUCTS, SUMS, Change, Name, applied, changes_of_tensors


def through_a_layer(call: Call, name: Name) -> Iterator[Change]:
    """A sum of one operand and another, of which the first goes through a layer that gives it the other's shape."""
    tensors = [(place, one) for place, one in enumerate(call.values) if isinstance(one, torch.Tensor)]
    if call.function not in SUMS or len(tensors) != 2:
        return
    for (place, one), (_, other) in (tensors, tensors[::-1]):
        if one.dim() != other.dim() or one.shape[:1] != other.shape[:1]:
            continue
        for text in _layers(one.shape, other.shape, call.channels_first and one.dim() > 2):
            with torch.random.fork_rng(devices=[]), torch.device(other.device):
                layer = eval(text, {"nn": nn})  # a text of this file
            yield "layer", f"{text} of {name(place)}", call.given(place, layer(one.detach().to(other.dtype)))


def _layers(given: torch.Size, wanted: torch.Size, channels_first: bool) -> Iterator[str]:
    """Layers that give a shape another number of features, or of channels and places."""
    if given[:-1] == wanted[:-1] and len(given) > 1 and not channels_first:
        yield f"nn.Linear({given[-1]}, {wanted[-1]})"
    strides = {-(-one // other) for one, other in zip(given[2:], wanted[2:], strict=True)}
    if 2 < len(given) < 6 and len(strides) == 1:
        stride = strides.pop()
        yield f"nn.Conv{len(given) - 2}d({given[1]}, {wanted[1]}, 1{f', stride={stride}' if stride > 1 else ''})"


def other_settings(call: Call) -> Iterator[Change]:
    """The layer made with another size, of those that its operands have, or with a switch turned."""
    layer = call.function
    if not isinstance(layer, nn.Module):
        return
    tensors = [one for one in call.values if isinstance(one, torch.Tensor)]
    sizes = {size: None for one in tensors for size in reversed(one.shape)}
    if not call.hollow:
        whole = (one for one in tensors if one.dtype == torch.int64 and 0 not in one.stride())
        sizes |= {int(one.max()) + 1: None for one in whole if one.numel()}
    kind, given = f"nn.{type(layer).__name__}", settings_of(layer)
    switch = given.get("batch_first")
    changes: list[dict[str, Any]] = [{"batch_first": not switch}] if isinstance(switch, bool) else []
    for name, value in sizes_of(layer).items():
        taken = value if isinstance(value, tuple) else (value,)
        there = any({*taken} <= {*one.shape[1:]} for one in tensors)
        if not there or isinstance(layer, nn.RNNBase):  # else the size is there, in another place
            changes += [{name: one} for one in sizes if one != value]
    left_out = [name for name in sizes_of(layer) if is_optional(layer, name)]
    changes += [dict.fromkeys(left_out, one) for one in sizes if len(left_out) > 1]
    for changed in changes:
        made = remade(layer, changed)
        if made is not None:
            sort = "switch" if "batch_first" in changed else "setting"
            text = ", ".join(f"{name}={other}" for name, other in changed.items())
            revised = (Setting(id(layer), tuple(changed.items())),)
            yield sort, f"{kind}(…, {text})", replace(call, function=made, revisions=revised)


def other_order(call: Call) -> Iterator[Change]:
    """All layers within told that the batch comes first, or second, where the operands agree on what comes first."""
    inner = list(call.function.modules()) if isinstance(call.function, nn.Module) else []
    told = [one for one in inner if isinstance(getattr(one, "batch_first", None), bool)]
    ahead = [tuple(one.shape[:2]) for one in call.values if isinstance(one, torch.Tensor) and one.dim() > 1]
    wide = [one for one in call.values if isinstance(one, torch.Tensor) and one.dim() == 3]
    first = bool(told) and not told[0].batch_first
    samples = {one.shape[not first] for one in wide}  # if so
    if not told or len(ahead) < 2 or not (len({*ahead}) == 1 or (len(wide) > 1 and len(samples) == 1)):
        return
    assert isinstance(call.function, nn.Module)
    turned = copy.deepcopy(call.function)
    for one in turned.modules():
        if hasattr(one, "batch_first"):
            setattr(one, "batch_first", first)  # noqa: B010
    takers = (type(one) for one in inner if "batch_first" in inspect.signature(type(one)).parameters)
    yield (
        "order",
        f"nn.{next(takers, nn.Module).__name__}(…, batch_first={first})",
        replace(call, function=turned),
    )


def changes(call: Call, name: Name) -> Iterator[Change]:
    """Changes of a call: their kind, how each is written, and the changed call."""
    for place, one in enumerate(call.values):
        for text in ("x.T", "x[:, None]", "x[None]") if type(one).__name__ == "ndarray" else ():
            yield from applied(call, place, one, "view", text, name)
    yield from other_order(call)
    yield from changes_of_tensors(call, name)
    yield from other_settings(call)
    yield from through_a_layer(call, name)
    if (
        call.function in PRODUCTS
        and call.whole is not None
        and len(call.whole[1].args) == 2 == len(call.values)
    ):
        turned = ast.Call(call.whole[1].func, call.whole[1].args[::-1], call.whole[1].keywords)
        edit = Edit.of(call.whole[1], call.whole[0], ast.unparse(turned))
        yield "turned", edit.text, replace(call, values=call.values[::-1], revisions=(edit,))
    yield from _other_subscripts(call)
    for function in _KIN.get(call.function, ()):
        name_of = f"torch.{function.__name__}"
        yield "function", name_of, replace(call, function=function, revisions=_called(call, name_of))


def _other_subscripts(call: Call) -> Iterator[Change]:
    """A sum of products with another letter for a dimension, in one operand."""
    text = call.values[0] if call.function is torch.einsum and call.whole is not None else None
    given, arrow, result = text.partition("->") if isinstance(text, str) else ("", "", "")
    filename, node = call.whole or ("", ast.Call(ast.Name(""), [], []))
    for place, letter in enumerate(given):
        operand = given[given.rfind(",", 0, place) + 1 :].partition(",")[0]
        lost = {one for one in given if given.count(one) == 1 and one not in result + operand}  # summed alone
        for other in sorted(lost - {*",. "}) if letter.isalpha() and arrow else ():
            anew = given[:place] + other + given[place + 1 :] + arrow + result
            edit = Edit.of(node.args[0], filename, repr(anew))
            yield "subscript", f"torch.einsum({anew!r}, …)", replace(call.given(0, anew), revisions=(edit,))


def _called(call: Call, name: str) -> tuple[Revision, ...] | None:
    """The call of another function, as it is written."""
    return None if call.whole is None else (Edit.of(call.whole[1].func, call.whole[0], name),)


_JOINS = (torch.stack, torch.cat)
_KIN: dict[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
    **dict.fromkeys(PRODUCTS, PRODUCTS),
    **dict.fromkeys((*_JOINS, torch.tensor, torch.as_tensor), (*_JOINS, torch.tensor)),
}
