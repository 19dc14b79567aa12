"""What the sieve lets pass must not need a second look; what it keeps may."""

from __future__ import annotations

import ast

import pytest

from stablelint.syntax.sieve import aliases, imported_aliases, is_risky, mentions_torch
from stablelint.syntax.walk import descendants


def risky(text: str, others: frozenset[str] = frozenset()) -> bool:
    return is_risky(descendants(ast.parse(text)), others)


@pytest.mark.parametrize(
    "text",
    [
        "torch.log(x)",
        "x.log()",
        "x.log_()",
        "log(x)",
        "a / b",
        "a / (b + 1)",
        "a /= b",
        "x ** 0.5",
        "x ** -1",
        "F.cross_entropy(a, b)",
        "nn.BCELoss()",
        "x.masked_fill(m, float('-inf'))",
        "x.masked_fill_(m, c)",
        "torch.where(m, a, b)",
        "x.half()",
        "loss.backward()",
        "total += loss",
        "float('nan')",
        "[x.exp() for x in y]",
        "f(g(lambda x: x.sqrt()))",
        "def f(x, y=torch.exp(z)): pass",
    ],
)
def test_an_operation_with_a_contract_is_kept(text: str) -> None:
    assert risky(text)


@pytest.mark.parametrize(
    "text",
    ["a + b", "a / 2", "x.view(-1)", "self.net(x)", "print('log')", "a * b", "x = y[0]", "a // b", "a % b"],
)
def test_an_operation_without_one_is_let_go(text: str) -> None:
    assert not risky(text)


def test_an_attribute_that_holds_a_loss_is_remembered() -> None:
    tree = ast.parse("self.criterion = nn.BCELoss()\nstep = torch.exp\nself.net = nn.Linear(3, 3)\n")
    found = aliases(descendants(tree))
    assert found == {"criterion", "step"}
    assert risky("self.criterion(a, b)", found)
    assert not risky("self.net(a)", found)


def test_a_risky_import_under_another_name_is_remembered() -> None:
    found = imported_aliases({"ln": "torch.log", "np": "numpy", "cat": "torch.cat"})
    assert found == {"ln"}
    assert risky("ln(x)", found)


@pytest.mark.parametrize(
    ("data", "expected"), [(b"import torch", True), (b"import numpy", False), (b"", False)]
)
def test_a_file_without_torch_does_not_concern_us(data: bytes, expected: bool) -> None:
    assert mentions_torch(data) is expected


@pytest.mark.parametrize(
    "text",
    [
        "a = b + c(d)[e:f]",
        "def f(x, *y, z=1) -> int:\n    return x if y else {k: v for k, v in z}",
        "class A(B):\n    x: int = 1",
    ],
)
def test_the_quick_walk_sees_what_the_slow_one_sees(text: str) -> None:
    bare = ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop
    tree = ast.parse(text)
    expected = {id(node) for node in ast.walk(tree) if not isinstance(node, bare)}
    assert {id(node) for node in descendants(tree)} == expected
