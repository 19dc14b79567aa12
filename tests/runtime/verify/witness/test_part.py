"""The statements that make a value, by themselves."""

import ast

import pytest

from stablelint.runtime.verify.witness.part import part_around

TEXT = """\
import torch
from data import Loader

def train(args, loader, model, n):
    for step, batch in enumerate(loader):
        print(step)
        out = model(batch)
        loss = out.exp() / n
        log(loss)
        if args.debug:
            share = loss / loss.sum()
        if loss.sum() > 0:
            mean = loss / loss.sum()
        if n == 0:
            continue
        rate = loss / n

class Net:
    def forward(self, x):
        def inner(y):
            with torch.no_grad():
                return y / self.scale.sum()
        scale = self.encode(x).abs() + 1e-8
        return x / scale

weight = torch.ones(2)
for batch in Loader():
    total = (batch * weight).sum()
    print(batch / total)
"""
KNOWN = ("torch", "Net", "train", "weight")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (8, "def part(n, out): loss = out.exp() / n; return (loss,)"),
        (11, "def part(n, out): loss = out.exp() / n; share = loss / loss.sum(); return (share,)"),
        (
            13,
            "def part(n, out): loss = out.exp() / n; if loss.sum() > 0: mean = loss / loss.sum(); return (mean,)",
        ),
        (16, "def part(n, out): loss = out.exp() / n; if n == 0: return; rate = loss / n; return (rate,)"),
        (22, "def part(scale, y): with torch.no_grad(): return y / scale.sum()"),
        (24, "def part(encode, x): scale = encode.abs() + 1e-08; return x / scale"),
        (29, "def part(batch): total = (batch * weight).sum(); print(batch / total)"),
    ],
    ids=[
        "what a model returns is given",
        "a branch that another thing decides is taken",
        "a branch that the values decide is kept",
        "a statement that leaves is kept",
        "a function in a function",
        "what an object has or returns is given",
        "a script, and what it has loaded",
    ],
)
def test_a_part_has_what_makes_the_value_and_takes_what_the_program_alone_can_give(
    row: int, expected: str
) -> None:
    part = part_around(ast.parse(TEXT), row, KNOWN)
    assert part is not None
    part.bare.name = "part"
    head, *rest = (line.strip() for line in ast.unparse(part.bare).splitlines())
    text = "; ".join(rest).replace(":;", ":")
    assert f"{head} {text}" == expected


def test_it_is_told_by_its_rows_and_by_what_a_parameter_stands_for() -> None:
    part = part_around(ast.parse(TEXT), 24, KNOWN)
    assert part is not None
    assert (part.rows, part.spelled) == ("lines 23-24", {"encode": "self.encode(x)"})


def test_what_a_failing_statement_binds_is_given() -> None:
    part = part_around(ast.parse(TEXT), 24, KNOWN, failing={23})
    assert part is not None
    assert [each.arg for each in part.node.args.args] == ["scale", "x"]
