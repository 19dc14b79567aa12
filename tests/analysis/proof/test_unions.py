"""A union is not empty where a part of it is known to hold an element."""

import pytest
import torch

from tests.analysis.support import assumed, open_, proved

HEAD = "def f(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, n: int):\n    p, q = x > 0, y == n\n"
KNOWN = f"{HEAD}    if not q.any():\n        return 0\n"
COUNTED = f"{HEAD}    if q.sum() == 0:\n        return 0\n"
SUMS = "p.sum() + q.sum() - (p & q).sum()"


@pytest.mark.parametrize("head", [KNOWN, COUNTED])
@pytest.mark.parametrize(
    "total",
    [
        "(p | q).sum()",
        "(q | p).sum().float()",
        "(p + q).sum()",
        "(w.abs() + q).sum()",
        "(p | q | (x < n)).sum()",
    ],
)
def test_a_union_with_what_holds_an_element_holds_one(head: str, total: str) -> None:
    assert [rule for _, rule in proved(f"{head}    return 1 / {total}\n")] == ["SL102"]
    assert [rule for _, rule in open_(f"{HEAD}    return 1 / {total}\n")] == ["SL102"]


@pytest.mark.parametrize(
    "total",
    [
        "(p & q).sum()",
        "(p | q).sum(0)",
        "(w + q).sum()",
        "(x > 1).sum()",
        "(p * q).sum()",
        "(w - q).sum()",
        "torch.add(w.abs(), q, alpha=0).sum()",
    ],
)
def test_nothing_else_does(total: str) -> None:
    assert [rule for _, rule in open_(f"{KNOWN}    return 1 / {total}\n")] == ["SL102"]


@pytest.mark.parametrize(
    "total",
    [
        SUMS,
        f"({SUMS}).float()",
        "q.sum() + p.sum() - (p * q).sum()",
        "p.float().sum() + q.float().sum() - (p.float() * q.float()).sum()",
        "x.sigmoid().sum() + q.sum() - (x.sigmoid() * q).sum()",
    ],
)
def test_so_does_what_is_left_of_two_sums_if_they_have_one_shape(total: str) -> None:
    program = f"{KNOWN}    return 1 / ({total})\n"
    assert [rule for _, rule in assumed(program)] == ["SL102"]
    assert open_(program) == []
    assert open_(program.replace(KNOWN, HEAD)) != []


@pytest.mark.parametrize(
    "total",
    [
        "p.sum() + q.sum() - 2 * (p & q).sum()",
        "p.sum() + q.sum() - (p | q).sum()",
        "p.sum() + q.sum() - (p & (x > 1)).sum()",
        "p.sum() - q.sum() - (p & q).sum()",
        "w.sum() + q.sum() - (w * q).sum()",
        "p.sum(0) + q.sum(0) - (p & q).sum(1)",
        "p.sum() + q.sum() - p.sum()",
    ],
)
def test_no_other_difference_does(total: str) -> None:
    assert [rule for _, rule in open_(f"{KNOWN}    return 1 / ({total})\n")] == ["SL102"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_rounding_leaves_more_than_a_fourth(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for size in (1, 7, 1000):
        for _ in range(200):
            shares = torch.rand(2, size).pow(torch.randint(1, 40, (2, 1))).to(dtype)
            p, q = torch.where(torch.rand(2, size) > 0.5, shares, 0)
            both = p.sum() + q.sum()
            assert both == 0 or both - (p * q).sum() > both / 4
