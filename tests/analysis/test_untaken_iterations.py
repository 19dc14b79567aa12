"""What solvers, constructors and running statistics compute, through which no gradient is taken."""

from __future__ import annotations

from .support import open_

_SOLVER = """
def solve(a: torch.Tensor, b: torch.Tensor, max_iter: int = 20):
    total, other = b, b
    {loop}
        scale = total.clamp(min=0).sqrt()
        total = total + {taken} * scale
    return {result}
"""


def _roots(code: str) -> list[int]:
    return [line for line, rule in open_(code) if rule == "SL103"]


def test_a_loss_may_be_gathered_over_turns() -> None:
    code = _SOLVER.format(loop="for _ in range(max_iter):", taken="a", result="total")
    assert _roots(code.replace("def solve", "def loss")) == [4]


def test_a_module_is_trained_through_the_iteration_that_it_runs() -> None:
    code = _SOLVER.format(loop="for _ in range(max_iter):", taken="a", result="total")
    module = "class Layer(nn.Module):\n    def forward(self, x):\n        return solve(x, x)\n"
    assert _roots(code + module) == [4]


_SPLINE = """
class Spline(nn.Module):
    def __init__(self, knots: torch.Tensor):
        super().__init__()
        self.prepare(knots)

    def prepare(self, knots):
        self.register_buffer("roots", knots.clamp(min=0).sqrt())

    def forward(self, x):
        {forward}
"""


_RUNNING = """
class Running{kind}(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("squares", torch.zeros(1))

    def update(self, x):
        {update}

    def forward(self, x):
        return x * self.squares.clamp(min=0).sqrt()
"""
