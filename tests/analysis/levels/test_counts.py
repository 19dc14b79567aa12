"""Counts that are 0 for no data there are, and those that are."""

from __future__ import annotations

import pytest

from ..support import likely


def rules_on(code: str, line: int) -> set[str]:
    """Rules reported by default at a line."""
    return {rule for row, rule in likely(code) if row == line}


@pytest.mark.parametrize(
    ("histogram", "total", "shown"),
    [
        ("x.new_zeros(3, 9).scatter_add(1, bins, torch.ones_like(x))", "sum(dim=1, keepdim=True)", False),
        ("x.new_zeros(3, 9).scatter_add(1, bins, torch.ones_like(x))", "sum()", False),
        ("x.new_zeros(3, 9).scatter_add(1, bins, torch.ones_like(x))", "sum(dim=0, keepdim=True)", False),
        ("x.new_zeros(3, 9).scatter_add(1, bins, (x > 0).float())", "sum(dim=1, keepdim=True)", True),
    ],
)
def test_a_histogram_sums_up_to_what_was_counted(histogram: str, total: str, shown: bool) -> None:
    code = f"""
    def shares(x: torch.Tensor, bins: torch.Tensor):
        counts = {histogram}
        return counts / counts.{total}
    """
    assert ("SL102" in rules_on(code, 3)) is shown


@pytest.mark.parametrize(
    ("kept", "shown"),
    [("~torch.eye(8, dtype=torch.bool)", False), ("x[:, None] > x", True)],
)
def test_a_row_without_its_diagonal_keeps_the_others(kept: str, shown: bool) -> None:
    code = f"""
    def contrast(x: torch.Tensor):
        kept = ({kept}).float() * torch.exp(F.cosine_similarity(x[:, None], x[None], dim=2))
        return x / kept.sum(dim=1)
    """
    assert ("SL102" in rules_on(code, 3)) is shown


@pytest.mark.parametrize(
    ("test", "shown"),
    [("torch.isnan(x)", False), ("torch.isnan(x) | (x == float('inf'))", False), ("x == 0", True)],
)
def test_what_is_not_nan_is_nothing_only_where_all_is(test: str, shown: bool) -> None:
    code = f"""
    def mean(x: torch.Tensor):
        bad = {test}
        total = x.masked_fill(bad, 0.0).sum(0)
        return total / (~bad).sum(0)
    """
    assert ("SL102" in rules_on(code, 4)) is shown


@pytest.mark.parametrize(("edge", "shown"), [("~padding_mask[:, :, 0]", False), ("text_mask", True)])
def test_what_counts_along_the_edge_of_a_mask_is_an_extent(edge: str, shown: bool) -> None:
    code = f"""
    def scaled(grid: torch.Tensor, padding_mask: torch.Tensor, text_mask: torch.Tensor):
        height = torch.sum({edge}, 1)
        return grid / height
    """
    assert ("SL102" in rules_on(code, 3)) is shown


@pytest.mark.parametrize(
    ("mask", "shown"),
    [("torch.arange(x.size(1))[None] < lengths[:, None]", False), ("lengths[:, None] > x", True)],
)
def test_a_mask_that_every_call_in_sight_makes_of_lengths_leaves_something(mask: str, shown: bool) -> None:
    code = f"""
    def loss(x, lengths):
        return _averaged(x, ({mask}).float())

    def _averaged(x, mask):
        return x.sum(1) / mask.sum(1)
    """
    assert ("SL102" in rules_on(code, 5)) is shown


@pytest.mark.parametrize(("name", "shown"), [("num_pairs", False), ("width", True)])
def test_what_a_count_divides_hands_its_gradient_to_nobody(name: str, shown: bool) -> None:
    code = f"""
    def share(x: torch.Tensor, {name}: torch.Tensor):
        y = x.sum(1) / {name}
        return torch.where({name} == 0, torch.zeros_like(y), y)
    """
    assert ("SL503" in rules_on(code, 2)) is shown


@pytest.mark.parametrize(("f", "shown"), [("softmax", False), ("log_softmax", True)])
def test_positions_up_to_a_length_leave_a_row_its_softmax_but_not_its_logarithm(f: str, shown: bool) -> None:
    code = f"""
    def attend(x: torch.Tensor, n_frames: torch.Tensor):
        beyond = torch.arange(x.size(2)).view(1, 1, -1) >= n_frames.view(-1, 1, 1)
        return F.{f}(x.masked_fill(beyond, -float("inf")), dim=-1)
    """
    assert ("SL501" in rules_on(code, 3)) is shown


@pytest.mark.parametrize(("others", "shown"), [("1 - chosen", False), ("chosen", True)])
def test_where_nothing_is_chosen_what_is_not_chosen_counts(others: str, shown: bool) -> None:
    code = f"""
    def lovasz(errors: torch.Tensor, target: torch.Tensor):
        chosen = (target == 1).float()
        total = chosen.sum()
        return (total - chosen.cumsum(0)) / (total + ({others}).cumsum(0))
    """
    assert ("SL102" in rules_on(code, 4)) is shown


def test_a_mask_that_an_object_keeps_is_kept_though_methods_make_it_anew() -> None:
    code = """
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = None

        def reset(self):
            self.mask = None

        def forward(self, scores, lengths):
            if self.mask is None:
                self.mask = self.make_mask(lengths)
            return scores.masked_fill(self.mask == 0, -float("inf")).softmax(1)
    """
    assert "SL501" not in rules_on(code, 12)


