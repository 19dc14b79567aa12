"""States of a model that a run keeps, to come back to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import site_at
from stablelint.matchers.names import called, functions_of, receiver
from stablelint.matchers.tree import loop_around
from stablelint.syntax.walk import descendants, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule


@observes()
def state_kept_by_reference(review: Review, rule: Rule) -> Iterator[Site]:
    """`best = model.state_dict()` in a loop, which trains on, and `model.load_state_dict(best)` after it."""
    for root in functions_of(review, ".state_dict()", "load_state_dict"):
        restored = {
            (_subject(call), ast.unparse(call.args[0]))
            for call in nodes_in(root, ast.Call)
            if isinstance(call, ast.Call) and called(call) == "load_state_dict" and call.args
        }
        for kept in nodes_in(root, ast.Assign) if restored else ():
            if isinstance(kept, ast.Assign) and called(kept.value) == "state_dict":
                pairs = {(_subject(kept.value), ast.unparse(target)) for target in kept.targets}
                loop = loop_around(kept, root)
                if pairs & restored and loop is not None and not _is_put_back(loop, pairs & restored):
                    yield site_at(review, rule, kept.value, {"state": kept.value})


def _subject(call: ast.expr) -> str:
    """The text of the object whose method a call is."""
    of = receiver(call)
    return ast.unparse(of) if of is not None else ""


def _is_put_back(loop: ast.AST, kept: set[tuple[str, str]]) -> bool:
    """Whether the turns of a loop put back themselves what they keep."""
    calls = (n for n in descendants(loop) if isinstance(n, ast.Call) and n.args)
    return any(
        called(c) == "load_state_dict" and (_subject(c), ast.unparse(c.args[0])) in kept for c in calls
    )
