"""What a zero means: a test that finds nothing, or a coincidence of all elements."""

from __future__ import annotations

from stablelint.analysis.values.families import CONDITIONS
from stablelint.analysis.values.masks import DRAWN, unnegated
from stablelint.analysis.values.pairs import is_of_all_pairs
from stablelint.analysis.values.value import Ground, Kind, Value
from stablelint.analysis.values.vanishing import is_masked_difference
from stablelint.analysis.values.views import behind, stripped

_COUNTED = frozenset(
    "lengths_mask one_hot eye relu relu6 isnan isfinite".split()
)  # ordinary data make a row 0
_JOINED = frozenset("phi add cat".split())
_MADE_OF_TESTS = frozenset("sub sum pow square abs index where scatter_add mul".split())
_SPREADS = frozenset("norm vector_norm std var amax max".split())
_MADE = frozenset(
    "linear_module norm_module layer_output linear conv1d conv2d conv3d embedding parameter exp softmax sigmoid softplus "
    "rsample".split()
)
_PASSING = frozenset("stack sqrt pow abs square neg mean amin min item sum".split())
_DEPTH = 6


def counts_a_test(value: Value, depth: int = _DEPTH) -> bool:
    """Whether the elements of a value are 0 where a test fails or a unit is dead."""
    inner = unnegated(value)
    if value.dtype == "bool" or inner.dtype == "bool" or inner.op in CONDITIONS or inner.op in _COUNTED:
        return True
    if is_masked_difference(inner) or is_of_all_pairs(inner):
        return True
    parts = [part for part in inner.operands.values() if not part.is_constant]
    if not depth or not parts:
        return False
    if inner.op in _JOINED:
        return all(counts_a_test(part, depth - 1) for part in parts)
    return inner.op in _MADE_OF_TESTS and any(counts_a_test(part, depth - 1) for part in parts)


def is_chance(value: Value) -> bool:
    """Whether a norm, spread or maximum is 0 only if all elements of what a network or a draw yields agree."""
    inner = stripped(value)
    for _ in range(_DEPTH):
        if inner.op in _SPREADS:
            break
        if inner.op not in _PASSING or inner.first is None or inner.zero is Ground.SATURATION:
            return False
        inner = stripped(inner.first)
    return inner.op in _SPREADS and inner.first is not None and is_made(inner.first)


def is_made(value: Value) -> bool:
    """Whether a network, a draw or a call yields the elements of a value, which ordinary data do not make 0 all at once."""
    parts = behind(value, lambda v: v.op in _MADE or v.kind is Kind.INSTANCE)
    return any(v.op in _MADE or v.op in DRAWN or v.op.startswith(("call.", "method.")) for v in parts)
