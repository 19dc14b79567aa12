"""Changes of a call: its arguments put together otherwise, other numbers, another function of its kind, another layer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from stablelint.runtime.crash.repairs.edits import Edit, Revision
from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.layers import other_order, other_settings, through_a_layer
from stablelint.runtime.crash.repairs.tensors import PRODUCTS, Change, Name, applied, changes_of_tensors


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
    for function in _KIN.get(call.function, ()):
        name_of = f"torch.{function.__name__}"
        yield "function", name_of, replace(call, function=function, revisions=_called(call, name_of))


def _called(call: Call, name: str) -> tuple[Revision, ...] | None:
    """The call of another function, as it is written."""
    return None if call.whole is None else (Edit.of(call.whole[1].func, call.whole[0], name),)


_JOINS = (torch.stack, torch.cat)
_KIN: dict[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
    **dict.fromkeys(PRODUCTS, PRODUCTS),
    **dict.fromkeys((*_JOINS, torch.tensor, torch.as_tensor), (*_JOINS, torch.tensor)),
}
