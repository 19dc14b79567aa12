"""The order of a scheduler's step and the optimizer's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import site_at
from stablelint.matchers.names import called, functions_of, receiver
from stablelint.matchers.tree import block_of, mentions, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule


@observes()
def scheduler_first(review: Review, rule: Rule) -> Iterator[Site]:
    """`scheduler.step()` and, further down in the same block, the only `optimizer.step()` of the function."""
    for root in functions_of(review, "sched", ".step()"):
        steps = [n for n in nodes_in(root, ast.Call) if called(n) == "step" and isinstance(n, ast.Call)]
        schedulers = [n for n in steps if "sched" in _subject(n) and not n.args and not n.keywords]
        optimizers = [n for n in steps if n not in schedulers and _is_optimizer(_subject(n))]
        if len(schedulers) != 1 or len(optimizers) != 1:
            continue
        block = block_of(schedulers[0], root) or []
        if block_of(optimizers[0], root) is not block:
            continue
        first, last = _place(schedulers[0], block), _place(optimizers[0], block)
        if first is None or last is None or first > last:
            continue
        ready = any(mentions(statement, "backward", "manual_backward") for statement in block[:first])
        parts: dict[str, ast.expr] = {"step": optimizers[0]} if ready else {}
        yield site_at(review, rule, schedulers[0], parts, statement=block[first])


def _subject(call: ast.AST) -> str:
    """The last name of the object whose method a call is, in small letters."""
    of = receiver(call)
    return ast.unparse(of).rpartition(".")[2].lower() if of is not None else ""


def _is_optimizer(subject: str) -> bool:
    return "optim" in subject or subject in ("opt", "adam", "sgd")


def _place(call: ast.Call, block: list[ast.stmt]) -> int | None:
    """Which statement of a block the call is by itself."""
    return next((i for i, s in enumerate(block) if isinstance(s, ast.Expr) and s.value is call), None)
