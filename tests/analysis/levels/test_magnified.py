"""Rounding errors that what is computed next keeps, and guards that are nothing in the format."""

from __future__ import annotations

import pytest

from ..support import body, findings, likely, possible


@pytest.mark.parametrize(
    "taken",
    [
        "torch.sqrt(1.0 - torch.exp(-2 * h))",
        "(1 - torch.exp(-2 * h)).sqrt() * noise",
        "(1 - torch.exp(-2 * h)) ** 0.5",
        "(1.0 - torch.exp(-h)) / h",
        "noise / (1 - torch.exp(-h * scale))",
    ],
)
def test_a_root_or_a_quotient_of_a_difference_from_1(taken: str) -> None:
    assert (2, "SL221") in likely(f"""
        def step(h, noise, scale):
            return {taken}
    """)


def test_a_difference_that_has_a_name() -> None:
    code = """
        def step(h):
            spread = 1 - torch.exp(-2 * h)
            return torch.sqrt(spread)
    """
    assert (2, "SL221") in likely(code)


@pytest.mark.parametrize(
    "lines",
    [
        "return 1 - torch.exp(-h)",
        "return (1 - torch.exp(-h)) / 2",
        "return x + (1 - torch.exp(-h)) * y",
        "return (1 - torch.exp(-h)) ** 2",
        "w = 1 - torch.exp(-h)\n    if y:\n        w = x\n    return torch.sqrt(w)",
    ],
)
def test_a_difference_from_1_that_is_only_added_or_shown(lines: str) -> None:
    code = f"def step(h, x, y):\n    {lines}\n"
    assert "SL221" not in {rule for _, rule in likely(code)}
    assert (2, "SL221") in possible(code)


@pytest.mark.parametrize(
    "variance",
    [
        "squares / n - mean ** 2",
        "(1 - b) * squares + b * n - torch.square(stats['edge_mean'])",
        "squares - self.mu * self.mu",
        "squares - avg.item() ** 2",
    ],
)
def test_the_root_of_a_difference_of_moments(variance: str) -> None:
    code = f"""
        def spread(self, squares, n, mean, b, stats, avg):
            return torch.sqrt({variance})
    """
    assert likely(code) == [(2, "SL103")]


@pytest.mark.parametrize(
    "operand",
    [
        "squares - radius ** 2",
        "1 - mean ** 2",
        "mean ** 2 - squares",
        "squares - 2 * mean",
        "squares - mean ** 3",
    ],
)
def test_other_differences_under_a_root(operand: str) -> None:
    assert likely(f"def length(squares, mean, radius):\n    return torch.sqrt({operand})\n") == []


def test_two_means_of_one_tensor_are_told_once() -> None:
    code = """
        def spread(x):
            mean = x.mean()
            return torch.sqrt((x * x).mean() - mean ** 2)
    """
    assert likely(code) == [(3, "SL214")]


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ("torch.log(torch.clamp(t, min=1e-100))", "SL101"),
        ("torch.log(t.clamp_min(1e-46))", "SL101"),
        ("s / (t + 1e-60)", "SL102"),
        ("s / torch.clamp(t, min=1e-300)", "SL102"),
    ],
)
def test_a_guard_that_is_0_in_single_precision(expression: str, rule: str) -> None:
    (found,) = findings(f"def hazard(s, t):\n    return {expression}\n")
    assert found.code == rule
    assert "itself 0 in float32" in found.message


@pytest.mark.parametrize(
    "guarded", ["t.double().clamp_min(1e-100)", "torch.clamp(t, min=1e-38)", "t.clamp(1e-12)"]
)
def test_a_guard_that_the_format_holds(guarded: str) -> None:
    assert likely(f"def hazard(t):\n    return torch.log({guarded})\n") == []


def test_a_difference_in_a_script() -> None:
    assert (1, "SL221") in likely(body("y = torch.sqrt(1 - torch.exp(-torch.rand(3)))\n"))
