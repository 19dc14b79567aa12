import pytest

from stablelint.diagnostic import Binding
from tests.codemod.differential.tried import fixed
from tests.codemod.support import HEAD, body, proposal, rewritten, span_of

NEAR_ZERO = "$x.masked_fill($x.abs() < torch.finfo($x.dtype).tiny ** 0.5, torch.finfo($x.dtype).tiny ** 0.5)"
FLOOR = "$x.clamp_min(1e-12)"


def test_a_divisor_that_recurs_is_guarded_once_under_a_name() -> None:
    source = (
        f"{HEAD}def f(t, w):\n    a = t / torch.sin(w)\n    b = w / (2 * torch.sin(w))\n    return a, b\n"
    )
    assert body(rewritten(source, proposal(source, "torch.sin(w)", NEAR_ZERO, x="torch.sin(w)"))) == (
        "def f(t, w):\n    w_sin = torch.sin(w)\n    w_sin = w_sin.masked_fill(\n"
        "        w_sin.abs() < torch.finfo(w_sin.dtype).tiny, torch.finfo(w_sin.dtype).tiny\n    )\n"
        "    a = t / w_sin\n    b = w / (2 * w_sin)\n    return a, b\n"
    )


def test_the_second_of_two_is_guarded_at_the_first() -> None:
    source = f"{HEAD}def f(t, s, w):\n    a = t / (s * w)\n    if t:\n        a = a / (s * w)\n    return a\n"
    second = Binding("s * w", span_of(source, "s * w", 1))
    change = proposal(source, "s * w", FLOOR, occurrence=1, x=second)
    assert body(rewritten(source, change)) == (
        "def f(t, s, w):\n    product = (s * w).clamp_min(1e-12)\n"
        "    a = t / product\n    if t:\n        a = a / product\n    return a\n"
    )


@pytest.mark.parametrize(
    "other",
    [
        "w = w + 1\n    b = t / torch.sin(w)",
        "w.add_(1)\n    b = t / torch.sin(w)",
        "b = t.where(torch.sin(w) > 0, w)",
        "b = [t / torch.sin(w) for w in t]",
    ],
)
def test_what_is_not_the_same_divisor_keeps_its_own(other: str) -> None:
    source = f"{HEAD}def f(t, w):\n    a = t / torch.sin(w)\n    {other}\n    return a, b\n"
    fixed = rewritten(source, proposal(source, "torch.sin(w)", FLOOR, x="torch.sin(w)"))
    assert "    a = t / torch.sin(w).clamp_min(1e-12)\n" in fixed
    assert other in fixed


@pytest.mark.parametrize(
    ("of_first", "of_second", "names"),
    [
        ("(a_hi - a_lo)", "(b_hi - b_lo)", ["difference", "difference_2"]),
        ("(a_max - a_min)", "(b_max - b_min)", ["a_range", "b_range"]),
        ("(max_a - min_a)", "(max_b - min_b)", ["range_a", "range_b"]),
    ],
)
def test_two_divisors_that_recur_by_turns_get_names_of_their_own(
    of_first: str, of_second: str, names: list[str]
) -> None:
    ends = [one.strip("()").split(" - ") for one in (of_first, of_second)]
    made = [
        f"{large}, {small} = {of}.max(), {of}.min()" for of, (large, small) in zip("xy", ends, strict=True)
    ]
    divided = [f"x = x / {of_first}", f"y = y / {of_second}", f"u = u / {of_first}", f"v = v / {of_second}"]
    lines = "\n    ".join([*made, *divided, "return x, y, u, v"])
    text, _ = fixed(f"{HEAD}def scaled(x, y, u, v):\n    {lines}\n", unsafe=True)
    assert [line for line in text.splitlines() if " / " in line] == [
        f"    {one} = {one} / {names[one in 'yv']}" for one in "xyuv"
    ]


@pytest.mark.parametrize("divisor", ["(1 - s)", "(\n        1 - s)", "(1 - s\n    )"])
def test_brackets_of_what_gets_a_name_go_before_a_method(divisor: str) -> None:
    source = f"{HEAD}def f(t, s):\n    a = (1 - s).sqrt()\n    b = t / {divisor}\n    return a, b\n"
    change = proposal(source, "1 - s", "$x.clamp_min(torch.finfo($x.dtype).tiny)", x="1 - s")
    assert "    a = difference.sqrt()\n    b = t / difference\n" in rewritten(source, change)


def test_a_term_of_a_sum_takes_the_name_of_what_is_bounded_beside_it() -> None:
    source = f"{HEAD}def f(s, m):\n    return m + s * s - torch.log(s * s)\n"
    guard = "$x.clamp_min(torch.finfo($x.dtype).tiny)"
    change = proposal(source, "s * s", guard, occurrence=1, x=Binding("s * s", span_of(source, "s * s", 1)))
    assert "    return m + product - torch.log(product)\n" in rewritten(source, change)


def test_a_name_needs_no_lines_of_its_own() -> None:
    source = "import torch\n\n\ndef f(x, a, b):\n    return x / (a + b) + torch.log(\n        a + b\n    )\n"
    guard = "$x.clamp_min(torch.finfo($x.dtype).tiny)"
    at = Binding("a + b", span_of(source, "a + b", 1))
    fixed = rewritten(source, proposal(source, "a + b", guard, occurrence=1, x=at))
    assert fixed.endswith(
        "    total = a + b\n    total = total.clamp_min(torch.finfo(total.dtype).tiny)\n"
        "    return x / total + torch.log(total)\n"
    )


MODULE = """import torch
from torch import nn


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_var = {}

    def forward(self, loss, other):
        {}
"""


@pytest.mark.parametrize("part", ["", "[0]"])
def test_a_parameter_is_bounded_once_for_all_that_stands_beside_its_exponential(part: str) -> None:
    own = f"return torch.exp(-self.log_var{part}) * loss + self.log_var{part}"
    assert (
        "        log_var = self.log_var.clamp(-80.0, 20.0)\n"
        f"        return torch.exp(-log_var{part}) * loss + log_var{part}\n"
    ) in fixed(MODULE.format("nn.Parameter(torch.zeros(2))", own), unsafe=True)[0]


@pytest.mark.parametrize(
    ("made", "first"),
    [
        ("nn.ParameterList()", "first = torch.exp(-self.log_var[0]) * loss"),
        ("other", "first = torch.exp(-self.log_var) * loss"),
        (
            "nn.Parameter(torch.zeros(2))",
            "first = torch.exp(-self.log_var) * loss\n        self.step()",
        ),
    ],
)
def test_what_may_be_no_tensor_or_change_on_the_way_gets_no_bound_beside_its_exponential(
    made: str, first: str
) -> None:
    source = MODULE.format(made, f"{first}\n        return first + self.log_var")
    assert fixed(source, unsafe=True)[0] == source
