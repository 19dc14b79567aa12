"""Which masks leave something in each row, and in the batch."""

import pytest

from tests.analysis.support import open_, unmet


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


def test_a_mask_of_anything_else_may_leave_nothing() -> None:
    code = """
    from .tools import valid_mask

    def mean(x, boxes):
        kept = ~valid_mask(boxes)
        return (x * kept).sum(dim=1) / kept.sum(dim=1)
    """
    assert open_(code) == [(5, "SL502")]


def test_a_mask_drawn_at_random_leaves_something() -> None:
    code = """
    def masked_loss(loss: torch.Tensor, share: float):
        order = torch.rand(loss.shape).argsort(dim=-1).float()
        mask = order < share * 9
        return loss[mask].mean()
    """
    assert unmet(code) == []


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
    assert unmet(ALIGNMENT.format(beside=beside)) == []


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


@pytest.mark.parametrize(
    ("laid", "open_there"), [("view(2 * n, -1)", []), ("view(-1, 2 * n)", [(3, "SL502")])]
)
def test_a_selection_along_the_classes_leaves_as_many_rows(
    laid: str, open_there: list[tuple[int, str]]
) -> None:
    code = f"""
    def contrast(scores: torch.Tensor, n: int, labels: torch.Tensor):
        others = scores[torch.eye(2 * n) == 0].{laid}
        return F.cross_entropy(others, labels)
    """
    assert open_(code) == open_there
