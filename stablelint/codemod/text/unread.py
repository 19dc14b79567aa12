"""Imports that only what the fixes of a file took away has read: they go as well, unless other files import them from it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Sequence

from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceText
from stablelint.syntax.names import LOOKUPS, spelled
from stablelint.syntax.walk import descendants

_WORD = re.compile(r"\w+")


def without_unread(
    before: bytes, after: bytes, is_taken: Callable[[frozenset[str]], bool] = lambda _: False
) -> bytes:
    """The fixed source without the imports, on lines of their own at the top level, that are no longer read.

    A name that stands in an annotation, a comment or any other text counts as read. All stay where `is_taken` tells that
    other files may take one of the names from this one, and where names of the file are looked up by their texts. Raises
    SourceError where one of the texts is no Python.
    """
    source = SourceText.decode(after)
    tree, text = parse(source.text), source.text
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    lost = {_bound(name) for one in imports for name in one.names}
    lost &= _loaded(parse(SourceText.decode(before).text)) - _words_beside(imports, source)
    if not lost or _looks_names_up(tree) or is_taken(frozenset(lost)):
        return after
    for statement in reversed(imports):
        start = source.line_start(statement.lineno)
        end = source.next_line(statement.end_lineno or statement.lineno)
        kept = [one for one in statement.names if _bound(one) not in lost]
        is_plain = text.count("\n", start, end) <= 1 and not any(mark in text[start:end] for mark in "#;\\(")
        if len(kept) < len(statement.names) and is_plain:
            left = f"{_written(statement, kept)}{source.newline}" if kept else ""
            # A file begins with no empty line.
            rest = text[end:] if start or left else text[end:].lstrip("\r\n")
            text = text[:start] + left + rest
    return after if text == source.text else source.encode(text)


def is_taken_from(path: str, names: frozenset[str], others: Iterable[bytes]) -> bool:
    """Whether one of the texts of other files takes one of the names from the module at a path, or all that it has."""
    stem = re.escape(os.fsencode(os.path.splitext(os.path.basename(path))[0]))
    either = b"|".join(re.escape(name.encode()) for name in sorted(names))
    from_it = rb"\bfrom\s+[\w.]*\b%b\s+import\b[\s(]*(?:[\w\s,]*\b(?:%b)\b|\*)" % (stem, either)
    of_it = rb"\b%b\.(?:%b)\b|\bimport\b[^\n]*\b%b\s+as\b" % (stem, either, stem)
    taken = re.compile(from_it + b"|" + of_it)
    return any(taken.search(one) for one in others)


def _loaded(tree: ast.Module) -> set[str]:
    return {
        one.id for one in descendants(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }


def _words_beside(imports: Sequence[ast.stmt], source: SourceText) -> set[str]:
    """All words of a file but those of its imports."""
    rows = {row for one in imports for row in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    kept = (source.line(row) for row in range(1, len(source.starts) + 1) if row not in rows)
    return {word for line in kept for word in _WORD.findall(line)}


def _looks_names_up(tree: ast.Module) -> bool:
    """Whether names of the file may be read by their texts: ``globals()[name]``, ``sys.modules[__name__]``."""
    of_modules = (
        one for one in descendants(tree) if isinstance(one, ast.Attribute) and one.attr == "modules"
    )
    return not LOOKUPS.isdisjoint(_loaded(tree)) or any(spelled(one) == "sys.modules" for one in of_modules)


def _bound(name: ast.alias) -> str:
    return name.asname or name.name.partition(".")[0]


def _written(statement: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    kept = ast.Import(names) if isinstance(statement, ast.Import) else None
    return ast.unparse(
        kept or ast.ImportFrom(getattr(statement, "module", None), names, getattr(statement, "level", 0))
    )
