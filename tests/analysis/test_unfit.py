"""Where no bound is offered, since it would change a healthy result; and why."""

import pytest

from tests.analysis.support import findings


def withheld(code: str) -> dict[str, str]:
    """Why there is no fix, by rule, of the findings that have none."""
    return {one.code: one.fix_withheld or "" for one in findings(code) if not one.proposals}


@pytest.mark.parametrize(
    "share",
    [
        "e / e.sum(1)[None]",
        "e * (1 / e.sum(-1, keepdim=True))",
        "(e * mask) / (e * mask).sum(-1, keepdim=True)",
        "(e.unsqueeze(-1) * mask).sum(1) / e.sum(1)",
    ],
)
def test_the_largest_of_several_shares_are_not_made_alike(share: str) -> None:
    code = f"def f(x: torch.Tensor, mask: torch.Tensor):\n    e = torch.exp(x)\n    return {share}\n"
    assert withheld(code)["SL201"].startswith("a bound makes the largest of these shares alike")


@pytest.mark.parametrize(
    ("use", "is_meant"),
    [
        ("torch.softmax(z, 0)", True),
        ("torch.exp(z + x)", True),
        ("(z + x).argmax()", True),
        ("20 * z < -60", True),
        ("torch.logsumexp(z + x, 0)", True),
        ("torch.exp(z.clamp(max=5))", True),
        ("torch.softmax(torch.cat([z, x]), 0)", True),
        ("(torch.softmax(torch.cat([z, x]), 0), [z])", False),
        ("torch.cat([z, x])", False),
        ("-20 * z < -60", False),
        ("torch.exp(-z)", False),
        ("torch.exp(x - z)", False),
        ("torch.softmax(z, 0) * z", False),
        ("z", False),
    ],
)
def test_an_infinity_that_is_taken_for_what_it_is_gets_no_bound(use: str, is_meant: bool) -> None:
    code = f"def f(p: torch.Tensor, x: torch.Tensor):\n    z = torch.log(p)\n    return {use}\n"
    assert ("-inf" in withheld(code).get("SL101", "")) is is_meant
