"""The site tells of every rule, command, setting and public name."""

import re
import runpy
from pathlib import Path

import pytest

import stablelint
from stablelint.catalog import Catalog, load_catalog
from stablelint.cli.main import command_names
from stablelint.config import KEYS

DOCS = Path(__file__).parent.parent / "docs"


def test_every_setting_is_described() -> None:
    described = set(
        re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "configuration.md").read_text("utf-8"), re.MULTILINE)
    )
    assert described == set(KEYS)


def test_every_public_name_is_described() -> None:
    described = {
        name.rpartition(".")[2]
        for name in re.findall(r"^::: (\S+)", (DOCS / "api.md").read_text(), re.MULTILINE)
    }
    assert {
        name[0].upper() + name[1:] if name == "guard" else name for name in stablelint._HOME_OF
    } <= described


def test_every_rule_and_command_has_its_place() -> None:
    pytest.importorskip("mkdocs", reason="the site's generator is not installed")
    made = dict(runpy.run_path(str(DOCS / "generate.py"))["_pages"]())
    for rule in load_catalog(entry_points=False).rules.values():
        page = made[f"rules/{rule.family}/{rule.name}.md"]
        assert page.startswith(f"# {rule.name}\n")
        assert f"[{rule.name}]({rule.family}/{rule.name}.md)" in made["rules/index.md"]
        assert all(f"## {title}" in page for title in rule.sections)
    for name in command_names():
        assert f"\n## stablelint {name}\n" in made["commands.md"]


def test_rule_pages_that_the_site_cannot_hold_are_told_with_their_place(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site's generator is not installed")
    problems = runpy.run_path(str(DOCS / "generate.py"))["_problems"]
    assert list(problems(load_catalog(entry_points=False))) == []
    page = tmp_path / "bad.md"
    page.write_text('# bad\n\nx\n\n```toml\ncode = "SL999"\nseverty = "error"\n```\n')
    [told] = problems(load_catalog([tmp_path], entry_points=False))
    assert told == f"{page}:7:1: rule page: unknown key `severty` in a rule page"
    [none] = problems(Catalog((), ""))
    assert none.endswith("rules: no rule pages here")
