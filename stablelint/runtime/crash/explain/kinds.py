"""Dtypes and devices that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch

from stablelint.runtime.crash.explainers import Loss, explains, explains_loss
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.scene import Scene

_SHOWN = 4
_DTYPES = (
    r"must have the same dtype|to have the same dtype|should be the same|expected scalar type|"
    r"Found dtype \w+ but expected|to have one of the following scalar types"
)


@explains_loss(
    r"expected target dtype to be Long or Byte|expected scalar type Long but found|"
    r"Expected floating point type for target with class probabilities",
    "cross_entropy",
    "nll_loss",
)
def class_labels(loss: Loss, _: re.Match[str]) -> Explanation:
    """Labels of a classification that are no class numbers."""
    given, target, labels = loss.given, loss.target, loss.labels
    values = target.detach().flatten()
    whole = bool((values == values.round()).all())
    summary = f"cross entropy takes class numbers of dtype int64, and {labels.name} is {labels.dtype}"
    if given.shape == target.shape and not target.is_floating_point():
        shape = f"{labels.name} has the shape of the scores, {labels.shape}"
        summary = f"{shape}, and is {labels.dtype}: cross entropy takes probabilities in that shape"
    quantities = [] if whole else ["a loss of differences, if these are quantities"]
    return loss.explained("dtype", summary, *quantities)


@explains(_DTYPES)
def dtypes(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Operands of different dtypes."""
    operands = scene.operands()
    if not operands:
        return None
    kinds = list(dict.fromkeys(one.dtype for one in operands))
    advice: list[str] = []
    because: tuple[str, ...] = ()
    if (frame := scene.called("embedding")) is not None:
        indices = scene.operand(frame.frame.f_locals["input"], "input")
        summary = f"an embedding takes indices, and {indices.name} is {indices.dtype}"
        advice.append(f"{indices.owner}.long(), if these are indices; nn.Linear, if they are quantities")
    elif len(kinds) < 2:
        return None
    else:
        first, other = operands[0], next(one for one in operands if one.dtype != operands[0].dtype)
        summary = f"{first.name} is {first.dtype}, {other.name} is {other.dtype}"
        if "float64" in kinds:
            because = ("NumPy arrays are float64 unless they are told otherwise",)
    return Explanation("dtype", summary, because, tuple(advice), operands, shapes_through_layers(scene))


@explains(
    r"Expected all tensors to be on the same device|is not on the expected device|should be the same or input should be"
)
def devices(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Operands on different devices."""
    operands = scene.operands()
    places = {one.device for one in operands}
    if len(places) < 2:
        return None
    weight = next((one for one in operands if one.held), None)
    home = (
        weight.device if weight is not None else next((one for one in sorted(places) if one != "cpu"), "cpu")
    )
    strays = [one for one in operands if one.device != home]
    empty = next((one for one in operands if one.device == "meta"), None)
    concerned = [one for one in operands if weight is None or one in strays or one is weight]
    summary = ", ".join(f"{one.name} is on {one.device}" for one in concerned)
    if empty is not None:
        fill = "model.to_empty(device=…), and load a state into it" if empty.held else "make it on a device"
        because = (f"{empty.name} has a shape and no numbers", *_hollow(scene))
        return Explanation("device", summary, because, (fill,), operands)
    advice = [_moved(one, repr(home), scene) for one in strays]
    return Explanation("device", summary, advice=tuple(advice), operands=operands)


def _hollow(scene: Scene) -> Iterator[str]:
    """The parameters of the whole model that have no numbers either, where others have some."""
    models = (one.frame.f_locals.get("self") for one in scene.frames)
    model = next((one for one in models if isinstance(one, torch.nn.Module)), None)
    held = dict(model.named_parameters()) if model is not None else {}
    names = [name for name, one in held.items() if one.is_meta]
    if 0 < len(names) < len(held):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield f"of {len(held)} parameters there are on meta: {', '.join(names[:_SHOWN])}{more}"


def _moved(one: Operand, home: str, scene: Scene) -> str:
    """How an operand comes to a device: a tensor that a module keeps is moved with it as a buffer."""
    keeper, _, attribute = one.name.rpartition(".")
    owner = scene.user.names.get("self") if scene.user is not None and keeper == "self" else None
    if isinstance(owner, torch.nn.Module) and attribute in vars(owner):
        return f"self.register_buffer({attribute!r}, …) where it is made, so that {type(owner).__name__} moves it"
    if one.held:
        return f"{scene.module_path()}.to(…) moves what it holds to {home}"
    moved = f"{one.owner}.to({home})" if home.startswith("'") else f"{one.owner}.to(…), to {home}"
    return f"{one.name} = {moved}" if one.name.isidentifier() else moved
