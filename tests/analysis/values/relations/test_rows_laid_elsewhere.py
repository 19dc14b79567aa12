"""A maximum bounds the elements of its own rows, and a product or quotient tells of the elements that it puts together."""

from collections.abc import Callable

import pytest

from tests.analysis.support import assumed, open_, proved, report

ELSEWHERE = {
    "columns less the maxima of rows": "torch.exp(x.t() - x.max(1, keepdim=True)[0])",
    "rows in another order": "torch.exp(x.flip(0) - x.max(1, keepdim=True)[0])",
    "maxima of columns, made a column": "torch.exp(x.unsqueeze(1) - x.max(0)[0].unsqueeze(1))",
    "maxima of rows, made a row": "torch.exp(x - x.amax(dim=1)[None])",
    "all elements in one row": "torch.exp(x.view(-1) - x.max(0)[0])",
    "the larger of two, turned": "torch.exp(x - torch.maximum(x, y).t())",
    "one of two, turned": "torch.exp(x.t() - torch.maximum(x, y))",
    "a sum of exponentials of columns": "torch.log(torch.exp(x.t() - x.max(1, keepdim=True)[0]).sum(1))",
    "the largest share of others": "torch.log(x.softmax(1).t().max(1)[0])",
    "columns less the minima of rows": "torch.sqrt(x.t() - x.min(1, keepdim=True)[0])",
    "minima of rows, made a row": "torch.sqrt(x - x.min(1)[0].unsqueeze(0))",
    "a maximum of columns less a minimum of rows": "torch.sqrt(x.max(0)[0] - x.min(1)[0])",
    "a test of another element": "torch.sqrt(x.t() * (x > 0))",
    "another diagonal of a factor": "torch.log(torch.linalg.cholesky(x).flip(0).diagonal())",
    "another diagonal of a triangle": "torch.log(torch.tril(x.abs() + 1).roll(1, 0).diagonal())",
    "maxima of rows, in a row by its sizes": "torch.exp(x - x.amax(1).view(n))",
    "maxima of columns, made a column of matrices": "torch.exp(x - x.amax(2).unsqueeze(1))",
    "maxima of rows, repeated": "torch.exp(x - x.amax(1).expand_as(x))",
    "raised maxima of columns, made a column": "torch.exp(x - torch.maximum(y, x.amax(0)).unsqueeze(-1))",
    "raised maxima of rows, in a row that is not told": "torch.exp(x - torch.maximum(y, x.amax(-1)).unsqueeze(1))",
    "lowered maxima": "torch.exp(x - torch.minimum(y, x.amax(-1)).unsqueeze(-1))",
    "minima raised": "torch.sqrt(x - x.amin(1, keepdim=True).clamp_min(0))",
    "a maximum on one path": "torch.exp(x - (x if n else y).amax(1, keepdim=True))",
    "a maximum that a flag replaces": "torch.exp(x - torch.where(y > 0, x.amax(1, keepdim=True), 0.0))",
    "a maximum less a kept minimum": "torch.sqrt(x.max(1)[0] - x.min(1, keepdim=True)[0])",
    "a sum of exponentials, of what may be wholly masked": "torch.log(torch.exp(m - torch.where(torch.isinf("
    "m.amax(1, keepdim=True)), 0.0, m.amax(1, keepdim=True))).sum(1))",
    "a rectified value times another": "torch.sqrt(torch.relu(x) * torch.relu(x).t())",
}
BESIDE = {
    "a column kept": "torch.exp(x - x.max(1, keepdim=True)[0])",
    "a column made": "torch.exp(x - x.amax(dim=1)[:, None])",
    "a column made last": "torch.exp(x - x.amax(-1).unsqueeze(-1))",
    "a column with one more in front": "torch.exp(x - x.amax(1, keepdim=True).expand(2, -1, -1))",
    "a column laid out": "torch.exp(x - x.max(1, keepdim=True)[0].expand_as(x))",
    "a row": "torch.exp(x - x.max(0)[0])",
    "of all, in whatever shape": "torch.exp(x.view(-1) - x.max())",
    "several dimensions": "torch.exp(x - x.amax(dim=(1, 2), keepdim=True))",
    "less something": "torch.exp(x - y.abs() - x.max(1, keepdim=True)[0])",
    "the larger of two": "torch.exp(x.t() - torch.maximum(x, y).t())",
    "a running maximum": "torch.exp(x - torch.maximum(y, x.amax(-1)).unsqueeze(-1))",
    "a running maximum, by an index": "torch.exp(x - torch.maximum(x.amax(-1), y)[..., None])",
    "a raised maximum, made last": "torch.exp(x - x.amax(-1).clamp(min=0).unsqueeze(-1))",
    "a maximum less a minimum": "torch.exp(-(x.max(1)[0] - x.min(1)[0]))",
    "made finite": "torch.exp(x - torch.where(x.amax(1, keepdim=True).isinf(), 0.0, x.amax(1, keepdim=True)))",
    "kept finite": "torch.exp(x - torch.where(torch.isfinite(x.amax(1, True)), x.amax(1, True), 0.0))",
    "above a minimum": "torch.exp(x.min(1)[0].unsqueeze(1) - x)",
}
SUPPOSED = {
    "a column by its sizes": ("torch.exp(x - x.amax(1).view(-1, 1))", "x has two dimensions"),
    "a column made last": ("torch.exp(x - x.amax(1).unsqueeze(-1))", "x has two dimensions"),
    "a column made second": ("torch.sqrt(x - x.amin(-1)[:, None])", "x has two dimensions"),
    "a column of matrices": ("torch.exp(x - x.amax(-1).unsqueeze(2))", "x has three dimensions"),
    "kept by a caller": ("torch.exp(x - x.amax(1, keepdim=n))", "n is True"),
    "a sum of exponentials": (
        "1 / torch.exp(x - x.amax(1).view(-1, 1)).sum(1)",
        "x has two dimensions",
    ),
}


