"""What a script passes to its functions and methods is one use of them, and others may pass anything."""

import pytest

from tests.analysis.support import open_, violated

MODEL = """
class Platt(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.ones(()))

    def odds(self, p):
        return torch.log(p / (1 - p))

    def forward(self, p):
        return self.slope * self.odds(p)

model = Platt()
loss = model({})
"""


@pytest.mark.parametrize(
    "data", ["torch.sigmoid(torch.randn(4))", "0.25 + 0.5 * torch.rand(4)", "torch.randn(4)"]
)
def test_a_method_has_other_callers_than_the_script(data: str) -> None:
    assert [code for _, code in open_(MODEL.format(data))] == ["SL104"]


DICE = """
def dice(p, t, labelled):
    p = (p * labelled).flatten(1)
    t = (t * labelled).flatten(1)
    return (p * t).sum(1) / (p.sum(1) + t.sum(1))

labelled = torch.ones(3, 4)
labelled[{}] = {}
loss = dice(torch.sigmoid(torch.randn(3, 4)), (torch.rand(3, 4) > 0.5).float(), labelled)
"""


@pytest.mark.parametrize(("row", "value"), [("2", "0.0"), ("2", "0.5"), ("2, :1", "0.0")])
def test_a_function_has_other_callers_than_the_script(row: str, value: str) -> None:
    assert [code for _, code in open_(DICE.format(row, value))] == ["SL102"]


HALF = """
def step(x: torch.HalfTensor, scale):
    return (x.tanh() * {}).pow(2).mean()
"""


def test_a_square_leaves_half_by_the_ends_of_its_operand() -> None:
    assert [code for _, code in open_(HALF.format("900.0"))] == ["SL405"]
    assert open_(HALF.format("100.0")) == []
    assert open_(HALF.format("-900.0")) == open_(HALF.format("900.0"))


def test_a_zero_alone_is_no_large_operand() -> None:
    assert violated("def f(x: torch.Tensor):\n    return torch.cosh(torch.relu(x))\n") == []
