"""Breaking a line that a rewrite would make too long, as formatters do: brackets are opened and their content parted."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from itertools import pairwise

from stablelint.codemod.flow.nodes import root
from stablelint.codemod.layout.cuts import cuts
from stablelint.codemod.text.draft import Change, limit
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import SourceText
from stablelint.records import dataclass

_TOLERATED = 104  # rather than opening brackets within brackets
_WORTH_A_LINE = 16
_Break = tuple[int, str]  # a column of the line, and what goes in before it


@dataclass(frozen=True, slots=True)
class _Bracket:
    """The content of a pair of brackets, by columns, and where its parts begin: behind commas, or at each `for`."""

    start: int
    end: int
    depth: int
    parts: tuple[int, ...] = ()
    is_comprehension: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as a change leaves it, in one piece; `whole` is all its code, `brackets` what is closed within it."""

    source: SourceText
    change: Change
    text: str
    whole: _Bracket
    brackets: tuple[_Bracket, ...]

    @property
    def indent(self) -> str:
        """The white space that it begins with."""
        return self.text[: len(self.text) - len(self.text.lstrip())]

    @property
    def longest(self) -> int:
        """How long it may be."""
        return limit(self.source)

    def deeper(self, indent: str) -> str:
        """One step further in."""
        return indent + ("\t" if "\t" in indent else "    ")

    def opened(self, bracket: _Bracket, indent: str, tolerated: int = 0) -> Iterator[_Break]:
        """Breaks that put the content of brackets on lines of its own."""
        inner, newline = self.deeper(indent), self.source.newline
        is_parted = bracket.parts or self.cuts(bracket.start, bracket.end, inner)
        room = self.longest if is_parted and inner.endswith(" ") else max(self.longest, tolerated)
        fits = len(inner) + bracket.end - bracket.start <= room
        comma = "" if fits or not bracket.parts or bracket.is_comprehension else ","
        yield from self.lines([bracket.start], inner)
        if not fits:
            yield from self.parted(bracket, inner)
        if comma or not self.text[: bracket.end].endswith(" "):
            yield bracket.end, comma + newline + indent
        else:
            yield from self.lines([bracket.end - 1], indent)

    def parted(self, bracket: _Bracket, indent: str) -> Iterator[_Break]:
        """Breaks between the parts of a content that is too long, and within those that are too long still."""
        places = list(bracket.parts) or self.cuts(bracket.start, bracket.end, indent)
        yield from self.lines(places, indent)
        for left, right in pairwise([bracket.start, *places, bracket.end]):
            if len(indent) + len(self.text[left:right].strip()) <= self.longest:
                continue
            within = [one for one in self.brackets if left <= one.start < right and one.depth > bracket.depth]
            around = [one for one in within if self.text[left : one.start].strip() == "("]
            if around and self.text[around[0].end : right].strip() in (")", "),"):
                yield from self.opened(around[0], indent)
            elif bracket.parts and self.cuts(left, right, indent):
                yield from self.parted(_Bracket(left, right, bracket.depth), indent)
            elif within:
                yield from self.opened(_last(within), indent)

    def cuts(self, start: int, end: int, indent: str) -> list[int]:
        """The columns at which the one part that stands between two is cut."""
        text = self.text[start:end]
        lead = end - len(text.lstrip())
        return [lead + place for place in cuts(text.strip().rstrip(","))] if indent.endswith(" ") else []

    def lines(self, places: list[int], indent: str) -> Iterator[_Break]:
        """Breaks at columns; a space that stands there becomes the last of the indentation."""
        for place in places:
            spaced = self.text[place : place + 1] == " " and indent.endswith(" ")
            yield place, self.source.newline + (indent[:-1] if spaced else indent)

    def broken(self, breaks: list[_Break]) -> list[Change]:
        """The change with texts inserted at columns of the line."""
        start, end, text = self.change
        first = self.source.line_start(self.source.position(start).row)
        pieces: list[Change] = []
        for column, content in sorted(breaks, reverse=True):
            inside = column - (start - first)
            if 0 <= inside <= len(text):
                text = text[:inside] + content + text[inside + self.gap(column, content) :]
            else:
                offset = first + column if inside < 0 else end + inside - len(self.change[2])
                pieces.append((offset, offset + self.gap(column, content), content))
        return sorted([*pieces, (start, end, text)])

    def cut(self, breaks: Iterable[_Break]) -> str:
        """The code of the line with texts inserted at its columns."""
        text = self.text[: self.whole.end]
        for column, content in sorted(breaks, reverse=True):
            text = text[:column] + content + text[column + self.gap(column, content) :]
        return text

    def gap(self, column: int, content: str) -> int:
        """The width of a space at a column that would follow the tabs of a new line."""
        return int(content.endswith("\t") and self.text[column : column + 1] == " ")

    def is_cut_to_fit(self, breaks: list[_Break]) -> bool:
        """Whether no line is too long with the breaks."""
        return max(map(len, self.cut(breaks).splitlines())) <= self.longest


