"""Constants that an element type cannot tell from a simpler one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.interest import observes
from stablelint.analysis.judge import Judgement
from stablelint.analysis.pattern import Match
from stablelint.analysis.sites import Site, encloses
from stablelint.analysis.value import Kind, Value
from stablelint.diagnostic import Level, Status
from stablelint.numerics.formats import FLOAT32, round_to

if TYPE_CHECKING:
    from stablelint.analysis.review import Review
    from stablelint.catalog.rule import Rule

_OPERATIONS = frozenset({"add", "sub", "clamp", "maximum", "minimum"})  # a factor of nearly 1 may well be 1


@observes("1-eps add|sub|clamp|maximum|minimum")
def absorbed_eps(review: Review, rule: Rule) -> Iterator[Site]:
    """`1 - 1e-15` beside a tensor: computed in double precision, it is 1 once it meets float32."""
    for value, frame in review.collector.observed:
        if value.op not in _OPERATIONS or value.node is None or value.kind is Kind.NUMBER:
            continue
        if value.dtype == "float64" or not hasattr(value.node, "lineno"):
            continue
        for constant in value.operands.values():
            if _is_absorbed(constant):
                match = Match({"c": constant}, [value])
                context = review.collector.context(value, match.bindings, frame)
                statement = review.collector.statements.get(id(value))
                node = constant.node
                anchor = node if node is not None and encloses(value.node, node) else None
                whole = int(round_to(constant.data, FLOAT32))
                judgement = Judgement(Status.VIOLATED, Level.LIKELY)
                yield Site(
                    rule, value, match, judgement, frame, context.ranges, context, {}, statement,
                    message=f"{constant.data!r} is {whole} in float32: the small term is absorbed",
                    anchor=anchor,
                )  # fmt: skip


def _is_absorbed(constant: Value) -> bool:
    """A float next to a nonzero integer that float32 rounds to that integer."""
    number = constant.constant()
    if not isinstance(number, float) or number.is_integer() or not 0.5 < abs(number) < 1e6:
        return False
    node = constant.node
    written = isinstance(node, ast.Constant) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
    )
    return written and round_to(number, FLOAT32).is_integer()
