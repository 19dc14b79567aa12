"""States of a model that a run keeps, to come back to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import site_at
from stablelint.matchers.names import called, functions_of, receiver
from stablelint.matchers.tree import loop_around, start
from stablelint.syntax.walk import descendants, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule


@observes()
def state_kept_by_reference(review: Review, rule: Rule) -> Iterator[Site]:
    """`best = model.state_dict()` in a loop, which trains on, and `model.load_state_dict(best)` after it."""
    for root in functions_of(review, ".state_dict()", "load_state_dict"):
        restored = [n for n in nodes_in(root, ast.Call) if called(n) == "load_state_dict"]
        for statement in nodes_in(root, ast.Assign) if restored else ():
            loop = loop_around(statement, root)
            after = [n for n in restored if loop is not None and start(n) > start(loop)]
            for name, kept in _bound(statement):
                state = _without_copy(kept)
                if (
                    loop is not None
                    and called(state) == "state_dict"
                    and _is_restored(name, state, after, loop)
                ):
                    yield site_at(review, rule, kept, {"state": kept})


def _bound(statement: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """What an assignment binds, and to what: each part of a tuple by itself."""
    value = statement.value
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(map(ast.unparse, target.elts), value.elts, strict=False)
        else:
            yield ast.unparse(target), value


def _without_copy(kept: ast.expr) -> ast.expr:
    """What a copy is made of that shares the tensors: `dict(state)`, `copy.copy(state)`, `state.copy()`."""
    if isinstance(kept, ast.Call) and called(kept) in ("dict", "OrderedDict", "copy"):
        inner = kept.args[0] if len(kept.args) == 1 else receiver(kept)
        return inner if inner is not None else kept
    return kept


def _is_restored(name: str, state: ast.expr, loads: list[ast.Call], loop: ast.AST) -> bool:
    """Whether one of the loads puts a kept state back behind the loop, and none does so in its turns."""
    of_it = [n for n in loads if n.args and _subject(n) == _subject(state) and ast.unparse(n.args[0]) == name]
    return bool(of_it) and not set(of_it) & set(descendants(loop))


def _subject(call: ast.expr) -> str:
    """The text of the object whose method a call is."""
    of = receiver(call)
    return ast.unparse(of) if of is not None else ""
