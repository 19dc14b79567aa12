import pytest

from tests.analysis.support import unguarded
from tests.matchers.support import findings


def _function(line: str, before: str = "pass") -> str:
    return f"""
def factor(precision, prior, gain, x: torch.Tensor, other: torch.Tensor, *, eps=1e-6):
    {before}
    return {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "torch.linalg.cholesky(precision)",
        "torch.linalg.cholesky(precision[..., 1:, 1:])",
        "torch.linalg.inv(precision)",
        "torch.linalg.cholesky(other - x @ x.mT)",
        "torch.linalg.cholesky(0.5 * ((other - x @ x.mT) + (other - x @ x.mT).mT))",
        "torch.linalg.cholesky(x.mT @ x)",
        "torch.linalg.cholesky(x.mT @ x / (len(x) - 1))",
        "torch.linalg.cholesky(1 / x.shape[0] * (x.mT @ x))",
        "torch.slogdet(x @ other)[1]",
        "torch.logdet(x - other)",
    ],
)
def test_a_matrix_that_is_singular_for_ordinary_data(line: str) -> None:
    assert findings("SL111", _function(f"{line}")) == [f"return {line}"]


@pytest.mark.parametrize(
    "line",
    [
        "torch.linalg.cholesky(precision + eps * torch.eye(3))",
        "torch.linalg.cholesky(x.mT @ x + eps * torch.eye(3))",
        "torch.linalg.cholesky(torch.eye(3) - x @ x.mT)",
        "torch.linalg.cholesky_ex(precision)",
        "torch.slogdet(other)[1]",
        "torch.linalg.solve(precision + eps * torch.eye(3), x)",
        "torch.distributions.MultivariateNormal(prior, scale_tril=other)",
        "(prior(x) - gain(x) @ gain(x).mT).cholesky(upper=False)",
    ],
)
def test_a_matrix_that_is_lifted(line: str) -> None:
    assert findings("SL111", _function(line)) == []


@pytest.mark.parametrize(
    "line",
    [
        "torch.linalg.cholesky(prior)",
        "torch.linalg.cholesky(precision)",
        "torch.linalg.cholesky(x.mT @ other)",
        "torch.linalg.inv(x @ x.mT)",
        "torch.linalg.solve(x @ x.mT, other)",
        "torch.distributions.MultivariateNormal(prior, precision_matrix=other)",
    ],
)
def test_a_matrix_of_which_its_name_alone_is_known(line: str) -> None:
    assert unguarded(_function(line)) == [(3, "SL111")]


def test_a_precision_that_is_the_inverse_of_a_covariance() -> None:
    code = _function("torch.linalg.cholesky(precision)", "precision = torch.linalg.inv(prior)")
    assert findings("SL111", code) == ["precision = torch.linalg.inv(prior)"]


WRAPPED = """
from package.tensors import cholesky

class Gaussian:
    def __init__(self, information, precision):
        self.information = information
        self.precision = precision

    def sample(self, other):
        precision = {given}
        return cholesky(precision)
"""


def test_a_function_that_is_called_as_what_it_wraps() -> None:
    assert findings("SL111", WRAPPED.format(given="other.precision")) == ["return cholesky(precision)"]
    assert findings("SL111", WRAPPED.format(given="other.precision + 1e-6")) == []
    assert findings("SL111", WRAPPED.format(given="other.covariance")) == []


def test_a_factorisation_that_is_tried() -> None:
    code = """
def factor(precision, x: torch.Tensor, other: torch.Tensor):
    try:
        return torch.linalg.cholesky(other - x @ x.mT)
    except RuntimeError:
        return torch.linalg.cholesky(other)
"""
    assert findings("SL111", code) == []
