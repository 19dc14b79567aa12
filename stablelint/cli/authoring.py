"""`stablelint rules new` and `stablelint rules test`: your own rule pages."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from stablelint.catalog import Catalog, Rule, RuleError, load_catalog
from stablelint.catalog.discover import builtin_folder
from stablelint.cli.exit_codes import CLEAN, FAILED, FINDINGS
from stablelint.cli.options import print_problems
from stablelint.cli.setup_files import Change, setting_added
from stablelint.codemod.text.apply import WriteRefused
from stablelint.config import ConfigError, Settings
from stablelint.diagnostic import Problem
from stablelint.report.style import Style, wants_colour
from stablelint.runtime.plain import plural

FOLDER = "lint_rules"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PREFIX = "OWN"


def new_page(name: str, settings: Settings) -> int:
    """Writes a page that passes its tests, for its author to change. Returns the exit code, or raises ConfigError."""
    folder = settings.rules[0] if settings.rules else Path(settings.root, FOLDER)
    path = folder / f"{name}.md"
    if not _NAME.fullmatch(name):
        hint = "lower case, with hyphens: `unguarded-trigamma`"
        raise ConfigError([Problem(f'a rule cannot be called "{name}"', hint=hint)])
    if path.exists():
        raise ConfigError([Problem("this page exists already", str(path))])
    if any(entry.name == name for entry in load_catalog(extra_folders=_existing(settings)).index.values()):
        hint = f"stablelint rule {name}"
        raise ConfigError([Problem(f'there is a rule called "{name}" already', hint=hint)])
    template = (Path(__file__).parent / "pages" / "new-rule.md").read_text("utf-8")
    text = template.replace("NAME", name, 1).replace("CODE", _free_code(settings), 1)
    shown = os.path.relpath(path)
    try:
        Change(path, None, text, "").write()
        print(f"Wrote {shown}: a page that passes its tests. Change it to say what yours should.")
        if not settings.rules:
            print(_announce(settings))
    except WriteRefused as error:
        raise ConfigError([Problem(str(error), shown)]) from None
    print(f"Next: stablelint rules test {shown}")
    return CLEAN


def _announce(settings: Settings) -> str:
    """Names the folder of the pages in the settings, and says so. Raises WriteRefused."""
    path = settings.source or Path(settings.root, "pyproject.toml")
    setting = f'rules = ["{FOLDER}"]'
    change = setting_added(path, setting)
    if change is None:
        return f"Add `{setting}` to [tool.stablelint] in {os.path.relpath(path)}, so that checks read it."
    change.write()
    return f"Added `{setting}` to {os.path.relpath(path)}, so that checks read it."


def _existing(settings: Settings) -> tuple[Path, ...]:
    return tuple(folder for folder in settings.rules if folder.is_dir())


def _free_code(settings: Settings) -> str:
    folder = settings.rules[0] if settings.rules else Path(settings.root, FOLDER)
    folders = {*_existing(settings), folder} if folder.is_dir() else set(_existing(settings))
    taken = load_catalog(extra_folders=sorted(folders)).index
    return next(code for number in range(1, 1000) if (code := f"{_PREFIX}{number:03}") not in taken)


def test_pages(paths: Sequence[str], settings: Settings) -> int:
    """Runs what pages claim and says what does not hold. Returns the exit code, or raises ConfigError."""
    from stablelint.workspace.rule_tests import has_torch

    wanted = [Path(os.path.abspath(path)) for path in paths] or list(settings.rules)
    missing = [path for path in wanted if not path.exists()]
    if missing or not wanted:
        hint = "name a page or a folder of pages, or set `rules` in [tool.stablelint]"
        problems = [Problem("no such page or folder", str(path)) for path in missing]
        raise ConfigError(problems or [Problem("there are no pages to test", hint=hint)])
    folders = [*_existing(settings), *(path if path.is_dir() else path.parent for path in wanted)]
    ours = Path(builtin_folder())
    folders = [folder for folder in dict.fromkeys(folders) if folder != ours and ours not in folder.parents]
    catalog = load_catalog(extra_folders=folders)
    rules = [rule for rule in catalog.rules.values() if _is_among(rule.path, wanted)]
    problems = [item for item in catalog.problems if item.filename and _is_among(item.filename, wanted)]
    passed = failed = 0
    style = Style(wants_colour(sys.stdout))
    for rule in rules:
        outcomes = list(_outcomes(rule, catalog))
        failures = [(line, text) for line, text in outcomes if text]
        sound = len(outcomes) - len(failures)
        print(f"{style.bold(os.path.relpath(rule.path))}: {plural(sound, 'test')} passed")
        for line, text in failures:
            print(f"  {style.error('failed')} {os.path.relpath(rule.path)}:{line}: {text}")
        passed, failed = passed + sound, failed + len(failures)
    print_problems(problems)
    if not rules and not problems:
        hint = "a page is a Markdown file"
        raise ConfigError([Problem("no rule pages here", str(wanted[0]), hint=hint)])
    if not has_torch():
        print("Contracts and fixes were not tried in numbers: pip install 'stablelint[verify]' brings torch.")
    if rules:
        print(style.bold(f"{plural(len(rules), 'page')}: {passed:,} passed, {failed:,} failed."))
    return FAILED if problems else FINDINGS if failed else CLEAN


def _is_among(path: str, wanted: Sequence[Path]) -> bool:
    absolute = Path(os.path.abspath(path))
    return any(absolute == item or item in absolute.parents for item in wanted)


def _outcomes(rule: Rule, catalog: Catalog) -> Iterator[tuple[int, str]]:
    """The tests of a page, by their lines, with what does not hold."""
    from stablelint.workspace.rule_tests import tests_of

    try:
        tests = list(tests_of(rule, catalog))
    except RuleError as error:
        yield error.line or 1, error.message
        return
    for test in tests:
        try:
            with warnings.catch_warnings(action="ignore"):  # of torch, about operands that a page tries
                found = test.run()
        except Exception as error:  # what a page's own pattern raises when it is evaluated
            found = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        yield test.line, f"{test.title}: {found}" if found else ""
