"""Program text that is in no file: cells of a notebook, what `-c` was given, what came on standard input."""

from __future__ import annotations

import linecache
import os
import sys
from typing import Any

from stablelint.runtime.program.location import Unsaved

_NAMES = {"<string>": "-c", "<stdin>": "standard input"}


def keep_command_line() -> None:
    """What `python -c` was given is kept where tracebacks look for lines of files."""
    words = sys.orig_argv
    if "-c" in words[1:-1] and "<string>" not in linecache.cache:
        source = words[words.index("-c") + 1]
        linecache.cache["<string>"] = (len(source), None, source.splitlines(keepends=True), "<string>")


def unsaved(filename: str) -> Unsaved | None:
    """The text behind a file name that is no file's; None where there is a file, or no text."""
    text = "" if os.path.isfile(filename) else "".join(linecache.getlines(filename))
    if not text:
        return None
    numbers = _cells()
    if filename not in numbers:
        return Unsaved(text, _NAMES.get(filename, filename))
    before = "\n".join("".join(linecache.getlines(cell)) for cell in cells_before(filename))
    return Unsaved(text, f"In[{numbers[filename]}]", before + "\n" if before else "")


def cells_before(filename: str) -> list[str]:
    """The file names of the cells that ran before that of a file name, in their order; none where it is no cell's."""
    cells = list(_cells())
    return cells[: cells.index(filename)] if filename in cells else []


def _cells() -> dict[str, int]:
    """The cells of this notebook by their file names, in the order in which they ran, with their numbers."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return dict(getattr(getattr(shell, "compile", None), "_filename_map", {}))
