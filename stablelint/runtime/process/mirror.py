"""A folder in which a program finds the files that it found, and changes none of them."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

_MOST = 1024  # entries that are looked at


def mirrored(source: Path, into: Path, since: float) -> None:
    """Make a folder like `source` at the time `since`: of links, but for the folders that were written in since then."""
    own = _written_in(source, since)
    waiting = [(source, into)]
    for folder, like in waiting:
        like.mkdir()
        for entry in os.scandir(folder):
            if entry.path in own:
                waiting.append((folder / entry.name, like / entry.name))
            elif entry.stat(follow_symlinks=False).st_mtime < since:
                (like / entry.name).symlink_to(folder / entry.name)


def _written_in(source: Path, since: float) -> set[str]:
    """The folders that were there before a time, and in which something was written since."""
    found, waiting, seen = set[str](), deque([source]), 0
    while waiting and seen < _MOST:
        folder = waiting.popleft()
        entries = list(os.scandir(folder))
        seen += len(entries)
        written = [one.stat(follow_symlinks=False).st_mtime >= since for one in entries]
        if any(written):
            found.update(map(str, folder.parents), () if all(written) else (str(folder),))
        inner = (one.name for one in entries if one.is_dir(follow_symlinks=False))
        waiting.extend(folder / name for name in inner if not name.startswith("."))
    return found
