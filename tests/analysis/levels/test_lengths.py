"""The length of a vector, written out in its components."""

from __future__ import annotations

import pytest

from ..support import function, likely, possible

POINTS = "p: torch.Tensor, q: torch.Tensor, weight: torch.Tensor"


@pytest.mark.parametrize(
    "squares",
    [
        "p[..., 0] ** 2 + p[..., 1] ** 2",
        "p[:, 0].square() + p[:, 1].square() + p[:, 2].square()",
        "p[..., 0] * p[..., 0] + p[..., 1] * p[..., 1]",
        "p.real**2 + p.imag**2",
        "torch.real(p) ** 2 + torch.imag(p) ** 2",
        "(p[..., 0] - q[..., 0]) ** 2 + (p[..., 1] - q[..., 1]) ** 2",
    ],
)
@pytest.mark.parametrize("root", ["torch.sqrt({})", "({}) ** 0.5"])
def test_the_root_has_no_gradient_where_the_vector_is_0(squares: str, root: str) -> None:
    code = function(root.format(squares), parameters=POINTS)
    assert likely(code) == [(2, "SL103")]


@pytest.mark.parametrize(
    "slopes",
    [
        "(p[..., 1:, :-1] - p[..., :-1, :-1]) ** 2 + (p[..., :-1, 1:] - p[..., :-1, :-1]) ** 2",
        "F.conv2d(p, q).square() + F.conv2d(p, weight).square()",
    ],
)
def test_the_root_has_no_gradient_where_a_picture_is_flat(slopes: str) -> None:
    assert likely(function(f"torch.sqrt({slopes}).mean()", parameters=POINTS)) == [(2, "SL103")]


@pytest.mark.parametrize(
    "slopes",
    [
        "(p[1:] - p[:-1]) ** 2 + (q[1:] - q[:-1]) ** 2",
        "F.conv2d(weight, p).square() + F.conv2d(weight, q).square()",
        "F.conv2d(p, q).square() + F.conv2d(p, weight).square() + 1e-6",
    ],
)
def test_slopes_that_are_not_0_together(slopes: str) -> None:
    assert likely(function(f"torch.sqrt({slopes}).mean()", parameters=POINTS)) == []


def test_components_that_have_names() -> None:
    code = """
        def radius(p: torch.Tensor):
            x, y = p.unbind(-1)
            squared = x * x + y * y
            return squared.sqrt()
    """
    assert likely(code) == [(4, "SL103")]


@pytest.mark.parametrize(
    "squares",
    [
        "p[..., 0] ** 2 + q[..., 0] ** 2",
        "p[..., 0] ** 2 + p[..., 0] ** 2",
        "p[..., 0] ** 2 + q ** 2",
        "weight[..., 0] ** 2 + weight[..., 1] ** 2",
    ],
)
def test_squares_that_are_not_0_together(squares: str) -> None:
    code = function(f"torch.sqrt({squares})", parameters=POINTS)
    assert likely(code) == []
    assert (2, "SL103") in possible(code)


@pytest.mark.parametrize(
    "line",
    [
        "torch.sqrt(p[..., 0] ** 2 + p[..., 1] ** 2 + 1e-12)",
        "torch.sqrt(p[..., 0] ** 2 + p[..., 1] ** 2).detach()",
        "torch.sqrt(p[..., 0] ** 2 + p[..., 1] ** 2) > 1",
    ],
)
def test_a_length_whose_gradient_is_finite_or_not_taken(line: str) -> None:
    assert likely(function(line, parameters=POINTS)) == []
