"""The catalog: the rules of every page that was found, parsed when they are first asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from stablelint.catalog.errors import RuleError
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Position, Problem
from stablelint.records import dataclass

_NAME = re.compile(rb"\A# ([a-z0-9-]+)$", re.MULTILINE)
_CODE = re.compile(rb"^code = \"([A-Z]+\d+)\"$", re.MULTILINE)
_DISABLED = re.compile(rb"^enabled = false$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """A page as it was read. `builtin`: one of our own, which the test-suite has proved sound."""

    path: str
    family: str
    content: bytes
    builtin: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """As much of a rule as choosing rules needs."""

    code: str
    name: str
    enabled: bool


class Catalog:
    """Rules by code, and what is wrong with the pages that are not among them.

    `digest` changes when any byte of any page does, and catalogs of one digest are equal. It is known without
    parsing a page, which a run that is answered from the cache need not do.
    """

    def __init__(self, sources: tuple[Source, ...], digest: str, problems: tuple[Problem, ...] = ()) -> None:
        self.sources = sources
        self.digest = digest
        self._unread = problems

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalog) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def index(self) -> Mapping[str, Entry]:
        """Code, name and default of every rule, by code; reads the built-in pages without parsing them.

        It costs a fiftieth of `rules`, which a run that is answered from the cache then never asks for.
        """
        found = {}
        for source in self.sources:
            code, name = _CODE.search(source.content), _NAME.search(source.content)
            if source.builtin and code and name:
                enabled = _DISABLED.search(source.content) is None
                found[code[1].decode()] = Entry(code[1].decode(), name[1].decode(), enabled)
        for rule in self._foreign[0].values():
            found.setdefault(rule.code, Entry(rule.code, rule.name, rule.enabled))
        return dict(sorted(found.items()))

    @property
    def foreign_problems(self) -> tuple[Problem, ...]:
        """The problems of folders and of pages that are not built in; parses no built-in page."""
        return self._foreign[1]

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
        return _parse(self.sources, self._unread)

    @cached_property
    def _foreign(self) -> tuple[Mapping[str, Rule], tuple[Problem, ...]]:
        if all(source.builtin for source in self.sources):
            return {}, self._unread
        rules, problems = self._parsed  # a duplicate shows only beside the built-in pages
        ours = {source.path for source in self.sources if source.builtin}
        theirs = {code: rule for code, rule in rules.items() if rule.path not in ours}
        return theirs, tuple(problem for problem in problems if problem.filename not in ours)


def _parse(
    sources: tuple[Source, ...], unread: tuple[Problem, ...]
) -> tuple[Mapping[str, Rule], tuple[Problem, ...]]:
    from stablelint.catalog.validate import parse_rule

    rules: dict[str, Rule] = {}
    names: dict[str, Rule] = {}
    problems = list(unread)
    for source in sources:
        try:
            rule = parse_rule(_decode(source), source.path, source.family, builtin=source.builtin)
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
    if earlier is None:
        return
    from stablelint.catalog.page import split
    from stablelint.catalog.validate import line_of

    if rule.code == earlier.code:
        message, line = f"the code {rule.code} is taken by {earlier.path}", line_of("code", split(rule.text))
    else:
        message, line = f"the name `{rule.name}` is taken by {earlier.path}", 1
    raise RuleError(message, line=line)
