"""What the text of a function alone shows of its values."""

import ast

import pytest

from stablelint.syntax.beforehand import is_computed, is_fresh, is_whole, values_by_name


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("r = 3", True),
        ("r = 0.5", False),
        ("r = x.shape[1] * 2 - len(y)", True),
        ("r = x.shape[1] / 2", False),
        ("r = x.size(0) if y else int(z)", True),
        ("r = round(z)", False),
        ("r = z.int()", False),
        ("r = x", False),
        ("n = x.ndim\nr = n // 2", True),
        ("n = x.ndim\nn = x.mean()\nr = n // 2", False),
        ("b, *r = x.shape", True),
        ("for r in range(n): pass", True),
        ("for r in xs: pass", False),
        ("with x as r: pass", False),
        ("def f(r: int): pass", True),
        ("def f(r): pass", False),
        ("r = r + 1", False),
    ],
)
def test_whole_numbers(text: str, whole: bool) -> None:
    bound = values_by_name(list(ast.walk(ast.parse(text))))
    assert is_whole(ast.Name("r"), bound) is whole


@pytest.mark.parametrize(
    ("text", "fresh"),
    [
        ("torch.zeros(1, config.size)", True),
        ("torch.randn(n) * 0.02", True),
        ("torch.empty(n).normal_(0, 1)", True),
        ("torch.zeros(model(x))", False),
        ("torch.full((1,), x)", False),
        ("torch.randn(n) * scale", False),
        ("torch.ones(n).mul_(x)", False),
        ("model(x)", False),
    ],
)
def test_tensors_that_are_made_of_no_other(text: str, fresh: bool) -> None:
    assert is_fresh(ast.parse(text, mode="eval").body) is fresh


@pytest.mark.parametrize(
    ("text", "computed"),
    [
        ("mask = torch.zeros(n)\nmask[0].fill_(1)", False),
        ("mask = x.exp()\nmask[0].fill_(1)", True),
        ("xs = [x.exp()]\nxs[0].fill_(1)", True),
        ("def f(self):\n    self.weight.fill_(1)", True),
        ("def f(module):\n    module.weight.data[0].fill_(1)", False),
        ("def f(x):\n    x.fill_(1)", True),
        ("made()[0].fill_(1)", True),
    ],
)
def test_what_is_written_into_in_place(text: str, computed: bool) -> None:
    nodes = list(ast.walk(ast.parse(text)))
    call = next(n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("fill_"))
    assert isinstance(call.func, ast.Attribute)
    assert is_computed(call.func.value, values_by_name(nodes)) is computed
