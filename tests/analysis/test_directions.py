"""Vectors that are divided by a length or a component of their own."""

from __future__ import annotations

import pytest

from .support import open_


def test_vectors_divided_by_a_component_of_their_own_cross_its_plane() -> None:
    assert open_("def f(points):\n    return points[..., :2] / points[..., 2:]\n") == [(2, "SL102")]
    assert open_("def f(points, scale):\n    return points[..., :2] / scale[..., 2:]\n") == []


@pytest.mark.parametrize(
    ("cosine", "shown"),
    [("(a * b).sum(-1)", True), ("(a.trace() - 1) / 2", True), ("a", False), ("a.clamp(-0.99, 0.99)", False)],
)
def test_a_computed_cosine_passes_one_by_rounding(cosine: str, shown: bool) -> None:
    code = f"def f(a: torch.Tensor, b: torch.Tensor):\n    return torch.acos({cosine})\n"
    assert open_(code) == ([(2, "SL104")] if shown else [])


def test_a_vector_that_is_handed_over_is_a_direction_and_an_offset_may_vanish() -> None:
    code = """
    def unit(v: torch.Tensor, start: torch.Tensor, end: torch.Tensor):
        given = v / v.norm(dim=-1, keepdim=True)
        offset = end - start
        return given, offset / offset.norm(dim=-1, keepdim=True)
    """
    assert open_(code) == [(4, "SL106")]
    assert (2, "SL106") in open_(code)


def test_a_zero_direction_that_its_author_has_met_is_reported() -> None:
    code = """
    def turn(v: torch.Tensor, angle: torch.Tensor):
        turned = torch.sin(angle) * v / v.norm(dim=-1, keepdim=True)
        return torch.where(angle > 1e-6, turned, v)
    """
    assert [line for line, _ in open_(code)] == [2]


def test_an_entry_of_a_matrix_is_no_component() -> None:
    code = """
    def scaled(h: torch.Tensor):
        return h / h[..., 2:3, 2:3]
    """
    assert open_(code) == []


def test_a_where_whose_branches_both_hold_the_quotient_has_met_no_zero() -> None:
    code = """
    def turn(v: torch.Tensor, angle: torch.Tensor):
        unit = v / v.norm(dim=-1, keepdim=True)
        return torch.where(angle > 1e-6, unit * angle, -unit)
    """
    assert open_(code) == []
