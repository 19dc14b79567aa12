"""A project that is open: its settings, its rules, and which of them are on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stablelint.config import ConfigError, Settings
from stablelint.diagnostic import Problem
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
