"""`.gitignore` files at every level, as git reads them.

Their semantics (anchoring, negation, nesting) are pathspec's; it is imported only where such a file exists.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILENAME = ".gitignore"


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files that hold in one folder, the deepest first."""

    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def entering(self, folder: str) -> IgnoreRules:
        """The rules that hold inside `folder`, which has an ignore file."""
        spec = _read(os.path.join(folder, FILENAME))
        return self if spec is None else IgnoreRules(((folder, spec), *self.levels))

    def ignores(self, path: str, folder: bool) -> bool:
        """Whether the absolute `path` is ignored; the deepest file that speaks of it decides."""
        for base, spec in self.levels:
            relative = path[len(base) :].lstrip(os.sep).replace(os.sep, "/")
            verdict = spec.check_file(relative + "/" if folder else relative).include
            if verdict is not None:
                return verdict
        return False


def above(folder: str) -> IgnoreRules:
    """The rules that reach `folder` from the folders above it, up to the root of its repository."""
    chain: list[str] = []
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return IgnoreRules()  # not in a repository: files above are nobody's business
        chain.append(parent)
        current = parent
    rules = IgnoreRules()
    exclude = _read(os.path.join(current, ".git", "info", "exclude"))
    if exclude is not None:
        rules = IgnoreRules(((current, exclude),))
    for parent in reversed(chain):
        rules = rules.entering(parent)
    return rules


def _read(path: str) -> GitIgnoreSpec | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file.read().splitlines() if line.strip() and not line.startswith("#")]
    except OSError:
        return None
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # a malformed pattern; git skips such a line, and so do we
        return GitIgnoreSpec.from_lines(line for line in lines if _valid(line))


def _valid(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
