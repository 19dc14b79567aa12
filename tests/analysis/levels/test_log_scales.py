"""The same value under an exponential and bare in one sum is the logarithm of a scale, whatever it is called."""

from __future__ import annotations

import pytest

from tests.analysis.support import likely

TOLD = [
    "def f(loss, s, alpha=1.0):\n    return torch.exp(-s) * loss + alpha * s\n",
    "def f(loss, sigma, alpha=1.0):\n    return torch.exp(-sigma) * loss + alpha * sigma\n",
    "def f(m, u):\n    return -0.5 * torch.mean(1 + u - m ** 2 - torch.exp(u))\n",
    "def f(criterion, x, preds):\n    w = torch.exp(-preds['u'])\n    return criterion(x, w) + (2 * preds['u']).mean()\n",
    "def f(rate, y):\n    return torch.exp(rate) - y * rate\n",
]
LEFT = [
    # kept by an object, and trained slowly
    """
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.Parameter(torch.zeros(3))

        def forward(self, loss):
            return torch.exp(-self.s) * loss + self.s
    """,
    "def f(loss, s):\n    s = s.clamp(-7, 7)\n    return torch.exp(-s) * loss + s\n",  # bounded
    "def f(a, b):\n    r = a - b\n    return (torch.exp(r) - r).mean()\n",  # the ratio of two probabilities
    "def f(x, s, t):\n    return x * torch.exp(s) + t, s.sum()\n",  # in two results
    "def f(x, s):\n    return x - torch.log(torch.exp(s).sum()) + s\n",  # no factor of a term
    "@torch.no_grad()\ndef f(loss, s):\n    return torch.exp(-s) * loss + s\n",
    "def f(x, sigma):\n    return torch.exp(-sigma) * x\n",
]


@pytest.mark.parametrize("code", TOLD)
def test_a_logarithm_is_told_by_its_company(code: str) -> None:
    assert [rule for _, rule in likely(code)] == ["SL201"]


@pytest.mark.parametrize("code", LEFT)
def test_what_is_bounded_kept_or_of_another_form_is_not(code: str) -> None:
    assert "SL201" not in {rule for _, rule in likely(code)}
