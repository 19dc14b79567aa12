"""Dtypes and devices that do not fit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import torch

from stablelint.runtime.crash.explainers import explains
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.general import tried
from stablelint.runtime.crash.layers import shapes_through_layers
from stablelint.runtime.crash.provenance.statements import last_in, value_for
from stablelint.runtime.crash.provenance.unregistered import Unregistered, left_behind
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.failing import called
from stablelint.runtime.crash.repairs.onward import by_edit, counted_anew, likely
from stablelint.runtime.crash.scene import Scene, name_of
from stablelint.runtime.crash.source import function_at, statement_at
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import dtype_name
from stablelint.syntax.names import base_name

_SETS_DEFAULT = re.compile(r"^[\w.]*\bset_default_device\((?!None)")  # None takes it away
_NUMPY = ("np", "numpy")
_TELLS_TYPE = re.compile(r"type\b|float|double|half|single|['\"]")
_FLOATING = ("float", "bfloat", "complex")
_DTYPES = (
    r"must have the same dtype|to have the same dtype|should be the same|expected scalar type|"
    r"Found dtype \w+ but expected|does not match weight dtype|to have one of the following scalar types"
)


@explains(_DTYPES)
def dtypes(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Operands of different dtypes."""
    shown = scene.operands()
    if not shown:
        return None
    floating = [one for one in shown if one.dtype.startswith(_FLOATING)]
    if len({one.dtype for one in floating}) > 1:  # whole numbers beside them are others' business
        shown = tuple(floating)
    kinds = list(dict.fromkeys(one.dtype for one in shown))
    layers = shapes_through_layers(scene)
    if (frame := scene.called("embedding")) is not None:
        indices = scene.operand(frame.frame.f_locals["input"], "input")
        summary = f"an embedding takes indices, and {indices.name} is {indices.dtype}"
        return Explanation("dtype", summary, (), (), shown, layers)
    if len(kinds) < 2:
        return None
    first, other = shown[0], next(one for one in shown if one.dtype != shown[0].dtype)
    taken = _taken(scene, shown)
    summary, *casts = taken or (f"{first.name} is {first.dtype}, {other.name} is {other.dtype}",)
    wide = (at for one in shown if one.dtype == "float64" for at in (one.made_at, one.source))
    by_default = any(_is_default(at) for at in wide if at is not None)
    because = ["NumPy arrays are float64 unless they are told otherwise"] if by_default else []
    given = {one.dtype for one in shown if not one.held}
    own = {one.dtype for one in shown if one.held}
    left = left_behind(scene.frames, lambda one: dtype_name(one.dtype) in given - own) if own else []
    held = next((one.dtype for one in shown if one.held), "float32")
    cast = re.compile(rf"\.({held}|half|double)\(\)$|\.to\(.*\b{held}\b")
    chain = tuple(("weights are cast here", at) for at in scene.calls(cast) if held != "float32")
    call = called(scene)
    weighs = other.held and call is not None and call.is_loss
    owner = _called_module(scene) or scene.module_path()
    moved = (f"{owner}.to(torch.{first.dtype})",) * weighs
    found = Explanation("dtype", summary, tuple(because), (*moved, *casts), shown, layers, other=chain)
    return _with_left(found, left, scene)


def _is_default(at: Location) -> bool:
    """Whether NumPy makes an array at a place, of what stands in the same function, and nothing there tells a type.

    A string may be the name of a type, or of a file whose numbers have one.
    """
    scope = function_at(at) or parse_file(at.filename) or ast.Module([], [])
    parts: list[ast.AST] = [at.parsed()]
    seen, makes = {"torch", *_NUMPY}, False
    for part in parts:
        if _TELLS_TYPE.search(ast.unparse(part)):
            return False
        for one in ast.walk(part):
            makes |= isinstance(one, ast.Call) and base_name(one.func) in _NUMPY
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id not in seen:
                seen.add(one.id)
                made = last_in(scope, one.id, at.row)
                value = value_for(made, one.id) if made is not None else None
                if value is None:
                    return False
                parts.append(value)
    return makes


def _taken(scene: Scene, shown: tuple[Operand, ...]) -> list[str]:
    """Which dtype an operand must have, where no other has it, and the casts to it: an index is one of int64."""
    match = re.search(r"expected scalar type (\w+) but found (\w+)", scene.message)
    names = [one.lower() for one in match.groups()] if match is not None else ["", ""]
    wanted, given = (dtype_name(kind) if (kind := getattr(torch, one, None)) else "" for one in names)
    odd, call = next((one for one in shown if one.dtype == given), None), called(scene)
    if odd is None or call is None or any(one.dtype == wanted for one in shown):
        return []
    name = getattr(call.function, "__name__", "") or type(call.function).__name__
    cast = f"{{}}.{names[0]}()"
    casts = [one.told for one in tried(scene) if one.kind == "cast"]
    casts = casts or [*filter(None, [counted_anew(scene, odd, cast)])]
    casts = casts or [cast.format(odd.owner)]
    return [f"{odd.name} is {given}, and {name} takes {wanted} there", *casts]


