from __future__ import annotations

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
