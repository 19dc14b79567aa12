"""The parts of a matrix decomposition, however they are reached."""

import pytest

from tests.analysis.support import body, discharged_by, function, report


def spectral(code: str) -> list[int]:
    """Lines at which the gradient of vectors is reported, at whatever level."""
    found = report(code).diagnostics
    return [d.span.start.row - 3 for d in found if d.code == "SL109"]


@pytest.mark.parametrize(
    "vectors",
    [
        "torch.linalg.eigh(x).eigenvectors",
        "torch.linalg.eigh(x)[1]",
        "torch.linalg.eigh(x)[-1]",
        "torch.linalg.svd(x).U",
        "torch.linalg.svd(x).Vh",
        "torch.svd(x)[2]",
    ],
)
def test_vectors_are_recognised_by_field_and_by_place(vectors: str) -> None:
    assert spectral(f"def f(x: torch.Tensor):\n    return {vectors}\n") == [2]


def test_unpacked_vectors_are_reported_at_the_decomposition_once() -> None:
    program = """
    def f(x: torch.Tensor):
        u, s, v = torch.svd(x)
        return u @ v.mT
    """
    assert spectral(body(program)) == [2]


@pytest.mark.parametrize(
    "values",
    [
        "    return torch.linalg.eigh(x).eigenvalues\n",
        "    return torch.linalg.eigh(x)[0]\n",
        "    _, s, _ = torch.linalg.svd(x)\n    return s\n",
        "    values, _ = torch.linalg.eigh(x)\n    return values\n",
    ],
)
def test_values_alone_are_harmless(values: str) -> None:
    assert spectral(f"def f(x: torch.Tensor):\n{values}") == []


def test_vectors_without_a_gradient_are_harmless() -> None:
    program = """
    def f(x: torch.Tensor):
        with torch.no_grad():
            return torch.linalg.eigh(x)[1]
    """
    assert spectral(body(program)) == []


FACTOR = "x = torch.linalg.cholesky(x)"


@pytest.mark.parametrize(
    "taken", ["torch.diag(x)", "x.diag()", "x.mT.diag()", "x.diagonal(dim1=-2, dim2=-1)"]
)
def test_the_diagonal_of_a_cholesky_factor_is_positive(taken: str) -> None:
    assert "SL101" in discharged_by(function(f"torch.log({taken})", before=FACTOR))


@pytest.mark.parametrize(
    "taken", ["torch.diag(x, -1)", "torch.diag(x, diagonal=-1)", "x.diag(1)", "x[0].diag()", "x.diagonal(-1)"]
)
def test_other_diagonals_need_not_be(taken: str) -> None:
    assert "SL101" not in discharged_by(function(f"torch.log({taken})", before=FACTOR))
