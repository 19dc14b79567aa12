"""Which masks leave something in each row, and in the batch."""

from __future__ import annotations

import pytest

from .support import open_


def test_a_batch_is_not_padding_throughout_and_a_row_of_it_can_be() -> None:
    code = """
    def mean(x: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor):
        chosen = labels != -100
        return (x * {mask}).sum({dim}) / {mask}.sum({dim})
    """
    pairs = [("attention_mask", "", set()), ("attention_mask", "-1", {"SL102"}), ("chosen", "", {"SL502"})]
    for mask, dim, expected in pairs:
        shown = {rule for _, rule in open_(code.format(mask=mask, dim=dim))}
        assert shown & {"SL102", "SL502"} == expected, (mask, dim)


@pytest.mark.parametrize(
    "code",
    [
        """
        def finished(lengths: torch.Tensor, cut: torch.Tensor):
            done = lengths[~cut.bool()]
            if len(done) == 0:
                done = torch.zeros(1)
            return done.float().mean()
        """,
        """
        def ratio(x: torch.Tensor, mask: torch.Tensor, flat: bool):
            if flat:
                chosen = x.flatten()
            else:
                chosen = x[mask.bool()]
            return torch.mean(chosen) if chosen.numel() > 0 else torch.tensor(0.0)
        """,
    ],
)
def test_a_selection_that_was_counted_is_not_empty(code: str) -> None:
    assert open_(code) == []


@pytest.mark.parametrize(
    "mask",
    [
        "make_pad_mask(lengths)",
        "get_mask_from_lengths(x)",
        "self.pad_mask(lengths=sizes)",
        "sequence_mask(ilens, 9)",
    ],
)
def test_a_helper_that_makes_a_mask_of_lengths_spares_a_place_in_each_row(mask: str) -> None:
    code = f"""
    from .tools import make_pad_mask, get_mask_from_lengths, sequence_mask

    class Loss(nn.Module):
        def forward(self, x, lengths, ilens, sizes):
            kept = ~{mask}
            return (x * kept).sum(dim=1) / kept.sum(dim=1)
    """
    assert open_(code) == []


def test_a_mask_of_anything_else_may_leave_nothing() -> None:
    code = """
    from .tools import valid_mask

    def mean(x, boxes):
        kept = ~valid_mask(boxes)
        return (x * kept).sum(dim=1) / kept.sum(dim=1)
    """
    assert open_(code) == [(5, "SL102")]


def test_a_causal_mask_keeps_a_position_in_each_row() -> None:
    code = """
    def mean(x: torch.Tensor, {name}: torch.Tensor):
        return (x * {name}).sum(-1) / {name}.sum(-1)
    """
    assert open_(code.format(name="causal_mask")) == []
    assert open_(code.format(name="attention_mask")) == [(2, "SL102")]


def test_a_mask_drawn_at_random_leaves_something() -> None:
    code = """
    def masked_loss(loss: torch.Tensor, share: float):
        order = torch.rand(loss.shape).argsort(dim=-1).float()
        mask = order < share * 9
        return loss[mask].mean()
    """
    assert open_(code) == []


SOFTMAX = """
    def attend(scores: torch.Tensor, hidden: torch.Tensor, value: torch.Tensor):
        share = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        {then}
        return share @ value
    """


@pytest.mark.parametrize(
    "then",
    [
        "share = share.masked_fill(hidden, 0.0)",
        "share = F.dropout(share, 0.1).masked_fill(hidden, 0.0)",
        "share = torch.where(hidden, 0.0, share)",
        "share = share.nan_to_num(0.0)",
    ],
)
def test_a_softmax_that_is_masked_again_needs_no_element_in_each_row(then: str) -> None:
    assert open_(SOFTMAX.format(then=then)) == []


@pytest.mark.parametrize(
    "then",
    [
        "share = share.masked_fill(value > 0, 0.0)",
        "total = share @ value; share = share.masked_fill(hidden, 0.0)",
        "share = share * 2; share = share.masked_fill(hidden, 0.0)",
    ],
)
def test_a_softmax_that_is_used_before_it_is_masked_again_or_masked_by_another_test_does(then: str) -> None:
    assert open_(SOFTMAX.format(then=then)) == [(2, "SL501")]


def test_a_diagonal_that_was_assigned_spares_a_place_in_each_row() -> None:
    code = """
    def attend(scores: torch.Tensor, adjacency: torch.Tensor, i: torch.Tensor):
        adjacency[:, i, i] = 1.0
        return torch.softmax(scores.masked_fill(adjacency == 0, float("-inf")), dim=-1)
    """
    assert open_(code) == []
    assert open_(code.replace("i, i] = 1.0", "i, 0] = 1.0")) == [(3, "SL501")]


ALIGNMENT = """
    class Alignment(nn.Module):
        def forward(self, text, {beside}, x_masks=None):
            score = -torch.cdist(text, text)
            if x_masks is not None:
                score = score.masked_fill(x_masks.unsqueeze(-2), float("-inf"))
            return F.log_softmax(score, dim=-1)
    """


@pytest.mark.parametrize("beside", ["text_lengths", "ilens", "feats, x_lengths"])
def test_a_mask_that_is_passed_beside_lengths_spares_a_place_in_each_row(beside: str) -> None:
    assert open_(ALIGNMENT.format(beside=beside)) == []


