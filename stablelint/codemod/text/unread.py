"""Imports that only what the fixes of a file took away has read: they go as well, unless other files import them from it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator

from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceText
from stablelint.syntax.walk import descendants


def without_unread(
    before: bytes, after: bytes, is_taken: Callable[[frozenset[str]], bool] = lambda _: False
) -> bytes:
    """The fixed source without the imports, on lines of their own at the top level, that are no longer read.

    All stay where `is_taken` tells that other files may take one of the names from this one. Raises SourceError where one
    of the texts is no Python.
    """
    source = SourceText.decode(after)
    lost = _read(parse(SourceText.decode(before).text)) - _read(tree := parse(source.text))
    text = source.text
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    lost &= {_bound(name) for one in imports for name in one.names}
    if lost and is_taken(frozenset(lost)):
        return after
    for statement in reversed(imports):
        start = source.line_start(statement.lineno)
        end = source.next_line(statement.end_lineno or statement.lineno)
        kept = [one for one in statement.names if _bound(one) not in lost]
        if len(kept) < len(statement.names) and _is_plain(text[start:end]):
            left = f"{_written(statement, kept)}{source.newline}" if kept else ""
            text = text[:start] + left + text[end:]
    return after if text == source.text else source.encode(text)


def is_taken_from(path: str, names: frozenset[str], others: Iterable[bytes]) -> bool:
    """Whether one of the texts of other files takes one of the names from the module at a path, or all that it has."""
    stem = re.escape(os.fsencode(os.path.splitext(os.path.basename(path))[0]))
    either = b"|".join(re.escape(name.encode()) for name in sorted(names))
    from_it = rb"\bfrom\s+[\w.]*\b%b\s+import\b[\s(]*(?:[\w\s,]*\b(?:%b)\b|\*)" % (stem, either)
    of_it = rb"\b%b\.(?:%b)\b|\bimport\b[^\n]*\b%b\s+as\b" % (stem, either, stem)
    taken = re.compile(from_it + b"|" + of_it)
    return any(taken.search(one) for one in others)


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
