"""Glob patterns of settings: `build`, `tests/*`, `src/gen/*.py`, `**/vendored`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate


class PathPatterns:
    """Patterns over paths relative to a root, written with `/`.

    A pattern without a slash is matched against every single name, one with a slash against the path from the
    root. `*` also crosses slashes. A pattern that names a folder covers all that lies in it.
    """

    __slots__ = ("_names", "_paths")

    def __init__(self, patterns: Iterable[str]) -> None:
        names: list[str] = []
        paths: list[str] = []
        for pattern in patterns:
            text = pattern.replace("\\", "/").removeprefix("./").rstrip("/")
            if text:
                (paths if "/" in text else names).append(text)
        self._names = _any_of(names)
        self._paths = _any_of(
            [*paths, *(path.removeprefix("**/") for path in paths if path.startswith("**/"))]
        )

    def match(self, relative: str) -> bool:
        """Whether the last name of `relative`, or `relative` as a whole, is matched."""
        if self._names is not None and self._names.match(relative.rpartition("/")[2]):
            return True
        return self._paths is not None and self._paths.match(relative) is not None

    def match_within(self, relative: str) -> bool:
        """Whether `relative` or a folder above it is matched."""
        if self.match(relative):
            return True
        above = relative.rpartition("/")[0]
        return bool(above) and self.match_within(above)


def _any_of(patterns: list[str]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    return re.compile("|".join(translate(pattern) for pattern in patterns))
