"""Masks that tell tokens from padding, by what a network is given."""

from __future__ import annotations

import pytest

from ..support import likely, possible

MODEL = """
class Model(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.embed = nn.Embedding(100, 8)
        self.head = nn.Linear(8, 100)

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        {line}
        loss = F.cross_entropy(logits.transpose(1, 2), y, reduction="none")
        kept = {test}
        return {mean}
"""
FED = "logits = self.head(self.embed(x))"
OVER = "(loss * kept).sum() / kept.sum()"


@pytest.mark.parametrize(
    ("line", "test", "mean", "found"),
    [
        (FED, "x != 0", OVER, False),
        (FED, "x != 0", "loss[kept].mean()", False),
        (FED, "x[:, 1:] != -100", "loss[kept].mean()", False),
        ("logits = self.net(torch.where(x == -100, 0, x))", "x != -100", "loss[kept].mean()", False),
        (FED, "y != 0", OVER, True),
        ("logits = self.net(x, y)", "y != -100", "loss[kept].mean()", True),
        (FED, "x > 0", OVER, True),
    ],
)
def test_what_a_network_is_given_is_not_padding_throughout(
    line: str, test: str, mean: str, found: bool
) -> None:
    code = MODEL.format(line=line, test=test, mean=mean)
    assert ((12, "SL502") in likely(code)) is found
    assert (12, "SL502") in likely(code) + possible(code)


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("target.abs().sum(-1).ne(0)", False),
        ("~(target == 0).all(1)", False),
        ("(target != 0).any(-1)", False),
        ("target.sum(-1).ne(0)", True),
        ("target != 0", True),
    ],
)
def test_rows_that_are_0_throughout_are_padding(test: str, found: bool) -> None:
    code = f"""
    def loss(x: torch.Tensor, target: torch.Tensor):
        kept = {test}
        return (x - target).abs()[kept].mean()
    """
    assert ((3, "SL502") in likely(code)) is found


@pytest.mark.parametrize(
    ("masks", "found"),
    [
        ("one_mask.unsqueeze(-1) & other_mask.unsqueeze(-2)", False),
        ("one_mask & other_mask", True),
    ],
)
def test_two_masks_span_a_table_of_pairs(masks: str, found: bool) -> None:
    code = f"""
    def loss(x: torch.Tensor, one_mask: torch.BoolTensor, other_mask: torch.BoolTensor):
        return x[{masks}].mean()
    """
    assert ((2, "SL502") in likely(code)) is found


def test_an_attention_mask_that_is_passed_as_a_whole_and_cast() -> None:
    code = """
    def loss(x: torch.Tensor, labels: torch.Tensor, attention_mask: torch.Tensor):
        active = attention_mask.view(-1).bool()
        return F.cross_entropy(x[active], labels[active])
    """
    assert likely(code) == []
    assert possible(code) == [(3, "SL502")]


@pytest.mark.parametrize(
    ("test", "found"), [("~torch.isnan(labels)", False), ("~torch.isnan(x.log())", True)]
)
def test_a_batch_holds_something_that_is_not_missing(test: str, found: bool) -> None:
    code = f"""
    def loss(x: torch.Tensor, labels: torch.Tensor):
        known = {test}
        return F.mse_loss(x[known], labels[known])
    """
    assert ((3, "SL502") in likely(code)) is found


def test_a_network_behind_a_method_is_given_the_tokens_too() -> None:
    code = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(100, 8)
            self.head = nn.Linear(8, 100)

        def forward(self, x, y):
            scores = self._scores({given})
            mask = (x != 0).float()
            loss = F.cross_entropy(scores.flatten(0, 1), y.view(-1), reduction="none")
            return (loss * mask.view(-1)).sum() / mask.sum()

        def _scores(self, tokens):
            return self.head(self.table(tokens))
    """
    assert likely(code.format(given="x")) == []
    assert (11, "SL502") in likely(code.format(given="y"))