@explains(r"source and destination dtypes match, got (\w+) for the destination and (\w+) for the source")
def written(scene: Scene, match: re.Match[str]) -> Explanation | None:
    """Values of another dtype than the tensor that they are written into."""
    match scene.statement:
        case ast.Assign([ast.Subscript(owner)], value):
            target, text = ast.unparse(owner), ast.unparse(value)
        case _:
            return None
    wanted, given = (dtype_name(getattr(torch, one.lower())) for one in match.groups())
    summary = f"{target} is {wanted}, and is given values of {given}: `{text}`"
    return Explanation("dtype", summary, (), (f"({text}).to({target}.dtype)",), scene.operands())


def _with_left(found: Explanation, left: list[Unregistered], scene: Scene) -> Explanation:
    """The explanation, and what a model keeps where `.to(…)` does not find it, if that is why."""
    if not left:
        return found
    because = (f"{one.told}, which .to(…) of the model does not reach" for one in left)
    other = (("it is made here", one.made_at) for one in left)
    return replace(
        found,
        because=(*found.because, *because),
        advice=(*(one.advice for one in left), *(found.advice or (one.told for one in tried(scene)))),
        other=(*found.other, *((what, at) for what, at in other if at is not None)),
    )


@explains(
    r"Expected all tensors to be on the same device|is not on the expected device|are not at the same device|"
    r"should be the same or input should be"
)
def devices(scene: Scene, _: re.Match[str]) -> Explanation | None:
    """Operands on different devices."""
    shown = scene.operands()
    places = {one.device for one in shown}
    if len(places) < 2:
        return None
    weight = next((one for one in shown if one.held), None)
    asked = [one for one in sorted(places) if name_of(torch.device(one), scene.frames)]
    accelerators, of_model = [one for one in sorted(places) if one != "cpu"], _device_of_model(scene)
    likely_home = weight.device if weight is not None else of_model or (*accelerators, "cpu")[0]
    home = asked[0] if len(asked) == 1 else likely_home
    strays = [one for one in shown if one.device != home]
    first: dict[str, Operand] = {}
    for one in shown:
        first.setdefault(one.device, one)
    summary = ", ".join(f"{one.name} is on {place}" for place, one in first.items())
    moved = (_moved(one, home, scene) for one in strays)
    because, advice = [], [one for one in moved if one is not None]
    other: list[tuple[str, Location]] = []
    if empty := next((one for one in shown if one.device == "meta"), None):
        if torch.get_default_device().type == "meta":
            because = ["the default device is meta: what is made without a device holds no numbers"]
            other = [("the default device is set here", at) for at in scene.calls(_SETS_DEFAULT)]
            advice = ["with torch.device('meta'): around what is to hold none, in place of the default"]
        elif empty.held:
            advice = ["to_empty(device=…) of what is on meta alone, and load a state into it"]
    found = Explanation(
        "device", summary, tuple(because), tuple(dict.fromkeys(advice)), shown, other=tuple(other)
    )
    if fixed := [*dict.fromkeys(told for one in strays for told in _made_for(scene, one))]:
        return replace(found, advice=(*fixed, *found.advice))
    left = left_behind(scene.frames, lambda one: str(one.device) in places - {of_model or home})
    return _with_left(replace(found, advice=()) if left else found, left, scene)


def _made_for(scene: Scene, one: Operand) -> Iterator[str]:
    """Where an operand was made for a device that is written out there."""
    for at in filter(None, (one.source, one.made_at)):
        for call in ast.walk(statement_at(at) or ast.Pass()):
            given = call.keywords if isinstance(call, ast.Call) else []
            kept = [
                each for each in given if each.arg != "device" or not isinstance(each.value, ast.Constant)
            ]
            if isinstance(call, ast.Call) and kept != given:
                anew = ast.unparse(ast.Call(call.func, call.args, kept))
                yield from likely(scene, [by_edit(scene, Edit.of(call, at.filename, anew))])
                return


def _device_of_model(scene: Scene) -> str | None:
    """The one device of the parameters that the outermost model of the failing frames knows of."""
    models = (one.frame.f_locals.get("self") for one in scene.frames)
    model = next((one for one in models if isinstance(one, torch.nn.Module)), None)
    found = {str(one.device) for one in model.parameters()} if model is not None else set()
    return found.pop() if len(found) == 1 else None


def _moved(one: Operand, home: str, scene: Scene) -> str | None:
    """How an operand comes to a device, which the program may have a name for; not to one without numbers unasked."""
    named = name_of(torch.device(home), scene.frames)
    if one.held:
        return f"{_called_module(scene) or scene.module_path()}.to({named or repr(home)})"
    there = next((text.name for text in scene.operands() if text.device == home and not text.held), None)
    if one.device == "meta" or (home == "meta" and not (named or there)):
        return None  # what holds no numbers cannot be moved
    moved = f"{one.owner}.to({named or (f'{there}.device' if there else repr(home))})"
    return f"{one.name} = {moved}" if one.name.isidentifier() else moved


def _called_module(scene: Scene) -> str | None:
    """What the program calls the outermost of the modules that were being called when it failed."""
    for frame, below in pairwise(scene.frames):
        node = node_at(frame.site) if frame.mine and below.site.code.co_name == "_wrapped_call_impl" else None
        if isinstance(node, ast.Call):
            return ast.unparse(node.func)
    return None
