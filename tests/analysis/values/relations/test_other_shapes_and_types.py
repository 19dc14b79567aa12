"""Relations between values hold for the very numbers, and for the shapes, that they are stated of."""

import pytest

from tests.analysis.support import open_, proved

HEAD = "@torch.no_grad()\ndef f(x: torch.Tensor, w: torch.Tensor):\n    d = x - x.amax(1, keepdim=True)\n"

OPEN = {
    "an extreme that a cast rounds": "torch.sqrt(x.half().max() - x)",
    "an extreme of what a cast rounds": "torch.sqrt(x.half().max().float() - x.min())",
    "a row's extreme that a cast rounds": "torch.sqrt(x.amax(-1, keepdim=True).half() - x)",
    "what a cast rounds beside its extreme": "torch.sqrt(x.amax(-1, keepdim=True) - x.half())",
    "the larger of two, one of them rounded": "torch.sqrt(torch.maximum(x.half(), w) - x)",
    "a row of the extremes": "torch.sqrt(x.amax(1, keepdim=True)[0] - x)",
    "shares cut to whole numbers": "torch.log(x.softmax(1).to(torch.uint8).sum(1))",
    "zeros that a cast makes": "1 / (x.half() + (x == 0))",
    "two tests, one of which lifts": "1 / (x + (x == 0) * (w == 0))",
    "two bounds, one of which lifts": "1 / (x.abs() + (x.abs() < 1) * (w < 1))",
    "rows that a scale of more dimensions moves": "torch.log((d * (w.abs() + 1)).exp().sum(1))",
}
PROVED = {
    "the extreme of what a cast rounds": "torch.sqrt(x.half().max() - x.half())",
    "an extreme in more digits": "torch.sqrt(x.half().max().float() - x.half())",
    "the first of a pair": "torch.sqrt(x.max(-1, keepdim=True)[0] - x)",
    "a test that lifts by a number": "1 / (x.abs() + (x.abs() < 1) * 2)",
}


@pytest.mark.parametrize("expression", OPEN.values(), ids=OPEN)
def test_a_relation_of_other_numbers_proves_nothing(expression: str) -> None:
    assert [line for line, _ in open_(f"{HEAD}    return {expression}")] == [4]


@pytest.mark.parametrize("expression", PROVED.values(), ids=PROVED)
def test_a_relation_of_the_same_numbers_proves(expression: str) -> None:
    assert 4 in {line for line, _ in proved(f"{HEAD}    return {expression}")}
