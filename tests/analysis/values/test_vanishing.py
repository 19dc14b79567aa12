"""What one mask makes 0 is 0 at the same places."""

from __future__ import annotations

import pytest

from ..support import open_, violated

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


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        ("row, col = edges[0], others[0]", True),
    ],
)
def test_the_ends_of_an_edge_are_two_points(ends: str, found: bool) -> None:
    program = f"""
    class Net(nn.Module):
        def forward(self, pos: torch.Tensor, edges: torch.Tensor, others: torch.Tensor):
            {ends}
            return (pos[row] - pos[col]).pow(2).sum(dim=-1).sqrt()
    """
    assert ((4, "SL105") in open_(program)) is found


@pytest.mark.parametrize(
    ("divisor", "shown"),
    [
        ("x.abs().max()", True),
    ],
)
def test_the_lengths_of_many_offsets_do_not_vanish_together(divisor: str, shown: bool) -> None:
    code = f"""
    def relative(x: torch.Tensor, i: torch.Tensor, j: torch.Tensor):
        return x.mean() / {divisor}
    """
    assert ((2, "SL102") in open_(code)) is shown


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ("i < 3", True),
    ],
)
def test_points_that_a_test_has_told_apart_do_not_coincide(chosen: str, shown: bool) -> None:
    code = f"""
    def directions(x: torch.Tensor, i: torch.Tensor, j: torch.Tensor):
        offset = x[i] - x[j]
        chosen = {chosen}
        offset[chosen] = offset[chosen] / offset[chosen].norm(dim=1).unsqueeze(1)
        return offset
    """
    assert ((4, "SL102") in open_(code)) is shown


@pytest.mark.parametrize(
    ("picked", "shown"),
    [
        (".log()", True),
    ],
)
def test_an_element_of_a_sigmoid_is_as_far_from_zero_as_the_others(picked: str, shown: bool) -> None:
    code = f"""
    def scaled(x: torch.Tensor):
        return 1 / torch.sigmoid(x){picked}
    """
    assert (open_(code) != []) is shown
