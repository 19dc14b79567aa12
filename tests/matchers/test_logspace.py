import pytest

from tests.analysis.support import findings as reported
from tests.matchers.support import findings

PRODUCT = """
def log_product(x: torch.Tensor, y: torch.Tensor):
    top = {top}
    scaled = (x - top).exp()
    return {sum}.log() + top
"""


@pytest.mark.parametrize(
    "total", ["(scaled @ y)", "torch.einsum('ij,jk->ik', scaled, y)", "torch.mm(scaled, y)"]
)
@pytest.mark.parametrize("top", ["x.max(-1, keepdim=True)[0]", "x.amax(-1, keepdim=True).detach()"])
def test_a_product_in_log_space_whose_shift_can_be_infinite(top: str, total: str) -> None:
    assert findings("SL223", PRODUCT.format(top=top, sum=total)) == ["scaled = (x - top).exp()"]


@pytest.mark.parametrize(
    "top",
    [
        "x.amax(-1, keepdim=True).clamp(min=torch.finfo(x.dtype).min)",
        "torch.nan_to_num(x.amax(-1, keepdim=True))",
        "y.amax(-1, keepdim=True)",
    ],
)
def test_a_shift_that_was_made_finite_or_is_another(top: str) -> None:
    assert findings("SL223", PRODUCT.format(top=top, sum="(scaled @ y)")) == []


def test_a_maximum_taken_over_one_dimension_after_the_other() -> None:
    code = """
def log_contract(equation: str, operands):
    shifted = []
    for operand, dims in operands:
        top = operand
        for dim in dims:
            top = top.max(dim, keepdim=True)[0]
        shifted.append((operand - top).exp())
    return torch.einsum(equation, shifted).log()
"""
    assert findings("SL223", code) == ["shifted.append((operand - top).exp())"]


def test_a_plain_sum_holds_its_largest_element() -> None:
    code = PRODUCT.format(top="x.amax(-1, keepdim=True)", sum="scaled.sum(-1, keepdim=True)")
    assert [d.code for d in reported(code)] == ["SL223"]


MASKED = """
def weights(x: torch.Tensor, keep_mask: torch.BoolTensor):
    {before}
    kept = torch.exp(x - x.amax(-1, keepdim=True)) * keep_mask
    return kept / {total}
"""


@pytest.mark.parametrize(
    ("before", "total"),
    [
        ("x = x.masked_fill(keep_mask == 0, -1e4)", "(kept.sum(-1, keepdim=True) + 1e-9)"),
        ("x = x + (1 - keep_mask) * -1e4", "(kept.sum(-1, keepdim=True) + 1e-9)"),
        ("pass", "3.0"),
    ],
)
def test_exponents_that_were_masked_first_or_are_not_summed(before: str, total: str) -> None:
    assert findings("SL224", MASKED.format(before=before, total=total)) == []


def test_a_division_by_the_sum_itself_is_reported_as_such() -> None:
    code = MASKED.format(before="pass", total="kept.sum(-1, keepdim=True)")
    assert [d.code for d in reported(code)] == ["SL102"]
