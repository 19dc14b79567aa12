"""The linter as a library: `stablelint.check` and `stablelint.fix`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stablelint.config import ConfigError, load
from stablelint.diagnostic import Diagnostic, Problem
from stablelint.syntax.source import SourceError, decode, syntax_problem
from stablelint.workspace.fixing import FileFix, Wanted, fix_text
from stablelint.workspace.notebooks import in_cells
from stablelint.workspace.pipeline import check as check_paths
from stablelint.workspace.pipeline import check_text
from stablelint.workspace.selection import Selectors
from stablelint.workspace.session import Request, Session, session_of

Target = str | bytes | os.PathLike[str]


class CheckError(Exception):
    """Something could not be read, parsed or used.

    `problems` says what and where; `diagnostics` holds what was found all the same.
    """

    def __init__(self, problems: Sequence[Problem], diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.problems = tuple(problems)
        self.diagnostics = list(diagnostics)
        first = self.problems[0]
        place = f"{first.filename}: " if first.filename else ""
        super().__init__(place + first.message)


def check(
    target: Target,
    *,
    filename: str | os.PathLike[str] | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    possible: bool = False,
    use_cache: bool = True,
) -> list[Diagnostic]:
    """Finds the expressions that produce NaN or Inf, in order of file and place; runs nothing of what it reads.

    Args:
        target: A file or a folder, or source text. A `str` with a line break in it, or nothing, is text, any
            other is a path; `bytes` are text, a `Path` is a path.
        filename: The file that source text stands for, on which settings and imports depend; it need not exist.
        select: Only these rules: codes, beginnings of codes, names, or "ALL". The default are the project's.
        ignore: None of these rules.
        possible: Also what is not likely to be repaired; `confidence` and `level` tell the findings apart.
        use_cache: Whether results may be read from and written to the project's cache (of paths only).

    Raises:
        CheckError: A path does not exist, a file does not parse, settings or rule pages are malformed.
    """
    source, path = _read(target, filename)
    session = _session(path, select, ignore)
    request = Request(session.settings, session.selection, use_cache=use_cache)
    if source is None:
        result = check_paths([path], request, session.catalog)
    else:
        result = check_text(source, path, request, session.catalog)
    if problems := (*session.problems, *result.problems):
        raise CheckError(problems, result.diagnostics)
    return list(in_cells(result.diagnostics if possible else result.shown))


def fix(
    target: Target,
    *,
    filename: str | os.PathLike[str] | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    unsafe: bool = False,
) -> str:
    """The text of a file, or of `target` itself, with its findings fixed; writes nothing.

    Takes what `check` takes, but no folder.

    Args:
        target: A file, or source text, told apart as `check` does.
        filename: The file that source text stands for.
        select: Only these rules.
        ignore: None of these rules.
        unsafe: Also the fixes that change values or gradients for some operands.

    Raises:
        CheckError: The file cannot be read or parsed, settings or rule pages are malformed.
    """
    source, path = _read(target, filename)
    session = _session(path, select, ignore)
    if source is None:
        try:
            source = Path(path).read_bytes()
        except OSError as error:
            raise CheckError([Problem(f"cannot read this file: {error.strerror}", path)]) from None
    if problem := syntax_problem(source, path):
        raise CheckError([problem])
    request = Request(session.settings, session.selection)
    fixed = fix_text(source, path, request, Wanted(session.selection, unsafe=unsafe))
    problems = (*session.problems, *([] if isinstance(fixed, FileFix) else [fixed]))
    if problems or not isinstance(fixed, FileFix):
        raise CheckError(problems)
    return _decoded(fixed.after, path)


def _read(target: Target, filename: str | os.PathLike[str] | None) -> tuple[bytes | None, str]:
    """Source text, or None where `target` is a path; and the absolute path of either."""
    named = os.path.abspath(filename) if filename is not None else None
    if isinstance(target, bytes):
        return target, named or os.path.abspath("source.py")
    if isinstance(target, str) and ("\n" in target or not target):
        return target.encode("utf-8", "surrogatepass"), named or os.path.abspath("source.py")
    return None, os.path.abspath(target)


def _session(path: str, select: Sequence[str] | None, ignore: Sequence[str]) -> Session:
    selectors = Selectors(None if select is None else tuple(select), tuple(ignore))
    try:
        return session_of(load(Path(path)), selectors)
    except ConfigError as error:
        raise CheckError(error.problems) from None


def _decoded(data: bytes, path: str) -> str:
    try:
        return decode(data, path)
    except SourceError as error:
        raise CheckError([error.problem]) from None
