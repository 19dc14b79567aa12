"""What can be said of any error: the expression, what each of its operands is, and what would make it pass.

Nothing here knows a message. The values are those that the frame holds, and what is advised was tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.utils.data import TensorDataset

from stablelint.runtime.crash.described import described
from stablelint.runtime.crash.explanation import Advice, Explanation, Operand
from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.failed import Failed
from stablelint.runtime.crash.hints import Hints
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.repairs.failing import Call, failing
from stablelint.runtime.crash.repairs.search import Repair, repairs
from stablelint.runtime.crash.rerun.rank import tried as run_again
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.location import Location


def tried(scene: Scene) -> list[Repair]:
    """The changes that make the failed call pass alone, as the program would write them."""
    try:
        call = failing(scene)
        if call is None or call.function is TensorDataset:  # samples are neither cut nor turned
            return []
        return repairs(call, cache(lambda place: named(scene, call, place).owner))
    except Exception:  # a search that fails must not cost what is known
        return []


def advised(scene: Scene) -> Advice:
    """What the program gets past what failed with, or the call that failed alone; or else what the kind of error tells."""
    if scene.user is None:
        return Advice(())
    if (again := run_again(scene)).texts:
        return again
    texts = tuple(one.told for one in tried(scene))
    return Advice(texts or tuple(Hints(scene, node_at(scene.user.site)).advice()))


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
    shown, failed, advice = _shown(scene), Failed(scene, node_at(user.site)), advised(scene)
    met = [_met(one) for one in shown if not (one.held and scene.module is not None)]
    layers = shapes_through_layers(scene) if scene.module is not None else ()
    told, operation = failed.facts(), failed.operation()
    given = next((one for one in _arguments(scene) if not isinstance(one, torch.Tensor)), None)
    if scene.module is not None and given is not None and "must be Tensor" in scene.message:
        summary = f"{scene.module_name()} takes a tensor, and is given {described(given)}"
        return advice.onto(Explanation("call", summary, tuple(told), (), (), layers))
    if scene.module is not None and met:
        summary = f"{scene.module_name()} does not take {' and '.join(met)}"
        return advice.onto(Explanation("call", summary, tuple(told), (), shown, layers))
    summary = "; ".join([*told, *met] or advice.texts)
    if not summary or (not told and not advice.texts and failed.hides(len(met))):
        return None
    made = (*failed.made(), *_lineage(scene, shown))
    if met and operation:
        summary, because = f"{operation} fails on {' and '.join(met)}", tuple(told)
        return advice.onto(Explanation("call", summary, because, (), shown, layers, other=made))
    advice = advice if met or told else Advice(())
    return advice.onto(Explanation("call", summary, (), (), shown, layers, other=made))


def _arguments(scene: Scene) -> tuple[Any, ...]:
    """What the module that failed was given."""
    frames = (one.frame.f_locals for one in scene.frames if one.site.code.co_name == "_call_impl")
    return next((one["args"] for one in frames if one.get("self") is scene.module), ())


def _shown(scene: Scene) -> tuple[Operand, ...]:
    """The operands of what failed, or of the call around it where the program has no names for those."""
    found, call = scene.operands(), failing(scene)
    inner = call is not None and isinstance(call.function, nn.Module) and call.function is not scene.module
    unknown = any(one.name[:1] == "`" for one in found) or (call is not None and call.is_written)
    return (operands_of_call(scene) or found) if inner or unknown else found


def _lineage(scene: Scene, shown: tuple[Operand, ...]) -> Iterator[tuple[str, Location]]:
    """Where the widest floating dtype is from, if operands differ in it."""
    floating = sorted({one.dtype for one in shown if one.dtype.startswith(("float", "bfloat"))})
    if len(floating) > 1:
        yield from same_dtype(scene, next(one for one in shown if one.dtype == floating[-1]))


def same_dtype(scene: Scene, one: Operand) -> Iterator[tuple[str, Location]]:
    """What an operand was made of that has its dtype as well."""
    for name, at in scene.origins.of_dtype(one.name, getattr(torch, one.dtype), one.made_at):
        yield f"{name}, of which it was made, is {one.dtype} as well", at


def _met(one: Operand) -> str:
    device = "" if one.device == "cpu" else f" on {one.device}"
    return f"{one.name} {one.shape} {one.dtype}{device}"
