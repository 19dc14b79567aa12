"""Fixes that wait for a round: until they can read the name that another gives, or another has made them needless."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from stablelint.codemod.flow.definition import Function
from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.diagnostic import Applicability, Diagnostic
from stablelint.syntax.names import called_name
from stablelint.syntax.walk import descendants, functions_below, nodes_below

_NAME = re.compile(r"(?<![.\w])[^\W\d]\w*")
_ASSIGNMENT = re.compile(r"[^\W\d]\w* = \S")


def without_waiting(source: bytes, items: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings whose fixes can be made in one pass.

    Of equal assignments in a function the first alone is, and of edits of one line, which is broken when it gets too long.
    What reads a name waits for a change of the value that the name is given; what bounds a value in a
    function for what bounds one in a function that calls it, and may hand it over bounded. And of those that do without a
    local name the last waits, which finds it without another reader.
    """
    if len(items) < 2:
        return list(items)
    try:
        text = SourceText.decode(source)
        tree = parse(text.text)
    except SourceError:
        return list(items)
    functions = functions_below(tree)
    around = [_around(item, functions) for item in items]
    places = list(zip(items, around, strict=True))
    behind = _behind_others(text, tree, places)
    spared = [{(name, own) for name in _spared(text, item, own)} for item, own in places]
    last = {one: index for index, each in enumerate(spared) for one in each}
    shared = Counter(one for each in spared for one in each)
    called = {
        function: {called_name(one) for one in descendants(function) if isinstance(one, ast.Call)}
        for function in around
        if function is not None
    }
    seen: set[tuple[str, Function | None]] = set()
    changed: set[int] = set()
    kept: list[Diagnostic] = []
    for index, (item, own) in enumerate(places):
        callers = [
            one for one, names in called.items() if own is not None and own.name in names and one is not own
        ]
        changes_values = item.fix is not None and item.fix.applicability is not Applicability.SAFE
        waits = changes_values and any(own is not None and one.name not in called[own] for one in callers)
        waits = (
            waits or index in behind or any(shared[one] > 1 and last[one] == index for one in spared[index])
        )
        made = {(line, own) for line in _assignments(item)}
        edits = item.fix.edits if item.fix is not None else ()
        rows = {
            one.span.start.row for one in edits if one.filename is None and one.span.start != one.span.end
        }
        if not waits and not made & seen and not rows & changed:
            kept.append(item)
            changed |= rows
        seen |= made
    return kept or list(items[:1])


def _behind_others(
    text: SourceText, tree: ast.AST, places: Sequence[tuple[Diagnostic, Function | None]]
) -> set[int]:
    """The places of findings that read a name whose value the fix of one above changes, which may mend them as well."""
    given = {row: one.targets for one in nodes_below(tree, ast.Assign) for row in _rows(one)}
    behind: set[int] = set()
    changed: set[tuple[str, Function | None]] = set()
    for index, (item, own) in sorted(enumerate(places), key=lambda one: one[1][0].span):
        if changed & {(name, own) for name in _NAME.findall(text.slice(item.span))}:
            behind.add(index)
            continue
        rows = (
            [one.span.start.row for one in item.fix.edits if one.filename is None]
            if item.fix is not None
            else []
        )
        targets = (target for row in rows for target in given.get(row, []))
        changed |= {(one.id, own) for one in targets if isinstance(one, ast.Name)}
    return behind


def _rows(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _around(item: Diagnostic, functions: Sequence[Function]) -> Function | None:
    """The innermost function around a finding."""
    row = item.span.start.row
    held = (one for one in functions if row in _rows(one))
    return max(held, key=lambda one: one.lineno, default=None)


def _spared(text: SourceText, item: Diagnostic, function: Function | None) -> set[str]:
    """The local names that the fix of a finding reads no more."""
    names = (
        [one for one in descendants(function) if isinstance(one, ast.Name)] if function is not None else []
    )
    local = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    edits = item.fix.edits if item.fix is not None and local else ()
    before = (
        text.text[text.offset(one.span.start) : text.offset(one.span.end)]
        for one in edits
        if one.filename is None
    )
    after = " ".join(edit.content for edit in edits)
    return (set(_NAME.findall(" ".join(before))) & local) - set(_NAME.findall(after))


def _assignments(item: Diagnostic) -> Iterator[str]:
    """What the fix of a finding puts in before a statement."""
    for edit in item.fix.edits if item.fix is not None else ():
        if edit.span.start == edit.span.end and _ASSIGNMENT.match(edit.content):
            yield edit.content.strip()
