"""Configurations that a call is given: dictionaries and objects with entries, of which some are to be others."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from stablelint.runtime.crash.expression import entries, given_by_name
from stablelint.runtime.crash.provenance.scopes import Scope, makes
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.onward import before, by_edit
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location

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
            option = re.compile(rf"\.add_argument\((.*, )?'--{re.escape(name).replace('_', '[-_]')}'")
            places = [scope.at(given)] if given is not None else _default(type(owner), name)
            told = f"{self._written((*outer, name))} is {entry(owner, (name,))} from here"
            yield from ((told, at) for at in places or self.scene.calls(option))


def _given(made: ast.expr | None, scope: Scope, held: object) -> dict[str, ast.expr]:
    """What is written out for the entries of a configuration where it is made."""
    match made:
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return {str(one.value): value for one, value in pairs if isinstance(one, ast.Constant)}
        case ast.Call() if makes(made, scope, type(held)):
            return given_by_name(made, scope.names, type(held))
    return {}


def _default(kind: type, name: str) -> list[Location]:
    """The default of a field, in the body of its class."""
    filename = getattr(inspect.getmodule(kind), "__file__", None) or ""
    nodes = (*ast.walk(parse_file(filename) or ast.Pass()),)
    body = next(
        (one.body for one in nodes if isinstance(one, ast.ClassDef) and one.name == kind.__name__), []
    )
    fields = (one for one in body if isinstance(one, ast.AnnAssign) and one.value is not None)
    return [Location.of(one, filename) for one in fields if ast.unparse(one.target) == name]
