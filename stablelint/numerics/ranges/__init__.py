"""The range of each torch operation's result, from the ranges of its operands.

Operations are keyed by their canonical name (`log`, `softmax`, `clamp`, `sum` …), those alone that the analysis does
not rewrite to others or pass through. The tables stand by family in this package's modules; `OPERATIONS` is their union.
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

__all__ = ["OPERATIONS", "range_of"]

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
    return (
        _range_of(operation, tuple(operands), params, fmt)
        if params
        else _plain(operation, tuple(operands), fmt)
    )


@lru_cache(maxsize=8192)
def _plain(operation: str, operands: tuple[Interval, ...], fmt: FloatFormat) -> Interval | None:
    """The range without other arguments, which is asked for the same few operands over and over."""
    return _range_of(operation, operands, {}, fmt)


def _range_of(
    operation: str, operands: tuple[Interval, ...], params: Mapping[str, object], fmt: FloatFormat
) -> Interval | None:
    transfer = OPERATIONS.get(operation)
    return None if transfer is None else transfer(Call(operands, params, fmt))
