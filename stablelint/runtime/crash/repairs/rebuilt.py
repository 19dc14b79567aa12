"""Models built with other arguments, so that a state loads."""

from __future__ import annotations

import ast
import inspect
import math
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import dropwhile
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.expression import UNKNOWN, entries, given_by_name, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.history import makers
from stablelint.runtime.crash.provenance.made import Places
from stablelint.runtime.crash.provenance.scopes import Scope, makes, none_given, value_in
from stablelint.runtime.crash.repairs.configured import Configured, Path, with_entry
from stablelint.runtime.crash.repairs.constructors import around, give, names_at, with_others
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import by_edit, likely
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at
from stablelint.runtime.process.confined import confine
from stablelint.runtime.process.copies import can_copy, said_by_copy
from stablelint.runtime.program.frames import compile_calmly, parse_file
from stablelint.runtime.program.location import Location

_SECONDS = 4.0  # for all models that are built
_DEPTH = 2  # of configurations in configurations
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
    call, scope = _maker(scene, whole) or (None, None)
    if call is None or scope is None:
        return [], []
    kind, given = type(whole), _arguments(call, scope, type(whole))
    said = said_by_copy(lambda: pickle.dumps(_fitting(kind, given, wanted)), _SECONDS) if can_copy() else b""
    changed: dict[Path, int] = pickle.loads(said) if said else {}
    if (found := _configured(scene, call, scope, given, changed)) is not None:
        return next(filter(None, (likely(scene, [one]) for one in found.ways())), []), [*found.origins()]
    other, _ = scene.origins.maker(like) or (None, None)
    taken = given_by_name(other, scope.names, kind) if isinstance(other, ast.Call) else {}
    alike = {
        name: one
        for (name, *_), value in changed.items()
        if value_of(one := taken.get(name, call), scope.names) == value
    }
    nodes, calls = given_by_name(call, scope.names, kind), _calls(scene, whole)
    changes = [(name, given[name], value) for (name, *_), value in changed.items()]
    outer = around(scene, [(nodes.get(name), *rest) for name, *rest in changes], calls) if calls else ()
    ways = [replace(by_edit(scene, one), text=text) for text, one in outer]
    for anew in (
        with_others(call, lambda one: given_by_name(one, scope.names, kind), changes, scope.names)
        if changed
        else ()
    ):
        for name, one in alike.items():
            give(anew, given_by_name(anew, scope.names, kind), name, one)
        ways.append(by_edit(scene, Edit.of(call, scope.code.co_filename, ast.unparse(anew))))
    told = next(filter(None, (likely(scene, [one]) for one in ways)), [])
    places = [(one, at) for one, *_ in changed for at in scene.origins.of_setting(whole, one)[-1:]]
    places = places or [
        (name, scope.at(nodes[name]))
        for name, *_ in changes
        if not isinstance(nodes.get(name), ast.Constant | None)
    ]
    return told, [(f"{name} is {given[name]} from here", at) for name, at in places]


def _calls(scene: Scene, whole: nn.Module) -> Places:
    """The calls that led to a model, the innermost first: without those of constructors that its own constructor makes."""
    return (*dropwhile(lambda one: ".__init__(" in one.expression, makers(scene).get(id(whole), ())),)


def _maker(scene: Scene, whole: nn.Module) -> tuple[ast.Call, Scope] | None:
    """The call of the class of a model that made it, which may stand in a function, and the scope there."""
    call, scope = scene.origins.maker(whole) or (None, None)
    places = _calls(scene, whole)
    inner, tree = (expression_at(places[0]), parse_file(places[0].filename)) if places else (None, None)
    if isinstance(inner, ast.Call) and tree is not None:
        given = scope.argument if scope is not None and inner is call else none_given
        code = compile_calmly(tree, places[0].filename)
        return inner, Scope(code, names_at(scene, places), places[0].row, given)
    known = isinstance(call, ast.Call) and scope is not None and makes(call, scope, type(whole))
    return (call, scope) if known and isinstance(call, ast.Call) and scope is not None else None


