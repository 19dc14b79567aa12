"""Divisors that a text decides: arrays and tensors made of literals, and counts of the turns of a loop."""

import pytest

from tests.analysis.support import report


def statuses(code: str) -> set[str]:
    found = report(f"import numpy as np\nSTD = [0.2, 0.3]\n{code}")
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code == "SL102"}


@pytest.mark.parametrize(
    ("divisor", "status"),
    [
        ("torch.Tensor([1.0, 2.0])", "discharged"),
        ("torch.FloatTensor(STD)", "discharged"),
        ("torch.from_numpy(np.array([1.0, 2.0]))", "discharged"),
        ("torch.tensor(np.array(STD, dtype=np.float32))", "discharged"),
        ("torch.tensor([k + 1 for k in range(n)])", "discharged"),
        ("torch.tensor([k for k in range(n)])", "unguarded"),
        ("torch.Tensor([1.0, 0.0])", "unguarded"),
        ("torch.Tensor(n)", "unguarded"),
        ("torch.tensor([1e-60])", "unguarded"),
    ],
)
def test_what_is_made_of_literals_is_one_of_them(divisor: str, status: str) -> None:
    assert statuses(f"def f(x, n):\n    return x / {divisor}") == {status}


def test_an_array_that_is_written_into_is_written_into_through_its_tensor() -> None:
    code = (
        "def f(x):\n    a = np.array([1.0, 2.0])\n    y = torch.from_numpy(a)\n    a[0] = 0\n    return x / y"
    )
    assert "discharged" not in statuses(code)


@pytest.mark.parametrize(
    ("loop", "status"),
    [
        ("for batch in loader:\n        n += 1", "assumed"),
        ("for i, batch in enumerate(loader):\n        n += 1", "assumed"),
        ("for i in range(10):\n        n += 1", "discharged"),
        ("for i in range(x):\n        n += 1", "assumed"),
        ("for i in range(0):\n        n += 1", "unguarded"),
        ("for batch in loader:\n        if batch:\n            n += 1", "violated"),
        ("for batch in loader:\n        if batch:\n            break\n        n += 1", "violated"),
        ("while True:\n        n += 1\n        if n > x:\n            break", "discharged"),
        ("while True:\n        if n > x:\n            break\n        n += 1", "violated"),
        ("while n < x:\n        n += 1", "unguarded"),
    ],
)
def test_a_count_of_turns_is_positive_if_there_is_one(loop: str, status: str) -> None:
    assert statuses(f"def f(x, loader):\n    n = 0\n    {loop}\n    return x / n") == {status}
