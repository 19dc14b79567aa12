"""What a script passes to its functions and methods, and what its data hold, is known."""

from __future__ import annotations

from .support import open_, violated

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


def test_a_method_sees_what_the_script_passes() -> None:
    assert [code for _, code in open_(MODEL.format("torch.sigmoid(torch.randn(4))"))] == ["SL104"]
    assert open_(MODEL.format("0.25 + 0.5 * torch.rand(4)")) == []


def test_random_data_stand_for_any() -> None:
    program = MODEL.format("torch.randn(4)")
    assert [code for _, code in open_(program)] == ["SL104"]


DICE = """
def dice(p, t, labelled):
    p = (p * labelled).flatten(1)
    t = (t * labelled).flatten(1)
    return (p * t).sum(1) / (p.sum(1) + t.sum(1))

labelled = torch.ones(3, 4)
labelled[{}] = {}
loss = dice(torch.sigmoid(torch.randn(3, 4)), (torch.rand(3, 4) > 0.5).float(), labelled)
"""


def test_a_row_that_is_set_to_0_is_a_row_of_zeros() -> None:
    assert [code for _, code in violated(DICE.format("2", "0.0"))] == ["SL102"]
    assert violated(DICE.format("2", "0.5")) == []
    assert violated(DICE.format("2, :1", "0.0")) == []


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