def _configured(
    scene: Scene, call: ast.Call, scope: Scope, given: dict[str, Any], changed: dict[Path, int]
) -> Configured | None:
    """The one configuration that holds all arguments that are to be others; None where a call tells them itself."""
    for node in _spread(call):
        held = value_in(node, scope)
        if changed and all(path[0] in entries(held) for path in changed):
            return Configured(scene, scope, call, node, held, changed)
    names = [path[0] for path in changed if len(path) > 1]
    taken = given_by_name(call, scope.names)
    if len({*names}) != 1 or len(names) < len(changed) or names[0] not in taken:
        return None
    wanted = {path[1:]: value for path, value in changed.items()}
    return Configured(scene, scope, call, taken[names[0]], given[names[0]], wanted)


def _spread(call: ast.Call) -> list[ast.expr]:
    """What a call hands on as named arguments."""
    return [one.value for one in call.keywords if one.arg is None]


def _arguments(call: ast.Call, scope: Scope, kind: type) -> dict[str, Any]:
    """What a class is given for its arguments, or has for them by default; nothing where a part of that is unknown."""
    taken, written = inspect.signature(kind).parameters, given_by_name(call, scope.names, kind)
    values = {name: one.default for name, one in taken.items() if one.kind not in _SEVERAL}
    values |= {name: value_in(one, scope) for name, one in written.items()}
    for one in _spread(call):
        values |= entries(value_in(one, scope))
    unknown = any(one is UNKNOWN or one is inspect.Parameter.empty for one in values.values())
    return {} if unknown else values


def _fitting(kind: type, given: dict[str, Any], wanted: Shapes) -> dict[Path, int]:
    """In the copy: the arguments that are to be others, each the one with which most entries have the sizes of a state."""
    confine(os.devnull)
    torch.set_num_threads(1)  # the threads of the original are not in the copy
    for device in ("meta", "cpu"):
        now, changed, left = given, dict[Path, int](), _differing(_built(kind, given, device), wanted)
        while 0 < left < math.inf:
            ways = [*_others(kind, now, wanted, device)]
            counts = [_differing(_built(kind, now, device, *one), wanted) for one in ways]
            fewest = min(counts, default=math.inf)
            if fewest >= left:
                return {}
            path, value = ways[counts.index(fewest)]
            changed[path], now, left = value, with_entry(now, path, value), fewest
        if left < math.inf:
            return changed
    return {}


def _others(kind: type, given: dict[str, Any], wanted: Shapes, device: str) -> Iterator[tuple[Path, int]]:
    """Other values of arguments, and of entries of what is given, that change sizes.

    A switch is turned, a number is a size of the state, or how many of its layers are numbered.
    """
    sizes = {size for shape in wanted.values() for size in shape}
    counts = {int(part) + 1 for key in wanted for part in key.split(".") if part.isdigit()}
    built = _built(kind, given, device)
    for path, value in _leaves(given):
        if type(value) is bool:
            yield path, not value
        elif type(value) is int and _built(kind, given, device, path, 2 * value) != built:
            yield from ((path, one) for one in sorted(sizes | counts) if one != value)


def _leaves(given: object, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in entries(given).items():
        yield (*path, name), value
        yield from _leaves(value, (*path, name)) if len(path) < _DEPTH else ()


def _built(
    kind: type, given: dict[str, Any], device: str, path: Path = (), value: object = None
) -> Shapes | None:
    """The sizes of a model built so, with another value at a path; None where it cannot be."""
    try:
        with torch.device(device):
            return shapes_of(kind(**(with_entry(given, path, value) if path else given)).state_dict())
    except Exception:  # whatever the program raises
        return None


def _differing(built: Shapes | None, wanted: Shapes) -> float:
    """How many entries of a model are not those of a state; infinity where it cannot be built."""
    if built is None:
        return math.inf
    return sum(built.get(key) != wanted.get(key) for key in {*built, *wanted})
