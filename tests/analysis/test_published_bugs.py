"""The patterns of the published benchmarks of numerical bugs that occur in PyTorch."""

import pytest

from tests.analysis.support import open_

BUGS = {
    "log of softmax times target": (
        """
        def loss(logits, y):
            p = F.softmax(logits, dim=1)
            return -(y * torch.log(p)).sum(dim=1).mean()
        """,
        (3, {"SL202"}),
    ),
    "softmax in another class": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(784, 10)

            def forward(self, x):
                return F.softmax(self.fc(x), dim=1)

        class Trainer:
            def __init__(self):
                self.net = Net()

            def step(self, x, y):
                return -(y * torch.log(self.net(x))).sum(1).mean()
        """,
        (14, {"SL202"}),
    ),
    "a cross-entropy by hand in a script": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(784, 10)

            def forward(self, x):
                return torch.softmax(self.fc(x), dim=1)

        net = Net()
        for x, y in []:
            out = net(x)
            loss = -torch.sum(y * torch.log(out))
            loss.backward()
        """,
        (12, {"SL202"}),
    ),
    "BCE by hand of a sigmoid": (
        """
        def loss(z, y):
            h = torch.sigmoid(z)
            return -(y * torch.log(h) + (1 - y) * torch.log(1 - h)).mean()
        """,
        (3, {"SL212", "SL203"}),
    ),
    "BCE by hand of a Sequential that ends in a Sigmoid": (
        """
        net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())

        def loss(x, y):
            h = net(x)
            return -(y * torch.log(h) + (1 - y) * torch.log(1 - h)).mean()
        """,
        (5, {"SL212", "SL203"}),
    ),
    "BCE by hand of a Sequential kept in an attribute": (
        """
        class Logistic(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())

            def loss(self, x, y):
                h = self.net(x)
                return -torch.mean(y * h.log() + (1 - y) * (1 - h).log())
        """,
        (8, {"SL212", "SL203"}),
    ),
    "a generative adversarial loss": (
        """
        class D(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())

            def forward(self, x):
                return self.net(x)

        d = D()

        def loss(real, fake):
            return -torch.mean(torch.log(d(real)) + torch.log(1.0 - d(fake)))
        """,
        (12, {"SL203", "SL212"}),
    ),
    "the free energy of an RBM": (
        """
        class RBM(nn.Module):
            def __init__(self, n, m):
                super().__init__()
                self.W = nn.Parameter(torch.randn(m, n))
                self.b = nn.Parameter(torch.zeros(m))

            def free_energy(self, v):
                wx = F.linear(v, self.W, self.b)
                return -torch.log(1 + torch.exp(wx)).sum(1)
        """,
        (9, {"SL205"}),
    ),
    "the free energy with methods": (
        """
        def free_energy(v, W, b):
            hidden = v.mm(W.t()) + b
            return -hidden.exp().add(1).log().sum(1)
        """,
        (3, {"SL205"}),
    ),
    "the log-variance of a VAE": (
        """
        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc21 = nn.Linear(400, 20)
                self.fc22 = nn.Linear(400, 20)

            def loss(self, h):
                mu, logvar = self.fc21(h), self.fc22(h)
                return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        """,
        (9, {"SL201"}),
    ),
    "the deviation of a VAE": (
        """
        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(400, 20)

            def reparameterize(self, h):
                log_var = self.head(h)
                std = torch.exp(0.5 * log_var)
                return torch.randn_like(std) * std
        """,
        (8, {"SL201"}),
    ),
    "exp and normalise over scattered groups": (
        """
        def scatter_softmax(src: torch.Tensor, index: torch.Tensor, n: int):
            e = src.exp()
            total = torch.zeros(n).index_add_(0, index, e)
            return e / total[index]
        """,
        (None, {"SL220", "SL206", "SL201"}),
    ),
    "exp and normalise over scattered groups with scatter_add": (
        """
        def attention(src: torch.Tensor, index: torch.Tensor, n: int):
            e = torch.exp(src)
            total = torch.zeros(n).scatter_add(0, index, e)
            return e / total[index]
        """,
        (None, {"SL220", "SL206", "SL201"}),
    ),
    "a logistic function by hand": (
        "def f(x: torch.Tensor):\n    return 1 / (1 + torch.exp(-x))\n",
        (2, {"SL207"}),
    ),
    "a softplus by hand": (
        "def f(x: torch.Tensor):\n    return torch.log1p(x.exp())\n",
        (2, {"SL205"}),
    ),
    "an empty mask": (
        "def f(x: torch.Tensor, y: torch.Tensor):\n    keep = y > 0\n    return x[keep].mean()\n",
        (3, {"SL502"}),
    ),
    "a cross-entropy of a softmax": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))

            def forward(self, x):
                return self.net(x)

        net = Net()
        criterion = nn.CrossEntropyLoss()

        def step(x, y):
            return criterion(net(x), y)
        """,
        (4, {"SL301"}),  # where the softmax stands that has to go
    ),
    "a cosine of an angle": (
        "def f(a: torch.Tensor, b: torch.Tensor):\n    return torch.acos((F.normalize(a) * F.normalize(b)).sum(-1))\n",
        (2, {"SL104"}),
    ),
    "an inverse square root of a degree": (
        """
        def gcn(adj: torch.Tensor):
            adj = (adj > 0).float()
            degree = adj.sum(dim=1)
            return degree.pow(-0.5)
        """,
        (4, {"SL103"}),
    ),
    "an advantage divided by its deviation": (
        "def f(returns: torch.Tensor):\n    return (returns - returns.mean()) / returns.std()\n",
        (2, {"SL106", "SL107"}),
    ),
}


@pytest.mark.parametrize(("program", "expected"), BUGS.values(), ids=BUGS.keys())
def test_a_published_bug(program: str, expected: tuple[int | None, set[str]]) -> None:
    line, codes = expected
    found = open_(program)
    assert found
    assert {code for _, code in found} <= codes
    assert line is None or {place for place, _ in found} == {line}


CURED = {
    "log of softmax": "def loss(z, y):\n    return -(y * F.log_softmax(z, dim=1)).sum(dim=1).mean()\n",
    "BCE": "def loss(z, y):\n    return F.binary_cross_entropy_with_logits(z, y)\n",
    "free energy": "def f(v, W, b):\n    return -F.softplus(F.linear(v, W, b)).sum(1)\n",
    "log-variance": "def f(mu, logvar):\n    v = logvar.clamp(-10, 10)\n    return (mu.pow(2) + v.exp() - 1 - v).sum()\n",
    "advantages": "def f(r: torch.Tensor):\n    return (r - r.mean()) / (r.std(unbiased=False) + 1e-6)\n",
    "degree": "def f(a: torch.Tensor):\n    return (a > 0).float().sum(1).clamp(min=1).pow(-0.5)\n",
    "mask": "def f(x: torch.Tensor, y):\n    keep = y > 0\n    return x[keep].sum() / keep.sum().clamp(min=1)\n",
    "angle": "def f(a: torch.Tensor):\n    return torch.acos(a.clamp(-1 + 1e-6, 1 - 1e-6))\n",
    "grouped softmax": (
        "def f(src: torch.Tensor, index, n):\n"
        "    top = torch.full((n,), -torch.inf).scatter_reduce(0, index, src, 'amax')\n"
        "    e = (src - top[index]).exp()\n"
        "    total = torch.zeros(n).index_add_(0, index, e)\n"
        "    return e / total[index]\n"
    ),
}


@pytest.mark.parametrize("program", CURED.values(), ids=CURED.keys())
def test_its_cure_is_silent(program: str) -> None:
    assert open_(program) == []
