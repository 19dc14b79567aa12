"""Zeros that positions, draws, and tests of an element keep away."""

import pytest

from tests.analysis.support import open_


def rules(code: str) -> list[str]:
    """The rules of what is reported by default."""
    return [rule for _, rule in open_(code)]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("(y > 0) | (t > 1e-6)", ["SL102"]),
        ("t > -1.0", ["SL102"]),
        ("y > 1e-6", ["SL102"]),
    ],
)
def test_a_power_of_what_was_kept_above_a_bound_is_not_zero(mask: str, expected: list[str]) -> None:
    code = f"""
    def coefficients(x: torch.Tensor, y: torch.Tensor):
        t = (x[1:] - x[:-1]).abs().amax(dim=-1)
        t2 = t * t
        return (1 - t.cos())[{mask}] / t2[{mask}]
    """
    assert rules(code) == expected


@pytest.mark.parametrize(("filled", "expected"), [("1e-6", []), ("0.0", ["SL102"])])
def test_a_new_tensor_takes_no_value_from_the_one_that_makes_it(filled: str, expected: list[str]) -> None:
    code = f"""
    def ratio(overlap: torch.Tensor, union: torch.Tensor):
        floor = union.new_tensor([{filled}])
        other = union.new_full((1,), {filled})
        return overlap / torch.max(union.relu(), floor), overlap / torch.max(union.relu(), other)
    """
    assert rules(code) == expected * 2


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ("p - centre", ["SL102"]),
    ],
)
def test_a_matrix_was_chosen_for_the_points_that_it_maps(points: str, expected: list[str]) -> None:
    code = f"""
    def project(p: torch.Tensor, matrix: torch.Tensor, centre: torch.Tensor):
        q = {points}
        return q[..., :2] / q[..., 2:]
    """
    assert rules(code) == expected


@pytest.mark.parametrize(
    ("counted", "divisor"),
    [
        ("range(n)", "n - i"),
        ("range(n)", "i - n"),
        ("range(m, n)", "n - i"),
        ("range(m + 2, n)", "i - m"),
        ("range(m, n - 1)", "n - i - 1"),
        ("range(m, n)", "i - m + 1"),
        ("reversed(range(n))", "n - i"),
        ("range(n, m, -1)", "i - m"),
        ("range(n - 1, 0, -1)", "i"),
        ("range(9)", "9 - i"),
    ],
)
def test_a_loop_variable_keeps_off_the_end_of_its_range(counted: str, divisor: str) -> None:
    assert (
        rules(f"def f(x: torch.Tensor, m, n):\n    for i in {counted}:\n        x = x / ({divisor})\n") == []
    )


@pytest.mark.parametrize(
    ("counted", "divisor"),
    [
        ("range(m, n)", "i - m"),
        ("range(m + 2, n)", "i - m - 2"),
        ("range(m + k, n)", "i - m"),
        ("range(n, m, k)", "n - i"),
        ("range(n, m, -1)", "n - i"),
        ("range(5, -1, -1)", "i"),
        ("range(5, n, k)", "i"),
    ],
)
def test_and_may_reach_the_other(counted: str, divisor: str) -> None:
    code = f"def f(x: torch.Tensor, m, n, k=2):\n    for i in {counted}:\n        x = x / ({divisor})\n"
    assert rules(code) == ["SL102"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("math.factorial(n)", []),
        ("math.gamma(3.5)", []),
        ("math.prod(x.shape[1:])", []),
        ("np.prod(x.size())", []),
        ("np.prod(n)", ["SL102"]),
        ("math.gamma(n)", ["SL102"]),
    ],
)
def test_products_of_sizes_and_factorials_are_positive(number: str, expected: list[str]) -> None:
    assert (
        rules(f"import math\nimport numpy as np\n\ndef f(x: torch.Tensor, n):\n    return x / {number}\n")
        == expected
    )


def test_there_is_a_process() -> None:
    code = """
    import torch.distributed as dist

    def shared(x: torch.Tensor):
        size = dist.get_world_size() if dist.is_initialized() else {}
        return x / (x.shape[0] * size)
    """
    assert rules(code.format(1)) == []
    assert rules(code.format(0)) == ["SL102"]


@pytest.mark.parametrize(
    "line",
    [
        "torch.exp2(torch.randn(n) * 0.2)",
        "torch.exp(torch.randn_like(x))",
        "torch.exp(1 + 2 * torch.randn(n).abs())",
    ],
)
def test_a_standard_normal_draw_lies_within_a_few_deviations(line: str) -> None:
    assert "SL201" not in [rule for _, rule in open_(f"def f(x: torch.Tensor, n: int):\n    return {line}\n")]


@pytest.mark.parametrize(
    "lines",
    [
        "return torch.exp(torch.randn(n) * 100)",
        "return torch.exp(torch.randn(n) * x)",
        "return torch.exp(torch.normal(x, 1.0))",
        "return torch.exp(torch.randn(n) / x)",
        "w = torch.randn(n)\n    w.copy_(x)\n    return torch.exp(w)",
        "w = torch.randn(n, requires_grad=True)\n    torch.optim.SGD([w], lr=1.0)\n    return torch.exp(w)",
        "w = nn.Parameter(torch.randn(n))\n    return torch.exp(w)",
        "w = torch.randn(n)\n    for _ in range(n):\n        w = w * 2\n    return torch.exp(w)",
    ],
)
def test_what_is_made_of_a_draw_may_lie_anywhere(lines: str) -> None:
    assert "SL201" in [rule for _, rule in open_(f"def f(x: torch.Tensor, n: int):\n    {lines}\n")]
