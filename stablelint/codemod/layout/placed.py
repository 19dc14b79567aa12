"""Putting the text of a rewrite in its place: with the fewest parentheses, and on lines that can be read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stablelint.codemod.layout.arguments import as_it_stands
from stablelint.codemod.layout.breaks import rebroken
from stablelint.codemod.layout.chain import behind_brackets, chained
from stablelint.codemod.templates.hoist import Hoisted
from stablelint.codemod.templates.operand import flat, parse_operand
from stablelint.codemod.text import draft
from stablelint.codemod.text.law import replaced
from stablelint.codemod.text.locate import Region, Tree
from stablelint.codemod.text.source import SourceText
from stablelint.codemod.withheld import Withheld

_OPENED = re.compile(r"\(\s*(-?)\Z")
_CARRIED = re.compile(r"[ \t]*\\\r?\n[ \t]*\Z")
_CLOSED = re.compile(r"\s*\)")
_NEAR = 400  # how far from a bracket its content may start


def placed(
    tree: Tree, region: Region, node: ast.expr, new: tuple[str, ast.expr], hoisted: list[Hoisted]
) -> list[draft.Change]:
    """The changes that put `new`, a text and its tree, in place of `node`, behind the assignments of `hoisted`.

    Raises Withheld where every way to write it would mean something else.
    """
    newline = tree.source.newline + region.indent
    hoisted = [_on_one_line(tree.source, item) for item in hoisted]
    for template in ("{}", "({})"):
        before = [(item.offset, item.offset, item.line(template) + newline) for item in hoisted]
        for variant, value in _variants(tree, node, *new):
            expected: list[ast.stmt] = [item.statement for item in hoisted]
            expected += replaced(tree, region, node, value)
            if draft.lawful(tree, region, [*before, variant], expected):
                return fitted(tree, region, node, [*before, variant], expected)
    raise Withheld("the rewritten expression would mean something else in its place")


def fitted(
    tree: Tree, region: Region, node: ast.expr, changes: list[draft.Change], expected: Sequence[ast.stmt]
) -> list[draft.Change]:
    """The changes at `node`, with the line of the last broken where that becomes too long."""
    *before, last = changes
    if not draft.is_too_long(tree.source, tree.source.position(last[0]).row):
        for lines in rebroken(tree, last, node):
            if draft.lawful(tree, region, [*before, *lines], expected):
                return [*before, *lines]
    return changes


def _on_one_line(source: SourceText, item: Hoisted) -> Hoisted:
    """The assignment with its value on one line, where it fits there."""
    joined = replace(item, value=replace(item.value, text=flat(item.value.text)))
    fits = len(item.indent + joined.line("{}")) <= draft.limit(source)
    return joined if "\n" in item.value.text and "\n" not in joined.value.text and fits else item


def _joined(
    source: SourceText, opened: re.Match[str], closed: re.Match[str], text: str
) -> Iterator[draft.Change]:
    """The text without line breaks between it and the brackets of a call around it, double ones as one."""
    outer = _OPENED.search(source.text, max(0, opened.start() - _NEAR), opened.start())
    behind = _CLOSED.match(source.text, closed.end())
    if outer is not None and behind is not None and _is_call(source, outer):
        yield outer.start(), behind.end(), f"({outer[1]}{opened[1]}{text})"
    if _is_call(source, opened):
        yield opened.start(), closed.end(), f"({opened[1]}{text})"


def _is_call(source: SourceText, opened: re.Match[str]) -> bool:
    """Whether a bracket stands behind what is called."""
    return re.match(r"[\w\])]", source.text[opened.start() - 1 : opened.start()]) is not None


def _fits(source: SourceText, change: draft.Change) -> bool:
    """Whether the lines that a change touches fit on one when it is made."""
    start, end, text = change
    first = source.line_start(source.position(start).row)
    last = source.line_end(source.position(end).row)
    return start - first + len(text) + last - end <= draft.limit(source)


def _variants(
    tree: Tree, node: ast.expr, text: str, value: ast.expr
) -> Iterator[tuple[draft.Change, ast.expr]]:
    """Ways to write the new expression, the best first, each with its tree."""
    source = tree.source
    start, end = tree.start(node), tree.end(node)
    kept = as_it_stands(tree, node, text)
    if kept is not None:
        yield (start, end, kept), parse_operand(kept)
    plain = start, end, text
    opened, closed = (
        _OPENED.search(source.text, max(0, start - _NEAR), start),
        _CLOSED.match(source.text, end),
    )
    if opened is not None and closed is not None:
        around = source.text[opened.start() : start] + closed.group()
        operand = value.operand if isinstance(value, ast.UnaryOp) else value
        ahead = source.text[: opened.start()].rstrip()[-1:]
        begins = isinstance(value, ast.UnaryOp) and tree.link(node).field == "left" and ahead not in "+-*/%@"
        is_closed = isinstance(
            operand if begins else value, ast.Call | ast.Name | ast.Attribute | ast.Subscript
        )
        if is_closed and around == "()":
            yield (start - 1, end + 1, text), value
        before = opened.start(), closed.end(), f"({opened[1]}{source.text[start:end]})"
        if "\n" not in text and ("\n" in before[2] or not _fits(source, before)):
            yield from ((one, value) for one in _joined(source, opened, closed, text) if _fits(source, one))
        behind = behind_brackets(source, plain, opened.start(), closed.end())
        if behind is not None and not opened[1]:
            yield behind, value
        if "\n" in around and (
            isinstance(operand, ast.Call) or _fits(source, (opened.start(), closed.end(), opened[1] + text))
        ):
            yield (opened.start(), closed.end(), opened[1] + text), value
    carried = _CARRIED.search(source.text, max(0, start - _NEAR), start)
    if carried is not None and "\n" not in text:
        was, joined = ((carried.start(), end, f" {one}") for one in (tree.text(node), text))
        if _fits(source, joined) and not _fits(source, was):
            yield joined, value
    for form in (text, f"({text})"):
        yield chained(source, (start, end, form)), value
