"""Breaking a line that a rewrite would make too long."""

from __future__ import annotations

import ast

from stablelint.codemod.locate import Tree, parse
from stablelint.codemod.source import SourceError, SourceText

_USUAL = 88
_LONGEST = 120


def limit(source: SourceText) -> int:
    """How long the lines of a file may be: as long as its longest are, within reason."""
    longest = max((len(line) for line in source.text.splitlines()), default=0)
    return min(max(longest, _USUAL), _LONGEST)


def wrapped(tree: Tree, node: ast.expr, text: str) -> str:
    """`text` in place of `node`; where the line gets too long, a call's arguments get one of their own."""
    source = tree.source
    first = source.position(tree.start(node)).row
    last = source.position(tree.end(node)).row
    before = source.text[source.line_start(first) : tree.start(node)]
    after = source.text[tree.end(node) : source.line_end(last)].partition("#")[0].rstrip()
    if "\n" in text or "\r" in text or len(before) + len(text) + len(after) <= limit(source):
        return text
    opening = _opening(text)
    if opening is None:
        return text
    indent = before[: len(before) - len(before.lstrip())]
    step = "\t" if "\t" in indent else "    "
    newline = source.newline + indent
    return f"{text[:opening]}{newline}{step}{text[opening:-1]}{newline})"


def _opening(text: str) -> int | None:
    """Offset behind the parenthesis that opens the arguments of an outermost call, if there are any."""
    try:
        body = parse(text).body
    except SourceError:
        return None
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if not isinstance(value, ast.Call) or not (value.args or value.keywords) or not text.endswith(")"):
        return None
    end = value.func.end_col_offset or 0
    if not text.isascii() or text[end] != "(":
        return None
    return end + 1
