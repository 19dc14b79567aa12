"""A cure that only hides the value in the forward direction, or that rounding takes away, is reported."""

import pytest

from tests.analysis.support import fixes, function, open_


def codes(code: str) -> set[str]:
    return {found for _, found in open_(code)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x.clamp(0).sqrt()", {"SL103"}),
        ("x.clamp(min=0).sqrt()", {"SL103"}),
        ("torch.sqrt(torch.clamp(x, min=0.0))", {"SL103"}),
        ("x.clamp_min(0) ** 0.5", {"SL103"}),
        ("torch.nan_to_num(torch.log(F.relu(x)))", {"SL503"}),
        ("torch.log(F.relu(x)).nan_to_num()", {"SL503"}),
        ("torch.log(F.relu(x)).clamp(-100)", {"SL101"}),
        ("torch.log(torch.sigmoid(x)).clamp(min=-100)", {"SL203"}),
        ("torch.where(x > 0, torch.log(x), 0)", {"SL503"}),
        ("torch.where(x > 0, x * torch.log(x), 0)", {"SL503"}),
        ("torch.where(x > 0, x.log(), torch.zeros_like(x))", {"SL503"}),
        ("torch.where(x == 0, 0, 1 / x)", {"SL503"}),
        ("torch.where(x != 0, 1 / x, 0)", {"SL503"}),
        ("torch.where(x > 0, torch.sqrt(x), 0)", {"SL503"}),
        ("torch.where(x < 50, torch.exp(x), x)", {"SL503"}),
        ("torch.acos(x.clamp(-1, 1))", {"SL104"}),
        ("torch.acos(torch.clamp(x, min=-1.0, max=1.0))", {"SL104"}),
        ("torch.asin(x.clamp(-1, 1))", {"SL104"}),
        ("torch.acos(F.cosine_similarity(x, x + 1))", {"SL104"}),
        ("torch.xlogy(torch.softmax(x, -1), torch.softmax(x, -1))", {"SL210"}),
        ("torch.special.entr(torch.softmax(x, -1))", {"SL210"}),
        ("torch.atanh(torch.tanh(x))", {"SL104"}),
        ("torch.atanh(torch.tanh(x).clamp(-1 + 1e-9, 1 - 1e-9))", {"SL104", "SL410"}),
        ("torch.log(1 - torch.tanh(x).pow(2))", {"SL222"}),
        ("torch.sqrt(x.pow(2).sum())", {"SL105"}),
        ("x / x.sum().clamp(min=0)", {"SL102"}),
        ("torch.rsqrt(F.relu(x)) + 1e-8", {"SL409"}),
    ],
)
def test_a_guard_that_guards_nothing(line: str, expected: set[str]) -> None:
    assert codes(function(line)) == expected


@pytest.mark.parametrize(
    "line",
    [
        "torch.acos(x.clamp(-1 + 1e-9, 1 - 1e-9))",
        "torch.log(1 - torch.sigmoid(x) * (1 - 1e-15))",
        "torch.log(1 - torch.sigmoid(x).clamp(max=1 - 1e-9))",
        "torch.log((1 + 1e-9) - torch.sigmoid(x))",
        "torch.log(1 - torch.sigmoid(x).clamp(1e-15, 1 - 1e-15))",
    ],
)
def test_an_eps_that_rounding_absorbs(line: str) -> None:
    assert codes(function(line)) & {"SL101", "SL104", "SL203"}


@pytest.mark.parametrize(
    "line",
    [
        "x.half() / (x.half().norm() + 1e-8)",
        "torch.log(x.half().softmax(-1) + 1e-8)",
        "torch.log(x.half().abs() + 1e-10)",
        "x.to(torch.float16) / (x.to(torch.float16).sum() + 1e-8)",
        "torch.log(x.half().sigmoid().clamp(min=1e-8))",
    ],
)
def test_an_eps_that_is_zero_in_float16(line: str) -> None:
    assert "SL402" in codes(function(line))


@pytest.mark.parametrize(
    "line",
    [
        "x.half() / (x.half().norm() + 1e-3)",
        "x.half().float() / (x.half().float().norm() + 1e-8)",
        "torch.log(x.half().float().softmax(-1) + 1e-8)",
    ],
)
def test_an_eps_that_survives_is_left_alone(line: str) -> None:
    assert "SL402" not in codes(function(line))


@pytest.mark.parametrize(
    "before",
    [
        "safe = torch.where(x > 0, x, torch.ones_like(x))\ny = torch.log(safe)",
        "safe = x.masked_fill(x <= 0, 1.0)\ny = safe.log()",
        "safe = torch.where(x > 0, x, 1.0)\ny = torch.where(x > 0, safe.log(), 0.0)",
    ],
)
def test_the_operand_guarded_before_the_operation_is_no_false_fix(before: str) -> None:
    assert open_(function("y", before=before)) == []


@pytest.mark.parametrize("denominator", ["x - x", "(x - x).sum()"])
def test_what_is_always_zero_has_no_fix(denominator: str) -> None:
    (told,) = fixes(function(f"1 / ({denominator})")).values()
    assert told == f"`{denominator}` is 0 whatever comes in: what it should be is not in sight"


def test_what_is_zero_by_default_is_not_said_to_be_zero_always() -> None:
    source = "import torch\n\n\ndef f(x, n: int = 0):\n    return torch.ones(3) / n\n"
    (told,) = fixes(source).values()
    assert told == "`n` is 0 by default: what it should be is not in sight"


def test_a_size_less_one_is_kept_at_one() -> None:
    source = "import torch\n\n\ndef f(x):\n    return x.T @ x / (x.size(0) - 1)\n"
    ((told, *_),) = fixes(source).values()
    assert told == "max(x.size(0) - 1, 1)"
