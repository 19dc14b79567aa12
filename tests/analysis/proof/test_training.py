"""The first value of what training changes, or of what is written into, bounds nothing."""

import pytest

from tests.analysis.support import report

OPEN = {"unguarded", "violated"}


def statuses(code: str, rule: str) -> set[str]:
    found = report(code)
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code == rule}


@pytest.mark.parametrize(
    "made",
    [
        "w = torch.ones(3, requires_grad=True)",
        "w = torch.ones(3).requires_grad_()",
        "w = torch.ones(3)\n    w.requires_grad_()",
        "w = torch.ones(3)\n    w.requires_grad = True",
        "w = torch.ones(3)\n    torch.optim.SGD([w], lr=0.1)",
        "w = torch.ones(3)\n    torch.optim.Adam([{'params': [w]}])",
        "w = nn.Parameter(torch.ones(3))",
    ],
)
def test_a_leaf_that_is_trained(made: str) -> None:
    assert statuses(f"def f(x):\n    {made}\n    return torch.log(w)\n", "SL101") <= OPEN
    assert statuses(f"def f(x):\n    {made}\n    return torch.log(w)\n", "SL101")


@pytest.mark.parametrize("made", ["w = torch.ones(3)", "w = torch.ones(3, requires_grad=False)"])
def test_a_constant_that_is_not(made: str) -> None:
    assert statuses(f"def f(x):\n    {made}\n    return torch.log(w)\n", "SL101") == {"discharged"}


def test_softmax_regression_from_zeros() -> None:
    code = """
    def train(x, n):
        W = torch.zeros((4, 3), requires_grad=True)
        b = torch.zeros(3, requires_grad=True)
        step = torch.optim.SGD([W, b], lr=0.1)
        for _ in range(n):
            loss = -torch.log(F.softmax(x.matmul(W) + b, dim=1)).mean()
            loss.backward()
            step.step()
    """
    assert statuses(code, "SL202") == {"violated"}


@pytest.mark.parametrize(
    "write",
    [
        "n.view(-1).sub_(1.0)",
        "n.data.sub_(1.0)",
        "n.data -= x",
        "n.data = x",
        "n[0].sub_(x)",
        "n.t().sub_(1.0)",
        "m = n\n    m.sub_(x)",
        "m = n.view(-1)\n    m -= x",
        "m = n.view(-1)\n    m[0] = x",
        "torch.sub(x, 1.0, out=n)",
        "torch.neg_(n)",
    ],
)
def test_what_is_written_through_another_name_or_view(write: str) -> None:
    code = f"def f(x):\n    n = x.clamp(min=1e-6)\n    {write}\n    return torch.log(n)\n"
    assert statuses(code, "SL101") <= OPEN
    assert statuses(code, "SL101")


def test_a_copy_shares_nothing() -> None:
    code = "def f(x):\n    n = x.clamp(min=1e-6)\n    n.clone().sub_(1.0)\n    return torch.log(n)\n"
    assert statuses(code, "SL101") == {"discharged"}


BUFFER = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(3))
    def forward(self, x):
        return x / self.scale
    def fill(self, x):
        {fill}
"""


@pytest.mark.parametrize(
    "fill",
    ["self.scale.copy_(x)", "self.scale.data.copy_(x)", "self.scale[0] = x", "self.scale.view(-1).sub_(x)"],
)
def test_a_buffer_that_another_method_fills(fill: str) -> None:
    assert statuses(BUFFER.format(fill=fill), "SL102") == {"unguarded"}


def test_a_buffer_that_nothing_fills_is_assumed() -> None:
    assert statuses(BUFFER.format(fill="pass"), "SL102") == {"assumed"}
