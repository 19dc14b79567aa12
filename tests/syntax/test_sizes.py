"""Views that may be given the sizes of a tensor in another order; what is let go must not be one."""

import ast

import pytest

from stablelint.syntax.names import last_name
from stablelint.syntax.sizes import are_permuted
from stablelint.syntax.walk import descendants


def may_permute(text: str) -> bool:
    nodes = descendants(ast.parse(text))
    calls = [n for n in nodes if isinstance(n, ast.Call) and last_name(n.func) in ("view", "reshape")]
    return are_permuted(nodes, calls)


@pytest.mark.parametrize(
    "text",
    [
        "x.view(x.size(1), x.size(0))",
        "x.reshape(x.shape[1], x.shape[0], -1)",
        "n, c = x.shape\nx.view(c, n)",
        "n, c, *rest = x.size()\nx.view(c, n, -1)",
        "n = x.size(0)\nc = x.size(1)\nx.view((c, n))",
        "n, c = x.shape\nshape = (c, n)\nx.view(shape)",
        "n, c = x.shape\nshape = c, n\nx.view(*shape, -1)",
        "n, c = x.shape\nc, n = y.shape\nx.view(n, c)",  # a name of two sizes
        "*rest, n, c = x.shape\nx.view(n, c)",
        "x.view(n, c)",
        "x.view(shape)",
        "torch.reshape(x, (c, n))",
        "x.view(*x.shape[1:], n)",
        "def f(x, n):\n    c = x.size(0)\n    y = x.view(n, c)\n    n = 3",
        "for n in x.shape:\n    y = x.view(n, c)\nn = 4",
        "shape = (*shape,)\nx.view(shape)",  # made of itself
    ],
)
def test_sizes_that_may_stand_in_another_order_are_kept(text: str) -> None:
    assert may_permute(text)


@pytest.mark.parametrize(
    "text",
    [
        "n, c = x.shape\nx.view(n, c)",
        "n, c = x.shape[:2]\nx.view(n, c, -1)",
        "x.view(x.size(0), -1)",
        "x.view(-1, x.size(1), x.size(0))",
        "x.view(x.size(-1), x.size(0))",
        "x.view(n, self.width, c)",
        "x.view(n, 4, c)",
        "x.view(n, c // 2)",
        "shape = x.shape[:-1]\nx.view(*shape, -1)",
        "shape = (*x.shape[:-1], -1, self.width)\nx.view(shape)",
        "x.mean(c, n)",
        "x.view(n, -1)",
        "torch.reshape(x, (n * c, d))",
        "h = self.width\nx.view(n, h, c)",
        "h = n // 2\nx.view(n, h, c)",
    ],
)
def test_sizes_in_order_and_other_numbers_are_let_go(text: str) -> None:
    assert not may_permute(text)
