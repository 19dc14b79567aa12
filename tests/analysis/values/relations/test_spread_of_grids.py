"""Evenly spaced numbers, of which there are two or more, are not all alike."""

import pytest
import torch

from tests.analysis.support import IMPORTS, open_, proved

HEAD = "def f(n: int):\n    x = {}\n    return 1 / x.{}\n"


@pytest.mark.parametrize("spread", ["std()", "var()", "std(0)", "std(unbiased=False)", "var(correction=0)"])
@pytest.mark.parametrize(
    "grid",
    [
        "torch.linspace(0, 2, 100)",
        "torch.linspace(3, -1, 2)",
        "torch.arange(5).float()",
        "torch.arange(2, dtype=torch.float32).to('cpu')",
        "torch.tensor(np.linspace(0, 2 * np.pi, 1000), dtype=torch.float)",
    ],
)
def test_their_spread_is_not_0(grid: str, spread: str) -> None:
    program = HEAD.format(grid, spread)
    assert "SL102" in [rule for _, rule in proved(program, f"{IMPORTS}import numpy as np\n")]
    x = eval(grid, {"torch": torch, "np": pytest.importorskip("numpy")})
    extent = float(x.max() - x.min())
    measured = float(eval(f"x.{spread}", {"x": x}))
    assert measured > (extent / 5 if "std" in spread else (extent / 5) ** 2)


@pytest.mark.parametrize(
    ("grid", "spread"),
    [
        ("torch.arange(n).float()", "std()"),
        ("torch.linspace(0, n, 5)", "std()"),
        ("torch.linspace(0, 1, n)", "std()"),
        ("torch.linspace(1, 1, 5)", "std()"),
        ("torch.linspace(0, 1, 1)", "std()"),
        ("torch.arange(1).float()", "std()"),
        ("torch.linspace(1e8, 1e8 + 1, 5)", "std()"),
        ("torch.linspace(0, 1e-12, 5)", "var()"),
        ("torch.linspace(0, 0.9, 5, dtype=torch.int64).float()", "std()"),
        ("torch.linspace(0, 0.9, 5).long().float()", "std()"),
        ("torch.linspace(0, 1, 5)[1]", "std()"),
        ("torch.linspace(0, 1, 5).view(5, 1)", "std(1)"),
        ("torch.linspace(0, 1, 5)", "std(correction=5)"),
        ("torch.linspace(0, 1, 5) * n", "std()"),
    ],
)
def test_what_may_be_one_number_is_told(grid: str, spread: str) -> None:
    assert "SL102" in [rule for _, rule in open_(HEAD.format(grid, spread))]
