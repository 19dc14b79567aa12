"""Values that vanish together: where one mask is 0, all that was multiplied by it is."""

from __future__ import annotations

from stablelint.analysis.values.value import Attained, Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.operations import having

_TOGETHER = having("join") | {"add", "sub", "maximum", "minimum", "phi"}  # 0 where all of their operands are
# Where the first is.
_ALONE = frozenset("div neg abs pow sqrt index part relu sum mean sign sin tanh cumsum".split())
_DEPTH = 8


def vanish_together(a: Value, b: Value) -> bool:
    """Whether some mask makes elements of both 0 at once."""
    if a.zero is not Attained.EXACT or b.zero is not Attained.EXACT:
        return False
    masks = _masks(a, _DEPTH)
    return bool(masks) and not masks.isdisjoint(_masks(b, _DEPTH))


def is_masked_difference(value: Value) -> bool:
    """Whether a value is 0 where two others are, because the same mask makes both 0."""
    for _ in range(_DEPTH):
        value = stripped(value)
        if value.op in ("add", "sub") and len(value.operands) == 2:
            a, b = value.operands.values()
            return vanish_together(a, b)
        if value.op not in _ALONE or value.first is None:
            return False
        value = value.first
    return False


def _masks(value: Value, depth: int) -> frozenset[int]:
    """Keys of the masks at whose zeros a value is 0."""
    inner = stripped(value)
    if depth == 0 or inner.zero is not Attained.EXACT:
        return frozenset()
    own = frozenset({inner.key}) if inner.interval.lo == 0 and inner.interval.hi <= 1 else frozenset()
    parts = list(inner.operands.values())
    if not parts:
        return own
    if inner.op == "mul":
        return own.union(*(_masks(part, depth - 1) for part in parts))
    if inner.op in _TOGETHER:
        return own | frozenset.intersection(*(_masks(part, depth - 1) for part in parts))
    return own | _masks(parts[0], depth - 1) if inner.op in _ALONE else own
