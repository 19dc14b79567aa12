"""Code frames."""

from stablelint.diagnostic import Position, Span
from stablelint.report.frame import Mark, frame
from stablelint.report.style import PLAIN


def marked(start: int, end: int, label: str) -> Mark:
    return Mark(Span(Position(1, start), Position(1, end)), label, "-", str)


def test_a_step_out_of_sight_is_told_without_a_mark() -> None:
    line = "loss = first(x) + " + "y + " * 20 + "last(z)"
    steps = [marked(8, 16, "1. begins here"), marked(len(line) - 6, len(line) + 1, "2. ends here")]
    shown = list(frame([line], steps, PLAIN, 40))
    assert "  |        -------- 1. begins here" in shown
    assert shown[-2] == "  | 2. ends here"
    assert all(len(row) <= 40 for row in shown)
