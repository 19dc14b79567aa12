"""Models, and modules of a model, built with other arguments, or of configurations with other entries."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import math
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.expression import UNKNOWN, entries, given_by_name, parsed, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.layers import outermost
from stablelint.runtime.crash.provenance.anew import Places
from stablelint.runtime.crash.provenance.history import makers
from stablelint.runtime.crash.provenance.scopes import Scope, makes, none_given, value_in
from stablelint.runtime.crash.repairs.constructors import around, give, names_at, settled, with_others
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import before, by_edit, likely, passed
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, function_at
from stablelint.runtime.process.confined import confine
from stablelint.runtime.process.copies import can_copy, said_by_copy
from stablelint.runtime.program.frames import compile_calmly, parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import tensors_in

Path = tuple[str, ...]  # the names of an entry and of what holds it, the outermost first


def entry(held: object, path: Path) -> Any:
    """The entry at a path; None where there is none."""
    for one in path:
        held = entries(held).get(one)
    return held


def with_entry(held: Any, path: Path, value: object) -> Any:
    """A copy of a configuration with another value at a path."""
    inner = with_entry(entry(held, path[:1]), path[1:], value) if path[1:] else value
    if isinstance(held, dict):
        return {**held, path[0]: inner}
    if dataclasses.is_dataclass(held) and not isinstance(held, type):
        return replace(held, **{path[0]: inner})  # what is computed of it is computed anew
    anew = copy.copy(held)
    setattr(anew, path[0], inner)
    return anew


@dataclass(frozen=True)
class Configured:
    """A configuration in a call, and the entries that are to be others there."""

    scene: Scene
    scope: Scope
    call: ast.Call
    node: ast.expr  # what the call is given
    held: object
    wanted: dict[Path, int]

    def ways(self) -> Iterator[Repair]:
        """Another one that the program has, or the same changed before the call."""
        filename, text = self.scope.code.co_filename, ast.unparse(self.node)
        for name, one in self._others():
            if all(entry(one, path) == value for path, value in self.wanted.items()):
                edit = Edit.of(self.node, filename, name)
                yield replace(by_edit(self.scene, edit), text=ast.unparse(self.call).replace(text, name))
        sets = "; ".join(f"{self._written(path)} = {value}" for path, value in self.wanted.items())
        yield from before(self.scene, self.scope.at(self.call), sets)

    def _others(self) -> Iterator[tuple[str, object]]:
        """Values of its kind that have names, or that a dictionary with a name holds."""
        for name, value in self.scope.names.items():
            inner = value.items() if type(value) is dict else ()
            for text, one in ((name, value), *((f"{name}[{key!r}]", one) for key, one in inner)):
                if type(one) is type(self.held):
                    yield text, one

    def _written(self, path: Path) -> str:
        """An entry as the program writes it."""
        text = ast.unparse(self.node)
        for place, one in enumerate(path):
            text += f"[{one!r}]" if isinstance(entry(self.held, path[:place]), dict) else f".{one}"
        return text

    def origins(self) -> Iterator[tuple[str, Location]]:
        """Where the entries that are to be others got their values: where it is made, by default, or by an option."""
        for *outer, name in self.wanted:
            owner = entry(self.held, (*outer,))
            made, scope = self.scene.origins.maker(owner) or (None, self.scope)
            given = _given(made, scope, owner).get(name)
            value = entry(owner, (name,))
            known = settled(self.scene, name, value) if given is None else [(given, scope.at(given))]
            places = [at for _, at in known]
            yield from ((f"{self._written((*outer, name))} is {value} from here", at) for at in places)


def _given(made: ast.expr | None, scope: Scope, held: object) -> dict[str, ast.expr]:
    """What is written out for the entries of a configuration where it is made."""
    match made:
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return {str(one.value): value for one, value in pairs if isinstance(one, ast.Constant)}
        case ast.Call() if makes(made, scope, type(held)):
            return given_by_name(made, scope.names, type(held))
    return {}


_SECONDS = 4.0  # for all models that are built
_MOST = 3  # other numbers
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
    nodes = given_by_name(call, scope.names, kind)
    other, _ = scene.origins.maker(like) or (None, None)
    taken = given_by_name(other, scope.names, kind) if isinstance(other, ast.Call) else {}
    pairs = ((name, taken.get(name, call), value) for (name, *_), value in changed.items())
    alike = {name: one for name, one, value in pairs if value_of(one, scope.names) == value}
    ways = [*_ways(scene, whole, (call, scope), given, changed, alike)]
    ways.sort(key=lambda one: isinstance(parsed(getattr(one.revisions[0], "original", "")), ast.Constant))
    others = passed(scene, _of_other_functions(scene, whole))[:1] if changed else []
    told = others or next(filter(None, (likely(scene, [one]) for one in ways)), [])
    places = [(one, at) for one, *_ in changed for at in scene.origins.of_setting(whole, one)[-1:]]
    known = {
        name: nodes[name] for name, *_ in changed if not isinstance(nodes.get(name), ast.Constant | None)
    }
    places = places or [(name, scope.at(one)) for name, one in known.items()]
    return told, [(f"{name} is {given[name]} from here", at) for name, at in places]


def _ways(
    scene: Scene,
    whole: nn.Module,
    made: tuple[ast.Call, Scope],
    given: dict[str, Any],
    changed: dict[Path, int],
    alike: dict[str, ast.expr],
) -> Iterator[Repair]:
    """A model made with other arguments, some written as they are known: where they were handed on, then there."""
    (call, scope), kind, calls = made, type(whole), _calls(scene, whole)
    nodes = given_by_name(call, scope.names, kind)
    changes = [(name, given[name], value) for (name, *_), value in changed.items()]
    for text, edit in (
        around(scene, [(nodes.get(name), *rest) for name, *rest in changes], calls) if calls else ()
    ):
        yield replace(by_edit(scene, edit), text=text)
    taken = partial(given_by_name, names=scope.names, called=kind)
    for anew in with_others(call, taken, changes, scope.names) if changed else ():
        for name, one in alike.items():
            give(anew, taken(anew), name, one)
        yield by_edit(scene, Edit.of(call, scope.code.co_filename, ast.unparse(anew)))


def _of_other_functions(scene: Scene, whole: nn.Module) -> Iterator[Repair]:
    """The call of the function that made a model as that of another one of its file, which makes one of the class."""
    places, name = _calls(scene, whole), type(whole).__name__
    outer, function = (expression_at(places[1]), function_at(places[0])) if len(places) > 1 else (None, None)
    if not isinstance(outer, ast.Call):
        return
    for one in getattr(parse_file(places[0].filename), "body", ()):
        if isinstance(one, ast.FunctionDef) and one is not function and f"{name}(" in ast.unparse(one):
            called = copy.deepcopy(outer)
            owner = getattr(outer.func, "value", None)
            called.func = ast.Attribute(owner, one.name) if owner is not None else ast.Name(one.name)
            yield by_edit(scene, Edit.of(outer, places[1].filename, ast.unparse(called)))


def resized(scene: Scene, owner: nn.Module, name: str, shape: tuple[int, ...]) -> Iterator[Repair]:
    """A module made so that one of its parameters or buffers has another shape."""
    made, kind = _maker(scene, owner), type(owner)
    given = _arguments(*made, kind) if made is not None else {}
    data = (outermost(scene) or (None,))[1:]
    shapes = (
        *(tuple(one.shape) for one in tensors_in(data)),
        *(one.shape for one in scene.operands()),
        shape,
    )
    sizes = {size for one in shapes for size in one} - {0, 1}

    def work() -> bytes:
        confine(os.devnull)
        torch.set_num_threads(1)
        ways = _others(kind, given, sizes, "meta") if given else ()
        return pickle.dumps(
            [one for one in ways if (_built(kind, given, "meta", *one) or {}).get(name) == shape]
        )

    said = said_by_copy(work, _SECONDS) if can_copy() and made is not None else b""
    for path, value in pickle.loads(said)[:_MOST] if said else ():
        if made is not None and len(path) == 1:
            yield from _ways(scene, owner, made, given, {path: value}, {})


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
    sizes = {size for shape in wanted.values() for size in shape}
    sizes |= {int(part) + 1 for key in wanted for part in key.split(".") if part.isdigit()}
    for device in ("meta", "cpu"):
        now, changed, left = given, dict[Path, int](), _differing(_built(kind, given, device), wanted)
        while 0 < left < math.inf:
            ways = [*_others(kind, now, sizes, device)]
            counts = [_differing(_built(kind, now, device, *one), wanted) for one in ways]
            fewest = min(counts, default=math.inf)
            if fewest >= left:
                return {}
            path, value = ways[counts.index(fewest)]
            changed[path], now, left = value, with_entry(now, path, value), fewest
        if left < math.inf:
            return changed
    return {}


def _others(kind: type, given: dict[str, Any], sizes: set[int], device: str) -> Iterator[tuple[Path, int]]:
    """Other values of arguments, and of entries of what is given, that change sizes: switches turned, or some sizes."""
    built = _built(kind, given, device)
    for path, value in _leaves(given):
        if type(value) is bool:
            yield path, not value
        elif type(value) is int and _built(kind, given, device, path, 2 * value) != built:
            yield from ((path, one) for one in sorted(sizes) if one != value)


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
