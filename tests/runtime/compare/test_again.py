"""A command twice: where it does not repeat itself, and the cause by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from stablelint.runtime.compare.command import CommandFailedError, Setup
from stablelint.runtime.compare.outcome import Comparison
from stablelint.runtime.compare.session import Session, compare_again
from tests.runtime.compare.programs import AGAIN, HEAD, SAME


def again(folder: Path, program: str, **options: bool) -> Comparison:
    (folder / "train.py").write_text(HEAD + program)
    setup = Setup(("python", "train.py"), "the command")
    return compare_again(Session(folder / "runs"), setup, **options)


@pytest.mark.parametrize("name", AGAIN)
def test_names_the_expression_and_the_cause(quick: Path, name: str) -> None:
    found = again(quick, AGAIN[name])
    expected = re.search(r"# <- (.*) \| (\S+)", AGAIN[name])
    assert expected is not None
    assert not found.same
    assert found.difference is not None
    side = found.difference.first or found.difference.second
    assert side is not None
    assert side.expression == expected[1]
    assert found.cause is not None
    assert found.cause.name == expected[2], found.cause
    assert found.cause.trials[-1].reproducible


@pytest.mark.parametrize("name", SAME)
def test_a_program_that_repeats_itself_has_no_difference(quick: Path, name: str) -> None:
    found = again(quick, SAME[name])
    assert found.same, found.difference
    assert found.runs[0].operations > 0


def test_without_attempts_the_likeliest_cause_is_named(quick: Path) -> None:
    found = again(quick, AGAIN["unseeded_dropout"], attempts=False)
    assert found.cause is not None
    assert found.cause.name == "seed"
    assert found.cause.trials == ()


def test_a_command_that_fails_is_told_with_its_last_lines(quick: Path) -> None:
    with pytest.raises(CommandFailedError, match="exit code 1") as caught:
        again(quick, "torch.ones(2)\nraise ValueError('no data')\n")
    assert "no data" in caught.value.tail


def test_a_command_without_operations_cannot_be_compared(quick: Path) -> None:
    with pytest.raises(CommandFailedError, match="no operation"):
        again(quick, "print('nothing')\n")
