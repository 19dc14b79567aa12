"""From a page's text to a rule, or to a named error with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from stablelint.catalog import contract, keys, page, pattern, predicates, template
from stablelint.catalog.errors import RuleError, nearest
from stablelint.catalog.rule import DTYPES, FixTemplate, Rule
from stablelint.catalog.variants import Constant, variants
from stablelint.diagnostic import Applicability, Severity

T = TypeVar("T")

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
        error.line = error.line or _line_of(error.key, head)
        raise
    return rule


def _toml_error(error: tomllib.TOMLDecodeError, head: page.Head) -> RuleError:
    place = _TOML_PLACE.search(str(error))
    line = head.table_line + (int(place[1]) - 1 if place else max(head.table.count("\n"), 0))
    return RuleError(f"not TOML: {_TOML_PLACE.sub('', str(error)).lower()}", line=line)


def _line_of(key: str | None, head: page.Head) -> int:
    for index, line in enumerate(head.table.split("\n")):
        if key and re.match(rf"\s*\[*\s*{re.escape(key)}\b", line):
            return head.table_line + index
    return head.table_line


def _check_sections(text: str) -> None:
    titles = page.headings(text)
    missing = [title for title in SECTIONS if title not in titles]
    if missing:
        named = ", ".join(f"`## {title}`" for title in missing)
        what = f"the section {named} is" if len(missing) == 1 else f"the sections {named} are"
        raise RuleError(f"{what} missing", line=text.count("\n"), hint=nearest(missing[0], titles))


def _rule(table: Mapping[str, object], head: page.Head, text: str, path: str, family: str) -> Rule:
    _check_keys(table, keys.PAGE, "a rule page")
    code = _string(table, "code", required=True)
    if not _CODE.fullmatch(code):
        raise RuleError(f"a code is upper-case letters and a number, such as SL101, not `{code}`", key="code")
    requires = _table(table, "requires")
    _check_keys(requires, keys.REQUIRES, "[requires]")
    rule = Rule(
        code=code,
        name=head.name,
        family=family,
        summary=head.summary,
        path=path,
        text=text,
        severity=Severity(_choice(table, "severity", "error", [s.value for s in Severity])),
        enabled=_boolean(table, "enabled", True),
        patterns=_strings(table, "pattern"),
        absent=_strings(table, "absent"),
        where=_strings(table, "where"),
        forward=_string(requires, "forward") or None,
        backward=_string(requires, "backward") or None,
        dtypes=_dtypes(table),
        message=_string(table, "message"),
        fixes=tuple(fix for entry in _tables(table, "fix") for fix in _fixes(entry)),
        matcher=_matcher(table),
        expect=_choice(table, "expect", "non-finite", keys.EXPECTATIONS),
        replaces=_strings(table, "replaces"),
        operands=tuple(_tables(table, "operands")),
        sample=_table(table, "sample"),
    )
    if not rule.patterns and rule.matcher is None:
        raise RuleError("a rule has a `pattern` or a `matcher`", key="code")
    return rule if rule.message else _with_message(rule)


def _with_message(rule: Rule) -> Rule:
    from dataclasses import replace

    need = rule.forward or rule.backward
    return replace(rule, message=f"needs {need}" if need else rule.summary.rstrip("."))


def _fixes(table: Mapping[str, object]) -> Iterator[FixTemplate]:
    """All rewrites that one `[[fix]]` stands for."""
    _check_keys(table, keys.FIX, "[[fix]]")
    kind = _choice(table, "kind", "replace", keys.FIX_KINDS)
    fix = FixTemplate(
        replace=_string(table, "replace", required=kind not in ("delete", "move-before")),
        applicability=Applicability(_choice(table, "applicability", None, [a.value for a in Applicability])),
        message=_string(table, "message"),
        when=_strings(table, "when"),
        kind=kind,
        dtypes=_dtypes(table),
        redefines=_boolean(table, "redefines", False),
        constructor=_string(table, "constructor") or None,
        reader=_string(table, "reader") or None,
        floating=_strings(table, "floating"),
        single=_strings(table, "single"),
    )
    targets = [name.removeprefix("$") for name in _strings(table, "target") if name]
    return variants(fix, targets, _constant(_table(table, "constant")))


def _constant(table: Mapping[str, object]) -> Constant | None:
    if not table:
        return None
    _check_keys(table, keys.CONSTANT, "[fix.constant]")
    return Constant(_string(table, "replace", required=True), _dtypes(table), _string(table, "message"))


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


def _check_keys(table: Mapping[str, object], known: Iterable[str], where: str) -> None:
    known = tuple(known)
    for key in table:
        if key not in known:
            raise RuleError(f"unknown key `{key}` in {where}", key=key, hint=nearest(key, known))


def _at(key: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except RuleError as error:
        error.key = error.key or key
        raise


def _matcher(table: Mapping[str, object]) -> str | None:
    text = _string(table, "matcher")
    if text and not _MATCHER.fullmatch(text):
        message = f"a matcher is `stablelint.matchers.module:function`, not `{text}`"
        raise RuleError(message, key="matcher")
    return text or None


def _check_matcher(matcher: str) -> None:
    """Looks a matcher up by the text of its module, which stays unimported."""
    module, name = matcher.removeprefix("stablelint.matchers.").split(":")
    path = Path(__file__).parent.parent / "matchers" / f"{module.replace('.', '/')}.py"
    there = re.findall(r"^def ([a-z]\w*)\(", path.read_text("utf-8"), re.MULTILINE) if path.is_file() else []
    if name not in there:
        raise RuleError(f"there is no matcher `{matcher}`", key="matcher", hint=nearest(name, there))


def _dtypes(table: Mapping[str, object]) -> tuple[str, ...]:
    names = _strings(table, "dtypes")
    for name in names:
        if name not in DTYPES:
            raise RuleError(f"unknown dtype `{name}`", key="dtypes", hint=nearest(name, DTYPES))
    return names or DTYPES


def _string(table: Mapping[str, object], key: str, *, required: bool = False) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise RuleError(f"`{key}` is a string", key=key)
    if required and not value.strip():
        raise RuleError(f"`{key}` is missing", key=key)
    return value


def _strings(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise RuleError(f"`{key}` is a string or a list of strings", key=key)
    return tuple(values)


def _boolean(table: Mapping[str, object], key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise RuleError(f"`{key}` is true or false", key=key)
    return value


def _choice(table: Mapping[str, object], key: str, default: str | None, known: Iterable[str]) -> str:
    known = tuple(known)
    value = table.get(key, default)
    if value is None:
        raise RuleError(f"`{key}` is missing: one of {', '.join(known)}", key="fix")
    if not isinstance(value, str) or value not in known:
        message = f"`{key}` is one of {', '.join(known)}, not `{value}`"
        raise RuleError(message, key=key, hint=nearest(str(value), known))
    return value


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise RuleError(f"`{key}` is a table, `[{key}]`", key=key)
    return value


def _tables(table: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RuleError(f"`{key}` is an array of tables, `[[{key}]]`", key=key)
    return value
