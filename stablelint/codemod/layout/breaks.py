"""Breaking a line that a rewrite would make too long."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from stablelint.codemod.flow.nodes import root
from stablelint.codemod.layout.chain import unchained
from stablelint.codemod.layout.spread import operators, terms
from stablelint.codemod.text.draft import Change, limit
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import SourceText

_TOLERATED = 104  # rather than opening brackets within brackets
_WORTH_A_LINE = 16
_Break = tuple[int, str]  # a column of the new line, and what goes in before it


@dataclass(frozen=True, slots=True)
class _Bracket:
    """The content of a pair of brackets, by columns, and where its parts begin: behind commas, or at each `for`."""

    start: int
    end: int
    depth: int
    commas: tuple[int, ...]
    is_comprehension: bool = False


def broken(source: SourceText, change: Change) -> list[Change] | None:
    """The change with its line broken at brackets; None where it needs no break or has no place for one.

    As formatters do, the content of the last outermost brackets that the change touches gets its own line;
    where that is too long still, its parts get one each, or the brackets within are opened.
    """
    start, end, text = change
    row, last = source.position(start).row, source.position(end).row
    if "\n" in text or "\r" in text:
        return None
    first = source.line_start(row)
    before, after = source.text[first:start], source.text[end : source.line_end(last)]
    line = before + text + after
    scanned = _scan(line)
    if scanned is None:
        return None
    brackets, code_end = scanned
    longest = limit(source)
    if code_end <= longest or (row == last and code_end <= source.line_end(row) - first):
        return None
    touched = [one for one in brackets if one.start < len(before) + len(text) and len(before) < one.end]
    indent = line[: len(line) - len(line.lstrip())]
    breaks = list(_breaks(line, touched, source.newline, indent, longest))
    return _inserted(change, first, sorted(breaks)) if breaks else None


def enclosed(tree: Tree, change: Change, node: ast.expr) -> list[Change] | None:
    """The value of the statement around `node` in parentheses, on a line of its own; None where that is not better.

    It is where the line is too long, the value fits on one, and a break at its last brackets would part
    it in the middle: ``y = (⏎ a - b * x.clamp_min(...).log()⏎)`` and not ``y = a - b * x.clamp_min(⏎...⏎).log()``.
    """
    start, end, text = change
    source, statement = tree.source, tree.statement(node)
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return) or value is None:
        return None
    first, last = tree.start(value), tree.end(value)
    row = source.position(first).row
    if row != source.position(last).row or not first <= start <= end <= last or "\n" in text:
        return None
    lead = source.text[source.line_start(row) : first]
    behind = source.text[last : source.line_end(row)]
    if not lead.rstrip().endswith(("=", "return")) or (
        behind.strip() and not behind.lstrip().startswith("#")
    ):
        return None
    whole = source.text[first:start] + text + source.text[end:last]
    indent = lead[: len(lead) - len(lead.lstrip())]
    inner = indent + ("\t" if "\t" in indent else "    ")
    longest = limit(source)
    if len(lead) + len(whole) <= longest or _ends_in_brackets(whole):
        return None
    line = source.newline + inner
    closing = f"{source.newline}{indent})"
    if len(inner) + len(whole) <= longest:
        return [(first, first, f"({line}"), change, (last, last, closing)]
    links = unchained(whole, line) or terms(whole, line)
    if links is None or max(map(len, links.splitlines())) > longest:
        return None
    return [(first, last, f"({line}{links}{closing}")]


def _ends_in_brackets(text: str) -> bool:
    """Whether an expression is one call or display, whose own brackets are the place for a break.

    A single method of a call counts as one: ``Normal(⏎...⏎).sample()``.
    """
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return True
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Call):
        inner = root(node.func)
        return isinstance(root(inner.func) if isinstance(inner, ast.Call) else inner, ast.Name)
    return isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.ListComp | ast.Name)


def _breaks(line: str, touched: list[_Bracket], newline: str, indent: str, longest: int) -> Iterator[_Break]:
    """Breaks at the last outermost of the touched brackets, and within it as far as needed."""
    outermost = min((one.depth for one in touched), default=0)
    level = [one for one in touched if one.depth == outermost]
    if not level:
        return
    chosen = max(level, key=lambda one: one.start)
    if chosen.end - chosen.start < _WORTH_A_LINE:
        chosen = max(level, key=lambda one: one.end - one.start)
    inner = indent + ("\t" if "\t" in indent else "    ")
    yield chosen.start, newline + inner
    room = longest if chosen.commas and inner.endswith(" ") else max(longest, _TOLERATED)
    fits = len(inner) + chosen.end - chosen.start <= room
    yield (
        chosen.end,
        ("," if chosen.commas and not fits and not chosen.is_comprehension else "") + newline + indent,
    )
    if fits:
        return
    within = [one for one in touched if one.depth > chosen.depth and chosen.start <= one.start < chosen.end]
    if not chosen.commas:
        yield from _breaks(line, within, newline, inner, longest)
        return
    edges = [chosen.start, *chosen.commas, chosen.end]
    for left, right in pairwise(edges):
        if left != chosen.start:
            # The space behind the comma becomes the last of the indentation.
            spaced = line[left : left + 1] == " " and line[left + 1 : left + 2] != " " and inner.endswith(" ")
            yield left, newline + (inner[:-1] if spaced else inner)
        if len(inner) + right - left > longest:
            lead = right - len(line[left:right].lstrip())
            signs = operators(line[lead:right].rstrip(",")) if inner.endswith(" ") else []
            yield from ((lead + sign - 1, newline + inner[:-1]) for sign in signs)
            part = [] if signs else [one for one in within if left <= one.start < right]
            yield from _breaks(line, part, newline, inner, longest)


def _scan(line: str) -> tuple[list[_Bracket], int] | None:
    """The brackets of a line that are closed in it and hold something, and where its code ends."""
    opened: list[tuple[int, list[int]]] = []
    found: list[_Bracket] = []
    undivided: set[int] = set()  # brackets whose commas belong to a comprehension or a lambda
    repeated: dict[int, list[int]] = {}  # the columns of each `for` in a comprehension's brackets
    code_end = 0
    lead = len(line) - len(line.lstrip())
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.lstrip() + "\n").readline):
            if token.type in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
                continue
            code_end = lead + token.end[1]
            if token.string in ("for", "lambda") and opened:
                undivided.add(opened[-1][0])
            if token.string == "for" and opened:
                repeated.setdefault(opened[-1][0], []).append(lead + token.start[1] - 1)
            if token.type != tokenize.OP:
                continue
            if token.string in "([{":
                opened.append((code_end, []))
            elif token.string == "," and opened:
                opened[-1][1].append(code_end)
            elif token.string in ")]}":
                start, commas = opened.pop()
                end = lead + token.start[1]
                if end - start > 1:
                    parts = [] if start in undivided else [comma for comma in commas if comma < end]
                    turns = repeated.get(start, [])
                    found.append(_Bracket(start, end, len(opened), tuple(turns or parts), bool(turns)))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return found, code_end


def _inserted(change: Change, first: int, breaks: list[_Break]) -> list[Change]:
    """The change with texts inserted at columns of the new line that starts at offset `first`."""
    start, end, text = change
    pieces: list[Change] = []
    for column, content in reversed(breaks):
        inside = column - (start - first)
        if inside < 0:
            pieces.append((first + column, first + column, content))
        elif inside <= len(text):
            text = text[:inside] + content + text[inside:]
        else:
            offset = end + inside - len(change[2])
            pieces.append((offset, offset, content))
    return sorted([*pieces, (start, end, text)])
