"""Operations that the principles speak of together, by canonical name."""

from __future__ import annotations

LOGARITHMS = frozenset("log log2 log10".split())
WAVES = frozenset({"sin", "cos"})
# Nothing in sight has computed it.
HANDED_OVER = frozenset("argument item free unknown attribute foreign".split())
SETTINGS = frozenset({"argument", "attribute"})  # chosen by whoever calls or configures
COMPARISONS = frozenset("eq ne gt ge lt le".split())
CONDITIONS = COMPARISONS | {"logical_and", "logical_or", "logical_not"}
BLANK = frozenset("zeros zeros_like empty empty_like".split())  # made to be filled
FINITE_TESTS = frozenset("isnan isinf isfinite".split())
MEASURES = frozenset(  # one number of a whole, or one of each row
    "sum mean nansum nanmean norm vector_norm std var amax amin max min median logsumexp count_nonzero".split()
)
# Flat where it underflows.
SQUASHING = frozenset("softmax sigmoid softplus exp exp2 tanh erf erfc ndtr".split())
PICKING = frozenset("index gather part select amax amin max min".split())  # elements of what they are given
