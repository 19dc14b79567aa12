"""What is divided by a number that a test has shown to be larger: safe as long as it is not negative."""

import pytest

from tests.analysis.support import findings, report

ASSUMED = [
    "return step / total if step < total else 1.0",
    "if step < total:\n        return float(step) / float(total)",
    "if total > step:\n        return 0.1 + 0.9 * (step / total)",
    "if step >= total:\n        return 1.0\n    return 3 * (step + 1) / total",
]
OPEN = [
    "if step <= total:\n        return step / total",
    "if step < total:\n        return 1 / total",
    "if step < total:\n        return step / int(total)",
    "if step < total:\n        return step / float(int(total))",
    "if step < total:\n        total = total - 1\n        return step / total",
]


@pytest.mark.parametrize("body", ASSUMED)
def test_a_larger_divisor_is_positive_if_the_numerator_is_not_negative(body: str) -> None:
    shown = report(f"def f(step, total):\n    {body}\n").discharged
    assert [(one.code, one.assumes) for one in shown] == [("SL102", ("step is not negative",))]


@pytest.mark.parametrize("body", OPEN)
def test_any_other_divisor_may_be_zero(body: str) -> None:
    assert [one.code for one in findings(f"def f(step, total):\n    {body}\n")] == ["SL102"]


def test_tensors_are_compared_element_by_element() -> None:
    code = "def f(x: torch.Tensor, y: torch.Tensor):\n    if (x < y).all():\n        return x / y\n"
    assert [one.code for one in findings(code)] == ["SL102"]
