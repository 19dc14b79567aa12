"""A folder in which a program finds the files that it found, and changes none of them."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

_MOST = 512  # entries


def mirrored(source: Path, into: Path, since: float) -> None:
    """Make a folder like `source`, of links to its files, as it was at the time `since`.

    What was written since then is left out. Folders beyond a number of entries are links as well.
    """
    waiting, count = deque([(source, into)]), 0
    while waiting:
        folder, like = waiting.popleft()
        like.mkdir(parents=True, exist_ok=True)
        for entry in os.scandir(folder):
            count += 1
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and not entry.name.startswith(".") and count <= _MOST:
                waiting.append((folder / entry.name, like / entry.name))
            elif is_folder or entry.stat(follow_symlinks=False).st_mtime < since:
                (like / entry.name).symlink_to(folder / entry.name)
