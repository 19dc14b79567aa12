"""A backward slice of a function: which of its statements matter to what somebody asks of it.

Order is left out of account, and what is called by an attribute goes by the attribute's name on whatever object, so
that more is kept than need be (Weiser, Program Slicing, 1984).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Set

from stablelint.syntax.names import last_name
from stablelint.syntax.walk import SCOPES, descendants, statements_below

_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_Flow = tuple[
    ast.stmt, Set[str], Set[str]
]  # a statement, the names that it may change, and those that it reads


def idle_statements(
    body: Iterable[ast.stmt], wanted: Set[str], asked: Callable[[ast.stmt], Iterable[ast.expr]]
) -> frozenset[int]:
    """The ids of statements none of whose calls has influence on the `wanted` names and attributes, or on what is `asked`.

    Only assignments, returns and expressions can be idle; every test counts as asked.
    """
    flows, needed = list[_Flow](), set(wanted)
    for node in (node for top in body for node in (top, *statements_below(top))):
        if not isinstance(node, (*_ASSIGNMENTS, ast.Expr, ast.Return)):
            needed |= _read_by_itself(node)
            continue
        nodes = [part for value in asked(node) for part in descendants(value)]
        needed |= _names_in(nodes)
        if not any(isinstance(part, ast.Call) for part in nodes):
            reads = _names_in(descendants(node))
            flows.append((node, _changed_by(node, reads), reads))
    return frozenset(id(node) for node, _, _ in _without_influence(flows, needed))


def _without_influence(flows: list[_Flow], needed: set[str]) -> list[_Flow]:
    """The flows that change nothing of what is needed, by themselves or through others."""
    while True:
        left = list[_Flow]()
        for flow in flows:
            if needed.isdisjoint(flow[1]):
                left.append(flow)
            else:
                needed |= flow[2]
        if len(left) == len(flows):
            return left
        flows = left


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
