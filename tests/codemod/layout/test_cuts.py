"""A line within brackets that gets too long is spread, one part a line."""

import pytest

from tests.codemod.support import proposal, rewritten

HEAD = "import torch\n"


def test_each_argument_gets_a_line() -> None:
    source = (
        HEAD
        + "y = torch.where(\n    abs(delta) < limit, gradient_input, gradient_output * outgoing / delta\n)\n"
    )
    change = proposal(source, "delta", "torch.where(abs($d) < limit, 1, $d)", occurrence=1, d="delta")
    assert rewritten(source, change) == (
        HEAD + "y = torch.where(\n    abs(delta) < limit,\n    gradient_input,\n"
        "    gradient_output * outgoing / torch.where(abs(delta) < limit, 1, delta),\n)\n"
    )


def test_a_single_sum_gets_a_line_for_each_term() -> None:
    source = (
        HEAD
        + "loss = (\n    0.5 * torch.log(2 * math.pi * variance) + torch.square(error) / spread\n).mean()\n"
    )
    change = proposal(source, "spread", "$s.clamp_min(torch.finfo($s.dtype).eps)", s="spread")
    assert rewritten(source, change) == (
        HEAD + "loss = (\n    0.5 * torch.log(2 * math.pi * variance)\n"
        "    + torch.square(error) / spread.clamp_min(torch.finfo(spread.dtype).eps)\n).mean()\n"
    )


def test_a_product_gets_a_line_for_each_factor() -> None:
    source = (
        HEAD + "y = f(\n    first_of_the_factors * second_of_the_factors / (third + x.sum()),\n    b,\n)\n"
    )
    change = proposal(source, "x.sum()", "$s.clamp_min(torch.finfo(x.dtype).eps)", s="x.sum()")
    assert rewritten(source, change) == (
        HEAD + "y = f(\n    first_of_the_factors\n    * second_of_the_factors\n"
        "    / (third + x.sum().clamp_min(torch.finfo(x.dtype).eps)),\n    b,\n)\n"
    )


def test_a_call_that_is_too_long_for_its_line_is_opened_as_far_as_needed() -> None:
    head = HEAD + "if keep.any():\n    if left.all():\n        theta = torch.atan2(\n"
    source = f"{head}            torch.sqrt(discriminant[three_roots_mask]), -depressed[three_roots_mask]\n        )\n"
    name = "discriminant[three_roots_mask]"
    change = proposal(source, name, "$s.clamp_min(torch.finfo(discriminant.dtype).tiny)", s=name)
    assert rewritten(source, change) == (
        head
        + "            torch.sqrt(\n                discriminant[three_roots_mask].clamp_min(\n"
        + "                    torch.finfo(discriminant.dtype).tiny\n                )\n            ),\n"
        + "            -depressed[three_roots_mask],\n        )\n"
    )


def test_operands_of_several_lines_are_spread_anew() -> None:
    left = "precision_of_the_prior\n    + number * precision_of_the_likelihood"
    right = "(\n        number\n        * torch.matmul(observation, precision_of_the_likelihood)\n    )"
    source = f"{HEAD}loc = torch.matmul(\n    torch.inverse({left}),\n    {right},\n)\n"
    whole = source.removeprefix(f"{HEAD}loc = ").rstrip()
    change = proposal(source, whole, "torch.linalg.solve($a, $b)", a=left, b=right)
    assert rewritten(source, change) == (
        f"{HEAD}loc = torch.linalg.solve(\n"
        "    precision_of_the_prior + number * precision_of_the_likelihood,\n"
        "    number * torch.matmul(observation, precision_of_the_likelihood),\n)\n"
    )


@pytest.mark.parametrize("long", [True, False])
def test_a_sum_of_several_lines_that_gets_a_name_stands_in_brackets_of_its_own_where_it_does_not_fit(
    long: bool,
) -> None:
    one, other = [
        f"a{'_of_the_first_of_two_neural_networks' * long}.sum()",
        f"b{'_of_the_second_of_two_neural_networks' * long}.sum()",
    ]
    value = f"{one}\n            + {other}"
    source = f"{HEAD}def f(a, b):\n    y = torch.log(\n        (\n            {value}\n        )\n    )\n"
    change = proposal(source, value, "$s.clamp_min(torch.finfo($s.dtype).tiny)", s=value)
    given = f"(\n        {one}\n        + {other}\n    )" if long else f"{one} + {other}"
    assert rewritten(source, change) == (
        f"{HEAD}def f(a, b):\n    total = {given}\n"
        "    y = torch.log(total.clamp_min(torch.finfo(total.dtype).tiny))\n"
    )


def test_a_value_behind_a_key_is_spread_as_one_without() -> None:
    lines = '    return {"the_first": shares.log().sum() / mask.sum(), "output": shares}\n'
    source = f"{HEAD}def f(shares, mask):\n{lines}"
    change = proposal(source, "shares", "$s.clamp_min(torch.finfo($s.dtype).tiny)", occurrence=1, s="shares")
    assert rewritten(source, change).endswith(
        '    return {\n        "the_first": shares.clamp_min(torch.finfo(shares.dtype).tiny).log().sum()\n'
        '        / mask.sum(),\n        "output": shares,\n    }\n'
    )


def test_a_line_with_a_comment_is_not_spread() -> None:
    source = HEAD + "y = f(\n    first_of_the_factors * second_of_the_factors / x.sum()  # mean\n)\n"
    change = proposal(source, "x.sum()", "$s.clamp_min(torch.finfo(x.dtype).eps)", s="x.sum()")
    assert "  # mean\n" in rewritten(source, change)
