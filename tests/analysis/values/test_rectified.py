"""relu selects the gradient 0 where it has made a 0, and no infinite one passes: the analysis says what autograd does."""

import pytest
import torch
import torch.nn.functional as F

from tests.analysis.support import open_

MODULE = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        h = self.linear(x)
        r = F.relu(h)
        return {root}
"""
CUT = [
    "torch.sqrt(r)",
    "torch.sqrt(r.sum(1))",
    "torch.sqrt((r ** 2).sum(1))",
    "torch.sqrt((2 * r).mean(1) / 3)",
    "(r * r).sum(1) ** 0.5",
    "torch.sqrt(F.relu6(h).sum(1).unsqueeze(1))",
    "torch.sqrt(F.max_pool2d(r[None], 2))",
    "torch.sqrt(torch.cat([r, F.relu(2 * h)], 1).sum(1))",
    "torch.sqrt(r[:, 0] + r[:, 1])",
]
PASSED = [
    "torch.sqrt(h.clamp(min=0).sum(1))",
    "torch.sqrt((self.weight * r ** 2).sum(1))",
    "torch.sqrt((r * (h > 1.5)).sum(1))",
    "torch.sqrt((F.leaky_relu(h) ** 2).sum(1))",
    "torch.sqrt(((r - F.relu(h.flip(1))) ** 2).sum(1))",
    "torch.sqrt(torch.var(r, dim=1))",
]


def _reaches(root: str) -> bool:
    """Whether a gradient that is not finite reaches what stands before the rectifier, or a weight beside it."""
    weight = torch.tensor([1.0, 1.0, 1.0, 1.0], requires_grad=True)
    h = torch.tensor([[-1.0] * 4, [2.0, 1.0, 3.0, 1.0], [0.0] * 4, [1.0] * 4], requires_grad=True)
    layer = type("", (), {"weight": weight})
    eval(root, {"torch": torch, "F": F, "h": h, "r": F.relu(h), "self": layer}).sum().backward()
    gradients = [weight.grad, h.grad]
    return not all(g.isfinite().all() for g in gradients if g is not None)


@pytest.mark.parametrize("root", CUT)
def test_no_infinite_gradient_passes_a_zero_that_relu_alone_has_made(root: str) -> None:
    assert not _reaches(root)
    code = MODULE.format(root=root)
    assert open_(code) == []


@pytest.mark.parametrize("root", PASSED)
def test_a_zero_that_something_else_makes_or_feels_stays_told(root: str) -> None:
    assert _reaches(root)
    code = MODULE.format(root=root)
    assert open_(code)


def test_what_fails_before_any_gradient_is_told_behind_a_relu_too() -> None:
    assert open_("def f(x):\n    return torch.log(F.relu(x))\n") == [(2, "SL101")]
