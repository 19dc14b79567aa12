"""Models built with other arguments, so that a state loads."""

from __future__ import annotations

import ast
import copy
import inspect
import math
import os
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.scopes import makes
from stablelint.runtime.crash.repairs.constructors import give
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import by_edit, likely
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.process.confined import confine
from stablelint.runtime.process.copies import can_copy, said_by_copy
from stablelint.runtime.program.location import Location

_SECONDS = 4.0  # for all models that are built
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Shapes = dict[str, tuple[int, ...]]


def shapes_of(state: Mapping[str, Any]) -> Shapes:
    """The sizes of the entries of a state."""
    return {key: tuple(one.shape) for key, one in state.items() if isinstance(one, torch.Tensor)}


def rebuilt(
    scene: Scene, frame: Frame | None, state: Mapping[str, Any], like: nn.Module | None
) -> tuple[list[str], list[tuple[str, Location]]]:
    """The call that made a model, with the arguments for which it takes a state, and where those that it has come from.

    An argument is written as in the call of a model that is like it, where that gives the same here.
    """
    whole, wanted = frame.names["self"] if frame is not None else nn.Module(), shapes_of(state)
    call, scope = scene.origins.maker(whole) or (None, None)
    if not isinstance(call, ast.Call) or scope is None or not makes(call, scope, type(whole)):
        return [], []
    kind, given = type(whole), _arguments(call, scope.names, type(whole))
    said = said_by_copy(lambda: pickle.dumps(_fitting(kind, given, wanted)), _SECONDS) if can_copy() else b""
    changed: dict[str, int] = pickle.loads(said) if said else {}
    anew, (other, _) = copy.deepcopy(call), scene.origins.maker(like) or (None, None)
    taken = given_by_name(other, scope.names, kind) if isinstance(other, ast.Call) else {}
    for name, value in changed.items():
        text = taken.get(name, call)
        same = value_of(text, scope.names) == value
        give(anew, given_by_name(anew, scope.names, kind), name, text if same else ast.Constant(value))
    edit = Edit.of(call, scope.code.co_filename, ast.unparse(anew))
    told = likely(scene, [by_edit(scene, edit)]) if changed else []
    places = [(one, at) for one in changed for at in scene.origins.of_setting(whole, one)[-1:]]
    return told, [(f"{name} is {given[name]} from here", at) for name, at in places]


def _arguments(call: ast.Call, names: dict[str, Any], kind: type) -> dict[str, Any]:
    """What a class is given for its arguments, or has for them by default; nothing where a part of that is unknown."""
    taken, written = inspect.signature(kind).parameters, given_by_name(call, names, kind)
    values = {name: one.default for name, one in taken.items() if one.kind not in _SEVERAL}
    values |= {name: value_of(one, names) for name, one in written.items()}
    unknown = any(one is UNKNOWN or one is inspect.Parameter.empty for one in values.values())
    return {} if unknown else values


def _fitting(kind: type, given: dict[str, Any], wanted: Shapes) -> dict[str, int]:
    """In the copy: the arguments that are to be others, each the one with which most entries have the sizes of a state."""
    confine(os.devnull)
    torch.set_num_threads(1)  # the threads of the original are not in the copy
    for device in ("meta", "cpu"):
        changed, left = dict[str, int](), _differing(kind, given, wanted, device)
        while 0 < left < math.inf:
            now = {**given, **changed}
            ways = [*_others(now, wanted)]
            counts = [_differing(kind, {**now, name: value}, wanted, device) for name, value in ways]
            fewest = min(counts, default=math.inf)
            if fewest >= left:
                return {}
            name, value = ways[counts.index(fewest)]
            changed[name], left = value, fewest
        if left < math.inf:
            return changed
    return {}


def _others(given: dict[str, Any], wanted: Shapes) -> Iterator[tuple[str, int]]:
    """Other values of arguments: a switch turned, a size of the state, or how many of its layers are numbered."""
    sizes = {size for shape in wanted.values() for size in shape}
    counts = {int(part) + 1 for key in wanted for part in key.split(".") if part.isdigit()}
    for name, value in given.items():
        if type(value) is bool:
            yield name, not value
        elif type(value) is int:
            yield from ((name, one) for one in sorted(sizes | counts) if one != value)


def _differing(kind: type, given: dict[str, Any], wanted: Shapes, device: str) -> float:
    """How many entries of a model built so are not those of a state; infinity where it cannot be built."""
    try:
        with torch.device(device):
            built = shapes_of(kind(**given).state_dict())
    except Exception:  # whatever the program raises
        return math.inf
    return sum(built.get(key) != wanted.get(key) for key in {*built, *wanted})
