import pytest

from tests.codemod.support import proposal, rewritten

LOSS = "-torch.nn.functional.binary_cross_entropy($h, $y, reduction='none')"
HAND = "y * torch.log(h) + (1 - y) * torch.log(1 - h)"
HEAD = "import torch\nimport torch.nn.functional as F\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"-({HAND}).mean()", "F.binary_cross_entropy(h, y)"),
        (f"-torch.mean({HAND})", "F.binary_cross_entropy(h, y)"),
        (f"-({HAND}).sum()", 'F.binary_cross_entropy(h, y, reduction="sum")'),
        (f"-({HAND}).sum(dim=1)", 'F.binary_cross_entropy(h, y, reduction="none").sum(dim=1)'),
        (f"-torch.sum({HAND}, 1)", 'F.binary_cross_entropy(h, y, reduction="none").sum(1)'),
        (f"-({HAND}).sum(-1).mean()", 'F.binary_cross_entropy(h, y, reduction="none").sum(-1).mean()'),
        (
            f"-torch.mean(({HAND}).sum(1), dim=0)",
            'F.binary_cross_entropy(h, y, reduction="none").sum(1).mean(dim=0)',
        ),
        (f"-({HAND})", 'F.binary_cross_entropy(h, y, reduction="none")'),
        (f"({HAND}).mean()", '(-F.binary_cross_entropy(h, y, reduction="none")).mean()'),
        (f"1 - ({HAND})", '1 - (-F.binary_cross_entropy(h, y, reduction="none"))'),
    ],
)
def test_a_minus_before_and_one_in_the_template_both_go(before: str, after: str) -> None:
    source = f"{HEAD}loss = {before}\n"
    assert rewritten(source, proposal(source, HAND, LOSS, y="y", h="h")) == f"{HEAD}loss = {after}\n"


def test_other_operations_between_keep_their_signs() -> None:
    source = f"{HEAD}loss = -({HAND}).max()\n"
    assert rewritten(source, proposal(source, HAND, LOSS, y="y", h="h")).endswith(
        'loss = -(-F.binary_cross_entropy(h, y, reduction="none")).max()\n'
    )


@pytest.mark.parametrize(
    ("operand", "after"),
    [
        ("2 * d", "-2 * d"),
        ("2 * d / t", "-2 * d / t"),
        ("-d", "d"),
        ("d * 2", "-(d * 2)"),
        ("2 + d", "-(2 + d)"),
    ],
)
def test_a_minus_before_a_product_goes_to_the_number_that_it_begins_with(operand: str, after: str) -> None:
    source = f"{HEAD}y = torch.neg({operand})\n"
    change = proposal(source, f"torch.neg({operand})", "torch.sigmoid(-$x)", x=operand)
    assert rewritten(source, change) == f"{HEAD}y = torch.sigmoid({after})\n"
