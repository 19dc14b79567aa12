import pytest

from stablelint.analysis.ranges_at import RangeAt, ranges_at
from stablelint.diagnostic import Position

PROGRAM = """\
import torch
import torch.nn.functional as F


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(3, 4)

    def forward(self, states, scale: float = 2.0):
        logits = self.head(states)
        p = F.softmax(logits, dim=-1)
        kept = p.clamp(min=1e-6)
        if kept.sum() > 3:
            total = kept.sum()
        with torch.no_grad():
            target = torch.sigmoid(logits)

        def inner(x):
            return torch.exp(x) + 1

        return inner(kept) * scale
"""


def at(text: str, program: str = PROGRAM, nth: int = 0) -> RangeAt | None:
    """The range at the n-th place of a piece of text."""
    offset = -1
    for _ in range(nth + 1):
        offset = program.index(text, offset + 1)
    before = program[:offset]
    place = Position(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)
    return ranges_at(program.encode(), "policy.py").at(place)


@pytest.mark.parametrize(
    ("text", "nth", "interval", "guard", "gradient"),
    [
        ("F.softmax", 0, "[0, 1]", None, True),
        ("p.clamp(min", 0, "[0, 1]", None, True),
        ("kept =", 0, "[1e-06, 1]", "clamp", True),
        ("kept.sum() > 3", 0, "[1e-06, 1]", "clamp", True),
        (".sum()\n", 0, "(3, inf)", "branch", True),
        ("target", 0, "[0, 1]", None, False),
        ("+ 1", 0, "[1, inf)", "eps", True),
    ],
)
def test_an_expression_has_its_range(
    text: str, nth: int, interval: str, guard: str | None, gradient: bool
) -> None:
    known = at(text, nth=nth)
    assert known is not None
    assert (str(known.interval), known.guard, known.gradient) == (interval, guard, gradient)


def test_the_smallest_expression_around_a_place_is_told() -> None:
    whole, operand = at("F.softmax(logits, dim=-1)"), at("logits, dim")
    assert whole is not None
    assert operand is not None
    assert whole.because == "softmax lies in [0, 1]; 0 is reached by underflow"
    assert operand.because == "the output of a layer is unbounded"
    assert not operand.is_bounded
    assert at("import torch") is None


def test_paths_that_meet_are_joined() -> None:
    program = "import torch\ndef f(x):\n    y = torch.sigmoid(x)\n    for _ in range(3):\n        y = y + 1\n"
    known = at("y + 1", program)
    assert known is not None
    assert known.interval.lo == 0.0
    assert known.interval.hi > 3


def test_of_the_functions_those_on_the_rows_are_looked_at() -> None:
    program = "import torch\nhalf = 1 / 2\ndef f(x):\n    return x.exp()\ndef g(x):\n    return x.sigmoid() * half\n"
    whole = ranges_at(program.encode(), "x.py")
    part = ranges_at(program.encode(), "x.py", rows=range(6, 7))
    assert {span.start.row for span in part.expressions} == {2, 6}
    assert part.expressions.items() < whole.expressions.items()


@pytest.mark.parametrize("program", ["def (:", "", "x = 1", "\x00"])
def test_a_text_without_functions_or_sense_has_none(program: str) -> None:
    assert ranges_at(program.encode(), "x.py").at(Position(1, 1)) is None


def test_looking_leaves_the_interpreter_as_it_was() -> None:
    from stablelint.analysis.interpret import expressions

    before = dict(expressions._HANDLERS)
    ranges_at(PROGRAM.encode(), "policy.py")
    assert before == expressions._HANDLERS
