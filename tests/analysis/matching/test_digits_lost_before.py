"""Digits that an operand has lost already, or never had: no form of the difference from 1 brings them back."""

import pytest
import torch

from tests.analysis.support import open_

HEAD = "def f(x: torch.Tensor, y: torch.Tensor, a: float = 0.05):\n    p = torch.sigmoid(x)\n    u = torch.rand(3)\n"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("1 - torch.exp((p - y - 1) / (a + 1e-4))", False),
        ("1 - torch.exp(p - 1)", False),
        ("1 - torch.exp(-20 * (1 - p))", False),
        ("1 - torch.exp(0.01 * (p - 1))", True),
        ("1 - torch.exp((p - 1) / (1 + y.abs()))", True),
        ("1 - torch.exp((p - 1) * y)", True),
        ("1 - torch.exp(x - 1)", True),
        ("1 - torch.exp(p - y)", True),
        ("1 - torch.exp(p - 0.001)", True),
        ("1 - torch.exp(-y.abs())", True),
        ("torch.log(1 - u)", False),
        ("torch.log(1 - torch.rand_like(x))", False),
        ("torch.log(1 - 0.01 * u)", True),
        ("torch.log(1 - u**2)", True),
        ("torch.log(1 - p.clamp(1e-4, 1 - 1e-4))", False),
        ("torch.log(1 - p.clamp(1e-5, 1 - 1e-4))", True),
        ("torch.log(1 + p / 0)", True),
    ],
)
def test_what_has_lost_them_is_not_told(result: str, told: bool) -> None:
    found = {rule for _, rule in open_(f"{HEAD}    return {result}\n")}
    assert bool(found & {"SL208", "SL221"}) is told


def test_the_stable_form_gains_nothing_there() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(100_000) + 8, torch.rand(100_000)
    operand, exact = ((torch.sigmoid(v) - w - 1) / 0.05 for v, w in ((x, y), (x.double(), y.double())))
    truth = -torch.expm1(exact)
    plain, stable = (
        r.double().sub(truth).abs().mean() for r in (1 - torch.exp(operand), -torch.expm1(operand))
    )
    assert stable > 0.9 * plain
    drawn = torch.rand(100_000)
    assert torch.equal((1 - drawn).double(), 1 - drawn.double())


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ("torch.arange(n)", False),
        ("torch.stack(torch.meshgrid([torch.arange(n), torch.arange(n)]))", False),
        ("(torch.arange(1, n)[:, None] - 2 * torch.arange(n, device=x.device))", False),
        ("torch.arange(-0.5, n)", True),
        ("torch.arange(0, 1, n)", True),
        ("(torch.arange(n) / 8)", True),
    ],
)
def test_places_have_no_digits_to_lose(places: str, told: bool) -> None:
    found = open_(f"def f(x, n):\n    return torch.log(1 + {places}.abs())\n")
    assert ((2, "SL208") in found) is told
