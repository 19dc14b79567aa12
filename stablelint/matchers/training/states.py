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
        for kept in nodes_in(root, ast.Assign) if restored else ():
            if isinstance(kept, ast.Assign) and called(kept.value) == "state_dict":
                loop = loop_around(kept, root)
                if loop is not None and _is_restored(
                    kept, [n for n in restored if start(n) > start(loop)], loop
                ):
                    yield site_at(review, rule, kept.value, {"state": kept.value})


def _is_restored(kept: ast.Assign, loads: list[ast.Call], loop: ast.AST) -> bool:
    """Whether one of the loads puts a kept state back behind the loop, and none does so in its turns."""
    of = _subject(kept.value)
    names = set(map(ast.unparse, kept.targets))
    of_it = [n for n in loads if n.args and _subject(n) == of and ast.unparse(n.args[0]) in names]
    return bool(of_it) and not set(of_it) & set(descendants(loop))


def _subject(call: ast.expr) -> str:
    """The text of the object whose method a call is."""
    of = receiver(call)
    return ast.unparse(of) if of is not None else ""
