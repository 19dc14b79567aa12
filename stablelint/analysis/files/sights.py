"""The calls, functions and classes that a file shows, without being understood."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from stablelint.analysis.files.reading import FunctionNode
from stablelint.records import dataclass
from stablelint.syntax.names import called_name
from stablelint.syntax.sieve import Glance


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call, and the function and class around it."""

    call: ast.Call
    function: FunctionNode | None
    owner: ast.ClassDef | None


@dataclass(frozen=True)
class Sights:
    """What a file shows: its functions and the code around them, each with what a glance has told of it."""

    parts: Sequence[tuple[Glance, FunctionNode | None, ast.ClassDef | None]] = ()

    def calls_of(self, name: str) -> Iterator[CallSite]:
        """The calls of what has that name, and those that prepare one: `partial(name, …)`."""
        for seen, function, owner in self.parts:
            for call in seen.calls.get(name, ()):
                yield CallSite(call, function, owner)
            for call in seen.calls.get("partial", ()):
                if call.args and called_name(call.args[0]) == name:
                    yield CallSite(call, function, owner)

    def passing(self) -> Iterator[CallSite]:
        """The calls that may pass something to another file."""
        for seen, function, owner in self.parts:
            yield from (CallSite(call, function, owner) for call in seen.passing)

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions at every level, those within others behind them."""
        return [node for _, nodes in self._definitions for node in nodes]

    @cached_property
    def functions_named(self) -> dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
        """The functions at every level by their names."""
        found: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        for node in self.functions:
            found.setdefault(node.name, []).append(node)
        return found

    def functions_naming(self, *names: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Those in which, or around which, one of the names is read or written."""
        places = sorted({place for name in names for place in self._naming.get(name, ())})
        return [node for place in places for node in self._definitions[place][1]]

    @cached_property
    def _naming(self) -> dict[str, list[int]]:
        """Which of the glances have told of each name."""
        found: dict[str, list[int]] = {}
        for place, (seen, _) in enumerate(self._definitions):
            for name in seen.loads.keys() | seen.written:
                found.setdefault(name, []).append(place)
        return found

    @cached_property
    def _definitions(self) -> list[tuple[Glance, list[ast.FunctionDef | ast.AsyncFunctionDef]]]:
        """The functions that each glance has told of, each once."""
        outer = {function for _, function, _ in self.parts}
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        found = []
        for seen, function, _ in self.parts:
            nodes = (function, *(n for n in seen.nested if n not in outer))
            found.append((seen, [node for node in nodes if isinstance(node, kinds)]))
        return found

    def calls(self, *names: str) -> list[ast.Call]:
        """The calls of what has one of the names; all for no name."""
        if not names:
            return [call for calls in self._calls.values() for call in calls]
        return [call for name in names for call in self._calls.get(name, ())]

    @cached_property
    def _calls(self) -> dict[str, list[ast.Call]]:
        """The calls of what has each name."""
        found: dict[str, list[ast.Call]] = {}
        for seen, _, _ in self.parts:
            for name, calls in seen.calls.items():
                found.setdefault(name, []).extend(calls)
        return found

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """The classes at every level."""
        return [node for seen, _, _ in self.parts for node in seen.classes]

    def writes(self, attr: str) -> bool:
        """Whether the attribute is written on another object than `self`."""
        return attr in self._written

    @cached_property
    def names(self) -> frozenset[str]:
        """The names and attributes that are read, and the attributes of other objects than `self` that are written."""
        return self._written.union(*(seen.loads for seen, _, _ in self.parts))

    @cached_property
    def _written(self) -> frozenset[str]:
        return frozenset(name for seen, _, _ in self.parts for name in seen.written)
