"""Two values put in order: ``(a, b) if a < b else (b, a)``."""

from __future__ import annotations

import ast

_RISING = (ast.Lt, ast.LtE)
_FALLING = (ast.Gt, ast.GtE)


def ordered_pair(node: ast.IfExp) -> tuple[str, str] | None:
    """Which of the minimum and the maximum comes first in a pair that a comparison puts in order; None for another."""
    test, kept, swapped = node.test, node.body, node.orelse
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _RISING + _FALLING):
        return None
    if len(test.ops) != 1 or not isinstance(kept, ast.Tuple) or not isinstance(swapped, ast.Tuple):
        return None
    pair = [ast.dump(test.left), ast.dump(test.comparators[0])]
    first, second = ([ast.dump(part) for part in branch.elts] for branch in (kept, swapped))
    if first != second[::-1] or pair not in (first, second):
        return None
    is_rising = isinstance(test.ops[0], _RISING) == (first == pair)
    return ("minimum", "maximum") if is_rising else ("maximum", "minimum")
