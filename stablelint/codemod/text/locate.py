"""The node that stands at a span, what surrounds it, and the lines it can be reparsed with."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator

from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.diagnostic import Span
from stablelint.records import dataclass
from stablelint.syntax.newer import tree_at_work, tree_of

_Place = tuple[int, int, int, int]  # rows from 1, columns in UTF-8 bytes from 0, as ast has them


@dataclass(frozen=True, slots=True)
class Link:
    """Where a node hangs in its parent."""

    parent: ast.AST
    field: str
    index: int | None  # None: the field holds one node


@dataclass(frozen=True, slots=True)
class Region:
    """Whole lines that hold whole statements of one suite, so that they can be parsed alone."""

    start: int  # offset of the first character of the first line
    end: int  # offset past the last character of the last line, newline not counted
    statements: tuple[ast.stmt, ...]
    indent: str


def parse(text: str, read: Callable[[str], ast.Module] = tree_of) -> ast.Module:
    """Parse text; SourceError with one line when it is not Python."""
    try:
        return read(text)
    except SyntaxError as error:
        raise SourceError(f"the file cannot be parsed: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError("the file cannot be parsed: nested too deeply or not text") from error


def parse_fragment(text: str, indented: bool) -> list[ast.stmt]:
    """Statements of whole lines, indented or not; SourceError when they are not Python."""
    if not indented:
        return parse(text).body
    block = parse(f"if 1:\n{text}\n").body
    if len(block) != 1 or not isinstance(block[0], ast.If) or block[0].orelse:
        raise SourceError("the lines do not form a block")
    return block[0].body


class Tree:
    """One parsed file, indexed lazily: only the top-level statements that are asked for."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.module = parse(source.text, tree_at_work)
        self._tops = [_first_row(statement) for statement in self.module.body]
        self._links: dict[ast.AST, Link] = {}
        self._places: dict[_Place, list[ast.AST]] = {}
        self._indexed: set[int] = set()

    def find(self, span: Span) -> ast.expr | ast.stmt | None:
        """The expression at a span (the outermost, where several share it), else the statement, else None.

        Parentheses and white space around an expression may or may not be part of the span. Nodes inside
        f-strings are never found: their positions are not reliable in every version of Python.
        """
        self._index(span.start.row)
        for candidate in self._spans(span):
            nodes = self._places.get(candidate, [])
            expressions = [node for node in nodes if isinstance(node, ast.expr)]
            statements = [node for node in nodes if isinstance(node, ast.stmt)]
            if expressions:
                return expressions[0]
            if statements:
                return statements[0]
        return None

    def find_statement(self, span: Span) -> ast.stmt | None:
        """The statement at a span, or the one that holds the expression at it."""
        node = self.find(span)
        return None if node is None else self.statement(node)

    def link(self, node: ast.AST) -> Link:
        """Where a node of the file hangs. Raises KeyError for one of no file, as those of a template are."""
        link = self._hung(node)
        if link is None:
            raise KeyError(node)
        return link

    def ancestors(self, node: ast.AST) -> Iterator[Link]:
        """The links from a node up to the module."""
        while (link := self._hung(node)) is not None:
            yield link
            node = link.parent

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that is or holds `node`."""
        while not isinstance(node, ast.stmt):
            node = self.link(node).parent
        return node

    def siblings(self, statement: ast.stmt) -> list[ast.stmt]:
        """The suite that holds a statement."""
        link = self.link(statement)
        suite: list[ast.stmt] = getattr(link.parent, link.field)
        return suite

    def region(self, statement: ast.stmt) -> Region:
        """The smallest run of whole lines around a statement that parses alone."""
        while True:
            found = self._region(statement)
            if found is not None:
                return found
            statement = self.statement(self._links[statement].parent)

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Offset at which a node starts; of a decorated definition, its first decorator's `@`."""
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            row = min(decorator.lineno for decorator in decorators)
            line = self.source.line(row)
            return self.source.line_start(row) + len(line) - len(line.lstrip())
        return self.source.offset_of_bytes(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Offset just past a node."""
        if node.end_lineno is None or node.end_col_offset is None:
            raise SourceError("a node has no position")
        return self.source.offset_of_bytes(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Source text of a node."""
        return self.source.text[self.start(node) : self.end(node)]

    def _region(self, statement: ast.stmt) -> Region | None:
        suite = self.siblings(statement)
        first = last = suite.index(statement)
        while first and suite[first - 1].end_lineno == _first_row(suite[first]):
            first -= 1
        while last + 1 < len(suite) and _first_row(suite[last + 1]) == suite[last].end_lineno:
            last += 1
        source = self.source
        start_row = _first_row(suite[first])
        start = source.line_start(start_row)
        indent = source.text[start : self.start(suite[first])]
        at_module = isinstance(self._links[statement].parent, ast.Module)
        # `else`, `elif` and a suite on the line of its header share their line with another statement.
        if (
            indent.strip()
            or (not at_module and not indent)
            or source.text.startswith("elif", self.start(suite[first]))
        ):
            return None
        end = source.line_end(suite[last].end_lineno or start_row)
        return Region(start, end, tuple(suite[first : last + 1]), "" if at_module else indent)

    def _hung(self, node: ast.AST) -> Link | None:
        if node not in self._links and isinstance(node, ast.expr | ast.stmt):
            self._index(node.lineno)
        return self._links.get(node)

    def _index(self, row: int) -> None:
        top = bisect_right(self._tops, row) - 1
        # Several statements can share a line; the one a span starts in may be an earlier one.
        while top >= 0:
            if top not in self._indexed:
                self._indexed.add(top)
                self._walk(self.module.body[top], Link(self.module, "body", top))
            if self._tops[top] < row or top == 0:
                return
            top -= 1

    def _walk(self, root: ast.AST, link: Link) -> None:
        pending: list[tuple[ast.AST, Link, bool]] = [(root, link, False)]
        while pending:
            node, link, in_string = pending.pop()
            self._links[node] = link
            if isinstance(node, ast.expr | ast.stmt) and not in_string:
                place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
                self._places.setdefault(place, []).append(node)
            inside = in_string or isinstance(node, ast.JoinedStr)
            children = [(child, Link(node, name, index), inside) for name, index, child in _children(node)]
            pending.extend(reversed(children))

    def _spans(self, span: Span) -> Iterator[_Place]:
        source = self.source
        start, end = source.offset(span.start), source.offset(span.end)
        text = source.text
        while start < end:
            while start < end and text[start].isspace():
                start += 1
            while start < end and text[end - 1].isspace():
                end -= 1
            first, last = source.position(start), source.position(end)
            yield first.row, source.byte_column(first), last.row, source.byte_column(last)
            if not (text.startswith("(", start) and text.endswith(")", start, end)):
                return
            start, end = start + 1, end - 1


def _first_row(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            # Contexts and operators are shared between nodes and have no place of their own.
            if not isinstance(value, ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop):
                yield name, None, value
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield name, index, item