def _function(expression: str, gradient: bool) -> str:
    switched = "" if gradient else "@torch.no_grad()\n"
    masked = "    m = x.masked_fill(y > 0, -torch.inf)\n" if "m." in expression else ""
    return f"{switched}def f(x: torch.Tensor, y: torch.Tensor, n):\n{masked}    return {expression}"


@pytest.mark.parametrize(("name", "expression"), ELSEWHERE.items(), ids=ELSEWHERE)
def test_nothing_is_known_of_elements_in_other_places(name: str, expression: str) -> None:
    assert open_(_function(expression, name.startswith("a rectified")))


@pytest.mark.parametrize("expression", BESIDE.values(), ids=BESIDE)
def test_a_maximum_bounds_its_own_rows(expression: str) -> None:
    code = _function(expression, gradient=False)
    assert proved(code)
    assert not open_(code)


@pytest.mark.parametrize(("expression", "setting"), SUPPOSED.values(), ids=SUPPOSED)
def test_a_maximum_is_supposed_to_lie_along_its_rows_where_it_can(expression: str, setting: str) -> None:
    code = _function(expression, gradient=False)
    assert not proved(code)
    assert not open_(code)
    assert setting in {said for d in report(code).discharged for said in d.assumes}


def test_a_quotient_by_other_elements_may_be_infinite() -> None:
    code = "r = x.t() / x\n    r[torch.isnan(r)] = 0\n    return r"
    assert open_(f"@torch.no_grad()\ndef f(x: torch.Tensor):\n    {code}")


@pytest.mark.parametrize(("keeps", "answer"), [("keep", assumed), ("False", proved), ("True", open_)])
def test_a_dimension_is_added_where_none_is_kept(
    keeps: str, answer: Callable[[str], list[tuple[int, str]]]
) -> None:
    maxima = f"x.max(dim, keepdim={keeps})[0].unsqueeze(dim)"
    code = f"@torch.no_grad()\ndef f(x, dim: int, keep: bool):\n    return torch.exp(x - {maxima})"
    assert answer(code)


def test_the_diagonal_of_a_factor_is_the_same_when_it_is_turned() -> None:
    code = "torch.log(torch.linalg.cholesky(x).t().diagonal())"
    assert (3, "SL101") in proved(_function(code, gradient=False))


@pytest.mark.parametrize(("test", "is_proved"), [("keep", True), ("not keep", False)])
def test_a_test_tells_whether_a_dimension_was_kept(test: str, is_proved: bool) -> None:
    code = f"""
        @torch.no_grad()
        def f(x: torch.Tensor, dim: int = -1, keep: bool = False):
            m = x.amax(dim, keepdim=keep)
            if {test}:
                shifted = x - m
            else:
                shifted = x - m.unsqueeze(dim)
            return 1 / shifted.exp().sum(dim, keepdim=keep)
    """
    assert ((8, "SL102") in proved(code)) is is_proved
    assert bool(open_(code)) is not is_proved


@pytest.mark.parametrize(("reduction", "is_proved"), [("amax", False), ("max", True)])
def test_what_yields_a_pair_is_known_by_what_is_called(reduction: str, is_proved: bool) -> None:
    code = f"""
        from torch import {reduction} as top
        @torch.no_grad()
        def f(x: torch.Tensor):
            return torch.sqrt(top(x, 1, keepdim=True)[0] - x)
    """
    assert ((4, "SL103") in proved(code)) is is_proved
    assert bool(open_(code)) is not is_proved