@pytest.mark.parametrize(
    ("mask", "shown"),
    [("~src_mask", False), ("pad_mask", False), ("node_mask", False), ("prompt_mask", True)],
)
def test_a_thing_has_parts_though_a_text_may_be_empty(mask: str, shown: bool) -> None:
    code = f"""
    def pooled(h: torch.Tensor, src_mask, pad_mask, node_mask, prompt_mask):
        return h.sum(1) / ({mask}).sum(1)
    """
    assert ("SL102" in rules_on(code, 2)) is shown


@pytest.mark.parametrize(
    ("mask", "shown"), [("mask", False), ("node_mask", False), ("attention_mask", True), ("x > 0", True)]
)
def test_the_mask_of_a_masked_mean_may_leave_out_a_whole_text_or_what_a_test_fails_for(
    mask: str, shown: bool
) -> None:
    code = f"""
    def pooled(x, mask, node_mask, attention_mask):
        return (x * ({mask})).sum(1) / ({mask}).sum(1)
    """
    assert bool(rules_on(code, 2) & {"SL102", "SL502"}) is shown


@pytest.mark.parametrize(
    ("support", "shown"),
    [
        ("1 + k * z > z.cumsum(-1)", False),
        ("k * z > z.cumsum(-1) - 1", False),
        ("(z - (z.cumsum(-1) - 1) / k) >= 0", False),
        ("k * z > x.cumsum(-1) - 1", True),
    ],
)
def test_the_largest_element_is_in_the_support_of_a_projection(support: str, shown: bool) -> None:
    code = f"""
    def threshold(x: torch.Tensor):
        z, _ = torch.sort(x, descending=True, dim=-1)
        k = torch.arange(1, x.shape[-1] + 1)
        return (x.sum(-1) - 1) / ({support}).sum(-1)
    """
    assert ("SL102" in rules_on(code, 4)) is shown


@pytest.mark.parametrize(("other", "shown"), [("group[None, :]", False), ("bank[None, :]", True)])
def test_each_element_equals_itself(other: str, shown: bool) -> None:
    code = f"""
    def contrast(p: torch.Tensor, group: torch.Tensor, bank: torch.Tensor):
        same = group[:, None] == {other}
        return (same * p).sum(1) / same.sum(1)
    """
    assert ("SL102" in rules_on(code, 3)) is shown


@pytest.mark.parametrize(("other", "shown"), [("chosen", False), ("p > 2", True)])
def test_a_set_with_a_fallback_is_not_empty(other: str, shown: bool) -> None:
    code = f"""
    def shares(p: torch.Tensor, best: torch.Tensor):
        chosen = p > 1
        kept = chosen | (~({other}).any(-1, keepdim=True) & (best == 1))
        return kept / kept.sum(-1, keepdim=True)
    """
    assert ("SL102" in rules_on(code, 4)) is shown


@pytest.mark.parametrize(("name", "shown"), [("item_seq", False), ("masked_index", False), ("scores", True)])
def test_an_id_of_zero_stands_for_nothing(name: str, shown: bool) -> None:
    code = f"""
    def pooled(h: torch.Tensor, {name}: torch.Tensor):
        mask = {name} > 0
        return h.sum(1) / mask.sum(1)
    """
    assert ("SL102" in rules_on(code, 3)) is shown


def test_zeros_that_are_added_up_and_never_written_are_filled_elsewhere() -> None:
    code = """
    def radius(launch, points: torch.Tensor, n: int):
        areas = torch.zeros(n)
        launch(points, outputs=[areas])
        return points.sum() / {total}
    """
    assert "SL102" not in rules_on(code.format(total="areas.sum()"), 4)
    assert "SL102" in rules_on(code.format(total="(points > 0).sum()"), 4)


@pytest.mark.parametrize(
    ("divisor", "shown"),
    [
        ("max(0, self.total - self.flat)", False),
        ("len(self.parts)", False),
        ("max(0, epoch - self.flat)", True),
    ],
)
def test_a_number_that_an_object_keeps_is_a_setting(divisor: str, shown: bool) -> None:
    code = f"""
        class Schedule:
            def __init__(self, total: int, flat: int):
                self.total, self.flat = total, flat
                self.parts = [one for one in range(total) if one > flat]

            def rate(self, epoch: int):
                return 3.14 / {divisor}
        """
    assert ("SL102" in rules_on(code, 7)) is shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        ("(y == 1).sum() + (y == 0).sum()", False),
        ("m.sum() + (~m).sum()", False),
        ("((y == 1).sum() > 0).float() + (y.numel() - (y == 1).sum() > 0)", False),
        ("(y == 1).sum() + (x == 0).sum()", True),
        ("(y == 1).sum() + (y == 1).sum()", True),
        ("m.sum() + (~n).sum()", True),
    ],
)
def test_what_one_test_finds_and_the_rest_are_not_nothing_together(count: str, shown: bool) -> None:
    program = f"""
    def share(x: torch.Tensor, y: torch.Tensor):
        m, n = y > 3, x > 3
        return x.sum() / ({count})
    """
    assert (likely(program) != []) is shown
