"""Imports that only what the fixes of a file took away has read: they go as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceText
from stablelint.syntax.walk import descendants


def without_unread(before: bytes, after: bytes) -> bytes:
    """The fixed source without the imports, on lines of their own at the top level, that are no longer read.

    Raises SourceError where one of the texts is no Python.
    """
    source = SourceText.decode(after)
    lost = _read(parse(SourceText.decode(before).text)) - _read(tree := parse(source.text))
    text = source.text
    for statement in reversed(tree.body) if lost else ():
        if isinstance(statement, ast.Import | ast.ImportFrom):
            start = source.line_start(statement.lineno)
            end = source.next_line(statement.end_lineno or statement.lineno)
            given = text[start:end]
            kept = [one for one in statement.names if _bound(one) not in lost]
            if len(kept) < len(statement.names) and _is_plain(given):
                left = f"{_written(statement, kept)}{source.newline}" if kept else ""
                text = text[:start] + left + text[end:]
    return after if text == source.text else source.encode(text)


def _read(tree: ast.Module) -> set[str]:
    """The names that are read in a file, or stand in its texts, as those that it exports do."""
    return set(_names(tree))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in descendants(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _bound(name: ast.alias) -> str:
    return name.asname or name.name.partition(".")[0]


def _is_plain(lines: str) -> bool:
    """Whether an import stands alone on one line, and nothing is said of it."""
    return lines.count("\n") <= 1 and not any(mark in lines for mark in "#;\\(")


def _written(statement: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    kept = ast.Import(names) if isinstance(statement, ast.Import) else None
    return ast.unparse(
        kept or ast.ImportFrom(getattr(statement, "module", None), names, getattr(statement, "level", 0))
    )
