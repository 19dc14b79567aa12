"""The file under analysis, in the middle of the project that is seen from it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stablelint.analysis.files.abridging import release
from stablelint.analysis.files.indexing import module_of
from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.analysis.files.stars import names_by_star
from stablelint.diagnostic import NOTHING, UNEDITED, Passes, Texts
from stablelint.syntax.newer import tree_at_work
from stablelint.syntax.precision import shown_in
from stablelint.syntax.remembered import forget
from stablelint.syntax.source import parse

_STACK = 6000  # Python frames; an operator in an expression takes three


@contextmanager
def opened(
    source: bytes, filename: str, root: Path | None, received: Passes = NOTHING, edited: Texts = UNEDITED
) -> Iterator[tuple[ModuleInfo, Project]]:
    """A parsed file and its project, both freed afterwards.

    Raises:
        SourceError: it cannot be read or parsed.
    """
    with _room():
        parsed = parse(source, filename, tree_at_work)
        path = ((root / filename) if root is not None else Path(filename)).absolute()
        above = str(root.absolute()) if root is not None else ""
        project = Project(root=above, received=received, edited=edited)
        project.shown = frozenset(shown_in(source))
        module = module_of(parsed, path, project.package_of(path)[1])
        if root is not None and path.is_relative_to(root.absolute()):
            module.folders = path.parent.relative_to(root.absolute()).parts
        project.adopt(module)
        bound = names_by_star(module, project)
        module.imports.update({name: binding.qualified for name, binding in bound.items()})
        module.by_custom = frozenset(name for name, binding in bound.items() if binding.by_custom)
        try:
            yield module, project
        finally:
            release(module)
            project.close()
            forget()


@contextmanager
def _room() -> Iterator[None]:
    """A deeper stack for nested expressions; no search for garbage while all that is made lives."""
    collecting, depth = gc.isenabled(), sys.getrecursionlimit()
    gc.disable()
    sys.setrecursionlimit(max(depth, _STACK))
    try:
        yield
    finally:
        sys.setrecursionlimit(depth)
        if collecting:
            gc.enable()
