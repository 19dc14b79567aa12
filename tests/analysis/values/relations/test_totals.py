"""Sums that cannot vanish: of shares and blends of shares, of a histogram; and steps of even spacing."""

import pytest

from tests.analysis.support import assumed, open_, unmet


def program(*lines: str) -> str:
    """A function of two tensors, a number and a mask."""
    return "def f(a, b, n: int, w):\n" + "".join(f"    {line}\n" for line in lines)


A, B = "torch.softmax(a, dim=-1)", "torch.softmax(b, dim=-1)"
NORMALIZED = "return p / p.sum(dim=-1, keepdim=True)"


@pytest.mark.parametrize(
    "blend",
    [f"({A} + {B}) / 2", f"0.3 * {A} + {B} * 0.7", f"({A} + {B} + {A}).detach() / 3", f"{A} / 2"],
)
def test_a_blend_of_shares_adds_up_to_something(blend: str) -> None:
    code = program(f"p = {blend}", NORMALIZED)
    assert (3, "SL102") not in open_(code)
    assert assumed(code) == []


def test_in_a_matrix_the_second_dimension_is_the_last() -> None:
    code = program("p = (torch.softmax(a, 1) + torch.softmax(b, 1)) / 2", NORMALIZED)
    assert open_(code) == []
    assert assumed(code) == [(3, "SL102")]


@pytest.mark.parametrize(
    "blend",
    [
        f"{A} - {B}",
        f"w * {A} + 0.7 * {B}",  # any number, or a mask
        f"-1.0 * {A}",
        f"{A} * 1e-30",
        f"{A} * {B}",  # shares that do not meet: 0
        f"{A} + b",
        "torch.softmax(a, 0) + torch.softmax(b, 0)",
        "torch.softmax(a, 2) + torch.softmax(b, 2)",
    ],
)
def test_what_is_no_such_blend_can_add_up_to_0(blend: str) -> None:
    assert (3, "SL102") in open_(program(f"p = {blend}", NORMALIZED))


def test_a_histogram_has_counted_what_there_is() -> None:
    code = program("h = torch.bincount(a.reshape(-1), minlength=10).to(b.dtype)", "return h / h.sum()")
    assert open_(code) == []
    assert assumed(code) == [(3, "SL102")]


@pytest.mark.parametrize(
    "counted",
    [
        "torch.bincount(a[w > 0])",
        "torch.bincount(a[w])",
        "torch.bincount(a, weights=w)",
        "torch.bincount(a)[1:]",
    ],
)
def test_a_histogram_of_what_may_be_nothing_can_be_empty(counted: str) -> None:
    assert (3, "SL102") in open_(program(f"h = {counted}", "return h / h.sum()"))


@pytest.mark.parametrize("counted", ["torch.bincount(a, weights=w)", "a.bincount(w)"])
def test_what_weighs_less_than_nothing_counts_for_less(counted: str) -> None:
    assert (3, "SL103") in open_(program(f"h = {counted}", "return torch.sqrt(h)"))
    assert (3, "SL102") not in open_(
        program(f"h = {counted.replace('w)', 'w.relu())')}", "return a / (h + 1)")
    )


def test_a_row_of_a_histogram_can_be_empty() -> None:
    table = "h = torch.bincount(a, minlength=n * n).view(n, n).float()"
    assert (3, "SL102") in open_(program(table, "return h / h.sum(-1, keepdim=True)"))
    assert open_(program(table, "return h / h.sum()")) == []
    assert open_(program(table.replace(".view(n, n)", ""), "return h / h.sum(-1, keepdim=True)")) == []


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
