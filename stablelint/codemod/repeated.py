"""Fixes that would give one value its name twice: the second waits until it can read the first one's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.diagnostic import Diagnostic

_ASSIGNMENT = re.compile(r"[^\W\d]\w* = \S")


def without_repeated(source: bytes, items: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings whose fixes can be made in one pass: of equal assignments in a function the first alone."""
    if sum(1 for item in items if any(_assignments(item))) < 2:
        return list(items)
    try:
        functions = _functions(SourceText.decode(source).text)
    except SourceError:
        return list(items)
    seen: set[tuple[str, int]] = set()
    kept = []
    for item in items:
        row = item.span.start.row
        around = max((first for first, last in functions if first <= row <= last), default=0)
        made = {(text, around) for text in _assignments(item)}
        if not made & seen:
            kept.append(item)
        seen |= made
    return kept


def _assignments(item: Diagnostic) -> Iterator[str]:
    """What the fix of a finding puts in before a statement."""
    for edit in item.fix.edits if item.fix is not None else ():
        if edit.span.start == edit.span.end and _ASSIGNMENT.match(edit.content):
            yield edit.content.strip()


def _functions(text: str) -> list[tuple[int, int]]:
    """The first and last row of every function."""
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
