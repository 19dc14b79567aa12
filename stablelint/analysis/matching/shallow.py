"""Whether anything that was seen in a function rests on calls that were not followed.

Most of what a long call yields never reaches an operation with a contract, or does so through a layer, whose output is
unbounded whatever goes in. A function is therefore looked at without its long calls first, and with them only where an
operation that matters stands on what they yield.
"""

from __future__ import annotations

from collections.abc import Iterable

from stablelint.analysis.matching.interest import Words
from stablelint.analysis.values.state import Frame, Observer
from stablelint.analysis.values.value import Kind, Value
from stablelint.syntax.operations import having
from stablelint.syntax.sieve import words_of

# Operations whose result says nothing of what goes in.
_FORGETFUL = having("layer") | {"parameter", "shape"}


class RestsOnCallError(Exception):
    """A finding can rest on a call that was not followed."""


class Watch:
    """Looks on while a function is interpreted without its long calls, and ends that where they matter.

    `words` stand for the operations that matter; what has a key beyond `since` was made in this function.
    """

    def __init__(self, observe: Observer, words: Words, since: int) -> None:
        self._observe = observe
        self._words = words
        self._since = since
        self._known: set[int] = set()

    def observe(self, value: Value, frame: Frame) -> None:
        """Hands an operation on; raises RestsOnCallError where it depends on a call that was passed over."""
        if frame.session.passed_over and matters(value, self._words) and not self._is_plain_view(value):
            if any_unknown((value,), self._since, self._known):
                raise RestsOnCallError
        self._observe(value, frame)

    def _is_plain_view(self, value: Value) -> bool:
        """Whether one size of a view is no tensor's: the order of sizes is all that can be wrong with a view."""
        if value.op != "view":
            return False
        sizes = [size for name, size in value.operands.items() if name != "input"]
        if len(sizes) == 1 and sizes[0].kind is Kind.SEQUENCE:
            sizes = sizes[0].data
        known = [size for size in sizes if size.op not in ("size", "starred") and size.constant() != -1]
        return any(not any_unknown((size,), self._since) for size in known)


def matters(value: Value, words: Words) -> bool:
    """Whether a rule can have this operation at its root."""
    return not words_of(value.op.removeprefix("method.")).isdisjoint(words)


def any_unknown(values: Iterable[Value], since: int, known: set[int] | None = None) -> bool:
    """Whether a value, or one of those that it is made from, is unknown and younger than the key `since`.

    `known` holds the ids of values that are not, and takes up those that are found.
    """
    stack = list(values)
    seen = known if known is not None else set()
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