def rebroken(tree: Tree, change: Change, node: ast.expr) -> Iterator[list[Change]]:
    """The change with its line broken, in several ways, the best first; nothing where it needs no break.

    The value of a statement, if a break at its last brackets would part it in the middle, goes into parentheses: ``y =
    (⏎ a - b * x.clamp_min(...).log()⏎)``; of two operands one is opened, where the second ends in brackets. A line within
    brackets is parted. Else the last outermost brackets that the change touches are opened.
    """
    line = _line(tree.source, change)
    if line is None:
        return
    source, (start, end, text) = tree.source, change
    value = _value(tree, change, node)
    if value is not None:
        first, last = value
        inner, newline = line.deeper(line.indent), source.newline
        for bracket in _brackets_of_two(line, first, last):
            breaks = list(line.opened(bracket, line.indent))
            if line.is_cut_to_fit(breaks):
                yield line.broken(breaks)
        is_long = len(inner) + last - first > line.longest
        commas = [one for one in line.whole.parts if is_long and first < one < last]
        closing = "," * bool(commas) + newline + line.indent + ")"
        breaks = [(first, f"({newline}{inner}"), (last, closing)]
        if is_long:
            breaks += line.lines(commas or line.cuts(first, last, inner), inner)
        if line.is_cut_to_fit(breaks):
            yield line.broken(breaks)
    if _is_within(source, line, end):
        breaks = list(line.parted(line.whole, line.indent))
        if breaks and line.whole.parts and not line.text[: line.whole.end].endswith(","):
            breaks.append((line.whole.end, ","))
        if breaks and line.is_cut_to_fit(breaks):
            yield line.broken(breaks)
    begin = start - source.line_start(source.position(start).row)
    touched = [one for one in line.brackets if one.start < begin + len(text) and begin < one.end]
    if touched:
        yield line.broken(list(line.opened(_last(touched), line.indent, _TOLERATED)))


def _brackets_of_two(line: _Line, first: int, last: int) -> Iterator[_Bracket]:
    """The outermost brackets of a value of two operands, the last first; none where the second does not end in one."""
    inside = [one for one in line.brackets if first < one.start and one.end < last]
    outermost = min((one.depth for one in inside), default=0)
    tail = next((one for one in inside if one.end + 1 == last), None)
    if tail is not None and len(line.cuts(first, last, line.deeper(line.indent))) == 1:
        for one in sorted(inside, key=lambda one: -one.start):
            if one.depth == outermost:
                yield one


def folded(source: SourceText, line: str) -> str:
    """A line that is put in by itself, with its last outermost brackets opened where it is too long."""
    scanned = _scan(line) if len(line) > limit(source) else None
    if scanned is None or not scanned[1]:
        return line
    whole = _Line(source, (0, 0, ""), line, *scanned)
    return whole.cut(whole.opened(_last(list(scanned[1])), whole.indent))


def _last(brackets: list[_Bracket]) -> _Bracket:
    """The last of the outermost brackets that are worth a line, else the longest of them."""
    outermost = min(one.depth for one in brackets)
    level = [one for one in brackets if one.depth == outermost]
    last = max(level, key=lambda one: one.start)
    return last if last.end - last.start >= _WORTH_A_LINE else max(level, key=lambda one: one.end - one.start)


