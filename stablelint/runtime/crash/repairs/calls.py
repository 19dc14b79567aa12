"""Changes of a call: its arguments put together otherwise, other numbers, another function of its kind, another layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch

from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.layers import other_order, other_settings, through_a_layer
from stablelint.runtime.crash.repairs.tensors import PRODUCTS, Change, Name, applied, changes_of_tensors


def changes(call: Call, name: Name) -> Iterator[Change]:
    """Changes of a call: their kind, how each is written, and the changed call."""
    tensors = [(place, one) for place, one in enumerate(call.values) if isinstance(one, torch.Tensor)]
    for place, one in enumerate(call.values):
        for text in ("x.T", "x[:, None]", "x[None]") if type(one).__name__ == "ndarray" else ():
            yield from applied(call, place, one, "view", text, name)
    yield from other_order(call)
    yield from changes_of_tensors(call, name)
    yield from other_settings(call)
    yield from through_a_layer(call, name)
    yield from _gathered(call)
    for (place, one), (beside, two) in combinations(tensors, 2):
        if one.dim() and one.numel() and two.numel():
            flat = f"reshape(-1, {one.shape[-1]})"
            changed = call.given(place, one.reshape(-1, one.shape[-1])).given(beside, two.reshape(-1))
            yield "both", f"{name(place)}.{flat} and {name(beside)}.reshape(-1)", changed


def _gathered(call: Call) -> Iterator[Change]:
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


_JOINS = (torch.stack, torch.cat)
_KIN: dict[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
    **dict.fromkeys(PRODUCTS, PRODUCTS),
    **dict.fromkeys((*_JOINS, torch.tensor, torch.as_tensor), (*_JOINS, torch.tensor)),
}


def _parts(value: Any) -> list[tuple[Any, torch.Tensor]]:
    """The tensors of a tuple, such as a recurrent layer gives, or of a dict, with their places."""
    parts = enumerate(value) if type(value) is tuple else value.items() if isinstance(value, dict) else ()
    return [(index, one) for index, one in parts if isinstance(one, torch.Tensor)]
