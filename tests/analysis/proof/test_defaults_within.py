"""What a caller may override tells nothing of a result that is made with it, however deep it stands."""

import pytest

from tests.analysis.support import assumed, open_, proved

OVERRIDDEN = {
    "the order of a norm": ("2", "y = x / x.norm({}, -1, keepdim=True)", "torch.sqrt(1.1 - y @ y.T)"),
    "whether a norm keeps its dimension": (
        "True",
        "y = x / x.norm(dim=-1, keepdim={})",
        "torch.sqrt(1.1 - y @ y.T)",
    ),
    "the dimension of shares": ("1", "y = x.softmax({})", "1 / y.sum(1)"),
    "the dimension of the largest share": ("1", "y = x.softmax({})", "torch.log(y.amax(1))"),
    "the dimension of a maximum": ("1", "y = torch.exp(x - x.amax({}, keepdim=True))", "1 / y.sum(1)"),
    "what a maximum is compared with": (
        "-torch.inf",
        "y = x.amax(1, keepdim=True)\n    y = torch.where(y == {}, 0.0, y)",
        "torch.exp(x - y)",
    ),
}


@pytest.mark.parametrize(("default", "made", "result"), OVERRIDDEN.values(), ids=OVERRIDDEN)
def test_a_default_within_an_operand_proves_nothing(default: str, made: str, result: str) -> None:
    lines = ["@torch.no_grad()", "def f(x: torch.Tensor, setting={}):", f"    {made}", f"    return {result}"]
    code = "\n".join(lines)
    place = code.count("\n") + 1
    assert place in {line for line, _ in proved(code.format(default, default))}
    assert place in {line for line, _ in open_(code.format(default, "setting"))}


def test_shares_add_up_along_the_dimension_that_both_are_given() -> None:
    code = "def f(x: torch.Tensor, d=1):\n    y = x.softmax(d)\n    return 1 / y.sum(d)"
    assert (3, "SL102") in proved(code) + assumed(code)


@pytest.mark.parametrize(
    ("length", "is_unit"),
    [
        ("x.norm(dim=1).unsqueeze(1)", True),
        ("x.norm(dim=-1)[..., None]", True),
        ("x.norm(dim=-1, keepdim=True)", True),
        ("x.norm(dim=-1, keepdim=False)", False),
        ("x.norm(dim=-1).unsqueeze(0)", False),
    ],
)
def test_vectors_are_of_length_1_where_their_own_lengths_lie_along_them(length: str, is_unit: bool) -> None:
    code = f"@torch.no_grad()\ndef f(x: torch.Tensor):\n    y = x / {length}\n    return torch.sqrt(1.1 - y @ y.T)"
    assert ((4, "SL103") in proved(code)) is is_unit
