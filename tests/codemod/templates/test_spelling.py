"""A rewrite calls what it needs in the way that the file already does."""

import pytest

from tests.codemod.support import HEAD, body, proposal, rewritten


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = torch.log(F.softmax(z, 1))\n", "y = F.log_softmax(z, dim=1)\n"),
        ("y = torch.log(torch.softmax(z, 1))\n", "y = torch.log_softmax(z, dim=1)\n"),
        (
            "y = torch.log(F.softmax(z, 1))\nz = torch.softmax(y, 1)\n",
            "y = torch.log_softmax(z, dim=1)\nz = torch.softmax(y, 1)\n",
        ),
        (
            "y = torch.log(F.softmax(z, 1))\nz = gumbel.softmax(y, 1)\n",
            "y = F.log_softmax(z, dim=1)\nz = gumbel.softmax(y, 1)\n",
        ),
    ],
)
def test_log_softmax_is_taken_from_where_the_file_takes_softmax(before: str, after: str) -> None:
    source = HEAD + before
    call = before[4 : before.index("\n")]
    change = proposal(source, call, "torch.log_softmax($z, dim=$d)", z="z", d="1")
    assert body(rewritten(source, change)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p * p.log()", "p * p.clamp_min(1e-30).log()"),
        ("p * torch.log(p)", "p * torch.log(p.clamp_min(1e-30))"),
        ("p.exp() * torch.log(p)", "p * torch.log(p.clamp_min(1e-30))"),
    ],
)
def test_what_was_a_method_within_an_expression_stays_one(before: str, after: str) -> None:
    source = f"{HEAD}y = {before}\n"
    change = proposal(source, before, "$p * torch.log($p.clamp_min(1e-30))", p="p")
    assert body(rewritten(source, change)) == f"y = {after}\n"
