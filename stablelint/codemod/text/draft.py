"""One rewrite in the making: edits of a region of lines, judged by the law before they are given away."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache

from stablelint.codemod.text.law import holds
from stablelint.codemod.text.locate import Region, Tree
from stablelint.codemod.text.source import SourceText
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Edit

Change = tuple[int, int, str]  # start and end offset, new text
_PROSE = re.compile(r'''("""|\'\'\').*?\1''', re.DOTALL)
_COMMENT = re.compile(r"(^[ \t]*|[ \t]+)#.*", re.MULTILINE)
_TEXT = re.compile(r"""(["']).{24,}?\1""")
_USUAL = 88
_LONGEST = 120
_NARROW = 79


def limit(source: SourceText) -> int:
    """How long the lines of a file may be: as long as its longest lines of code are, within reason.

    Long strings, comments and the two longest of hundreds of lines are no measure: formatters leave them. A file with lines
    that end right before the 80th column, and none beyond, is kept to that.
    """
    return _limit(source.text)


def is_too_long(source: SourceText, row: int) -> bool:
    """Whether a line is longer, as it stands, than any limit that formatters are given: its author breaks no lines."""
    return len(source.line(row).rstrip()) > _LONGEST


@lru_cache(maxsize=2)
def _limit(text: str) -> int:
    lines = (one.rstrip() for one in _COMMENT.sub("", _PROSE.sub("", text)).splitlines())
    lengths = sorted((len(one) for one in lines if not _TEXT.search(one)), reverse=True) or [0]
    is_narrow = lengths[0] <= _NARROW and lengths[min(2, len(lengths) - 1)] > _NARROW - 4
    return min(max(lengths[min(2, len(lengths) // 100)], _NARROW if is_narrow else _USUAL), _LONGEST)


def rendered(tree: Tree, region: Region, changes: Sequence[Change]) -> str:
    """The region's lines with changes made; changes at one place are made in the order given."""
    pieces: list[str] = []
    done = region.start
    for start, end, content in sorted(changes, key=lambda change: change[:2]):
        pieces += [tree.source.text[done:start], content]
        done = end
    pieces.append(tree.source.text[done : region.end])
    return "".join(pieces)


def lawful(tree: Tree, region: Region, changes: Sequence[Change], expected: Sequence[ast.stmt]) -> bool:
    """Whether the changed lines parse to `expected`."""
    return holds(rendered(tree, region, changes), region, expected)


def edits(tree: Tree, changes: Sequence[Change]) -> list[Edit]:
    """Changes as edits; what is inserted at one place is one edit, in the order given."""
    inserted: dict[int, str] = {}
    for start, end, content in changes:
        if start == end:
            inserted[start] = inserted.get(start, "") + content
    joined = [(place, place, content) for place, content in inserted.items()]
    joined += [change for change in changes if change[0] != change[1]]
    return [Edit(tree.source.span(start, end), content) for start, end, content in sorted(joined)]


def whole_lines(tree: Tree, statement: ast.stmt) -> Region:
    """The lines of a statement; Withheld when it shares them with another."""
    region = tree.region(statement)
    ending = tree.source.text[tree.end(statement) : region.end].strip()
    if region.statements != (statement,) or (ending and not ending.startswith("#")):
        raise Withheld("the statement shares its line with another")
    return region


def removal(tree: Tree, region: Region) -> Change:
    """The change that takes a region's lines away, and one of two blank lines that would then meet."""
    source = tree.source
    first_row, last_row = source.position(region.start).row, source.position(region.end).row
    blank_above = first_row > 1 and not source.line(first_row - 1).strip()
    below = last_row + 1
    if blank_above and below < len(source.starts) and not source.line(below).strip():
        last_row = below
    return region.start, source.next_line(last_row), ""


def bracketed(tree: Tree, node: ast.expr) -> tuple[int, int]:
    """Where an operand stands, with the brackets around it that a name in its place needs no more."""
    start, end, text = tree.start(node), tree.end(node), tree.source.text
    before, behind = text[:start].rstrip(), text[end:].lstrip()
    is_operand = isinstance(tree.link(node).parent, ast.BinOp | ast.UnaryOp | ast.Attribute)
    if not is_operand or before[-1:] + behind[:1] != "()":
        return start, end
    return len(before) - 1, len(text) - len(behind) + 1
