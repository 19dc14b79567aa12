from dataclasses import replace

import pytest

from stablelint.diagnostic import Binding
from tests.codemod.differential.tried import fixed
from tests.codemod.support import HEAD, proposal, rewritten, span_of, withheld

FLOOR = "$x.clamp_min(torch.finfo($x.dtype).tiny)"
UNION = "$x.masked_fill($x == 0, 1)"


@pytest.mark.parametrize("made", ["x.clamp(min=eps)", "torch.clamp(x, eps).view(-1)"])
def test_what_a_clamp_makes_by_an_unknown_bound_gets_no_second_one(made: str) -> None:
    source = f"{HEAD}def f(x, eps):\n    y = {made}\n    return x, y.sqrt(), y\n"
    assert "a clamp already, by `eps`" in withheld(source, proposal(source, "y", FLOOR, occurrence=1, x="y"))


def test_an_attribute_that_was_given_a_clamp_gets_no_second_one() -> None:
    source = f"{HEAD}def f(self, x, eps):\n    self.s = x.std().clamp_min(eps)\n    return x / self.s\n"
    at = Binding("self.s", span_of(source, "self.s", 1))
    assert "a clamp already, by `eps`" in withheld(
        source, proposal(source, "self.s", FLOOR, occurrence=1, x=at)
    )


def test_a_bound_that_only_double_precision_holds_stays() -> None:
    source = f"{HEAD}def f(x):\n    y = x.clamp(min=1e-300)\n    return x, y.sqrt(), y\n"
    assert "double precision" in withheld(source, proposal(source, "y", FLOOR, occurrence=1, x="y"))


@pytest.mark.parametrize(
    "total",
    [
        "x + eps",
        "x.add(n * c + eps)",
        "(x + 1e-8) ** 2",
        "w * (x + n * self.eps)",
        "n + self.smooth",
        "x + 1",
    ],
)
def test_a_denominator_with_an_offset_gets_no_second_one(total: str) -> None:
    init = "    def __init__(self, smooth=1.0):\n        self.eps, self.smooth = 0, smooth\n        self.eps = 1e-6\n"
    init += "        self.smooth = smooth\n"
    source = f"{HEAD}class L:\n{init}    def f(self, x, n, c, w, eps=1e-6):\n        return n / ({total})\n"
    assert "an offset already" in withheld(source, proposal(source, total, UNION, x=total))


@pytest.mark.parametrize("total", ["x + n", "x - eps", "n - x", "x * eps"])
def test_a_sum_without_an_offset_gets_a_bound(total: str) -> None:
    source = f"{HEAD}def f(x, n, eps=1e-6):\n    return n / ({total})\n"
    assert " == 0, 1)" in rewritten(source, proposal(source, total, UNION, x=total))


def test_a_clamp_on_one_path_is_there_already() -> None:
    given = (
        "    if ctr:\n        d = d.clamp(max=largest)\n    else:\n        d = d.clamp(-largest, largest)\n"
    )
    source = f"{HEAD}def f(d, largest, ctr):\n{given}    return d.exp()\n"
    at = Binding("d", span_of(source, "d", start=source.index("d.exp()")))
    assert at.span is not None
    change = replace(proposal(source, "d.exp()", "$x.clamp(max=80.0)", x=at), span=at.span)
    assert "a clamp already, by `largest`" in withheld(source, change)


def test_an_offset_may_be_a_local_name() -> None:
    source = f"{HEAD}def f(p):\n    eps = 1e-12\n    return (1 - p + eps).log()\n"
    assert "return ((1 - p).clamp_min(0) + eps).log()" in rewritten(
        source, proposal(source, "1 - p + eps", FLOOR, x="1 - p + eps")
    )


@pytest.mark.parametrize(
    ("square", "is_made"),
    [
        ("h ** 2", False),
        ("h.pow(2)", False),
        ("torch.square(h)", False),
        ("h ** 3", True),
        ("h.sum()", True),
        ("h * h", False),
        ("h.pow(2).expand(3, 3)", False),
        ("x * h * z", False),
        ("x * h", True),
        ("2 * x * h", True),
    ],
)
def test_a_square_gets_no_bound_that_squares_of_ordinary_numbers_meet(square: str, is_made: bool) -> None:
    source = f"import torch\ndef f(x, h, z):\n    return x / ({square})\n"
    change = proposal(source, square, "$x.clamp_min(torch.finfo($x.dtype).tiny ** 0.5)", x=square)
    if is_made:
        assert "clamp_min(torch.finfo(" in rewritten(source, change)
    else:
        assert "squares of what is not small" in withheld(source, change)


@pytest.mark.parametrize("bound", ["1 - 1e-8", "0.99999999", "1.0 - 1.0e-10"])
def test_a_clamp_that_single_precision_rounds_to_1_gets_no_second_one(bound: str) -> None:
    source = f"import torch\n\n\ndef f(x):\n    x = x.clamp(1e-8, {bound})\n    return torch.logit(x), x\n"
    at = Binding("x", span_of(source, "x", start=source.index("logit(") + 6))
    change = proposal(source, "torch.logit(x)", "torch.logit($x.clamp(1e-38, 1 - 6e-8))", x=at)
    bounded = replace(change, span=at.span, template="$x.clamp(1e-38, 1 - 6e-8)")
    assert withheld(source, bounded) == (
        f"there is a clamp already, by `{bound}`, which single precision rounds to 1"
    )


