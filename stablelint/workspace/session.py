"""A project that is open: its settings, its rules, which of them are on; and what a run over it is to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from stablelint.config import ConfigError, Settings
from stablelint.diagnostic import Problem
from stablelint.records import dataclass
from stablelint.workspace import pool
from stablelint.workspace.examine import Scope
from stablelint.workspace.kept.cache import Cache, context_digest
from stablelint.workspace.runs.evidence import are_observed
from stablelint.workspace.selection import Selection, Selectors, resolve
from stablelint.workspace.suppress import UNUSED_CODE, UNUSED_NAME

if TYPE_CHECKING:
    from stablelint.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Session:
    """Settings, catalogue and selection; `problems` are those of the project's own rule pages."""

    settings: Settings
    catalog: Catalog
    selection: Selection
    problems: tuple[Problem, ...]


def session_of(settings: Settings, selectors: Selectors | None = None) -> Session:
    """Loads the rules and resolves selectors against them; those given outrank those of the settings.

    Raises ConfigError where a selector names no rule, or no rule is left; a malformed rule page is among the session's
    problems.
    """
    from stablelint.catalog import load_catalog
    from stablelint.catalog.catalog import Entry

    catalog = load_catalog(extra_folders=settings.rules)
    rules = {UNUSED_CODE: Entry(UNUSED_CODE, UNUSED_NAME, True), **catalog.index}
    selection, problems = resolve(settings, selectors or Selectors(), rules)
    if not selection.codes and not problems:
        hint = "`select` and `ignore` leave none; `stablelint rules` lists them"
        place = settings.place("select") if settings.select is not None else (None, None)
        problems = (Problem("no rule is selected", *place, hint=hint),)
    if problems:
        raise ConfigError((*catalog.foreign_problems, *problems))  # the rule may be that of a malformed page
    return Session(settings, catalog, selection, tuple(catalog.foreign_problems))


CACHE_FOLDER = ".stablelint_cache"
Progress = Callable[[int, int], None]  # files done, files in all


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is to do beyond the project's settings."""

    settings: Settings
    selection: Selection
    discharged: bool = False
    use_cache: bool = True
    jobs: int | None = None
    progress: Progress | None = None

    @property
    def workers(self) -> int:
        """How many processes it may use."""
        return self.jobs or self.settings.jobs or pool.default_jobs()

    @property
    def scope(self) -> Scope:
        """What decides the entries."""
        settings = self.settings
        rules = tuple(os.fspath(folder) for folder in settings.rules)
        root = os.path.abspath(settings.root)
        observed = are_observed(settings.root)
        return Scope(root, rules, settings.level, self.discharged, observed, settings.min_confidence)

    def open_cache(self, pages: str) -> Cache | None:
        """The cache for a catalog with the digest `pages`; None where none is used."""
        if not self.use_cache:
            return None
        scope = self.scope
        folder = self.settings.cache_dir or os.path.join(scope.root, CACHE_FOLDER)
        return Cache(os.fspath(folder), context_digest(pages, *scope.parts()), scope.root)
