"""Spreading a line over several, one part a line: arguments, terms of a sum, factors of a product."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from stablelint.codemod.layout.chain import expression_of
from stablelint.codemod.text.draft import Change, limit
from stablelint.codemod.text.source import SourceText

_SUMS = {ast.Add: "+", ast.Sub: "-"}
_KEY = re.compile(r"""((["'])[^"'\\]*\2: |\w+=(?!=))""")
_PRODUCTS = {ast.Mult: "*", ast.Div: "/", ast.MatMult: "@"}


def spread(source: SourceText, change: Change) -> list[Change] | None:
    """The change with its line spread, where that stands in brackets of several lines and gets too long.

    ``f(⏎ a, b / c.clamp_min(...)⏎)`` gets a line for each argument, a single argument one for each term. None where
    that does not make it fit, or does not apply.
    """
    start, end, text = change
    row = source.position(start).row
    first, last = source.line_start(row), source.line_end(row)
    line = source.text[first:start] + text + source.text[end:last]
    longest = limit(source)
    if end > last or "\n" in text or "#" in line or len(line) <= longest:
        return None
    above, below = source.text[:first].rstrip()[-1:], source.text[last:].lstrip()[:1]
    code = line.strip()
    if above not in tuple("([{,") or not (code.endswith(",") or below in tuple(")]}")):
        return None
    indent = line[: len(line) - len(line.lstrip())]
    parts = list(_arguments(code))
    if len(parts) > 1 and above == ",":
        return None
    comma = "," if len(parts) > 1 or code.endswith(",") else ""
    room = longest - len(indent) - len(comma)
    line = source.newline + indent
    lines = [part if len(part) <= room else terms(part, line) or _opened(part, line, room) for part in parts]
    found = [one for one in lines if one is not None]
    if len(found) < len(parts) or any(len(item) > room for one in found for item in _stripped(one)):
        return None
    if lines == [code]:
        return None
    return [(first + len(indent), last, f"{comma}{source.newline}{indent}".join(found) + comma)]


def terms(text: str, line: str) -> str | None:
    """A sum, or else a product, with a line break before each of its operators; None for anything else."""
    places = operators(text)
    for place in places:
        text = text[: place - 1] + line + text[place:]
    return text if places else None


def operators(text: str) -> list[int]:
    """The columns of the operators of a sum, else of a product or choice, the last first; none of anything else.

    A key, or the name of an argument, may stand before it.
    """
    key = _KEY.match(text)
    lead = key.end() if key is not None else 0
    node = expression_of(text[lead:])
    if isinstance(node, ast.IfExp):
        ends = (node.test.end_col_offset or 0, node.body.end_col_offset or 0)
        return [lead + text[lead:].index(" ", end) + 1 for end in ends]
    return [lead + place for place in _signs(text[lead:], node)]


def _signs(text: str, node: ast.expr | None) -> list[int]:
    for signs in (_SUMS, _PRODUCTS):
        places = []
        inner = node
        while isinstance(inner, ast.BinOp) and type(inner.op) in signs:
            left = inner.left.end_col_offset or 0
            sign = text[left : inner.right.col_offset].find(signs[type(inner.op)])
            if text[left : left + sign] != " ":
                return []
            places.append(left + sign)
            inner = inner.left
        if places:
            return places
    return []


def _opened(text: str, line: str, room: int) -> str | None:
    """A call with its one argument on a line of its own, opened in turn if it has no room; None for anything else."""
    node = expression_of(text)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    start = (node.func.end_col_offset or 0) + 1
    inner, within = text[start:-1], f"{line}    "
    if len(inner) > room - 4:
        inner = _opened(inner, within, room - 4) or inner
    return f"{text[:start]}{within}{inner}{line})"


def _stripped(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield line.strip()


def _arguments(code: str) -> Iterator[str]:
    """The parts between the commas of a text that stand in no brackets of its own; the text where they part nothing."""
    depth, start = 0, 0
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code + "\n").readline))
    except (tokenize.TokenError, SyntaxError):
        yield code
        return
    if any(token.string in ("for", "lambda") for token in tokens):
        yield code.rstrip(",")
        return
    for token in tokens:
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
        elif token.type == tokenize.OP and token.string == "," and not depth:
            yield code[start : token.start[1]].strip()
            start = token.end[1]
    if code[start:].strip():
        yield code[start:].strip()
