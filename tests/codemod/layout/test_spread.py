"""A line within brackets that gets too long is spread, one part a line."""

from __future__ import annotations

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


def test_a_line_with_a_comment_is_not_spread() -> None:
    source = HEAD + "y = f(\n    first_of_the_factors * second_of_the_factors / x.sum()  # mean\n)\n"
    change = proposal(source, "x.sum()", "$s.clamp_min(torch.finfo(x.dtype).eps)", s="x.sum()")
    assert "  # mean\n" in rewritten(source, change)
