"""Operations that the principles speak of together, by canonical name."""

from __future__ import annotations

from stablelint.syntax.operations import having

LOGARITHMS = having("log")
WAVES = having("wave")
# Nothing in sight has computed it.
HANDED_OVER = having("given")
SETTINGS = having("setting")  # chosen by whoever calls or configures
COMPARISONS = having("compare")
CONDITIONS = having("compare", "logic")
BLANK = having("blank")  # made to be filled
FINITE_TESTS = having("finite-test")
# One number of a whole.
MEASURES = having("total", "spread", "norm", "extreme") | {"median", "logsumexp", "count_nonzero"}
# Flat where it underflows.
PICKING = having("pick", "extreme") | {"part"}  # elements of what they are given