def _line(source: SourceText, change: Change) -> _Line | None:
    """The line of a change, where that leaves it too long and in one piece."""
    start, end, text = change
    row, last = source.position(start).row, source.position(end).row
    first = source.line_start(row)
    line = source.text[first:start] + text + source.text[end : source.line_end(last)]
    scanned = None if "\n" in text or "\r" in text else _scan(line.rstrip())  # blanks at its end are no code
    if scanned is None:
        return None
    whole, brackets = scanned
    is_longer = row != last or whole.end > source.line_end(row) - first
    length = whole.end if row == last else len(line.rstrip())  # with the comment behind what stood on several
    return _Line(source, change, line, whole, brackets) if is_longer and length > limit(source) else None


def _value(tree: Tree, change: Change, node: ast.expr) -> tuple[int, int] | None:
    """The columns of a statement's value that stands on one line and has no brackets of its own to be broken at."""
    (start, end, text), source, statement = change, tree.source, tree.statement(node)
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return) or value is None:
        return None
    first, last = tree.start(value), tree.end(value)
    row = source.position(first).row
    begin = source.line_start(row)
    if row != source.position(last).row or not first <= start <= end <= last:
        return None
    behind = source.text[last : source.line_end(row)].strip()
    if not source.text[begin:first].rstrip().endswith(("=", "return")) or behind[:1] not in ("", "#"):
        return None
    whole = source.text[first:start] + text + source.text[end:last]
    return None if _ends_in_brackets(whole) else (first - begin, first - begin + len(whole))


def _is_within(source: SourceText, line: _Line, end: int) -> bool:
    """Whether a line stands alone within brackets that other lines open and close, without a comment."""
    start = line.change[0]
    row = source.position(start).row
    first, last = source.line_start(row), source.line_end(row)
    above, below = source.text[:first].rstrip()[-1:], source.text[last:].lstrip()[:1]
    opens = above in tuple("([{,") and not (line.whole.parts and above == ",")
    code = line.text.strip()
    return end <= last and opens and "#" not in code and (code.endswith(",") or below in tuple(")]}"))


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
    if isinstance(node, ast.Tuple):
        return not node.elts or node.elts[0].col_offset > 0
    return isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.Name)


def _scan(line: str) -> tuple[_Bracket, tuple[_Bracket, ...]] | None:
    """The code of a line as if it stood in brackets, and the brackets that are closed in it and hold something."""
    lead = code_end = len(line) - len(line.lstrip())
    opened: list[tuple[int, list[int], list[int], bool]] = [(lead, [], [], False)]
    found: list[_Bracket] = []
    closes_others = False

    def closed(end: int) -> _Bracket:
        start, commas, turns, is_lambda = opened.pop()
        parts = turns or [comma for comma in commas if comma < end and not is_lambda]
        return _Bracket(start, end, len(opened) - 1, tuple(parts), bool(turns))

    try:
        for token in tokenize.generate_tokens(io.StringIO(line.lstrip() + "\n").readline):
            if token.type in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
                continue
            code_end = lead + token.end[1]
            start, commas, turns, _ = opened[-1]
            if token.string == "for":
                turns.append(lead + token.start[1] - 1)
            elif token.string == "lambda":
                opened[-1] = (start, commas, turns, True)
            elif token.type == tokenize.OP and token.string in "([{":
                opened.append((code_end, [], [], False))
            elif token.type == tokenize.OP and token.string == ",":
                commas.append(code_end)
            elif token.type == tokenize.OP and token.string in ")]}" and len(opened) == 1:
                closes_others = True
            elif token.type == tokenize.OP and token.string in ")]}":
                one = closed(lead + token.start[1])
                found += [one] if one.end - one.start > 1 else []
    except (SyntaxError, IndexError):
        return None
    except tokenize.TokenError:  # a bracket that other lines open or close
        if len(opened) == 1 and not closes_others:
            return None
        del opened[1:]
        return _Bracket(lead, code_end, 0), tuple(found)
    return closed(code_end), tuple(found)
