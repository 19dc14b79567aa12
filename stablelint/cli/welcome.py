"""`stablelint` alone: what there is to do here, and what to do first."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from stablelint import __version__
from stablelint.config import ConfigError, load
from stablelint.report.cells import wrap
from stablelint.report.style import Style, wants_colour, width_of
from stablelint.runtime.plain import plural
from stablelint.syntax.content import NOTEBOOK
from stablelint.syntax.source import SourceError
from stablelint.workspace.notebooks import python_of

_ENOUGH = 500  # files and folders to be looked into: a greeting does not keep anyone waiting
_COMMANDS = (
    ("check", "find what produces NaN or Inf; runs nothing"),
    ("fix", "show the rewrites; --apply writes them"),
    ("verify -- pytest", "prove each fix on the values of a run"),
    ("run -- python train.py", "name the expression behind the first NaN"),
    ("init", "settings, baseline, hook and workflow"),
    ("rule SL202", "read the page of a rule"),
)


def welcome() -> str:
    """The commands in the order in which a project meets them, and a first step for this folder."""
    style = Style(wants_colour(sys.stdout))
    return "\n".join(_lines(style)) + "\n"


def _lines(style: Style) -> Iterator[str]:
    yield f"{style.bold('stablelint')} {__version__}: a linter for numerics in PyTorch code."
    yield ""
    width = max(len(name) for name, _ in _COMMANDS)
    yield from (f"  stablelint {style.bold(f'{name:<{width}}')}  {does}" for name, does in _COMMANDS)
    yield ""
    yield from wrap(_first_step(style), width_of(sys.stdout))
    more = "`stablelint --help` lists every command, `stablelint check --help` its options."
    yield from map(style.dim, wrap(more, width_of(sys.stdout)))


def _first_step(style: Style) -> str:
    try:
        settings = load(Path(os.getcwd()))
    except ConfigError as error:
        problem = error.problems[0]
        return f"The settings cannot be used: {problem.message}. `stablelint check` says where."
    seen, using = _counts()
    if not using:
        read = f"none of {plural(seen, 'Python file')} imports torch" if seen else "there are no Python files"
        return f"Here {read}: name a folder, as in {style.bold('stablelint check path/to/project')}."
    many = "at least " if seen >= _ENOUGH else ""
    where = f"with settings in {settings.source.name}" if settings.source else "with no settings yet"
    uses = "uses" if using == 1 else "use"
    return f"Here {many}{plural(using, 'file')} {uses} torch, {where}. Begin with {style.bold('stablelint check')}."


def _counts() -> tuple[int, int]:
    """Python files in this folder, and those of them that use torch; no more of either than is quickly read."""
    from stablelint.syntax.relevance import brings_torch

    files = list(islice(_python_files(), _ENOUGH))
    return len(files), sum(brings_torch(_read(path)) for path in files)


def _python_files() -> Iterator[str]:
    for folder, folders, names in islice(os.walk("."), _ENOUGH):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "site-packages"]
        yield from (os.path.join(folder, name) for name in names if name.endswith((".py", NOTEBOOK)))


def _read(path: str) -> bytes:
    try:
        return python_of(Path(path).read_bytes(), path)
    except (OSError, SourceError):
        return b""
