"""The formats against files. STABLELINT_UPDATE_GOLDEN=1 writes the files anew."""

import os
from pathlib import Path

import pytest
from fake_engine import FakeRule

from report import sample
from stablelint import __version__
from stablelint.config import OUTPUT_FORMATS
from stablelint.report.context import Context
from stablelint.report.formats import render
from stablelint.report.style import Style
from stablelint.report.summary import problem_lines, statistics

GOLDEN = Path(__file__).parent.parent / "golden"


def context(colour: bool = False, width: int = 100) -> Context:
    rules = {
        "SL101": FakeRule(
            "SL101",
            "unguarded-log",
            summary="A log.",
            text="# unguarded-log\n\n## Why is this bad?\nThe log\nof 0.\n\nMore.\n",
        )
    }
    return Context(os.fspath(sample.FOLDER), Style(colour), width, rules=rules)  # type: ignore[arg-type]


def compare(name: str, text: str) -> None:
    text = text.replace(os.fspath(sample.FOLDER), "/project").replace(f'"{__version__}"', '"VERSION"')
    path = GOLDEN / name
    if os.environ.get("STABLELINT_UPDATE_GOLDEN"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_format(output_format: str) -> None:
    compare(f"{output_format}.txt", render(output_format, sample.RESULT, context()))


def test_full_in_colour() -> None:
    compare("full-colour.txt", render("full", sample.RESULT, context(colour=True)))


def test_full_on_a_narrow_terminal() -> None:
    compare("full-narrow.txt", render("full", sample.RESULT, context(width=60)))


def test_statistics_as_table_and_json() -> None:
    found = sample.RESULT.diagnostics * 2 + (sample.LOG,)
    compare("statistics.txt", statistics(found, "full", context()) + statistics(found, "json", context()))


def test_problems() -> None:
    lines = [line for problem in sample.RESULT.problems for line in problem_lines(problem, context())]
    compare("problems.txt", "\n".join(lines) + "\n")
