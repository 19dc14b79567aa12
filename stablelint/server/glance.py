"""What is shown between a keystroke and the whole answer: the function around it anew, the rest as it was."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import attrs
from lsprotocol import types

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Change:
    """The rows of a function, from 1, in whose body alone a text differs from the former one, and what moved."""

    function: range
    last: int  # former row of the change; what stands behind it has moved
    by: int

    def moved(self, shown: Iterable[types.Diagnostic]) -> Iterator[types.Diagnostic]:
        """What was shown outside of the function, where it stands now."""
        for item in shown:
            place = self._range(item.range)
            if place.start.line + 1 not in self.function:
                related = [
                    attrs.evolve(r, location=attrs.evolve(r.location, range=self._range(r.location.range)))
                    for r in item.related_information or ()
                ]
                yield attrs.evolve(item, range=place, related_information=related or None)

    def _range(self, place: types.Range) -> types.Range:
        return types.Range(self._position(place.start), self._position(place.end))

    def _position(self, at: types.Position) -> types.Position:
        return types.Position(at.line + (self.by if at.line >= self.last else 0), at.character)


def change(before: Sequence[str], after: Sequence[str], data: bytes) -> Change | None:
    """What was typed, where it lies in the body of one function; `data` is the text that `after` has the lines of."""
    top = _alike(before, after)
    end = _alike(before[top:][::-1], after[top:][::-1])
    function = _function_around(data, top + 1, max(top + 1, len(after) - end))
    return None if function is None else Change(function, len(before) - end, len(after) - len(before))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the start are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _function_around(data: bytes, first: int, last: int) -> range | None:
    """The rows of the outermost function, with its decorators, whose body holds these rows."""
    try:
        pending: list[ast.stmt] = list(ast.parse(data).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    while pending:
        node = pending.pop()
        if not node.lineno <= last <= (node.end_lineno or 0):
            continue
        if isinstance(node, _FUNCTIONS):
            start = min(item.lineno for item in (node, *node.decorator_list))
            return range(start, (node.end_lineno or 0) + 1) if node.body[0].lineno <= first else None
        pending.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
    return None
