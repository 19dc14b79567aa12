"""What the site says that something else in the repository says already: rules, commands, keys, words, changes.

A hook of mkdocs: the pages are made when the site is built, and never stand in the repository.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from stablelint.catalog import Catalog, Rule, load_catalog
from stablelint.catalog.discover import builtin_folder
from stablelint.catalog.keys import reference
from stablelint.cli.main import command, command_names, command_parser
from stablelint.cli.options import program_rules

ROOT = Path(__file__).resolve().parent.parent
_LOG = logging.getLogger("mkdocs.stablelint")  # a warning is an error where the site is built strictly
_BESIDE = re.compile(r"\]\(\.\./([^)#]+)\)")
_TOML = re.compile(r"^```toml\n.*?^```\n", re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fills the navigation: every rule by family, and only pages that exist; warns of rule pages that are none."""
    for problem in _problems(load_catalog(entry_points=False)):
        _LOG.warning(problem)
    made = dict(_pages())
    config.nav = [_filled(entry, made) for entry in config.nav or ()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made here."""
    for path, text in _pages():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads what points beside the site to the repository; a file that is not there stays a broken link."""

    def led(link: re.Match[str]) -> str:
        there = (ROOT / link[1]).exists()
        return f"]({config.repo_url}/blob/main/{link[1]})" if there else link[0]

    return _BESIDE.sub(led, markdown)


def _filled(entry: object, made: dict[str, str]) -> object:
    if isinstance(entry, dict):
        return {title: _filled(part, made) for title, part in entry.items()}
    if isinstance(entry, list):
        return [_filled(part, made) for part in entry if not isinstance(part, str) or _exists(part, made)]
    if entry == "rules/":
        families: dict[str, list[str]] = {}
        for path in made:
            if path.startswith("rules/") and path != "rules/index.md":
                families.setdefault(_title(path.split("/")[1]), []).append(path)
        return ["rules/index.md", *({name: pages} for name, pages in sorted(families.items()))]
    return entry


def _title(family: str) -> str:
    return family.upper() if len(family) < 4 else family.capitalize()


def _exists(path: str, made: dict[str, str]) -> bool:
    return path in made or (ROOT / "docs" / path).exists()


def _problems(catalog: Catalog) -> Iterator[str]:
    """What keeps pages of rules from the site, each with its place."""
    for problem in catalog.problems:
        place = problem.position
        yield f"{problem.filename}{f':{place.row}:{place.column}' if place else ''}: {problem.message}"
    if not catalog.sources:
        yield f"{builtin_folder()}: no rule pages here"


def _pages() -> Iterator[tuple[str, str]]:
    rules = load_catalog(entry_points=False).rules
    yield "rules/index.md", "\n".join(_index([*rules.values(), *program_rules().values()]))
    for rule in rules.values():
        yield _place(rule), _rule_page(rule)
    for meta in program_rules().values():
        yield f"rules/program/{meta.name}.md", meta.text
    yield "commands.md", "\n".join(_commands())
    yield (
        "page-reference.md",
        f"# Every key of a rule page\n\nSee [Your own rules](own-rules.md).\n\n{reference()}",
    )
    yield "words.md", (ROOT / "stablelint" / "report" / "terms.md").read_text("utf-8")
    yield "changelog.md", (ROOT / "CHANGELOG.md").read_text("utf-8")


def _place(rule: Rule) -> str:
    return f"rules/{rule.family}/{rule.name}.md"


def _index(rules: list[Rule]) -> Iterator[str]:
    yield f"# Rules\n\n{len(rules)} rules. `stablelint rule CODE` prints a page, `stablelint rules` this list."
    family = ""
    for rule in sorted(rules, key=lambda rule: (rule.family, rule.code)):
        if rule.family != family:
            family = rule.family
            yield f"\n## {_title(family)}\n\n| code | rule | |\n| --- | --- | --- |"
        summary = rule.summary.replace("|", "\\|")
        off = "" if rule.enabled else " *(off by default)*"
        yield f"| {rule.code} | [{rule.name}]({rule.family}/{rule.name}.md) | {summary}{off} |"


def _rule_page(rule: Rule) -> str:
    """The page with its facts in words; the block that the linter reads is folded away."""
    facts = [rule.code, rule.severity.value, "on by default" if rule.enabled else "off by default"]
    fixes = sorted({fix.applicability.value for fix in rule.fixes})
    facts.append(f"fix: {', '.join(fixes)}" if fixes else "no fix")
    sides = {"the value": rule.forward, "the gradient": rule.backward}
    if rule.forward == rule.backward:
        sides = {"value and gradient": rule.forward}
    needs = [f"{side} need{'' if ' and ' in side else 's'} `{text}`" for side, text in sides.items() if text]
    head = f"{' · '.join(facts + needs)}\n{{: .facts }}\n"

    def folded(block: re.Match[str]) -> str:
        return (
            head
            + '\n??? note "What the linter reads"\n'
            + "".join(f"    {line}\n" for line in block[0].splitlines())
        )

    text = _TOML.sub(folded, rule.text, count=1)
    return text.replace("```python fixed\n", '```python title="fixed"\n')


def _commands() -> Iterator[str]:
    yield "# Commands\n\nExit codes: 0 clean, 1 findings (or a failed verdict), 2 the tool could not do its work."
    for name in command_names():
        yield f"\n## stablelint {name}\n\n```text\n{command_parser(command(name)).format_help().rstrip()}\n```"
