"""Sums that cannot vanish, and what is not negative: of shares, of a histogram; and steps of even spacing."""

import pytest

from tests.analysis.support import assumed, open_, unmet


def program(*lines: str) -> str:
    """A function of two tensors, a number and a mask."""
    return "def f(a, b, n: int, w):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("counted", ["torch.bincount(a, weights=w)", "a.bincount(w)"])
def test_what_weighs_less_than_nothing_counts_for_less(counted: str) -> None:
    assert (3, "SL103") in open_(program(f"h = {counted}", "return torch.sqrt(h)"))
    assert (3, "SL102") not in open_(
        program(f"h = {counted.replace('w)', 'w.relu())')}", "return a / (h + 1)")
    )


@pytest.mark.parametrize(
    "steps", ["torch.linspace(0, 1, n)", "torch.linspace(-1.0, 1.0, n).view(1, -1).expand(*a.shape, -1)"]
)
def test_evenly_spaced_numbers_differ(steps: str) -> None:
    code = program(f"s = {steps}", "return a / (s[..., 1:] - s[..., :-1])")
    assert open_(code) == []
    assert assumed(code) == [(3, "SL102")]


@pytest.mark.parametrize(
    "steps",
    [
        "torch.linspace(1, 1, n)",
        "torch.linspace(0, n, n)",
        "torch.linspace(0, 1, n).view(-1, 1)",
        "torch.linspace(0, 1, n).view(-1, 1).expand(n, 5)",
        "torch.linspace(0, 1, n).view(5, -1).expand(n, 5, 3)",
        "torch.linspace(0, 1, n) * w",
    ],
)
def test_other_neighbours_can_be_equal(steps: str) -> None:
    assert (3, "SL102") in open_(program(f"s = {steps}", "return a / (s[..., 1:] - s[..., :-1])"))


@pytest.mark.parametrize(
    ("shares", "largest", "is_safe"),
    [
        ("F.log_softmax(x, dim=1).exp()", "p.max(1, keepdim=True)[0]", True),
        ("F.log_softmax(x, dim=1).exp()", "p.amax(1, keepdim=True)", True),
        ("F.log_softmax(x, dim=1).exp()", "p.sum(1, keepdim=True)", True),
        ("F.log_softmax(x, dim=1).exp()", "p.amax(0, keepdim=True)", False),
        ("F.log_softmax(x, dim=1).exp().pow(2)", "p.amax(1, keepdim=True)", False),
        ("F.logsigmoid(x).exp()", "p.amax(1, keepdim=True)", False),
    ],
)
def test_shares_by_their_logarithms_have_a_largest_one(shares: str, largest: str, is_safe: bool) -> None:
    program = f"def f(x: torch.Tensor):\n    p = {shares}\n    return p / {largest}\n"
    assert (open_(program) == []) == is_safe


@pytest.mark.parametrize(
    ("one", "other", "is_safe"),
    [
        ("1.0 * n / len(xs)", "1.0 * n / len(ys)", True),
        ("2 * n", "n", True),
        ("n / len(xs)", "-n / len(ys)", False),
        ("n / len(xs)", "n * k", False),
        ("n / len(xs)", "m / len(ys)", False),
    ],
)
def test_parts_of_one_number_do_not_cancel(one: str, other: str, is_safe: bool) -> None:
    program = f"""
    def f1(x: torch.Tensor, n, m, k, xs: list, ys: list):
        if n == 0 or m == 0 or k == 0:
            return 0
        precision, recall = {one}, {other}
        return x / (precision + recall)
    """
    assert (unmet(program) == []) == is_safe
