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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from stablelint.diagnostic import Edit
from stablelint.runtime.verify.enclosing import enclosing
from stablelint.runtime.verify.outcome import SiteReport
from stablelint.runtime.verify.site import Site, Verdict
from stablelint.syntax.content import digest

FOLDER = ".stablelint"
FILE = "verdicts.json"
_VERSION = 1


def enclosing_text(source: str, row: int) -> str:
    """The text of the innermost function around a row, unindented; the whole text outside of any.

    Raises SyntaxError when the source cannot be parsed.
    """
    found = enclosing(ast.parse(source), row)
    return source if found is None else function_text(found, source.splitlines())


def function_text(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> str:
    """The text of a function in a file of these lines, unindented."""
    rows = lines[function.lineno - 1 : function.end_lineno]
    return textwrap.dedent("\n".join(line.rstrip() for line in rows))


def fingerprint(site: Site, source: bytes, edits: Iterable[Edit] = ()) -> str:
    """Names a site by its content: equal for the same code and fix wherever they stand in a file."""
    from importlib.util import decode_source

    try:
        text = enclosing_text(decode_source(source), site.span.start.row)
    except (SyntaxError, ValueError):
        text = source.decode(errors="replace")
    parts = [site.code, text, site.expression, site.fixed or "", *(edit.content for edit in edits)]
    return digest("\0".join(parts).encode())


def read_verdicts(root: Path, ran: bool = False) -> dict[str, Verdict]:
    """Verdicts by fingerprint; a missing or damaged file holds none. `ran`: those alone that a command gave."""
    kept = _existing(root / FOLDER / FILE).items()
    try:
        return {key: Verdict(str(item["verdict"])) for key, item in kept if item.get("command") or not ran}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_verdicts(root: Path, reports: Iterable[SiteReport], command: Iterable[str]) -> Path:
    """Add the verdicts to those on disk, replacing older ones of the same content. Raises OSError."""
    sites = _existing(root / FOLDER / FILE)
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
    return store(root, FILE, {"version": _VERSION, "sites": dict(sorted(sites.items()))})


def store(root: Path, name: str, document: Mapping[str, object]) -> Path:
    """Writes a document into the folder of evidence, of which a new one is nothing to git. Raises OSError."""
    folder = root / FOLDER
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    with NamedTemporaryFile("w", dir=folder, suffix=".partial", delete=False, encoding="utf-8") as partial:
        json.dump(document, partial, indent=1)
    os.replace(partial.name, folder / name)
    return folder / name


def _existing(path: Path) -> dict[str, Mapping[str, object]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] == _VERSION and isinstance(data["sites"], dict):
            return dict(data["sites"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {}
