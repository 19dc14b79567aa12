"""What a function may change in place: by itself, or through those to which it hands it."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from stablelint.analysis.files.reading import Binding, FunctionNode, sources_of, with_sources
from stablelint.syntax.aliases import origin
from stablelint.syntax.names import last_name
from stablelint.syntax.sieve import FOREIGN
from stablelint.syntax.signatures import arguments, parameters, placed
from stablelint.syntax.writes import written_attribute


class Writer(Protocol):
    """A function, as far as what it writes into goes."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def node(self) -> FunctionNode:
        """Its definition."""

    @property
    def changed(self) -> frozenset[str]:
        """The names of what its own text changes."""

    @property
    def bindings(self) -> list[Binding]:
        """What its text binds to what."""

    @property
    def handed(self) -> list[Handed]:
        """The calls of functions of the file, and those to which one is passed."""

    @property
    def lent(self) -> frozenset[str]:
        """The names of what it hands to functions of other files."""

    @property
    def writes(self) -> frozenset[str]:
        """The names of what it may change, by whatever way."""

    @property
    def is_altering(self) -> bool:
        """Whether it is a method that may change its object."""

    @property
    def is_settled(self) -> bool:
        """Whether `writes` is known."""

    def settle(self, writes: frozenset[str]) -> None:
        """Keeps what it writes."""


Handed = tuple[ast.Call, Writer]
"""A call, and a function that it calls, or hands the rest of its arguments to."""


def settle(function: Writer) -> None:
    """Finds what a function, and all that it may call in its file, change in place."""
    reached, seen = [function], {id(function.node)}
    for one in reached:  # grows while it is walked
        for _, callee in () if one.is_settled else one.handed:
            if id(callee.node) not in seen:
                seen.add(id(callee.node))
                reached.append(callee)
    pending = [one for one in reached if not one.is_settled]
    written = {id(one.node): one.writes for one in reached if one.is_settled}
    written |= {id(one.node): with_sources(one.changed | one.lent, one.bindings) for one in pending}
    grown = set(written)
    while grown:
        asked = [one for one in pending if any(id(callee.node) in grown for _, callee in one.handed)]
        grown = {id(one.node) for one in asked if _grows(one, written)}
    for one in pending:
        one.settle(written[id(one.node)])


def names_handed_on(handed: Iterable[Handed]) -> frozenset[str]:
    """The names of what calls hand to functions that write into it."""
    given = (a for call, callee in handed for a in _taken(call, callee, callee.writes))
    return frozenset(name for argument in given for name in sources_of(argument))


def _grows(function: Writer, written: dict[int, frozenset[str]]) -> bool:
    """Whether a function hands on more than what is known to be written so far; that is from here on."""
    known = written[id(function.node)]
    given = (a for call, callee in function.handed for a in _taken(call, callee, written[id(callee.node)]))
    names = frozenset(name for argument in given for name in sources_of(argument))
    written[id(function.node)] = known | with_sources(names - known, function.bindings)
    return not names <= known


def attributes_handed_on(function: Writer) -> frozenset[str]:
    """The attributes of `self` that a function hands to those that write into them."""
    given = (a for call, callee in function.handed for a in _taken(call, callee, callee.writes))
    return frozenset(filter(None, map(written_attribute, given)))


def callees_of(argument: ast.expr, function: Writer) -> Iterator[Writer]:
    """The functions of the file that a call with the argument may run."""
    for call, callee in function.handed:
        if callee.name == last_name(call.func) and any(given is argument for given in arguments(call)):
            yield callee


def _taken(call: ast.Call, callee: Writer, written: frozenset[str]) -> Iterator[ast.expr]:
    """The arguments of a call that arrive under one of the names that the callee writes into, and what it may alter."""
    if callee.is_altering and isinstance(call.func, ast.Attribute):
        yield call.func.value
    if not (written and (call.args or call.keywords)):
        return
    if callee.name != last_name(call.func):  # handed over, to be called with whatever there is
        yield from (a for a in arguments(call) if not isinstance(a, ast.Lambda))
        return
    signature = callee.node.args
    names = [parameter.arg for parameter in placed(signature)]
    rest = signature.vararg is not None and signature.vararg.arg in written
    for shift in (0, 1) if isinstance(call.func, ast.Attribute) else (0,):  # `self`, if it is a method
        for place, argument in enumerate(call.args, shift):
            if isinstance(argument, ast.Starred) or (names[place] in written if place < len(names) else rest):
                yield argument
    known = {parameter.arg for parameter in parameters(signature)}
    others = signature.kwarg is not None and signature.kwarg.arg in written
    for keyword in call.keywords:
        if keyword.arg in written if keyword.arg in known else others or keyword.arg is None:
            yield keyword.value


def handed_on(
    calls: Iterable[ast.Call], named: Mapping[str, Sequence[Writer]], unnamed: Mapping[int, Writer]
) -> Iterator[Handed]:
    """The calls of functions that have a name in the file, and those to which one is passed, or a lambda."""
    for call in calls:
        given = arguments(call)
        for one in named.get(last_name(call.func), ()) if given or not _is_of_super(call.func) else ():
            yield call, one
        for argument in given if len(given) > 1 else ():
            for one in named.get(last_name(argument), ()):
                yield call, one
            if id(argument) in unnamed:
                yield call, unnamed[id(argument)]


def given_away(
    calls: Iterable[ast.Call], imports: Mapping[str, str], classes: Container[str]
) -> Iterator[ast.expr]:
    """What is handed to functions that other files may define, and to objects of the file's classes."""
    for call in calls:
        root = origin(call.func, imports).partition(".")[0]
        if root not in FOREIGN if root else last_name(call.func) in classes or _is_of_super(call.func):
            yield from arguments(call)


def _is_of_super(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and last_name(getattr(function.value, "func", function)) == "super"
    )
