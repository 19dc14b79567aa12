from textwrap import dedent

import pytest

from tests.matchers.support import findings


@pytest.mark.parametrize("line", ["p.grad = torch.nan_to_num(p.grad)", "p.grad.nan_to_num_(0.0)"])
def test_nan_wiped_from_a_gradient(line: str) -> None:
    assert findings("SL507", f"def f(model):\n    for p in model.parameters():\n        {line}\n") == [line]


def test_nan_wiped_from_data_is_cleaning() -> None:
    assert findings("SL507", "def f(x: torch.Tensor):\n    return torch.nan_to_num(x).mean()\n") == []


def test_a_skipped_step_in_a_training_loop_only() -> None:
    loop = """
    def train(model, loader):
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            if torch.isnan(loss):
                continue
            {last}
    """
    assert findings("SL507", loop.format(last="loss.backward()")) == ["if torch.isnan(loss):"]
    assert findings("SL507", loop.format(last="print(loss)")) == []


USES = """
def f(n, x: torch.Tensor):
    t = torch.empty(n)
    {line}
    return t
"""


@pytest.mark.parametrize("line", ["t += x", "t = t * 2", "t = t.sum()", "t[0] += x"])
def test_memory_read_before_it_is_written(line: str) -> None:
    assert findings("SL508", USES.format(line=line)) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "t[:] = x",
        "t.uniform_()",
        "nn.init.normal_(t)",
        "torch.add(x, 1, out=t)",
        "t.copy_(x)",
        "print(t.shape)",
    ],
)
def test_memory_written_first(line: str) -> None:
    assert findings("SL508", USES.format(line=line) + "    ...\n") == []


def test_a_tensor_without_elements_holds_nothing() -> None:
    assert findings("SL508", "def f(x):\n    t = torch.empty(0)\n    return t + x\n") == []


@pytest.mark.parametrize("nan", ["float('nan')", "torch.nan"])
def test_a_comparison_with_nan(nan: str) -> None:
    line = f"return x == {nan}"
    assert findings("SL506", f"def f(x: torch.Tensor):\n    {line}\n") == [line]
    assert findings("SL506", f"def f(x: torch.Tensor):\n    return torch.where(x > 0, x, {nan})\n") == []


def test_nan_by_default_that_the_function_asks_about() -> None:
    code = """
    def present(x, fill=float("nan")):
        {test}
        return x != fill
    """
    asked = code.format(test="if math.isnan(fill): return ~torch.isnan(x)")
    assert findings("SL506", "import math\n" + dedent(asked)) == []
    assert len(findings("SL506", dedent(code.format(test="pass")))) == 1


@pytest.mark.parametrize(
    ("made", "filled", "told"),
    [
        ("torch.empty(n, n)", "", True),
        ("torch.Tensor(n, n)", "", True),
        ("torch.empty(n, n)", "nn.init.ones_(self.w)", False),
        ("torch.empty(n, n)", "self.w.data.fill_(1.0)", False),
        ("torch.empty(n, n)", "glorot(self.w)", False),
        ("torch.empty(n, n)", "self.size = measured(self.w)", True),
        ("torch.empty(n, n)", "self.w[0] = 1.0", False),
        ("torch.empty(n, n)", "[nn.init.ones_(p) for p in self.parameters()]", False),
        ("torch.empty(n, n).normal_()", "", False),
        ("torch.Tensor([1.0, 2.0])", "", False),
        ("torch.zeros(n)", "", False),
    ],
)
def test_a_parameter_that_nothing_fills(made: str, filled: str, told: bool) -> None:
    code = f"""
    class Layer(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.w = nn.Parameter({made})
            {filled or "pass"}

        def forward(self, x):
            return x @ self.w
    """
    assert bool(findings("SL508", code)) is told


def test_a_parameter_that_another_file_may_fill() -> None:
    code = """
    class Layer(Base):
        def __init__(self, n):
            self.w = nn.Parameter(torch.empty(n, n))
    """
    assert findings("SL508", code) == []
