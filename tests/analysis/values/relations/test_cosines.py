"""Products of unit vectors: in [-1, 1] where they are multiplied along themselves."""

import pytest

from tests.analysis.support import assumed, open_

UNITS = "a, b = F.normalize(x, dim=-1), F.normalize(y, dim=-1)"
SECOND = "a, b = F.normalize(x), F.normalize(y)"


def program(units: str, product: str) -> str:
    """The exponentials of a product of `a` and `b` over a temperature."""
    return (
        f"def f(x: torch.Tensor, y: torch.Tensor, i):\n    {units}\n    return torch.exp({product} / 0.07)\n"
    )


@pytest.mark.parametrize(
    ("units", "product"),
    [
        (UNITS, "a @ b.T"),
        (UNITS, "torch.mm(a, b.t())"),
        (UNITS, "torch.bmm(a, b.permute(0, 2, 1))"),
        (UNITS, "a @ b.transpose(-2, -1).detach()"),
        (UNITS, "torch.einsum('bnd,bmd->bnm', a, a)"),
        (SECOND, "a @ a.T"),
        ("a = b = x / x.norm(dim=-1, keepdim=True).clamp(min=1e-6)", "a @ b.mT"),
        ("a = torch.cat([F.normalize(x), F.normalize(y)], dim=0)", "a @ a.t()"),
    ],
)
def test_a_product_of_unit_vectors_is_bounded(units: str, product: str) -> None:
    assert open_(program(units, product)) == []
    assert assumed(program(units, product)) == []


@pytest.mark.parametrize(
    ("units", "product"),
    [
        (UNITS, "(a[i] * b[None]).sum(-1)"),
        (UNITS, "torch.einsum('bnd,bmd->bnm', a, b)"),
        (SECOND, "(a * b).sum(1)"),
        ("a, b = F.normalize(x), F.normalize(y, dim=0)", "torch.einsum('nc,ck->nk', a, b)"),
    ],
)
def test_a_vector_of_one_element_may_be_repeated_along_another(units: str, product: str) -> None:
    code = program(units, product)
    assert open_(code) == []
    assert assumed(code) == [(3, "SL201")]


@pytest.mark.parametrize("product", ["a @ b.T", "a @ b.mT", "(a * b).sum(-1)"])
def test_the_second_dimension_is_the_last_of_a_matrix(product: str) -> None:
    code = program(SECOND, product)
    assert open_(code) == []
    assert assumed(code) == [(3, "SL201")]


@pytest.mark.parametrize(
    ("units", "product"),
    [
        (UNITS, "a.T @ b"),  # along the rows
        (UNITS, "a @ y.T"),
        (UNITS, "torch.einsum('nc,nc->', a, b)"),  # over the rows as well
        (UNITS, "torch.einsum('nc,md->nm', a, b)"),
        (UNITS, "(a * b).sum(0)"),
        (UNITS, "(a[:, :, None] * b).sum(-1)"),
        (UNITS, "(a.unsqueeze(-1) * b).sum(-1)"),
        ("a = b = x / y.norm(dim=-1, keepdim=True).clamp(min=1e-6)", "a @ b.T"),
        ("a = b = x / (x.norm(dim=-1, keepdim=True) - 1e-6)", "a @ b.T"),
        ("a = b = F.normalize(x, p=float('inf'), dim=-1)", "a @ b.T"),
        ("a = torch.cat([F.normalize(x), F.normalize(y)], dim=1)", "a @ a.t()"),
    ],
)
def test_another_product_is_not(units: str, product: str) -> None:
    assert "SL201" in {code for _, code in open_(program(units, product))}
