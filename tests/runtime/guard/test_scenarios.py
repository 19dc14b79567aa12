"""Small programs that go wrong, each with the expression at fault marked in its source.

A mark reads `# <- EXPRESSION | ORIGIN` (and `| in-place`): the guard must name that expression by its exact
columns and that origin. `?` stands for any expression, and `| alone` says that the guard looks for it only where no other
thread may run code of the program, as one that another test has left may. A program named `benign_…` must run through
unnoticed.
"""

import contextlib
import io
import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import stablelint  # noqa: E402
from stablelint.runtime.guard import Event, Guard, NonFiniteError  # noqa: E402
from stablelint.runtime.program.threads import others_run_the_program  # noqa: E402

FOLDER = Path(__file__).parent / "scenarios"
FAULTY = sorted(path for path in FOLDER.glob("*.py") if not path.stem.startswith("benign_"))
BENIGN = sorted(FOLDER.glob("benign_*.py"))


@dataclass(frozen=True)
class Expected:
    row: int
    start: int | None
    text: str
    origin: str
    in_place: bool
    alone: bool


def expected_in(path: Path) -> Expected:
    for row, line in enumerate(path.read_text().splitlines(), 1):
        code, mark, rest = line.partition("# <- ")
        if mark:
            text, origin, *flags = [part.strip() for part in rest.split(" | ")]
            start = None if text == "?" else code.index(text) + 1
            return Expected(row, start, text, origin, "in-place" in flags, "alone" in flags)
    raise AssertionError(f"{path.name} has no mark")


def watch(path: Path) -> Event | None:
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(io.StringIO()), Guard() as guard, contextlib.suppress(NonFiniteError):
        runpy.run_path(str(path), run_name="__main__")
    return guard.events[0] if guard.events else None


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_names_the_expression_at_fault(path: Path) -> None:
    expected = expected_in(path)
    if expected.alone and others_run_the_program():
        pytest.skip("another test has left a thread")
    event = watch(path)
    assert event is not None
    assert event.location is not None
    assert event.location.filename == str(path)
    if expected.start is not None:
        assert event.location.row == expected.row, event.describe()
        span = event.location.span
        assert span is not None
        assert span.start.column == expected.start, event.describe()
        assert event.location.expression.startswith(expected.text), event.describe()
        if "\n" not in event.location.expression:
            assert event.location.expression == expected.text
    assert event.origin.value == expected.origin, event.describe()
    assert event.in_place is expected.in_place


@pytest.mark.parametrize("path", BENIGN, ids=lambda path: path.stem)
def test_stays_silent_on_healthy_programs(path: Path) -> None:
    event = watch(path)
    assert event is None, event and event.describe()


def test_statements_that_are_proved_by_themselves_free_no_graph_of_the_program() -> None:
    path = FOLDER / "samples_of_a_growing_memory.py"
    with stablelint.guard(on_event=lambda _: None) as guard:
        names = runpy.run_path(str(path), run_name="__main__")
    (report,) = guard.reports
    assert report.verification is not None
    assert report.verification.finite
    assert "finite gradients" in report.verification.note
    assert names["step"] == 39