@pytest.mark.parametrize(
    ("mask", "shown"),
    [
        ("x_mask", False),
        ("x_mask.repeat(2, 1)", False),
        ("x_mask == 0", False),
        ("(1 - x_mask).bool()", False),
        ("x_mask[:, None]", False),
        ("text_mask", True),
        ("neighbor_mask == 0", True),
        ("x_mask | y_mask", True),
        ("x_mask & ~text_mask", True),
        ("hidden", True),
        ("scores > x_mask", True),
    ],
)
def test_a_mask_that_a_caller_passes_spares_a_place_in_each_row_but_of_texts_and_ties(
    mask: str, shown: bool
) -> None:
    code = f"""
    def attend(scores: torch.Tensor, x_mask, y_mask, text_mask, neighbor_mask, hidden: torch.Tensor):
        return torch.softmax(scores.masked_fill({mask}, float("-inf")), dim=-1)
    """
    assert open_(code) == ([(2, "SL501")] if shown else [])


def test_among_the_tokens_of_a_text_a_mask_that_is_passed_may_leave_nothing() -> None:
    code = """
    class Attention(nn.Module):
        def forward(self, scores, mask):
            return torch.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1)

    class Encoder(nn.Module):
        def forward(self, {given}, mask):
            return self.layers(self.embed({given}), mask)
    """
    assert open_(code.format(given="input_ids")) == [(3, "SL501")]
    assert open_(code.format(given="features")) == []


def test_a_softmax_in_a_wider_dtype_has_the_same_rows() -> None:
    code = """
    def attend(scores: torch.Tensor, closeness: torch.Tensor):
        hidden = scores.masked_fill(closeness > 0, float("-inf"))
        return torch.softmax(hidden, dim=-1, dtype=torch.float32)
    """
    assert open_(code) == [(2, "SL501")]


@pytest.mark.parametrize(
    ("mask", "shown"),
    [
        ("hidden & ~hidden.all(-1, keepdim=True)", False),
        ("torch.logical_and(~hidden.all(dim=-1, keepdim=True), hidden)", False),
        ("hidden & hidden.all(-1, keepdim=True)", True),
        ("hidden & ~hidden.all()", True),
        ("hidden & ~other.all(-1, keepdim=True)", True),
    ],
)
def test_a_row_that_would_be_masked_throughout_and_is_not_masked_at_all(mask: str, shown: bool) -> None:
    code = f"""
    def attend(scores: torch.Tensor, closeness: torch.Tensor):
        hidden, other = closeness > 0, closeness > 1
        return torch.softmax(scores.masked_fill({mask}, float("-inf")), dim=-1)
    """
    assert open_(code) == ([(3, "SL501")] if shown else [])


def test_a_test_of_what_an_object_keeps_holds_somewhere() -> None:
    code = """
    class Sampler:
        def weights(self, given: torch.Tensor):
            active = ({subject} > 0).float()
            return active / active.sum()
    """
    assert open_(code.format(subject="self.shares")) == []
    assert open_(code.format(subject="given")) == [(4, "SL102")]


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        ("F.pad(key_padding_mask, (0, 1))", False),
        ("torch.cat([key_padding_mask, key_padding_mask.new_zeros(4, 1)], dim=1)", False),
        ("F.pad(chosen_mask, (0, 1))", True),
    ],
)
def test_a_mask_of_padding_that_was_lengthened_leaves_something(mask: str, found: bool) -> None:
    code = f"""
    class Attention(nn.Module):
        def forward(self, x, key_padding_mask, chosen_mask):
            mask = {mask}
            return torch.softmax(x.masked_fill(mask, float("-inf")), dim=-1)
    """
    assert ("SL501" in [code for _, code in open_(code)]) is found


def test_a_mask_that_is_passed_leaves_something_where_it_is_compared_with_zero() -> None:
    code = """
    def policy_loss(x: torch.Tensor, y: torch.Tensor, {name}: torch.Tensor):
        kept = x[{name} > 0]
        return F.mse_loss(kept, y[{name} > 0])
    """
    assert open_(code.format(name="step_mask")) == []
    assert open_(code.format(name="offset")) == [(3, "SL502")]


@pytest.mark.parametrize(("subject", "found"), [("self.bias[:, :4, :4]", False), ("bias[:, :4, :4]", True)])
def test_a_part_of_a_mask_that_an_object_keeps(subject: str, found: bool) -> None:
    code = f"""
    class Attention(nn.Module):
        bias: torch.Tensor

        def forward(self, x, bias):
            return torch.softmax(x.masked_fill({subject} == 0, float("-inf")), dim=-1)
    """
    assert ("SL501" in [code for _, code in open_(code)]) is found


@pytest.mark.parametrize(
    ("opened", "found"),
    [
        ("kept[~kept.any(-1)] = True", False),
        ("kept[~kept.any(dim=-1)] = 1", False),
        ("kept[kept.any(-1)] = True", True),
        ("kept[~kept.any(-1)] = False", True),
        ("kept[~kept.any()] = True", True),
        ("kept[~other.any(-1)] = True", True),
    ],
)
def test_a_row_of_which_nothing_is_left_is_opened(opened: str, found: bool) -> None:
    code = f"""
    def attend(scores, mask, other):
        kept = mask > 0
        other = other > 0
        {opened}
        return torch.softmax(scores.masked_fill(~kept, float("-inf")), dim=-1)
    """
    assert ("SL501" in [code for _, code in open_(code)]) is found


@pytest.mark.parametrize(("opened", "found"), [("hidden.all(-1)", False), ("hidden.any(-1)", True)])
def test_a_row_that_is_hidden_throughout_is_opened(opened: str, found: bool) -> None:
    code = f"""
    def attend(scores, mask):
        hidden = mask == 0
        hidden[{opened}] = False
        return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    """
    assert ("SL501" in [code for _, code in open_(code)]) is found
