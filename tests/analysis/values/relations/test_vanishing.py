"""What one mask makes 0 is 0 at the same places."""

from tests.analysis.support import open_, violated

BOXES = """
def enclosing(a, b):
    hull = torch.maximum(a, b) - torch.minimum(a, b)
    return 1 / hull.pow(2).sum(1)

valid = (torch.arange(5) < 4).float().unsqueeze(1)
other = (torch.arange(5) < 3).float().unsqueeze(1)
loss = enclosing({})
"""


def test_boxes_that_are_padded_alike_collapse_together() -> None:
    padded = BOXES.format("nn.Linear(3, 4)(torch.randn(5, 3)) * valid, torch.rand(5, 4) * valid")
    assert [code for _, code in open_(padded)] == ["SL102"]


def test_a_sum_of_what_one_mask_makes_0() -> None:
    program = """
    def f(x: torch.Tensor, y: torch.Tensor, keep: torch.Tensor):
        m = (keep > 0).float()
        return 1 / (x * m + {})
    """
    assert [code for _, code in violated(program.format("y * m"))] == ["SL102"]
    assert violated(program.format("y")) == []
