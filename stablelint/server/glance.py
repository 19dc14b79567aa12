"""What is shown before there is a whole answer: the function around a keystroke anew, the rest as it was."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import attrs
from lsprotocol import types

from stablelint.records import dataclass, replace

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Change:
    """The rows, from 1, in which alone a text differs from the former one, or of the function around them; what moved."""

    rows: range
    former: range  # rows, from 0, that have been replaced; what stands behind them has moved
    by: int

    def moved(self, shown: Iterable[types.Diagnostic]) -> Iterator[types.Diagnostic]:
        """What was shown outside of these rows, where it stands now."""
        for item in shown:
            place = self._range(item.range)
            if item.range.start.line not in self.former and place.start.line + 1 not in self.rows:
                related = [
                    attrs.evolve(r, location=attrs.evolve(r.location, range=self._range(r.location.range)))
                    for r in item.related_information or ()
                ]
                yield attrs.evolve(item, range=place, related_information=related or None)

    def _range(self, place: types.Range) -> types.Range:
        return types.Range(self._position(place.start), self._position(place.end))

    def _position(self, at: types.Position) -> types.Position:
        return types.Position(at.line + (self.by if at.line >= self.former.stop else 0), at.character)


def change(before: Sequence[str], after: Sequence[str]) -> Change:
    """What was typed between two texts, by their lines."""
    top = _alike(before, after)
    end = _alike(before[top:][::-1], after[top:][::-1])
    rows = range(top + 1, max(top + 1, len(after) - end) + 1)
    return Change(rows, range(top, len(before) - end), len(after) - len(before))


def change_in_function(before: Sequence[str], after: Sequence[str], data: bytes) -> Change | None:
    """What was typed, where it lies in the body of one function; `data` is the text that `after` has the lines of."""
    typed = change(before, after)
    function = _function_around(data, typed.rows.start, typed.rows.stop - 1)
    return None if function is None else replace(typed, rows=function)


def kept(
    shown: Iterable[types.Diagnostic], before: Sequence[str], after: Sequence[str], data: bytes
) -> list[types.Diagnostic]:
    """What stays of the findings shown in a former text while the text does not parse: all but where it was typed."""
    if _parsed(data) is not None:
        return []
    return [item for item in change(before, after).moved(shown) if item.code is not None]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the start are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _function_around(data: bytes, first: int, last: int) -> range | None:
    """The rows of the outermost function, with its decorators, whose body holds these rows."""
    tree = _parsed(data)
    pending: list[ast.stmt] = list(tree.body) if tree is not None else []
    while pending:
        node = pending.pop()
        if not node.lineno <= last <= (node.end_lineno or 0):
            continue
        if isinstance(node, _FUNCTIONS):
            start = min(item.lineno for item in (node, *node.decorator_list))
            return range(start, (node.end_lineno or 0) + 1) if node.body[0].lineno <= first else None
        pending.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
    return None


def _parsed(data: bytes) -> ast.Module | None:
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
