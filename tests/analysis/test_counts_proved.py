"""Zeros and overflows that the meaning of a value, or of a function, excludes."""

from __future__ import annotations

import pytest

from .support import open_


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("x >= x.amax(-1, keepdim=True)", False),
        ("x.amax(-1, keepdim=True) <= x", False),
        ("x == x.min(-1, keepdim=True).values", False),
        ("x.abs() >= x.abs().amax(-1, keepdim=True) / 2", False),
        ("x >= x.mean(-1, keepdim=True)", False),
        ("x >= x.amax(-1, keepdim=True) / 2", True),  # of negative numbers no element reaches half
        ("x.abs() >= x.abs().amax(-1, keepdim=True) * 2", True),
        ("x > x.amax(-1, keepdim=True)", True),
        ("x >= y.amax(-1, keepdim=True)", True),
        ("x <= x.amax(-1, keepdim=True) - 1", True),
    ],
)
def test_what_is_compared_with_its_own_maximum_reaches_it(test: str, shown: bool) -> None:
    code = f"""
    def spread(x: torch.Tensor, y: torch.Tensor):
        chosen = {test}
        return x.sum(-1) / (3.0 * chosen.float().sum(-1))
    """
    assert ((3, "SL102") in open_(code)) is shown


@pytest.mark.parametrize(
    ("annotation", "shown"), [("float", False), ("int | None", False), ("torch.Tensor", True)]
)
def test_what_takes_plain_numbers_is_not_trained(tmp_path: object, annotation: str, shown: bool) -> None:
    code = f"""
    def filters(low: {annotation}, high: {annotation}):
        def scale(x):
            return torch.where(x > 1, torch.log(x), x)
        return scale(high) - scale(low)
    """
    assert ("SL503" in [rule for _, rule in open_(code)]) is shown


@pytest.mark.parametrize(("result", "shown"), [("weight[y]", False), ("weight[x]", True), ("weight", True)])
def test_a_class_without_a_member_is_not_read_by_its_members(result: str, shown: bool) -> None:
    code = f"""
    def weights(y: torch.Tensor, x: torch.Tensor):
        weight = 1.0 / y.bincount()
        return {result}
    """
    assert ((2, "SL102") in open_(code)) is shown
