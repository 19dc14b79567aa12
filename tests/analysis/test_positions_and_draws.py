"""Zeros that positions, draws, and tests of an element keep away."""

from __future__ import annotations

import pytest

from .support import open_


def rules(code: str) -> list[str]:
    """The rules of what is reported by default."""
    return [rule for _, rule in open_(code)]


def test_a_window_made_of_positions_is_not_zero_throughout() -> None:
    code = """
    def window(n: int, device, x: torch.Tensor):
        k = torch.arange(1, n + 1, device=device) / (n + 1)
        w = {window}
        return w / w.sum()
    """
    assert rules(code.format(window="0.5 - 0.5 * torch.cos(6.28 * k)")) == []
    assert rules(code.format(window="(0.5 - 0.5 * torch.cos(6.28 * k)) * x.sigmoid()")) == []
    assert rules(code.format(window="x.relu()")) == ["SL102"]


def test_draws_that_are_added_are_not_zero_together() -> None:
    code = "def f(n):\n    a, b = torch.rand(n), torch.rand(n)\n    return a / ({divisor})"
    assert rules(code.format(divisor="a + b")) == []
    assert rules(code.format(divisor="a + a")) == ["SL102"]


def test_a_log_normal_draw_does_not_underflow() -> None:
    code = "def f(x: torch.Tensor):\n    s = ({exponent}).exp()\n    return 1 / (s * 0.5) ** 2"
    assert rules(code.format(exponent="torch.randn(4, 1) * 1.2 - 1.2")) == []


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("t > 1e-6", []),
        ("(y > 0) & (t > 1e-6)", []),
        ("(y > 0) | (t > 1e-6)", ["SL102"]),
        ("t > -1.0", ["SL102"]),
        ("y > 1e-6", ["SL102"]),
    ],
)
def test_a_power_of_what_was_kept_above_a_bound_is_not_zero(mask: str, expected: list[str]) -> None:
    code = f"""
    def coefficients(x: torch.Tensor, y: torch.Tensor):
        t = (x[1:] - x[:-1]).norm(dim=-1)
        t2 = t * t
        return (1 - t.cos())[{mask}] / t2[{mask}]
    """
    assert rules(code) == expected


def test_a_number_that_is_written_into_an_element_tells_which_one_is_zero() -> None:
    code = """
    def solve(w: torch.Tensor, n: int):
        k = torch.arange(n)
        lap = k[:, None] ** 2 + k[None] ** 2
        {write}
        return w / lap
    """
    assert rules(code.format(write="lap[0, 0] = 1.0")) == []
    assert rules(code.format(write="pass")) == ["SL102"]


def test_the_arctangent_reaches_its_bound_at_infinity_only() -> None:
    code = "def f(p: torch.Tensor):\n    d = {wave}\n    return (1 + d) / (1 - d)"
    assert rules(code.format(wave="p.atan() * 2 / torch.pi")) == []


@pytest.mark.parametrize(("filled", "expected"), [("1e-6", []), ("0.0", ["SL102"])])
def test_a_new_tensor_takes_no_value_from_the_one_that_makes_it(filled: str, expected: list[str]) -> None:
    code = f"""
    def ratio(overlap: torch.Tensor, union: torch.Tensor):
        floor = union.new_tensor([{filled}])
        other = union.new_full((1,), {filled})
        return overlap / torch.max(union.relu(), floor), overlap / torch.max(union.relu(), other)
    """
    assert rules(code) == expected * 2


def test_the_elements_of_a_linear_attention_do_not_vanish_together() -> None:
    code = """
    def attend(q: torch.Tensor, k: torch.Tensor):
        q, k = {q}, F.elu(k) + 1
        return 1.0 / (q * k.sum(1, keepdim=True)).sum(-1)
    """
    assert rules(code.format(q="F.elu(q) + 1")) == []
    assert rules(code.format(q="F.relu(q)")) == ["SL102"]


@pytest.mark.parametrize(("points", "expected"), [("p @ matrix", []), ("p - centre", ["SL102"])])
def test_a_matrix_was_chosen_for_the_points_that_it_maps(points: str, expected: list[str]) -> None:
    code = f"""
    def project(p: torch.Tensor, matrix: torch.Tensor, centre: torch.Tensor):
        q = {points}
        return q[..., :2] / q[..., 2:]
    """
    assert rules(code) == expected
