"""Sums of what a mask marks, of which it marks one in each row: its class, or the element itself."""

from collections.abc import Callable

import pytest

from tests.analysis.support import assumed, open_, proved, report, violated

Statuses = Callable[[str], list[tuple[int, str]]]
PRODUCTS = """
def f(labels, x, k, w):
    same = (labels[:, None] == labels[None, :]).float()
    one = F.one_hot(labels, k)
    put = torch.zeros(x.shape).scatter_(1, labels.unsqueeze(1), 1.0)
    p = torch.sigmoid(x).clamp(1e-6, 1.0)
    e = torch.exp(F.cosine_similarity(x[:, None], w[None], dim=-1))
    return torch.log({})
"""
LINE = 7


@pytest.mark.parametrize(
    ("total", "status"),
    [
        ("(one * p).sum(-1)", proved),
        ("(p * one.float()).sum(-1, keepdim=True)", proved),
        ("(one * p).sum(1)", assumed),
        ("(one * p).sum()", assumed),
        ("(put * p).sum(1)", assumed),
        ("(same * e).sum(1)", assumed),
        ("(same * e).sum(1) / e.sum(1)", assumed),
        ("((same * e).sum(1) + (p * one).sum(-1)) / (e.sum(1) + p.sum(1))", assumed),
        ("(one * p).sum(0)", None),
        ("(one * torch.sigmoid(x)).sum(-1)", None),
        ("(one * (p - 0.5)).sum(-1)", None),
        ("((1 - one) * p).sum(-1)", None),
        ("((same - torch.eye(k)) * e).sum(1)", None),
        ("(same * e).sum(1) / x.exp().sum(1)", None),
        ("(same * e).sum(1) - 0.1", None),
        ("(put * p).sum(0)", None),
    ],
)
def test_a_sum_holds_what_is_marked_in_each_row(total: str, status: Statuses | None) -> None:
    holding = [one for one in (proved, assumed) if (LINE, "SL101") in one(PRODUCTS.format(total))]
    assert holding == ([status] if status is not None else [])


@pytest.mark.parametrize(
    ("total", "on"),
    [
        ("(one * p).sum(1)", {"p has no more dimensions than its mask", "labels has one dimension"}),
        ("(one * p).sum()", {"what is counted is not empty"}),
        (
            "(put * p).sum(1)",
            {"p has no more dimensions than its mask", "the index has an element in each row"},
        ),
    ],
)
def test_what_a_marked_sum_rests_on_is_said(total: str, on: set[str]) -> None:
    found = (d for d in report(PRODUCTS.format(total)).discharged if d.code == "SL101")
    assert {text for d in found for text in d.assumes} == on


def test_a_class_selects_an_element_in_each_row() -> None:
    selection = "def f(labels, x, k):\n    return (x[{}.bool()] ** 2).mean()"
    assert open_(selection.format("F.one_hot(labels, k)")) == []
    assert open_(selection.format("(1 - F.one_hot(labels, k))")) != []


@pytest.mark.parametrize(
    ("exponent", "told"),
    [("F.cosine_similarity(x[:, None], x[None], dim=-1)", False), ("x", True)],
)
def test_a_share_of_exponentials_that_cannot_overflow_is_no_flaw(exponent: str, told: bool) -> None:
    code = f"def f(y, x):\n    s = (y[:, None] == y).float()\n    e = torch.exp({exponent})\n"
    code += "    return torch.log((s * e).sum(1) / e.sum(1))"
    assert ("SL229" in [rule for _, rule in violated(code)]) is told
