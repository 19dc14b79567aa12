"""Which rules are on: resolves selectors (codes, prefixes, names, ALL) against the catalogue."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from operator import eq
from typing import TYPE_CHECKING

from stablelint.config import Settings
from stablelint.diagnostic import Problem
from stablelint.records import dataclass, field
from stablelint.workspace.files.discover import PathPatterns

if TYPE_CHECKING:
    from stablelint.catalog.catalog import Entry
    from stablelint.catalog.rule import Rule

ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Selectors:
    """The selectors of the command line, which outrank those of the settings."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """The codes that are on, the codes and names that are off, and the codes that are off in some files."""

    codes: frozenset[str]
    root: str
    per_file: tuple[tuple[PathPatterns, frozenset[str]], ...] = ()
    off: frozenset[str] = frozenset()

    def enabled(self, code: str, filename: str) -> bool:
        """Whether findings of `code` are wanted in the file at the absolute path `filename`."""
        return code in self.codes and code not in self.ignored_in(filename)

    def disabled(self, named: str, filename: str) -> bool:
        """Whether there is a rule of that code or name, and it is switched off in the file."""
        return not self.off.isdisjoint((named, named.upper())) or named.upper() in self.ignored_in(filename)

    def ignored_in(self, filename: str) -> frozenset[str]:
        """The codes that per-file-ignores switches off in the file."""
        if not self.per_file:
            return frozenset()
        prefix = self.root.rstrip(os.sep) + os.sep
        relative = filename.removeprefix(prefix).replace(os.sep, "/")
        return frozenset().union(
            *(codes for patterns, codes in self.per_file if patterns.match_within(relative))
        )


def resolve(
    settings: Settings, given: Selectors, rules: Mapping[str, Entry]
) -> tuple[Selection, tuple[Problem, ...]]:
    """The selection, and a problem for every selector that names no rule."""
    resolver = _Resolver(rules)
    codes = frozenset(code for code, rule in rules.items() if rule.enabled)
    per_file: list[tuple[PathPatterns, frozenset[str]]] = []
    for layer in (settings, given):
        resolver.settings = settings if layer is settings else None
        codes = resolver.apply(codes, layer)
        for pattern, selectors in layer.per_file_ignores.items():
            per_file.append((PathPatterns([pattern]), resolver.expand(selectors, "per-file-ignores")))
    off = frozenset(label for code, rule in rules.items() if code not in codes for label in (code, rule.name))
    return Selection(codes, os.path.abspath(settings.root), tuple(per_file), off), tuple(resolver.problems)


class _Resolver:
    def __init__(self, rules: Mapping[str, Entry]) -> None:
        self._rules = rules
        self._by_name = {rule.name: code for code, rule in rules.items()}
        self.settings: Settings | None = None
        self.problems: list[Problem] = []

    def apply(self, codes: frozenset[str], layer: Settings | Selectors) -> frozenset[str]:
        """The more specific selector wins, whichever list it stands in; on a tie, ignoring wins."""
        codes = codes if layer.select is None else frozenset()
        wanted = [(item, "select") for item in layer.select or ()]
        wanted += [(item, "extend-select") for item in layer.extend_select]
        unwanted = [(item, "ignore") for item in layer.ignore]
        chosen: dict[str, tuple[int, bool]] = dict.fromkeys(codes, (-1, True))
        for selectors, on in ((wanted, True), (unwanted, False)):
            for selector, key in selectors:
                rank = self._specificity(selector)
                for code in self.expand([selector], key):
                    meant = not on or rank in (0, 1000) or self._rules[code].enabled  # not by a prefix alone
                    if meant and rank >= chosen.get(code, (-1, False))[0]:
                        chosen[code] = (rank, on)
        return frozenset(code for code, (_, on) in chosen.items() if on)

    def expand(self, selectors: Iterable[str], key: str) -> frozenset[str]:
        """The codes that the selectors name; a selector that names none is a problem."""
        codes: set[str] = set()
        for selector in selectors:
            named = self._named(selector)
            if not named:
                self.problems.append(self._unknown(selector, key))
            codes.update(named)
        return frozenset(codes)

    def _specificity(self, selector: str) -> int:
        if selector == ALL:
            return 0
        return 1000 if selector in self._rules or selector in self._by_name else len(selector)

    def _named(self, selector: str) -> Sequence[str]:
        if selector == ALL:
            return list(self._rules)
        if selector in self._by_name:
            return [self._by_name[selector]]
        if not selector[:1].isupper():
            return []
        return [code for code in self._rules if code.startswith(selector)]

    def _unknown(self, selector: str, key: str) -> Problem:
        place = self.settings.place(key) if self.settings is not None else (None, None)
        where = f'"{key}"' if self.settings is not None and place[0] else f"--{key}"
        hint = nearest(selector, self._rules)
        return Problem(f'unknown rule "{selector}" in {where}', *place, hint=hint)


def nearest(selector: str, rules: Mapping[str, Entry] | Mapping[str, Rule]) -> str | None:
    """A hint that names the rule closest to a code or name that does not exist."""
    from difflib import get_close_matches

    begun = [code for code in rules if selector and code.startswith(selector.upper())]
    if len(begun) > 1:
        return f"{selector.upper()} begins {len(begun)} codes, from {begun[0]} to {begun[-1]}"
    if selector.upper() == ALL:
        return f"did you mean {ALL}?"
    by_name = {rule.name: code for code, rule in rules.items()}
    close = get_close_matches(selector.upper(), rules, n=len(rules) or 1, cutoff=0.8)
    close.sort(key=lambda code: -sum(map(eq, code, selector.upper())))
    near = close or [
        f"{by_name[name]} ({name})" for name in get_close_matches(selector.lower(), by_name, n=1, cutoff=0.5)
    ]
    return f"did you mean {near[0]}?" if near else "`stablelint rules` lists them all"
