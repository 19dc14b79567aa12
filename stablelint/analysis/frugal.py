"""Whether anything that was seen in a function rests on calls that were not followed.

Most of what a long call yields never reaches an operation with a contract, or does so through a layer, whose output is
unbounded whatever goes in. A function is therefore looked at without its long calls first, and with them only where an
operation that matters stands on what they yield.
"""

from __future__ import annotations

from collections.abc import Iterable

from stablelint.analysis.interest import Words
from stablelint.analysis.sites import Collector
from stablelint.analysis.value import Kind, Value
from stablelint.syntax.sieve import words_of

# Operations whose result says nothing of what goes in.
_FORGETFUL = frozenset({"linear_module", "norm_module", "layer_output", "parameter", "shape"})


def rests_on_calls(collector: Collector, words: Words, since: int) -> bool:
    """Whether an operation that one of `words` stands for depends on a value unknown since the key `since`."""
    roots = [value for value, _ in collector.observed if matters(value, words)]
    return any_unknown(roots, since)


def matters(value: Value, words: Words) -> bool:
    """Whether a rule can have this operation at its root."""
    return not words_of(value.op.removeprefix("method.")).isdisjoint(words)


def any_unknown(values: Iterable[Value], since: int) -> bool:
    """Whether a value, or one of those that it is made from, is unknown and younger than the key `since`."""
    stack = list(values)
    seen: set[int] = set()
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.op == "unknown" and value.key > since:
            return True
        if value.op in _FORGETFUL:
            continue
        stack.extend(value.operands.values())
        if value.kind is Kind.SEQUENCE:
            stack.extend(value.data)
    return False
