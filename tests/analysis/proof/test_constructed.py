"""What is not 0, and inside of its domain, by the way in which it was made; beside each its nearest kin that may be."""

import pytest

from stablelint.diagnostic import Status
from tests.analysis.support import IMPORTS, report

DOMAINS = frozenset({"SL101", "SL102", "SL104"})


def statuses(code: str) -> set[Status]:
    """How the obligations of logarithms, divisors and what else has an edge stand."""
    found = report(code, imports=f"import math\nimport numpy as np\n{IMPORTS}")
    return {d.status for d in (*found.diagnostics, *found.discharged) if d.code in DOMAINS}


PROVED = {
    "how often an element is there": (
        "def f(x, i):\n    _, n = torch.unique(i, return_counts=True)\n    return x / n + torch.log(n.float())"
    ),
    "how often, with the places": (
        "def f(x, i):\n    u, where, n = i.unique(return_inverse=True, return_counts=True)\n    return x / n"
    ),
    "numbers between two that are known": "def f(x):\n    return x / torch.arange(1, 9, 2).sum()",
    "a kernel around its centre": (
        "def f(n: int):\n    t = torch.arange(n) - n // 2\n    g = torch.exp(-t.pow(2) / 3)\n    return g / g.sum()"
    ),
    "a kernel from one side to the other": (
        "def f(r: int):\n    t = torch.arange(-r, r + 1)\n    g = torch.exp(-0.5 * t**2)\n    return g / g.sum()"
    ),
    "a kernel over several lengths to each side": (
        "def f(x, s):\n    t = torch.arange(-3 * s, 3 * s + 1)\n    g = torch.exp(-x**2 * (t / 4) ** 2)\n"
        "    return g / g.sum()"
    ),
    "a kernel that is listed tap by tap": (
        "def f(n: int):\n    g = torch.tensor([math.exp(-((i - n // 2) ** 2) / 3) for i in range(n)])\n"
        "    return g / g.sum()"
    ),
    "a kernel of an odd number of steps": (
        "def f(r: int):\n    t = torch.linspace(-r, r, 2 * r + 1)\n    g = torch.exp(-0.5 * t**2)\n    return g / g.sum()"
    ),
    "a kernel around half a step": (
        "def f(n: int):\n    t = torch.arange(n) - (n - 1) / 2\n    g = torch.exp(-t.pow(2) / 3)\n    return g / g.sum()"
    ),
    "a kernel around the mean of its steps": (
        "def f(n: int):\n    t = torch.arange(n).float()\n    t = t - t.mean()\n    g = torch.exp(-t.pow(2) / 3)\n"
        "    return g / g.sum()"
    ),
    "all shares of a softmax": "def f(x):\n    w = x.softmax(-1)\n    return w / w.sum(-1, keepdim=True)",
    "a step more where it is below one": (
        "def f(x, y):\n    n = y.norm(dim=-1)\n    return x / (n + (n < 1e-4) * 1e-3)"
    ),
    "1 where it is 0": "def f(x, y):\n    y = y + (y == 0).float()\n    return x / y",
    "a column of eigenvectors": (
        "def f(x, a):\n    v = torch.linalg.eigh(a.detach())[1]\n    return x / v[:, 0].norm()"
    ),
    "a row of eigenvectors": (
        "def f(x, a):\n    v = torch.linalg.eigh(a.detach())[1]\n    return x / v[0].norm()"
    ),
}
NOT_PROVED = {
    "the elements themselves": (
        "def f(x, i):\n    u, n = torch.unique(i, return_counts=True)\n    return x / u"
    ),
    "their places": ("def f(x, i):\n    u, where = i.unique(return_inverse=True)\n    return x / where"),
    "a kernel that may stand beside its centre": (
        "def f(n: int, m: int):\n    t = torch.arange(n) - m // 2\n    g = torch.exp(-t.pow(2) / 3)\n"
        "    return g / g.sum()"
    ),
    "a list that leaves the tap at the centre out": (
        "def f(n: int, m: int):\n    g = torch.tensor([math.exp(-((i - n // 2) ** 2) / 3) for i in range(n) if i < m])\n"
        "    return g / g.sum()"
    ),
    "a list of taps around the centre of others": (
        "def f(n: int, m: int):\n    g = torch.tensor([math.exp(-((i - m // 2) ** 2) / 3) for i in range(n)])\n"
        "    return g / g.sum()"
    ),
    "a list of taps that count from 1": (
        "def f(n: int, m: int):\n    g = torch.tensor([math.exp(-((i - n // 2) ** 2) / 3) for i in range(1, n)])\n"
        "    return g / g.sum()"
    ),
    "a list beside the tap of a loop around it": (
        "def f(n: int, m: int):\n    for i in range(n):\n"
        "        g = torch.tensor([math.exp(-((i - n // 2) ** 2) / 3) for _ in range(m)])\n        yield g / g.sum()"
    ),
    "a kernel that starts behind its centre": (
        "def f(r: int):\n    t = torch.arange(r, r + 1)\n    g = torch.exp(-0.5 * t**2)\n    return g / g.sum()"
    ),
    "a kernel that is largest far out": (
        "def f(n: int):\n    t = torch.arange(n) - n // 2\n    g = torch.exp(t.pow(2) / 3)\n    return 1 / (g - 1).sum()"
    ),
    "a kernel of steps that may pass by its centre": (
        "def f(r: int, n: int):\n    t = torch.linspace(-r, r, n)\n    g = torch.exp(-0.5 * t**2)\n    return g / g.sum()"
    ),
    "a kernel too narrow for half a step": (
        "def f(n: int):\n    t = torch.arange(n) - (n - 1) / 2\n    g = torch.exp(-t.pow(2) * 999)\n    return g / g.sum()"
    ),
    "the shares of a softmax over other rows": "def f(x):\n    w = x.softmax(-1)\n    return w / w.sum(0)",
    "a step more where it is above one": (
        "def f(x, y):\n    n = y.norm(dim=-1)\n    return x / (n + (n > 1e-4) * 1e-3)"
    ),
    "a step more below one of what may be negative": "def f(x, y):\n    return x / (y + (y < 1e-4) * 1e-3)",
    "1 where another is 0": "def f(x, y, z):\n    y = y + (z == 0).float()\n    return x / y",
    "an element of eigenvectors": (
        "def f(x, a):\n    v = torch.linalg.eigh(a.detach())[1]\n    return x / v[0, 0].norm()"
    ),
    "a part of a column of eigenvectors": (
        "def f(x, a):\n    v = torch.linalg.eigh(a.detach())[1]\n    return x / v[..., 0][..., 0].norm()"
    ),
    "a row of eigenvectors that are not orthogonal": (
        "def f(x, a):\n    v = torch.linalg.eig(a.detach())[1]\n    return x / v[0].norm()"
    ),
    "the first of sorted numbers": "def f(x):\n    return x / sorted([1.0, 0.0])[0]",
    "a copy of a list that was changed": (
        "def f(x):\n    y = [0.0]\n    z = list(y)\n    z[0] = 1.0\n    return x / y[0]"
    ),
}


