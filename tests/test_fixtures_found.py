"""What the static pass sees in the programs under `fixtures/`: root causes, and nothing in right code."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Level
from tests.analysis.support import CATALOG
from tests.fixtures.programs import Program, buggy_programs, clean_programs

# Root causes that are not reported by default. They rest on the data: a batch of one, an object behind the camera; the
# rule for `pca_whitening` is off by default. An engine that learns to see one of them should take it off this list.
NOT_SEEN = frozenset({"last_minibatch_of_one", "pca_whitening", "pinhole_projection"})
# Of those, the ones that `--level possible` shows at the right line.
POSSIBLE = NOT_SEEN - {"pca_whitening"}
BUGGY = buggy_programs()


def shown(path: Path, *levels: Level) -> set[tuple[int, str]]:
    """(line, rule) of what is on by default."""
    report = check_source(path.read_bytes(), path.name, CATALOG, AnalysisOptions())
    assert report.problems == ()
    return {
        (d.span.start.row, d.code)
        for d in report.diagnostics
        if d.level in levels and CATALOG.rules[d.code].enabled
    }


def claimed(program: Program) -> set[tuple[int, str]]:
    """(line, rule) of each answer that its about.json calls right."""
    about = program.about
    lines, codes = [about["line"]], [about["code"]]
    for key, values in (("also_lines", lines), ("also_codes", codes)):
        more = about.get(key, [])
        assert isinstance(more, list)
        values.extend(more)
    return {(int(str(line)), str(code)) for line in lines for code in codes}


def named(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=[program.name for program in programs])


@named([program for program in BUGGY if program.name not in NOT_SEEN])
def test_the_root_cause_is_found(program: Program) -> None:
    assert shown(program.buggy, Level.LIKELY) & claimed(program)


@named([program for program in BUGGY if program.name in POSSIBLE])
def test_a_cause_that_rests_on_the_data_is_shown_when_asked_for(program: Program) -> None:
    assert shown(program.buggy, Level.POSSIBLE) & claimed(program)


@named(BUGGY)
def test_nothing_but_the_cause_is_reported(program: Program) -> None:
    lines = {line for line, _ in claimed(program)}
    assert {line for line, _ in shown(program.buggy, Level.LIKELY)} <= lines


@named(BUGGY)
def test_the_fixed_program_is_silent(program: Program) -> None:
    assert shown(program.fixed, Level.LIKELY) == set()


@named(clean_programs())
def test_right_code_that_looks_risky_is_silent(program: Program) -> None:
    assert shown(program.folder / "program.py", Level.LIKELY) == set()


def test_the_lists_name_programs_that_exist() -> None:
    assert POSSIBLE <= NOT_SEEN <= {program.name for program in BUGGY}
