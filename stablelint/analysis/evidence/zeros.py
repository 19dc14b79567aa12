"""What a zero means: a test that finds nothing, or a coincidence of all elements."""

from __future__ import annotations

from stablelint.analysis.values.masks import DRAWN
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind

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


def is_made(value: Value) -> bool:
    """Whether a network, a draw or a call yields the elements of a value, which ordinary data do not make 0 all at once."""
    parts = behind(value, lambda v: v.op in _MADE or v.kind is Kind.INSTANCE)
    return any(v.op in _MADE or v.op in DRAWN or v.op.startswith(("call.", "method.")) for v in parts)
