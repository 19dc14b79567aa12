"""The search for false proofs: it reaches an operation, and finds the operands for which a proof is false."""

import argparse
import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stablelint.diagnostic import Diagnostic, Level, Position, Severity, Span, Status

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
torch = pytest.importorskip("torch")
false_proofs = pytest.importorskip("false_proofs")


def searched(code: str, expression: str, *assumes: str) -> tuple[int, str]:
    """What the search finds of an expression, as if it had been proved safe, or safe as long as something holds."""
    proved = proof_of(code, expression)
    part = false_proofs.cut(replace(proved, discharged_by="range", assumes=assumes), ast.parse(code))
    found: tuple[int, str] = false_proofs.falsified(part, proved, 120, 0)
    return found


def proof_of(code: str, expression: str) -> Diagnostic:
    row = next(i for i, line in enumerate(code.split("\n"), 1) if expression in line)
    column = code.split("\n")[row - 1].index(expression) + 1
    span = Span(Position(row, column), Position(row, column + len(expression)))
    return Diagnostic(
        "SL101", "", "f.py", span, "", Severity.ERROR, Status.DISCHARGED, Level.POSSIBLE, expression
    )


@pytest.mark.parametrize(
    ("statement", "remains"),
    [
        ("torch.sqrt(y).detach() + z - z.detach()", False),
        ("torch.exp(1 / torch.sqrt(y)) > 3", False),
        ("torch.sqrt(y) + z", True),
        ("torch.sqrt(y).clamp(min=1)", True),
        ("h(torch.sqrt(y))", True),
        ("[torch.sqrt(y) for _ in unknown()]", True),
    ],
)
def test_what_the_rest_of_a_statement_makes_finite_is_no_failure(statement: str, remains: bool) -> None:
    code = f"import torch\ndef f(x, h):\n    y = x.relu()\n    z = y + 1\n    return {statement}\n"
    options = argparse.Namespace(tries=120, seed=0)
    left = false_proofs.left_over("0", proof_of(code, "torch.sqrt(y)"), ast.parse(code), options)
    assert bool(left) is remains


def test_a_false_proof_is_found() -> None:
    code = "import torch\ndef f(x):\n    y = x.relu()\n    return torch.log(y)\n"
    assert searched(code, "torch.log(y)")[1]


def test_a_true_one_is_not() -> None:
    code = "import torch\ndef f(x):\n    y = x.relu() + 1e-6\n    return torch.log(y)\n"
    runs, failure = searched(code, "torch.log(y)")
    assert (runs > 10, failure) == (True, "")


def test_only_runs_that_pass_the_tests_around_count() -> None:
    code = (
        "import torch\ndef f(x):\n    if (x <= 0).any():\n        return x\n"
        "    if x.numel() > 1:\n        return torch.log(x)\n"
    )
    runs, failure = searched(code, "torch.log(x)")
    assert (runs > 0, failure) == (True, "")


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ndef f(x):\n    for y in x:\n        z = torch.log(y)\n",
        "import torch\ndef f(x):\n    return [torch.log(y) for y in x if y.sum() > 0]\n",
    ],
)
def test_one_turn_of_a_loop_is_run(code: str) -> None:
    runs, failure = searched(code, "torch.log(y)")
    assert runs > 0
    assert failure


def test_what_stands_in_a_lambda_is_left_alone() -> None:
    with pytest.raises(false_proofs.UnsuitedError, match="in a lambda"):
        searched("import torch\ndef f(x):\n    return lambda y: torch.log(y)\n", "torch.log(y)")


MODEL = """
import torch
class M:
    def __init__(self, eps=1e-6, scale=2.0):
        if scale <= 0:
            raise ValueError
        self.margin = eps * scale
    def f(self, x):
        return torch.log(x.relu() + self.margin)
    def g(self, x):
        return torch.log(x.relu() + self.margin - 1e-6)
    def h(self, x, t):
        return torch.log(x + t)
    def m(self, x, n):
        self.count += n
        return x / self.count
    def k(self, x, n):
        x += n
        return 1 / x
"""


@pytest.mark.parametrize(
    ("expression", "assumes", "is_false"),
    [
        ("torch.log(x.relu() + self.margin)", ("eps=1e-06", "scale=2.0"), False),
        ("torch.log(x.relu() + self.margin)", ("eps=0.0", "scale=2.0"), True),
        ("torch.log(x.relu() + self.margin - 1e-6)", ("eps=1e-06", "scale=1.0"), True),
        ("torch.log(x.relu() + self.margin)", ("self.margin as `__init__` leaves it",), False),
        ("torch.log(x + t)", ("t=0.001", "x is not negative"), False),
        ("torch.log(x.relu() + self.margin)", ("eps=1e-06", "scale is positive"), False),
        ("torch.log(x + t)", ("t=0.001",), True),
        ("1 / x", ("n=1", "x is not minus the offset"), False),
        ("1 / x", ("n=1",), True),
        ("x / self.count", ("n=1", "count is not minus the offset"), False),
        ("x / self.count", ("n=1",), True),
    ],
)
def test_an_assumption_is_false_where_it_holds_and_the_operation_fails(
    expression: str, assumes: tuple[str, ...], is_false: bool
) -> None:
    runs, failure = searched(MODEL, expression, *assumes)
    assert runs > 0
    assert bool(failure) == is_false


def test_a_setting_that_the_slice_does_not_read_is_no_premise() -> None:
    with pytest.raises(ValueError, match="not found"):
        searched(MODEL, "torch.log(x + t)", "other=1.0")
