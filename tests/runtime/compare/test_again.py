"""A command twice: where it does not repeat itself, and the cause by name."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from stablelint.runtime.compare.command import CommandFailedError, Setup
from stablelint.runtime.compare.outcome import Comparison
from stablelint.runtime.compare.recording.recorder import Options
from stablelint.runtime.compare.session import Session, compare_again
from tests.runtime.compare.programs import AGAIN, HEAD, SAME

LATE = """
torch.manual_seed(0)
x = torch.randn(4, 6)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    noise = time.time_ns() % 999_983 if step == 6 else 1
    optimizer.zero_grad()
    model(x * noise).pow(2).mean().backward()
    optimizer.step()
"""


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


def test_a_file_that_the_run_before_left_is_the_cause(quick: Path) -> None:
    resumes = """
torch.manual_seed(0)
model = nn.Linear(3, 1)
if os.path.exists("last.pt"):
    model.load_state_dict(torch.load("last.pt"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
torch.save(model.state_dict(), "last.pt")
"""
    found = again(quick, resumes)
    assert found.cause is not None
    assert found.cause.name == "state"
    assert 'torch.load("last.pt")' in found.cause.evidence[0]
    assert [trial.remedies for trial in found.cause.trials] == [()]


def test_modules_are_recorded_first_where_that_is_asked_for(quick: Path) -> None:
    (quick / "train.py").write_text(HEAD + LATE)
    setup = Setup(("python", "train.py"), "the command", options=Options(modules=True))
    found = compare_again(Session(quick / "runs"), setup)
    assert found.difference is not None
    assert (found.difference.first or found.difference.second).expression == "x * noise"  # type: ignore[union-attr]
    assert (found.difference.step, found.runs[0].steps) == (6, 7)
    assert found.cause is not None
    assert found.cause.name == "clock"


def test_a_remedy_under_which_the_command_fails_is_told_and_passed_over(quick: Path) -> None:
    found = again(
        quick,
        """
if os.environ.get("PYTHONHASHSEED") == "0":
    raise SystemExit(3)
x = torch.ones(4) * (time.time_ns() % 999_983)
""",
    )
    assert found.cause is not None
    assert found.cause.name == "clock"
    assert "fails" in found.cause.trials[0].note


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
