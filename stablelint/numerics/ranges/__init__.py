"""The range of each torch operation's result, from the ranges of its operands.

Operations are keyed by their canonical name (`log`, `softmax`, `clamp`, `sum` …). The tables stand by family
in this package's modules; `OPERATIONS` is their union and `ALIASES` maps further spellings onto it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from stablelint.numerics.formats import FLOAT32, FloatFormat
from stablelint.numerics.interval import Interval
from stablelint.numerics.ranges.activations import ACTIVATIONS
from stablelint.numerics.ranges.call import Call, Transfer
from stablelint.numerics.ranges.creation import CREATION
from stablelint.numerics.ranges.elementary import ELEMENTARY
from stablelint.numerics.ranges.elementwise import ELEMENTWISE
from stablelint.numerics.ranges.losses import LOSSES
from stablelint.numerics.ranges.products import PRODUCTS
from stablelint.numerics.ranges.reductions import REDUCTIONS
from stablelint.numerics.ranges.structure import STRUCTURE

__all__ = ["ALIASES", "OPERATIONS", "Call", "Transfer", "canonical", "range_of"]

OPERATIONS: Mapping[str, Transfer] = {
    **ELEMENTARY,
    **ACTIVATIONS,
    **ELEMENTWISE,
    **REDUCTIONS,
    **PRODUCTS,
    **STRUCTURE,
    **CREATION,
    **LOSSES,
}

ALIASES: Mapping[str, str] = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "expit": "sigmoid",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "logsigmoid": "log_sigmoid",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "psi": "digamma",
    "sgn": "sign",
    "subtract": "sub",
    "swish": "silu",
    "true_divide": "div",
}


@lru_cache(maxsize=4096)
def canonical(operation: str) -> str | None:
    """The key of `operation` in `OPERATIONS`: itself, an alias's target, or either without a final `_`."""
    for name in (operation, operation.removesuffix("_")):
        if name in OPERATIONS:
            return name
        if name in ALIASES:
            return ALIASES[name]
    return None


def range_of(
    operation: str,
    operands: Sequence[Interval],
    params: Mapping[str, object] | None = None,
    fmt: FloatFormat = FLOAT32,
) -> Interval | None:
    """The range of `operation`'s result in `fmt`, or None for an operation without an entry.

    Operands are those of the torch function, in order; a missing one is unknown (`TOP`). `params` holds its
    other arguments by their torch names, as Python numbers or intervals, and for reductions `size` (the
    number of elements) and `nonempty` (true unless said). Sound for each member of the operands up to the
    claims that `numerics.arithmetic` documents, and up to a few units in the last place at the finite ends of
    functions that a library does not round correctly.
    """
    name = canonical(operation)
    if name is None:
        return None
    return OPERATIONS[name](Call(tuple(operands), params or {}, fmt))
