"""Operations that the principles speak of together, by canonical name."""

from __future__ import annotations

LOGARITHMS = frozenset("log log2 log10".split())
WAVES = frozenset({"sin", "cos"})
HANDED_OVER = frozenset("argument item free unknown attribute".split())  # nothing in sight has computed it
CONDITIONS = frozenset("eq ne gt ge lt le logical_and logical_or logical_not".split())
FINITE_TESTS = frozenset("isnan isinf isfinite".split())
