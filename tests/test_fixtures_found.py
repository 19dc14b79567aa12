"""What the static pass sees in the programs under `fixtures/`: root causes, and nothing in right code."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Status
from tests.analysis.support import CATALOG
from tests.fixtures.programs import Program, buggy_programs, clean_programs

# Root causes that are not found by default: the rule for `pca_whitening` is off.
NOT_SEEN = frozenset({"pca_whitening"})
BUGGY = buggy_programs()


def shown(path: Path, *statuses: Status) -> set[tuple[int, str]]:
    """(line, rule) of what is on by default."""
    report = check_source(path.read_bytes(), path.name, CATALOG, AnalysisOptions())
    assert report.problems == ()
    return {
        (d.span.start.row, d.code)
        for d in report.diagnostics
        if d.status in statuses and CATALOG.rules[d.code].enabled
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
    assert shown(program.buggy, Status.VIOLATED, Status.UNGUARDED) & claimed(program)


@named(BUGGY)
def test_nothing_but_the_cause_is_known_to_go_wrong(program: Program) -> None:
    lines = {line for line, _ in claimed(program)}
    assert {line for line, _ in shown(program.buggy, Status.VIOLATED)} <= lines


@named(BUGGY)
def test_nothing_in_the_fixed_program_is_known_to_go_wrong(program: Program) -> None:
    assert shown(program.fixed, Status.VIOLATED) == set()


@named(clean_programs())
def test_nothing_in_right_code_that_looks_risky_is_known_to_go_wrong(program: Program) -> None:
    assert shown(program.folder / "program.py", Status.VIOLATED) == set()


def test_the_lists_name_programs_that_exist() -> None:
    assert {program.name for program in BUGGY} >= NOT_SEEN
