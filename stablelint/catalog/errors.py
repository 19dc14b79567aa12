"""The error every parser of the catalog raises, and the nearest-name hint it carries."""

from __future__ import annotations

from collections.abc import Iterable


class RuleError(ValueError):
    """What is wrong with a rule page, or with one of the small languages in it.

    `key` names the entry of the page's toml block that is at fault, `line` the line of the page (from 1),
    where they are known; `hint` says how to put it right.
    """

    def __init__(
        self, message: str, *, key: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.key = key
        self.line = line
        self.hint = hint


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The hint "did you mean ...?" for a name that is not among the known ones, or None."""
    from difflib import get_close_matches  # only a wrong page pays for the import

    found = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean `{found[0]}`?" if found else None
