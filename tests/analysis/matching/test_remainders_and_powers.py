"""Remainders by what may be 0, and powers of which somebody else chooses the exponent."""

import pytest

from tests.analysis.support import function, open_, unmet, violated

TWO = "x: torch.Tensor, m: torch.Tensor"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("x % m", "SL114"),
        ("torch.remainder(x, m.relu())", "SL114"),
        ("torch.fmod(x.float(), m.std())", "SL114"),
        ("torch.sin(x).remainder(n)", "SL114"),
        ("x.sin().round() % n", "SL114"),
        ("x.sin().topk(2)[0].floor() % n", "SL114"),
        ("x.abs() ** -2", "SL102"),
        ("x.norm() ** -1.5", "SL103"),
        ("x.abs() ** m", "SL110"),
        ("(1 - torch.sigmoid(x)) ** n.gamma", "SL110"),
        ("torch.logit(x, eps=0)", "SL104"),
        ("torch.hypot(x, m)", "SL103"),
    ],
)
def test_what_may_go_wrong_is_told(line: str, code: str) -> None:
    assert (2, code) in open_(function(line, parameters=f"{TWO}, n"))


@pytest.mark.parametrize(
    "line",
    [
        "x % 2",
        "x % m.abs().clamp(min=1e-3)",
        "n % k",
        "x.long() % n",
        "x.sin().topk(2)[1] % n",
        "x.sin().max(dim=0).indices % n",
        "(x.cummax(0)[1] + 1).sqrt()",
        "(x.abs() + 1e-3) ** -2",
        "(x.abs() + 1e-3) ** m",
        "x ** k",
        "torch.logit(x, eps=1e-6)",
        "torch.hypot(x, torch.ones(3))",
    ],
)
def test_what_cannot_is_not(line: str) -> None:
    assert unmet(function(line, parameters=f"{TWO}, n, k: int")) == []


def test_a_negative_power_that_is_no_whole_one_is_infinite_at_0_itself() -> None:
    code = function("x.abs() ** -1.5")
    assert unmet("@torch.no_grad()\n" + code) == [(3, "SL103")]


@pytest.mark.parametrize(
    ("default", "told"), [("0.5", ["SL103"]), ("0.9", ["SL103"]), ("2", []), ("1", []), ("3", [])]
)
def test_a_power_is_fractional_by_the_default_of_its_exponent(default: str, told: list[str]) -> None:
    code = f"def f(x, p={default}):\n    return (x - x.mean()).abs() ** p\n"
    assert [rule for _, rule in open_(code)] == told
    if told:
        assert violated(code) == []  # a caller may choose another
