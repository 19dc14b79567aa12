"""`check --watch`: checks again whenever a file changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from stablelint.config import ConfigError, load
from stablelint.report.style import is_terminal
from stablelint.runtime.plain import plural
from stablelint.workspace.files.discover import discover

_PAUSE = 0.4  # seconds between two looks
Stamps = dict[str, int]


def watch(check: Callable[[], int], paths: Sequence[str], looks: int | None = None) -> int:
    """Runs `check` now and after each change below `paths`, till Ctrl-C; `looks` bounds how often it is looked.

    Once, and with its exit code, where none of the paths exists.
    """
    if not any(map(os.path.exists, paths)):
        return check()
    seen: Stamps | None = None
    try:
        while looks is None or looks > 0:
            now = _stamps(paths)
            if now != seen:
                seen = now
                if is_terminal(sys.stdout):
                    sys.stdout.write("\x1b[H\x1b[2J")
                check()
                print(f"Watching {plural(len(seen), 'file')}; Ctrl-C ends.", file=sys.stderr)
            time.sleep(_PAUSE)
            looks = None if looks is None else looks - 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 0


def _stamps(paths: Sequence[str]) -> Stamps:
    """The time of each file that decides on the result. Settings that are wrong leave the files named."""
    start = os.path.abspath(paths[0])
    settings_files = [os.path.join(folder, "pyproject.toml") for folder in (start, os.getcwd())]
    found: Stamps = {}
    try:
        settings = load(Path(start))
        files = discover(paths, settings).files
        found = {file.path: file.mtime_ns for file in files}
        settings_files += [str(page) for folder in settings.rules for page in folder.rglob("*.md")]
        if settings.source is not None:
            settings_files.append(str(settings.source))
    except ConfigError as error:
        settings_files += [problem.filename for problem in error.problems if problem.filename]
    for path in settings_files:
        if os.path.exists(path):
            found[path] = os.stat(path).st_mtime_ns
    return found
