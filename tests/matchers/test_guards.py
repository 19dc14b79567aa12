import pytest

from tests.matchers.support import findings


@pytest.mark.parametrize(
    "line",
    [
        "return a / x.norm() + 1e-8",
        "return torch.rsqrt(x.relu()) + 1e-8",
        "return a / (x + torch.sign(x) * 1e-6)",
    ],
)
def test_a_constant_that_guards_nothing(line: str) -> None:
    assert findings("SL409", f"def f(a: torch.Tensor, x: torch.Tensor):\n    {line}\n") == [line]


@pytest.mark.parametrize(
    "line",
    [
        "return a / (x.norm() + 1e-8)",
        "return torch.log(a / x.norm() + 1e-8)",
        "return torch.log((a + 1e-6) / (x + 1e-6) + 1e-6)",
        "return 1 / torch.kernels.sqrt(a / x + 1e-6)",
        "return a / x.norm() + 0.5",
        "return (a - 1e-6) * 3 / x.norm() + 1e-6",
    ],
)
def test_a_constant_in_its_place(line: str) -> None:
    assert findings("SL409", f"def f(a: torch.Tensor, x: torch.Tensor):\n    {line}\n") == []
