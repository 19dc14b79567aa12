"""Known findings of an old code base: recorded once, so that only new ones fail.

A finding is known by its rule, its file and the text of its expression, not by its line: it stays known when
code around it moves. The same expression written once more in a file is a new finding.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from stablelint.config import ConfigError
from stablelint.diagnostic import Diagnostic, Problem
from stablelint.syntax.content import digest

_VERSION = 1


class BaselineError(ConfigError):
    """The file is no baseline, or cannot be one; `problems` says why."""


def marked(diagnostics: Iterable[Diagnostic], root: str) -> Iterator[tuple[Diagnostic, str]]:
    """Each finding with its fingerprint, a digest; equal findings of a file are told apart by counting."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for item in diagnostics:
        key = _key(item, root)
        seen[key] += 1
        text = "\0".join((*key, str(seen[key])))
        yield item, digest(text.encode("utf-8", "surrogatepass"))


def _key(item: Diagnostic, root: str) -> tuple[str, str, str]:
    relative = os.path.relpath(item.filename, root).replace(os.sep, "/")
    return item.code, relative, "".join(item.expression.split())


def write(path: str, diagnostics: Sequence[Diagnostic], root: str) -> None:
    """Records the findings. Raises BaselineError where the file cannot be written."""
    entries = [
        {"code": item.code, "filename": _key(item, root)[1], "fingerprint": mark}
        for item, mark in marked(diagnostics, root)
    ]
    text = json.dumps({"version": _VERSION, "findings": entries}, indent=1, ensure_ascii=False) + "\n"
    temporary = f"{path}.{os.getpid()}"
    try:
        # A file name that is not UTF-8 is escaped, as JSON escapes.
        with open(temporary, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise BaselineError([Problem(f"cannot write the baseline: {error.strerror}", path)]) from None


def unknown(known: frozenset[str], diagnostics: Sequence[Diagnostic], root: str) -> list[Diagnostic]:
    """The findings whose fingerprints are not among the `known` ones."""
    return [item for item, mark in marked(diagnostics, root) if mark not in known]


def read(path: str) -> frozenset[str]:
    """The fingerprints that a baseline holds. Raises BaselineError where it cannot be used."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content["version"] != _VERSION:
            what = f"the baseline has the unknown version {content['version']!r}"
            raise BaselineError([Problem(what, path)])
        return frozenset(str(entry["fingerprint"]) for entry in content["findings"])
    except OSError as error:
        hint = "`stablelint check --write-baseline FILE` records one"
        what = f"cannot read the baseline: {error.strerror}"
        raise BaselineError([Problem(what, path, hint=hint)]) from None
    except (ValueError, KeyError, TypeError):
        raise BaselineError([Problem("this is not a baseline written by stablelint", path)]) from None
