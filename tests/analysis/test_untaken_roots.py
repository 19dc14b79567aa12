"""Roots through which nobody takes a gradient."""

from __future__ import annotations

import pytest

from .support import open_


@pytest.mark.parametrize(
    ("root", "shown"),
    [
        ("d.clamp_min(0).sqrt()", True),
    ],
)
def test_what_is_bounded_and_rooted_in_place_is_not_trained_through(root: str, shown: bool) -> None:
    code = f"def distance(d: torch.Tensor):\n    return {root}"
    assert ((2, "SL103") in open_(code)) is shown


@pytest.mark.parametrize(
    ("then", "shown"),
    [
        ("root = root + 1", True),
        ("pass", True),
    ],
)
def test_a_root_that_is_left_where_it_is_small_has_a_gradient_elsewhere_only(then: str, shown: bool) -> None:
    code = """
    def correlation(x: torch.Tensor, y: torch.Tensor):
        root = torch.sqrt(x.relu().sum() * y.relu().sum())
        if root < 1e-15:
            {then}
        return (x * y).sum() * root
    """.replace("{then}", then)
    assert ((2, "SL103") in open_(code)) is shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("features", True),
    ],
)
def test_what_is_handed_a_gradient_takes_none(name: str, shown: bool) -> None:
    code = f"def size({name}: torch.Tensor):\n    return {name}.clamp(min=0).sqrt()"
    assert ((2, "SL103") in open_(code)) is shown


@pytest.mark.parametrize(
    ("base", "shown"),
    [
        ("nn.Module", True),
    ],
)
def test_what_autograd_calls_records_no_gradient_in_a_script_either(base: str, shown: bool) -> None:
    code = f"""
    class Threshold({base}):
        def support(self, x: torch.Tensor):
            return x.clamp(min=0).sqrt()
    """
    assert ((3, "SL103") in open_(code)) is shown
