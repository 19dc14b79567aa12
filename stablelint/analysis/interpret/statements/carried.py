"""What a loop carries from turn to turn, by the text of its body."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from stablelint.records import dataclass
from stablelint.syntax.walk import descendants
from stablelint.syntax.writes import names_written

_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise)


@dataclass(frozen=True, slots=True)
class Carried:
    """Names, and attributes as `.name`, that a turn of a loop reads as the turn before it has left them.

    What is `added` to is only ever added to, each time a value that does not depend on earlier turns. What earlier turns
    leave decides whether `calls` are made, or is passed to them: a first turn does not show all that they write into.
    """

    added: frozenset[str]
    other: frozenset[str]
    calls: bool


def carried(body: list[ast.stmt]) -> Carried:
    """What the turns of a loop with that body hand on."""
    writes = [(write, under) for statement in body for write, under in _writes(statement, ())]
    exposed: set[str] = set()
    _expose(body, set(), exposed)
    handed = {name for write, _ in writes for name in write.names} & exposed
    varying = _closed(handed, writes)
    steps = {name for write, _ in writes if write.adds for name in write.names}
    added = handed & steps
    for write, under in writes:
        if not write.adds or varying.intersection(write.reads) or varying.intersection(under):
            added.difference_update(write.names)
    if _leaves_early(body, varying):
        added.clear()
    return Carried(frozenset(added), frozenset(handed - added), _may_call_later(body, varying))


@dataclass(frozen=True, slots=True)
class _Write:
    names: frozenset[str]
    reads: frozenset[str]
    adds: bool = False  # by `+=`


def _writes(statement: ast.stmt, under: tuple[str, ...]) -> Iterator[tuple[_Write, tuple[str, ...]]]:
    """What the statement, and those within it, write, each with what the tests around it read."""
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        adds = isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add)
        value = _reads(_all([statement.value] if statement.value is not None else []))
        names = _standing(_all(targets), ast.Store) | names_written(descendants(statement))
        yield _Write(names, value, adds), under
        return
    bodies = list(_bodies(statement))
    found = _all(_heads(statement)) if bodies else descendants(statement)
    tests = _reads(found)
    yield _Write(_standing(found, ast.Store) | names_written(found), tests), under
    for body in bodies:
        for inner in body:
            yield from _writes(inner, (*under, *tests))


def _heads(statement: ast.stmt) -> list[ast.AST]:
    """What a statement is made of but for the statements within it."""
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for field in ("body", "orelse", "finalbody"):
        if block := getattr(statement, field, None):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _closed(varying: set[str], writes: list[tuple[_Write, tuple[str, ...]]]) -> set[str]:
    """The names whose values depend on any of `varying`."""
    varying, before = set(varying), -1
    while len(varying) != before:
        before = len(varying)
        for write, under in writes:
            if varying.intersection(write.reads) or varying.intersection(under):
                varying |= write.names
    return varying


def _leaves_early(body: list[ast.stmt], varying: set[str]) -> bool:
    """Whether what earlier turns leave decides how far a turn goes."""
    return any(
        isinstance(inner, _LEAVING) and varying.intersection(tests)
        for statement in body
        for inner, tests in _nested(statement, ())
    )


def _may_call_later(body: list[ast.stmt], varying: set[str]) -> bool:
    """Whether a call is made, or does what it does, by what earlier turns leave."""
    nested = (pair for statement in body for pair in _nested(statement, ()))
    calls = (
        (call, tests) for inner, tests in nested for call in descendants(inner) if isinstance(call, ast.Call)
    )
    return any(
        varying.intersection(tests) or varying.intersection(_reads(descendants(call)))
        for call, tests in calls
    )


def _nested(statement: ast.stmt, under: tuple[str, ...]) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    yield statement, under
    tests = _reads(_all(_heads(statement)))
    for body in _bodies(statement):
        for inner in body:
            yield from _nested(inner, (*under, *tests))


def _expose(body: list[ast.stmt], done: set[str], exposed: set[str]) -> None:
    """Adds what a body reads and has not certainly assigned before; `done` grows by what it certainly assigns."""
    for statement in body:
        if isinstance(statement, ast.With | ast.AsyncWith):
            found = _all(statement.items)
            exposed |= _reads(found) - done
            done |= _standing(found, ast.Store)
            _expose(statement.body, done, exposed)
        elif isinstance(statement, ast.If):
            exposed |= _reads(descendants(statement.test)) - done
            ways = [set(done), set(done)]
            for way, branch in zip(ways, (statement.body, statement.orelse), strict=True):
                _expose(branch, way, exposed)
            done |= ways[0] & ways[1]
        else:
            exposed |= _reads(descendants(statement)) - done
            if isinstance(statement, ast.Assign):
                done |= {
                    name for name in _standing(_all(statement.targets), ast.Store) if not name.startswith(".")
                }


def _reads(found: list[ast.AST]) -> frozenset[str]:
    """The names and attributes that nodes read; what is written into in place is read, too."""
    stepped = [one for node in found if isinstance(node, ast.AugAssign) for one in descendants(node.target)]
    return _standing(found, ast.Load) | _standing(stepped, ast.Store) | names_written(found)


def _standing(found: list[ast.AST], context: type[ast.expr_context]) -> frozenset[str]:
    """The names, and attributes as `.name`, among nodes that stand there to be read, or to be set."""
    return frozenset(
        [
            node.id if isinstance(node, ast.Name) else f".{node.attr}"
            for node in found
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, context)
        ]
    )


def _all(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    return [inner for node in nodes for inner in descendants(node)]
