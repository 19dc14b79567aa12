"""Vectors that are divided by a length or a component of their own."""

import pytest

from tests.analysis.support import open_, unmet, violated


def test_vectors_divided_by_a_component_of_their_own_cross_its_plane() -> None:
    assert open_("def f(points):\n    return points[..., :2] / points[..., 2:]\n") == [(2, "SL102")]


@pytest.mark.parametrize(
    ("cosine", "shown"),
    [
        ("(a * b).sum(-1)", True),
        ("(a.trace() - 1) / 2", True),
        ("a.clamp(-0.99, 0.99)", False),
    ],
)
def test_a_computed_cosine_passes_one_by_rounding(cosine: str, shown: bool) -> None:
    code = f"def f(a: torch.Tensor, b: torch.Tensor):\n    return torch.acos({cosine})\n"
    assert open_(code) == ([(2, "SL104")] if shown else [])


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
    assert violated(code) == []


def test_a_where_whose_branches_both_hold_the_quotient_has_met_no_zero() -> None:
    code = """
    def turn(v: torch.Tensor, angle: torch.Tensor):
        unit = v / v.norm(dim=-1, keepdim=True)
        return torch.where(angle > 1e-6, unit * angle, -unit)
    """
    assert unmet(code) == []
