"""Relations between values hold for the very numbers, and for the shapes, that they are stated of."""

import pytest

from tests.analysis.support import assumed, open_, proved

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
    "an identity along other dimensions": "torch.log((x.relu() + torch.eye(4).unsqueeze(-1)).sum(-1))",
    "the elements of an identity in one column": "torch.log((x.relu() + torch.eye(4).view(-1, 1)).sum(-1))",
    "an identity that is turned between others": "torch.log((x.relu() + torch.eye(4)[None].transpose(0, 1)).sum(-2))",
    "rows that a scale of more dimensions moves": "torch.log((d * (w.abs() + 1)).exp().sum(1))",
    "rows that a bound of more dimensions moves": "1 / (d > -w.abs() - 1).sum(1)",
}
PROVED = {
    "the extreme of what a cast rounds": "torch.sqrt(x.half().max() - x.half())",
    "an extreme in more digits": "torch.sqrt(x.half().max().float() - x.half())",
    "the first of a pair": "torch.sqrt(x.max(-1, keepdim=True)[0] - x)",
    "an identity of every batch": "torch.log((x.relu() + torch.eye(4)[None]).sum(-1))",
    "a test that lifts by a number": "1 / (x.abs() + (x.abs() < 1) * 2)",
    "rows counted from the end": "1 / (x - x.amax(-1, keepdim=True) > -w.abs() - 1).sum(-1)",
    "what is taken and added again of a size that is known": (
        "torch.log(x.sigmoid() + (w.sigmoid() + 0.1 - x.sigmoid()).detach())"
    ),
}
ASSUMED = {
    "pairs along one dimension": "1 / (x[None] == x[:, None]).sum(-1)",
    "rows that an index marks": "1 / torch.zeros(4, 4).scatter(1, w.long(), 1).sum(1)",
    "what is taken and added again": "1 / (x + (w.abs() + 0.1 - x).detach())",
}


@pytest.mark.parametrize("expression", OPEN.values(), ids=OPEN)
def test_a_relation_of_other_numbers_proves_nothing(expression: str) -> None:
    assert [line for line, _ in open_(f"{HEAD}    return {expression}")] == [4]


@pytest.mark.parametrize("expression", PROVED.values(), ids=PROVED)
def test_a_relation_of_the_same_numbers_proves(expression: str) -> None:
    assert 4 in {line for line, _ in proved(f"{HEAD}    return {expression}")}


@pytest.mark.parametrize("expression", ASSUMED.values(), ids=ASSUMED)
def test_a_relation_that_rests_on_a_shape_or_size_is_assumed(expression: str) -> None:
    assert [line for line, _ in assumed(f"{HEAD}    return {expression}")] == [4]