@pytest.mark.parametrize("code", PROVED.values(), ids=PROVED)
def test_it_is_proved(code: str) -> None:
    assert statuses(code) == {Status.DISCHARGED}


@pytest.mark.parametrize("code", NOT_PROVED.values(), ids=NOT_PROVED)
def test_its_kin_is_not(code: str) -> None:
    assert statuses(code) & {Status.UNGUARDED, Status.VIOLATED}


SPLINE = (
    "def f(x, w, left=0.0, right=1.0, least=1e-3):\n"
    "    n = w.shape[-1]\n"
    "    if least * n > 1.0:\n        raise ValueError\n"
    "    w = least + (1 - least * n) * F.softmax(w, dim=-1)\n"
    "    c = F.pad(torch.cumsum(w, dim={dim}), pad=(1, 0), value={start})\n"
    "    c = ({width}) * c + left\n"
    "    c[..., 0] = left\n"
    "    c[..., -1] = right\n"
    "    return x / ({difference})"
)
KNOTS = {"dim": "-1", "start": "0.0", "width": "right - left", "difference": "c[..., 1:] - c[..., :-1]"}
ASSUMED = {
    "steps between running sums": SPLINE.format(**KNOTS),
    "what exceeds a setting": (
        "class A:\n    def __init__(self, cut=1):\n        if cut <= 0:\n            raise ValueError\n"
        "        self.cut = cut\n\n    def f(self, x):\n        return torch.log(x[x > self.cut])"
    ),
    "a margin on both sides": "def f(x, eps):\n    return torch.log(x.clamp(eps, 1 - eps))",
    "a margin around 0": "def f(x, eps):\n    m = 1.0 - eps\n    return x.clamp(-m, m).atanh()",
    "a product of so many factors": (
        "def f(x, n=1000, low=1e-4, high=0.02):\n"
        "    return x / torch.cumprod(1 - torch.linspace(low, high, n), 0)"
    ),
    "a union of boxes": (
        "def f(x, a, b):\n    a, b = a.relu(), b.relu()\n    return x / (a + b - torch.minimum(a, b) + 1e-7)"
    ),
    "a kernel of NumPy, which may be of no element": (
        "def f(x, r):\n    t = np.arange(-r, r + 1)\n    return x / np.exp(-0.5 * t**2).sum()"
    ),
    "numbers of NumPy from 0 on, of which there may be none": (
        "def f(x, n):\n    t = np.exp(np.arange(n) - 3)\n    return x / t.sum()"
    ),
    "numbers from 1 on, of which there may be none": "def f(x, n: int):\n    return x / torch.arange(1, n + 1).sum()",
    "numbers in steps, of which there may be none": "def f(x, n: int):\n    return x / torch.arange(1, n, 2).sum()",
    "numbers downwards, of which there may be none": "def f(x, n: int):\n    return x / torch.arange(n, 1, -1).sum()",
    "frequencies": (
        "def f(x, dim, base=10000.0):\n    return x / base ** (torch.arange(0, dim, 2).float() / dim)"
    ),
}
NOT_ASSUMED = {
    "steps the other way": SPLINE.format(**KNOTS | {"difference": "c[..., :-1] - c[..., 1:]"}),
    "steps along another dimension": SPLINE.format(**KNOTS | {"dim": "0"}),
    "steps after a start above the first sum": SPLINE.format(**KNOTS | {"start": "1.0"}),
    "steps of what was scaled by a difference that may be 0": SPLINE.format(
        **KNOTS | {"width": "left - left"}
    ),
    "what a setting exceeds": (
        "class A:\n    def __init__(self, cut=1):\n        if cut <= 0:\n            raise ValueError\n"
        "        self.cut = cut\n\n    def f(self, x):\n        return torch.log(x[x < self.cut])"
    ),
    "a squared distance multiplied out": (
        "def f(x, a, b):\n    a, b = a.relu(), b.relu()\n    return x / (a * a + b * b - 2 * a * b + 1e-7)"
    ),
    "squared distances by a product of matrices": (
        "def f(x, a, b):\n    a, b = a.relu(), b.relu()\n"
        "    return x / (a.pow(2).sum(1)[:, None] + b.pow(2).sum(1) - 2 * a @ b.T + 1e-7)"
    ),
    "two margins": "def f(x, a, b):\n    return torch.log(x.clamp(a, 1 - b))",
    "a margin added": "def f(x, eps):\n    m = 1.0 + eps\n    return x.clamp(-m, m).atanh()",
    "margins that cross": "def f(x, n):\n    return torch.log(x.clamp(n, -n))",
    "a kernel from one side, not to the other": (
        "def f(x, s):\n    t = torch.arange(-3 * s, 2 * s + 1)\n    g = torch.exp(-(t**2))\n    return x / g.sum()"
    ),
    "a product of too many factors": (
        "def f(x, n=100000, low=1e-4, high=0.02):\n"
        "    return x / torch.cumprod(1 - torch.linspace(low, high, n), 0)"
    ),
    "a product of factors that come to 0": (
        "def f(x, n=1000, low=1e-4, high=1.0):\n"
        "    return x / torch.cumprod(1 - torch.linspace(low, high, n), 0)"
    ),
    "a mean of squares less a squared mean": (
        "def f(x, a):\n    m = a.mean()\n    return x / ((a * a).mean() - m * m + 1e-7)"
    ),
}


@pytest.mark.parametrize("code", ASSUMED.values(), ids=ASSUMED)
def test_it_is_assumed(code: str) -> None:
    assert Status.ASSUMED in statuses(code) <= {Status.ASSUMED, Status.DISCHARGED}


@pytest.mark.parametrize("code", NOT_ASSUMED.values(), ids=NOT_ASSUMED)
def test_its_kin_is_not_assumed(code: str) -> None:
    assert statuses(code) & {Status.UNGUARDED, Status.VIOLATED}
