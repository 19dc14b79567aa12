"""What a run over a project is to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from stablelint.config import Settings
from stablelint.workspace import pool
from stablelint.workspace.examine import Scope
from stablelint.workspace.kept.cache import Cache, context_digest
from stablelint.workspace.runs.observed import are_observed
from stablelint.workspace.selection import Selection

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
