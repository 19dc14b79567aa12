"""Assignments that a rewrite leaves without a reader."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from stablelint.codemod.flow.definition import Function, definition, function_of, is_local
from stablelint.codemod.flow.effects import Effect, effect
from stablelint.codemod.flow.nodes import loads, looks_names_up, readers
from stablelint.codemod.text import draft
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.syntax.remembered import remembered
from stablelint.syntax.walk import descendants

_Assignment = ast.Assign | ast.AnnAssign


def removals(tree: Tree, replaced: ast.AST, written: Sequence[ast.AST]) -> list[draft.Change]:
    """The changes that delete local assignments which only `replaced` read, and `written` does not.

    An assignment stays where evaluating it may do something, or where it shares its lines. Raises Withheld where the
    docstring names it, or a comment speaks of it that would be lost: one above it stands above `replaced` from then on,
    where that comes next.
    """
    function = function_of(tree, replaced)
    if function is None or looks_names_up(function):
        return []
    gone: list[ast.AST] = [replaced]
    changes: list[draft.Change] = []
    still_read = {name for node in written for name in _names(node)}
    pending = _names(replaced)
    while pending:
        name = pending.pop()
        statement = _only_binding(function, name)
        given = _given(statement) if statement is not None else []
        within = {inner for one in gone for inner in ast.walk(one)}
        read = {one.id for one in loads(function) if one not in within} | still_read
        if not read.isdisjoint(given):
            continue
        statement = statement or _read_here_alone(tree, function, gone, name)
        if statement is None or statement in gone or name in still_read:
            continue
        change = _removal(tree, statement, tree.statement(replaced))
        if change is not None:
            if len(name) > 1 and re.search(rf"\b{name}\b", ast.get_docstring(function) or ""):
                raise Withheld(f"`{name}`, of which the docstring speaks, would be gone")
            changes.append(change)
            gone.append(statement)
            pending |= _names(statement)
    return changes


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in loads(node)}


def _only_binding(function: Function, name: str) -> _Assignment | None:
    """The assignment to a name, or to several with it, where nothing else binds it."""
    found = _bindings(function).get(name, [])
    return found[0] if len(found) == 1 else None


@remembered
def _bindings(function: Function) -> dict[str, list[_Assignment | None]]:
    """What binds each name of a function: the assignment that gives it a value, or None where it is anything else."""
    found: dict[str, list[_Assignment | None]] = {}
    given = set[ast.AST]()
    for node in descendants(function):
        names: list[str] = []
        if isinstance(node, _Assignment) and (names := _given(node)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            given.update((target, *getattr(target, "elts", ())))
        for name in names:
            found.setdefault(name, []).append(node if isinstance(node, _Assignment) else None)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in given:
            found.setdefault(node.id, []).append(None)
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(None)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                found.setdefault(name, []).append(None)
    return found


def _read_here_alone(tree: Tree, function: Function, gone: list[ast.AST], name: str) -> _Assignment | None:
    """The assignment to a name that is bound more than once, where all that can read its value goes."""
    if name in _captured(function) or name in _needed(function):
        return None
    within = {inner for node in gone for inner in ast.walk(node)}
    given = {node: definition(tree, node) for node in readers(function, name)}
    own = {one.statement for node, one in given.items() if node in within and one is not None}
    if len(own) != 1:
        return None
    statement = own.pop()
    others = [one for node, one in given.items() if node not in within]
    if any(one is None or one.statement is statement for one in others):
        return None
    return statement if isinstance(statement, _Assignment) else None


@remembered
def _needed(function: Function) -> frozenset[str]:
    """The names that a function takes away, or changes what they hold of: they must have a value before."""
    changed = (node.target for node in descendants(function) if isinstance(node, ast.AugAssign))
    taken = (node for node in descendants(function) if isinstance(getattr(node, "ctx", None), ast.Del))
    return frozenset(node.id for node in (*changed, *taken) if isinstance(node, ast.Name))


def _given(statement: _Assignment) -> list[str]:
    """The names that a statement gives values to, where it gives them to nothing else."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    parts = targets[0].elts if isinstance(targets[0], ast.Tuple) else targets[:1]
    names = [one.id for one in parts if isinstance(one, ast.Name)]
    return names if len(names) == len(parts) and len(targets) == 1 and statement.value is not None else []


@remembered
def _captured(function: Function) -> frozenset[str]:
    """The names of a function that are seen outside its own body."""
    nested = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    found = set[str]()
    for node in descendants(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        elif node is not function and isinstance(node, nested):
            found |= _names(node)
    return frozenset(found)


def _removal(tree: Tree, statement: _Assignment, reader: ast.stmt) -> draft.Change | None:
    siblings = tree.siblings(statement)
    if statement.value is None or effect(statement.value) is Effect.ACTS or len(siblings) == 1:
        return None
    if not is_local(tree, statement):
        return None
    try:
        region = draft.whole_lines(tree, statement)
    except Withheld:
        return None
    source = tree.source
    row = source.position(region.start).row
    above = source.line(row - 1).strip() if row > 1 else ""
    is_next = reader in siblings[siblings.index(statement) + 1 :][:1]
    if (above.startswith("#") and not is_next) or "#" in source.text[region.start : region.end]:
        raise Withheld(f"`{', '.join(_given(statement))}`, of which a comment speaks, would be gone")
    return draft.removal(tree, region)
