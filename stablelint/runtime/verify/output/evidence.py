"""Verdicts on disk, by content of the site: `.stablelint/verdicts.json`.

The file is ``{"version": 1, "sites": {fingerprint: {"verdict", "code", "filename", "expression", "fixed",
"command"}}}``. A fingerprint covers the rule's code, the text of the enclosing function, the expression and
the fix, so that an edited site is another one.
"""

from __future__ import annotations

import ast
import json
import os
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import decode_source
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar, cast

from stablelint.diagnostic import Edit
from stablelint.runtime.program.nodes import enclosing
from stablelint.runtime.verify.outcome import SiteReport
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.syntax.content import digest

FOLDER = ".stablelint"
FILE = "verdicts.json"
_VERSION = 1

T = TypeVar("T")


def enclosing_text(source: bytes, row: int) -> str | None:
    """The text of the innermost function around a row, unindented; the whole text outside of any.

    None where the source cannot be parsed.
    """
    try:
        text = decode_source(source)
        found = enclosing(ast.parse(text), row)
    except (SyntaxError, ValueError):
        return None
    return text if found is None else function_text(found, text.splitlines())


def function_text(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> str:
    """The text of a function in a file of these lines, unindented."""
    rows = lines[function.lineno - 1 : function.end_lineno]
    return textwrap.dedent("\n".join(line.rstrip() for line in rows))


def fingerprint(site: Site, source: bytes, edits: Iterable[Edit] = ()) -> str:
    """Names a site by its content: equal for the same code and fix wherever they stand in a file."""
    text = enclosing_text(source, site.span.start.row)
    if text is None:
        text = source.decode(errors="replace")
    parts = [site.code, text, site.expression, site.fixed or "", *(edit.content for edit in edits)]
    return digest("\0".join(parts).encode())


def read_verdicts(root: Path, ran: bool = False) -> dict[str, Verdict]:
    """Verdicts by fingerprint; a missing or damaged file holds none. `ran`: those alone that a command gave."""
    kept: dict[str, Any] = stored(root, FILE, "sites", {})
    try:
        return {
            key: Verdict(str(item["verdict"])) for key, item in kept.items() if item.get("command") or not ran
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_verdicts(root: Path, reports: Iterable[SiteReport], command: Iterable[str]) -> Path:
    """Add the verdicts to those on disk, replacing older ones of the same content. Raises OSError."""
    sites: dict[str, Any] = stored(root, FILE, "sites", {})
    line = " ".join(command)
    for report in reports:
        if report.known:
            continue
        if report.verdict is Verdict.NOT_REACHED and report.fingerprint in sites:
            continue  # not coming by again takes nothing back
        if not line and sites.get(report.fingerprint, {}).get("command"):
            continue  # nor do calls that were made outweigh those of a command
        sites[report.fingerprint] = {
            "verdict": str(report.verdict),
            "code": report.site.code,
            "filename": report.site.filename,
            "expression": report.site.original,
            "fixed": report.site.fixed,
            "command": line,
        }
    return store(root, FILE, "sites", dict(sorted(sites.items())))


def store(root: Path, name: str, key: str, rows: object) -> Path:
    """Writes rows into the folder of evidence, of which a new one is nothing to git. Raises OSError."""
    folder = root / FOLDER
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    with NamedTemporaryFile("w", dir=folder, suffix=".partial", delete=False, encoding="utf-8") as partial:
        json.dump({"version": _VERSION, key: rows}, partial, indent=1)
    os.replace(partial.name, folder / name)
    return folder / name


def stored(root: Path, name: str, key: str, none: T) -> T:
    """What `store` wrote; `none` where that is missing or damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads((root / FOLDER / name).read_text(encoding="utf-8"))
        if data["version"] == _VERSION and isinstance(data[key], type(none)):
            return cast(T, data[key])
    return none
