"""Forms that show how an operand goes bad, and what has the form but not the flaw."""

import pytest

from tests.analysis.support import findings


def said_of(code: str) -> list[str]:
    """The messages of the findings in a function of tensors."""
    return [
        one.message for one in findings(f"def f(a: torch.Tensor, b: torch.Tensor, n: int):\n    {code}\n")
    ]


@pytest.mark.parametrize(
    ("product", "is_distance"),
    [
        ("d - 2 * a @ b.t()", True),
        ("torch.addmm(d, a, b.t(), beta=1, alpha=-2)", True),
        ("d.addmm(1, -2, a, b.t())", True),
        ("torch.addmm(d, a, b.t())", False),
        ("torch.addmm(d, a, b.t(), alpha=2)", False),
    ],
)
def test_a_squared_distance_is_seen_however_its_product_is_added(product: str, is_distance: bool) -> None:
    told = said_of(f"d = a.pow(2).sum(1, keepdim=True) + b.pow(2).sum(1)\n    return torch.sqrt({product})")
    assert any("a squared distance that was multiplied out" in text for text in told) is is_distance


@pytest.mark.parametrize(
    ("vector", "is_pooled"),
    [
        ("a.mean(1), a.std(1)", True),
        ("a.mean((2, 3)), a.std((2, 3))", False),  # of a field, which has more than one point
        ("drawn.mean(1), drawn.std(1)", False),
    ],
)
def test_a_sequence_that_is_pooled_may_have_one_position(vector: str, is_pooled: bool) -> None:
    told = said_of(f"drawn = torch.randn(8, n)\n    return torch.cat([{vector}], -1)")
    assert any("pools a sequence" in text for text in told) is is_pooled


@pytest.mark.parametrize(
    ("factor", "is_guarded_by_half"),
    [("a.sign()", True), ("torch.sign(torch.sign(a) + 0.5)", False)],
)
def test_a_constant_in_one_factor_leaves_the_other(factor: str, is_guarded_by_half: bool) -> None:
    told = said_of(f"return 1 / ({factor} * (b.abs() + 1e-8))")
    assert any("guards one factor" in text for text in told) is is_guarded_by_half
