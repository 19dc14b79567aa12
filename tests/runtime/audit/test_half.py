"""Training in half precision, and what its gradients lose."""

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.audit import Audit, Status  # noqa: E402
from stablelint.runtime.audit.outcome import Outcome  # noqa: E402


def judged(dtype: torch.dtype, size: float) -> Outcome:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Audit() as found:
        for _ in range(3):
            optimizer.zero_grad()
            (model(torch.randn(8, 4, dtype=dtype)) * size).mean().backward()
            optimizer.step()
    return next(one.outcome for one in found.results if one.check.name == "half-gradients")


def test_gradients_that_float16_loses_are_named() -> None:
    lost = judged(torch.float16, 1e-6)
    assert lost.status is Status.WARNED
    assert {"weight", "bias"} <= {name.rpartition(".")[2] for name in lost.subjects}


@pytest.mark.parametrize(
    ("dtype", "size", "status"),
    [(torch.float16, 1.0, Status.PASSED), (torch.float32, 1e-6, Status.UNSEEN)],
)
def test_gradients_that_a_format_keeps_are_not(dtype: torch.dtype, size: float, status: Status) -> None:
    assert judged(dtype, size).status is status