@pytest.mark.parametrize(
    ("choice", "after"),
    [
        ("torch.where(d.ge(0), x / d, x).item()", "torch.where(d.gt(0), x / d, x).item()"),
        ("torch.where(d < 0, x, x / d).detach()", "torch.where(d <= 0, x, x / d).detach()"),
        ("x / d if d>=0.0 else x", "x / d if d>0.0 else x"),
        ("torch.where(d >= 0, x / d, x)", ".clamp_min("),  # the gradient of x / d is taken in both branches
        ("torch.where(d >= 1, x / d, x).item()", ".clamp_min("),
        ("torch.where(x >= 0, x / d, x).item()", ".clamp_min("),
    ],
)
def test_a_test_that_lets_0_through_to_a_quotient_is_made_strict(choice: str, after: str) -> None:
    source = f"{HEAD}def f(x, d):\n    return {choice}\n"
    change = proposal(
        source, "d", FLOOR, occurrence=source[: source.index("x / d") + 4].count("d"),
        x=Binding("d", span_of(source, "d", start=source.index("x / d"))),
    )  # fmt: skip
    assert after in rewritten(source, change)


def test_a_test_is_made_strict_where_no_gradient_is_recorded() -> None:
    source = (
        "import torch\n\n\n@torch.no_grad()\ndef f(x, y):\n    d = y.norm()\n"
        "    return torch.where(d >= 0, x / d, 1.0)\n"
    )
    after, found = fixed(source, unsafe=True)
    assert after == source.replace("d >= 0", "d > 0")
    assert [one.fix.message for one in found if one.fix] == ["let the test that is there leave out 0"]


def test_a_choice_that_holds_a_test_is_told_as_what_it_is() -> None:
    source = "import torch\n\n\ndef f(x, y):\n    d = y.relu()\n    return torch.where(d > 0, x / d, 1.0)\n"
    after, found = fixed(source, unsafe=True)
    assert "x / torch.where(d > 0, d, 1)" in after
    assert all("leave out 0" not in one.fix.message for one in found if one.fix)


@pytest.mark.parametrize(
    ("body", "has_pole"),
    [
        ("return torch.sin(a) / torch.sqrt(torch.cos(a))", True),
        ("return torch.sin(a) * torch.sqrt(torch.cos(a))", False),
    ],
)
def test_a_pole_of_a_quotient_is_no_number(body: str, has_pole: bool) -> None:
    source = f"import torch\ndef f(a):\n    {body}\n"
    change = proposal(source, "torch.cos(a)", "$x.clamp_min(torch.finfo($x.dtype).tiny)", x="torch.cos(a)")
    if has_pole:
        assert "a pole or a limit where `torch.cos(a)` is 0" in withheld(source, change)
    else:
        assert "clamp_min" in rewritten(source, change)


def test_numbers_by_a_sine_are_not_divided_by_1() -> None:
    source = "from math import sin\ndef f(a, b):\n    return sin(a * b) / sin(b)\n"
    assert "a pole or a limit where `sin(b)` is 0" in withheld(
        source, proposal(source, "sin(b)", "($x or 1)", x="sin(b)")
    )


@pytest.mark.parametrize(
    ("given", "body", "is_withheld"),
    [
        ("smooth=0.0", "", True),
        ("smooth", "", False),
        ("eps", "    smooth = 0\n", True),
        ("eps", "    smooth = eps\n", False),
    ],
)
def test_an_offset_that_is_0_is_set_above_that(given: str, body: str, is_withheld: bool) -> None:
    source = f"import torch\ndef f(a, b, {given}):\n{body}    return (a * b).sum() / (a.sum() + b.sum() + smooth)\n"
    divisor = "a.sum() + b.sum() + smooth"
    change = proposal(source, divisor, "$x.masked_fill($x == 0, 1)", x=divisor)
    if is_withheld:
        assert "`smooth`, which is 0, is there" in withheld(source, change)
    else:
        assert "masked_fill" in rewritten(source, change)


@pytest.mark.parametrize(("eps", "is_withheld"), [("eps=1e-4", True), ("eps=0.0", False), ("eps", False)])
def test_a_larger_one_of_two_is_bounded_by_a_small_number(eps: str, is_withheld: bool) -> None:
    source = f"import torch\ndef f(v, {eps}):\n    return torch.rsqrt(torch.max(v, torch.tensor(eps)))\n"
    operand = "torch.max(v, torch.tensor(eps))"
    change = proposal(source, operand, "$x.clamp_min(torch.finfo(torch.float32).tiny)", x=operand)
    if is_withheld:
        assert "there is a bound already, by `eps`" in withheld(source, change)
    else:
        assert "clamp_min" in rewritten(source, change)
