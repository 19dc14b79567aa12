"""The catalog: the rules of every page that was found, parsed when they are first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from stablelint.catalog.errors import RuleError
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Position, Problem


@dataclass(frozen=True, slots=True)
class Source:
    """A page as it was read."""

    path: str
    family: str
    content: bytes


class Catalog:
    """Rules by code, and what is wrong with the pages that are not among them.

    `digest` changes when any byte of any page does. It is known without parsing a page, which a run that is
    answered from the cache need not do.
    """

    def __init__(self, sources: tuple[Source, ...], digest: str, problems: tuple[Problem, ...] = ()) -> None:
        self.sources = sources
        self.digest = digest
        self._unread = problems

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules by code, in the order of their codes."""
        return self._parsed[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """One for each page or folder that could not be used, with its path and line."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[Mapping[str, Rule], tuple[Problem, ...]]:
        from stablelint.catalog.validate import parse_rule

        rules: dict[str, Rule] = {}
        names: dict[str, Rule] = {}
        problems = list(self._unread)
        for source in self.sources:
            try:
                rule = parse_rule(_decode(source), source.path, source.family)
                _refuse_duplicate(rule, rules.get(rule.code) or names.get(rule.name))
            except RuleError as error:
                place = Position(error.line or 1, 1)
                problems.append(Problem(f"rule page: {error.message}", source.path, place, error.hint))
                continue
            rules[rule.code] = names[rule.name] = rule
        return dict(sorted(rules.items())), tuple(problems)


def _decode(source: Source) -> str:
    try:
        return source.content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        raise RuleError("not UTF-8", line=line) from None


def _refuse_duplicate(rule: Rule, earlier: Rule | None) -> None:
    if earlier is not None:
        what = f"code {rule.code}" if rule.code == earlier.code else f"name `{rule.name}`"
        raise RuleError(f"the {what} is taken by {earlier.path}", line=1)
