"""What can be said of any error: the expression, what each of its operands is, and what would make it pass.

Nothing here knows a message. The values are those that the frame holds, and what is advised was tried.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import node_at, value_of
from stablelint.runtime.crash.failed import Failed
from stablelint.runtime.crash.hints import Hints
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.provenance.lineage import lineage
from stablelint.runtime.crash.repairs.failing import Call, failing
from stablelint.runtime.crash.repairs.inner_settings import padded
from stablelint.runtime.crash.repairs.onward import goes_on
from stablelint.runtime.crash.repairs.outer import rearranged
from stablelint.runtime.crash.repairs.search import Repair, repairs
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.location import Location


def tried(scene: Scene) -> tuple[str, ...]:
    """The changes that make the failed call pass, as the program would write them."""
    try:
        call = failing(scene)
        found = _repairs_of(scene, call) if call is not None else []
    except Exception:  # a search that fails must not cost what is known
        return ()
    return tuple(f"{one.text} {_verbs(one)}" for one in found)


def _repairs_of(scene: Scene, call: Call) -> list[Repair]:
    node = node_at(scene.user.site) if scene.user is not None else None
    called = (
        value_of(node.func, scene.user.names)
        if scene.user is not None and isinstance(node, ast.Call)
        else None
    )
    inner = (
        isinstance(call.function, nn.Module) and isinstance(called, nn.Module) and called is not call.function
    )

    def follows(changed: Call, result: Any) -> bool | None:
        if inner:  # it is not what the expression gives
            return None
        pairs = zip(call.values, changed.values, strict=False)
        new = {call.texts.get(id(one), ""): other for one, other in pairs if one is not other}
        return goes_on(scene, result, {text: one for text, one in new.items() if text.isidentifier()})

    return repairs(call, lambda place: named(scene, call, place).owner, follows)


def _verbs(one: Repair) -> str:
    several = " and " in one.text
    gives = f", and {'give' if several else 'gives'} {one.shape}" if one.shape is not None else ""
    return ("pass" if several else "passes") + gives


def advised(scene: Scene) -> tuple[str, ...]:
    """What makes the call pass, or else what the kind of error tells."""
    if scene.user is None:
        return ()
    found = tuple(rearranged(scene)) or tried(scene) or tuple(padded(scene))
    return found or tuple(Hints(scene, node_at(scene.user.site)).advice())


def facts(scene: Scene) -> list[str]:
    """What the operands of the failing expression are that are no tensors."""
    return Failed(scene, node_at(scene.user.site)).facts() if scene.user is not None else []


def operands_of_call(scene: Scene) -> tuple[Operand, ...]:
    """The tensors that the failed call was given, where it fails again."""
    call = failing(scene)
    if call is None:
        return ()
    whole = isinstance(call.function, nn.Module)  # of others only what the program writes is shown
    known = [isinstance(one, torch.Tensor) and (whole or id(one) in call.texts) for one in call.values]
    places = [place for place, is_known in enumerate(known) if is_known]
    return tuple({id(call.values[one]): named(scene, call, one) for one in places}.values())


def named(scene: Scene, call: Call, place: int) -> Operand:
    """The operand at a place of a call."""
    several = "" if sum(isinstance(one, torch.Tensor) for one in call.values) < 2 else f"[{place}]"
    value, text = call.values[place], call.texts.get(id(call.values[place]), f"input{several}")
    if isinstance(value, torch.Tensor):
        return scene.operand(value, text)
    return Operand(text, (), type(value).__name__, "cpu")


def general(scene: Scene) -> Explanation | None:
    """The last word: for errors that nobody else explains."""
    user = scene.user
    if user is None:
        return None
    shown, failed = _shown(scene), Failed(scene, node_at(user.site))
    met = [_met(one) for one in shown if not (one.held and scene.module is not None)]
    layers = shapes_through_layers(scene) if scene.module is not None else ()
    advice = advised(scene)
    told = failed.facts()
    if scene.module is not None and met:
        summary = f"{scene.module_name()} does not take {' and '.join(met)}"
        return Explanation("call", summary, tuple(told), advice, shown, layers)
    summary = "; ".join([*told, *met] or advice)
    if not summary or (not told and not advice and failed.hides(len(met))):
        return None
    made, operation = (*failed.made(), *_lineage(scene, shown)), failed.operation()
    if met and operation:
        summary = f"{operation} fails on {' and '.join(met)}"
        return Explanation("call", summary, tuple(told), advice, shown, layers, other=made)
    return Explanation("call", summary, (), advice if met or told else (), shown, layers, other=made)


def _shown(scene: Scene) -> tuple[Operand, ...]:
    """The operands of what failed, or of the call around it where the program has no names for those."""
    found, call = scene.operands(), failing(scene)
    inner = call is not None and isinstance(call.function, nn.Module) and call.function is not scene.module
    unknown = any(one.name[:1] == "`" for one in found)
    return (operands_of_call(scene) or found) if inner or unknown else found


def _lineage(scene: Scene, shown: tuple[Operand, ...]) -> Iterator[tuple[str, Location]]:
    """Where the widest floating dtype is from, if operands differ in it."""
    floating = sorted({one.dtype for one in shown if one.dtype.startswith(("float", "bfloat"))})
    if len(floating) > 1:
        yield from lineage(scene, next(one for one in shown if one.dtype == floating[-1]))


def _met(one: Operand) -> str:
    device = "" if one.device == "cpu" else f" on {one.device}"
    return f"{one.name} {one.shape} {one.dtype}{device}"
