"""From a page's text to a rule, or to a named error with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from stablelint.catalog import contract, keys, page, pattern, predicates, template
from stablelint.catalog.errors import RuleError, nearest
from stablelint.catalog.rule import FixTemplate, Rule
from stablelint.diagnostic import Applicability, Severity

T = TypeVar("T")

# By the shape of a key: the type of its value, what an error calls it, and what stands where it is not given.
_SHAPES: Mapping[str, tuple[type, str, object]] = {
    "string": (str, "a string", ""),
    "boolean": (bool, "true or false", False),
    "table": (dict, "a table, `[{0}]`", {}),
    "tables": (list, "an array of tables, `[[{0}]]`", ()),
}

SECTIONS = ("Why is this bad?", "Fix safety", "Examples")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CODE = re.compile(r"[A-Z]{2,}\d{3,}")
_MATCHER = re.compile(r"stablelint\.matchers(\.[a-z_]\w*)+:[a-z_]\w*")
_TOML_PLACE = re.compile(r"\s*\(at line (\d+), column \d+\)")


def parse_rule(text: str, path: str, family: str, builtin: bool = False) -> Rule:
    """Parse and validate a page; raises RuleError, whose line is a line of the page.

    What a `builtin` page says in its small languages, and that its sections and its matcher are there, is not looked
    at: the test-suite has.
    """
    head = page.split(text)
    try:
        table = tomllib.loads(head.table)
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(error, head) from None
    try:
        if not _NAME.fullmatch(head.name):
            raise RuleError(f"a rule's name is written in lower case with hyphens, not `{head.name}`", line=1)
        rule = _rule(table, head, text, path, family)
        if not builtin:
            _check(rule)
    except RuleError as error:
        error.line = error.line or line_of(error.key, head)
        raise
    return rule


def _toml_error(error: tomllib.TOMLDecodeError, head: page.Head) -> RuleError:
    place = _TOML_PLACE.search(str(error))
    line = head.table_line + (int(place[1]) - 1 if place else max(head.table.count("\n"), 0))
    return RuleError(f"not TOML: {_TOML_PLACE.sub('', str(error)).lower()}", line=line)


def line_of(key: str | None, head: page.Head) -> int:
    """The line of a page on which a key of its toml block stands; else that on which the block begins."""
    for index, line in enumerate(head.table.split("\n")):
        if key and re.match(rf"\s*\[*\s*{re.escape(key)}\b", line):
            return head.table_line + index
    return head.table_line


def _check_sections(text: str) -> None:
    titles = page.sections(text)
    missing = [title for title in SECTIONS if title not in titles]
    if missing:
        named = ", ".join(f"`## {title}`" for title in missing)
        what = f"the section {named} is" if len(missing) == 1 else f"the sections {named} are"
        raise RuleError(f"{what} missing", line=text.count("\n"), hint=nearest(missing[0], titles))


def _rule(table: Mapping[str, object], head: page.Head, text: str, path: str, family: str) -> Rule:
    given = _read(table, keys.PAGE, "a rule page")
    if not _CODE.fullmatch(given["code"]):
        message = f"a code is upper-case letters and a number, such as SL101, not `{given['code']}`"
        raise RuleError(message, key="code")
    if given["matcher"] and not _MATCHER.fullmatch(given["matcher"]):
        message = f"a matcher is `stablelint.matchers.module:function`, not `{given['matcher']}`"
        raise RuleError(message, key="matcher")
    if not given["pattern"] and not given["matcher"]:
        raise RuleError("a rule has a `pattern` or a `matcher`", key="code")
    requires = _read(given.pop("requires"), keys.REQUIRES, "[requires]")
    forward, backward = requires["forward"] or None, requires["backward"] or None
    need = forward or backward
    return Rule(
        name=head.name,
        family=family,
        summary=head.summary,
        path=path,
        text=text,
        severity=Severity(given.pop("severity")),
        patterns=given.pop("pattern"),
        forward=forward,
        backward=backward,
        message=given.pop("message") or (f"needs {need}" if need else head.summary.rstrip(".")),
        fixes=tuple(fix for entry in given.pop("fix") for fix in _fixes(entry)),
        matcher=given.pop("matcher") or None,
        **given,
    )


def _fixes(table: Mapping[str, object]) -> Iterator[FixTemplate]:
    """All rewrites that one `[[fix]]` stands for."""
    given = _read(table, keys.FIX, "[[fix]]")
    if not given["replace"].strip() and given["kind"] not in ("delete", "move-before"):
        raise RuleError("`replace` is missing", key="replace")
    targets = [name.removeprefix("$") for name in given.pop("target") if name]
    given["applicability"] = Applicability(given["applicability"])
    given |= {name: given[name] or None for name in ("constructor", "reader")}
    return for_targets(FixTemplate(**given), targets)


def for_targets(fix: FixTemplate, targets: Sequence[str]) -> Iterator[FixTemplate]:
    """The fix, which is written for the first of its targets, for each of them."""
    for target in targets or ("",):
        yield _renamed(replace(fix, target=target or None), targets[0] if targets else "", target)


def _renamed(fix: FixTemplate, old: str, new: str) -> FixTemplate:
    """The fix with another metavariable in the place of the one that it is written for."""
    if old == new:
        return fix

    def named(found: re.Match[str]) -> str:
        return f"${new}{found[2] or ''}" if found[1] == old else found[0]

    when = tuple(re.sub(rf"\b{old}\b(?!\()", new, text) for text in fix.when)
    return replace(fix, replace=pattern.METAVARIABLE.sub(named, fix.replace), when=when)


def _check(rule: Rule) -> None:
    """Reads all that the page says in its small languages; all that it puts in, requires or asks about is bound."""
    _check_sections(rule.text)
    for key, texts in (("pattern", rule.patterns), ("absent", rule.absent)):
        for text in texts:
            _at(key, pattern.parse_pattern, text)
    bound = rule.metavariables if rule.patterns else None  # a matcher states its bindings when it runs
    _check_predicates("where", rule.where, bound)
    for key, side in (("forward", rule.forward), ("backward", rule.backward)):
        if side:
            _defined(_at(key, contract.parse, side).variables, bound, "requires", side)
    for fix in rule.fixes:
        _check_predicates("when", fix.when, bound)
        _defined({*fix.floating, *fix.single}, bound, "floating", fix.replace)
        if fix.target:
            _defined({fix.target}, bound, "target", fix.target)
        if fix.replace:
            used = _at("replace", template.parse_template, fix.replace).metavariables
            _defined(used, bound, "replace", fix.replace)
    _defined(
        {match[1] for match in pattern.METAVARIABLE.finditer(rule.message)}, bound, "message", rule.message
    )
    if rule.matcher:
        _check_matcher(rule.matcher)


def _check_predicates(key: str, texts: Iterable[str], bound: frozenset[str] | None) -> None:
    for text in texts:
        _defined(_at(key, predicates.parse_predicate, text).metavariables, bound, key, text)


def _defined(used: Iterable[str], bound: frozenset[str] | None, key: str, text: str) -> None:
    if bound is None:
        return
    for name in sorted(set(used) - bound):
        message = f"undefined metavariable `${name}` in `{text}`: no pattern binds it"
        raise RuleError(message, key=key, hint=nearest(name, bound))


def _at(key: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except RuleError as error:
        error.key = error.key or key
        raise


def _check_matcher(matcher: str) -> None:
    """Looks a matcher up by the text of its module, which stays unimported."""
    module, name = matcher.removeprefix("stablelint.matchers.").split(":")
    path = Path(__file__).parent.parent / "matchers" / f"{module.replace('.', '/')}.py"
    there = re.findall(r"^def ([a-z]\w*)\(", path.read_text("utf-8"), re.MULTILINE) if path.is_file() else []
    if name not in there:
        raise RuleError(f"there is no matcher `{matcher}`", key="matcher", hint=nearest(name, there))


def _read(table: Mapping[str, object], known: Mapping[str, keys.Key], where: str) -> dict[str, Any]:
    """What a table says of each key that it may have, or the key's default, in the key's shape."""
    for key in table:
        if key not in known:
            raise RuleError(f"unknown key `{key}` in {where}", key=key, hint=nearest(key, known))
    return {name: _value(table.get(name), name, shape, where) for name, shape in known.items()}


def _value(value: object, name: str, key: keys.Key, where: str) -> object:
    if value is None and key.required:
        listed = f": one of {', '.join(key.values)}" if key.values else ""
        raise RuleError(f"`{name}` is missing{listed}", key=where.strip("[]"))
    if key.shape == "strings":
        return _strings(value, name, key)
    kind, shape, default = _SHAPES[key.shape]
    if value is None:
        return key.default if kind is str else key.default == "true" if kind is bool else default
    tables = value if isinstance(value, list) else ()
    if not isinstance(value, kind) or not all(isinstance(item, dict) for item in tables):
        raise RuleError(f"`{name}` is {shape.format(name)}", key=name)
    if key.values and value not in key.values:
        message = f"`{name}` is one of {', '.join(key.values)}, not `{value}`"
        raise RuleError(message, key=name, hint=nearest(str(value), key.values))
    if key.required and not str(value).strip():
        raise RuleError(f"`{name}` is missing", key=name)
    return tuple(tables) if kind is list else value


def _strings(value: object, name: str, key: keys.Key) -> tuple[str, ...]:
    """One string or a list of them; those of a closed set are all of it where none is named."""
    items = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise RuleError(f"`{name}` is a string or a list of strings", key=name)
    for item in items:
        if key.values and item not in key.values:
            raise RuleError(f"unknown dtype `{item}`", key=name, hint=nearest(item, key.values))
    return tuple(items) or key.values
