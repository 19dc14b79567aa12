"""Fixes that wait for a round: until they can read the name that another gives, or another has made them needless."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from stablelint.codemod.flow.definition import Function
from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.diagnostic import Applicability, Diagnostic
from stablelint.syntax.names import called_name
from stablelint.syntax.walk import descendants, functions_below

_ASSIGNMENT = re.compile(r"[^\W\d]\w* = \S")


def without_waiting(source: bytes, items: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings whose fixes can be made in one pass.

    Of equal assignments in a function the first alone is; and what bounds a value in a function waits for what bounds
    one in a function that calls it, and may hand it over bounded.
    """
    if len(items) < 2:
        return list(items)
    try:
        functions = functions_below(parse(SourceText.decode(source).text))
    except SourceError:
        return list(items)
    around = [_around(item, functions) for item in items]
    called = {function: _called(function) for function in around if function is not None}
    seen: set[tuple[str, Function | None]] = set()
    kept: list[Diagnostic] = []
    for item, own in zip(items, around, strict=True):
        callers = [
            one for one, names in called.items() if own is not None and own.name in names and one is not own
        ]
        waits = any(own is not None and one.name not in called[own] for one in callers) and _is_unsafe(item)
        made = {(text, own) for text in _assignments(item)}
        if not waits and not made & seen:
            kept.append(item)
        seen |= made
    return kept or list(items[:1])


def _is_unsafe(item: Diagnostic) -> bool:
    return item.fix is not None and item.fix.applicability is Applicability.UNSAFE


def _around(item: Diagnostic, functions: Sequence[Function]) -> Function | None:
    """The innermost function around a finding."""
    row = item.span.start.row
    held = (one for one in functions if one.lineno <= row <= (one.end_lineno or one.lineno))
    return max(held, key=lambda one: one.lineno, default=None)


def _called(function: Function) -> frozenset[str]:
    return frozenset(called_name(one) for one in descendants(function) if isinstance(one, ast.Call))


def _assignments(item: Diagnostic) -> Iterator[str]:
    """What the fix of a finding puts in before a statement."""
    for edit in item.fix.edits if item.fix is not None else ():
        if edit.span.start == edit.span.end and _ASSIGNMENT.match(edit.content):
            yield edit.content.strip()
