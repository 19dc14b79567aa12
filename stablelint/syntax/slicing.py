"""A backward slice of a function: which of its statements matter to what somebody asks of it.

What is called by an attribute goes by the attribute's name on whatever object, so that more is kept than need be
(Weiser, Program Slicing, 1984).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from stablelint.syntax.names import last_name
from stablelint.syntax.walk import BLOCKS, SCOPES, descendants, statements_below

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_Asked = Callable[[ast.stmt], Iterable[ast.expr]]


def idle_statements(body: Sequence[ast.stmt], asked: _Asked) -> frozenset[int]:
    """The ids of statements none of whose calls has influence on what is `asked`.

    Only assignments, returns and expressions can be idle; every test counts as asked. Where calls are made for what is
    asked, it is the others of the statement that are idle, if what they yield has no influence.
    """
    idle = set[int]()
    within = (part for top in body for part in (top, *statements_below(top)) if isinstance(part, SCOPES))
    _go_back(body, set[str]().union(*map(_read_by_itself, within)), asked, idle)
    return frozenset(idle)


def _go_back(body: Sequence[ast.AST], needed: Set[str], asked: _Asked, idle: set[int]) -> Set[str]:
    """What is needed before statements, if some is after them; keeps account of those that are idle."""
    for node in reversed(body):
        if isinstance(node, _SIMPLE):
            needed = _before(node, needed, asked, idle)
        elif isinstance(node, ast.If):
            other = _go_back(node.orelse, needed, asked, idle)
            needed = _go_back(node.body, needed, asked, idle) | other | _read_by_itself(node)
        elif not isinstance(node, SCOPES):
            after: Set[str] = frozenset()
            while len(after) < len(needed):  # a loop begins again, and a handler follows on any statement
                after = needed
                for block in reversed(BLOCKS[type(node)]):
                    needed = _go_back(getattr(node, block), needed, asked, idle) | after
                needed |= _read_by_itself(node)
    return needed


def _before(node: ast.stmt, needed: Set[str], asked: _Asked, idle: set[int]) -> Set[str]:
    """What is needed before a simple statement."""
    parts = descendants(node)
    given = [part for value in asked(node) for part in descendants(value)]
    calls = {id(part) for part in parts if isinstance(part, ast.Call)}
    beside = calls.difference(map(id, given))
    reads = _names_in(parts)
    spared = beside if beside != calls else {id(node)}
    if needed.isdisjoint(_changed_by(node, reads)):
        idle |= spared
        return needed | _names_in(given)
    idle -= spared
    return needed | reads


def _changed_by(node: ast.stmt, reads: Set[str]) -> Set[str]:
    """The names and attributes that a simple statement may change: a call, whatever it is given."""
    if isinstance(node, ast.Assign):
        return {name for target in node.targets for name in _written(target)}
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return set(_written(node.target))
    return reads if isinstance(node, ast.Expr) else set()


def _written(target: ast.expr) -> Iterator[str]:
    """What an assignment to a target writes: a name, an attribute, or what has the item that is written."""
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _written(part)
        return
    while isinstance(target, ast.Subscript | ast.Starred):
        target = target.value
    yield last_name(target)


def _read_by_itself(node: ast.AST) -> set[str]:
    """What a compound statement reads in its own line, or a definition within it anywhere."""
    if isinstance(node, SCOPES):
        return _names_in(descendants(node))
    own = (part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt))
    return {
        name
        for part in own
        if isinstance(part, ast.expr | ast.withitem | ast.pattern)
        for name in _names_in(descendants(part))
    }


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The names and attributes among nodes, and the texts by which an attribute may be asked for."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found
