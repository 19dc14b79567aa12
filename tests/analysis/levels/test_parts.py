"""What is counted or weighed in a whole: parts, pieces of a kernel, a support, a setting."""

from __future__ import annotations

import pytest

from ..support import likely


def divided(total: str, before: str = "", name: str = "f", x: str = "x") -> list[str]:
    """The rules that are reported of a quotient of what is given by `total`."""
    given = "x: torch.Tensor, mask, atom_mask, loss_mask, weights, tokens, pad_idx, batch, scale, step_size"
    code = f"def {name}({given}):\n    {before or 'pass'}\n    return {x} / {total}"
    return [rule for row, rule in likely(code) if row == 3]


@pytest.mark.parametrize(
    ("total", "shown"),
    [
        ("mask.sum(1)", False),
        ("(~mask).sum(1)", False),
        ("mask[:, 1:].sum(1)", False),
        ("atom_mask.repeat(2, 1).sum(1)", False),
        ("batch['atom_pad_mask'].sum(1)", False),
        ("(atom_mask * torch.sigmoid(x)).sum(1)", False),
        ("(atom_mask * F.relu(x)).sum(1)", True),
        ("(atom_mask * F.relu(torch.sigmoid(x))).sum(1)", False),
        ("(torch.sigmoid(x) if batch is None else torch.sigmoid(x) * atom_mask).sum(1)", False),
        ("(F.relu(x - 1) if batch is None else torch.sigmoid(x) * atom_mask).sum(1)", True),
        ("(atom_mask * torch.exp(x - x.max())).sum(1)", True),
        ("(atom_mask * (x > 0)).sum(1)", True),
        ("(mask == 1).sum(1)", True),
        ("loss_mask.sum(1)", True),
        ("batch['loss_mask'].sum(1)", True),
        ("batch['attention_mask'].sum(1)", False),
    ],
)
def test_a_mask_of_parts_leaves_something_in_each_row(total: str, shown: bool) -> None:
    assert bool(divided(total)) is shown
    assert bool(divided(total, x=f"(x * {total[0 : total.rindex('.sum')]}).sum(1)")) is shown


def test_a_sequence_is_not_padding_throughout() -> None:
    assert divided("(~tokens.eq(pad_idx)).sum(-1)") == []
    assert divided("(~tokens.eq(batch)).sum(-1)") == ["SL102"]


PIECES = "w = torch.sigmoid(x) * (x < 1) + torch.sigmoid(-x) * ((1 <= x) & (x < 2))"


def test_a_kernel_made_of_pieces_is_not_0_throughout() -> None:
    assert divided("w.sum(0)", PIECES, x="w") == []
    assert divided("w.sum(0)", "w = torch.sigmoid(x) * (x < 1)", x="w") == ["SL102"]
    assert divided("w.sum(0)", PIECES) == ["SL102"]


@pytest.mark.parametrize(
    ("name", "test", "shown"),
    [
        ("backward", "x > 0", False),
        ("sparsemax_grad", "x != 0", False),
        ("backward", "x > 0.5", True),
        ("share", "x > 0", True),
    ],
)
def test_the_support_of_a_projection_is_not_empty(name: str, test: str, shown: bool) -> None:
    assert bool(divided(f"({test}).float().sum(-1)", name=name)) is shown


@pytest.mark.parametrize("measured", ["x.std()", "x.abs().max()"])
def test_a_scale_that_was_measured_is_no_setting(measured: str) -> None:
    assert divided("scale", f"scale = {measured}") != []


def test_a_scale_that_was_chosen_is_not_0() -> None:
    assert divided("scale", "scale = F.relu(batch)") == []
    assert divided("other", "other = F.relu(batch)") == ["SL102"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("pos / pos.abs().max()", False),
        ("data.poses / data.poses[..., 3].abs().max()", False),
        ("(pos - pos.mean(0)) / (pos.norm(dim=1).max() if flag else pos.abs().max())", False),
        ("1.0 / pos.abs().max()", True),
        ("x / x.abs().max()", True),
    ],
)
def test_a_cloud_of_points_has_an_extent(line: str, shown: bool) -> None:
    assert (
        bool(likely(f"def f(pos: torch.Tensor, x: torch.Tensor, data, flag):\n    return {line}\n")) is shown
    )


@pytest.mark.parametrize(
    ("rows", "shown"), [("torch.cat([a.mean, b.mean])", False), ("torch.cat([x, y])", True)]
)
def test_what_several_batches_are_put_together_of_is_not_constant(rows: str, shown: bool) -> None:
    code = f"""
    def standardize(x: torch.Tensor, y: torch.Tensor, a, b):
        rows = {rows}
        return (rows - 1) / rows.std(0)
    """
    assert ((3, "SL102") in likely(code)) is shown


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("species", "present"), False),
        (("species", "foreground"), True),
        (("matched_idxs", "present"), True),
    ],
)
def test_what_is_matched_to_nothing_is_background(names: tuple[str, str], shown: bool) -> None:
    code = """
        class Head(nn.Module):
            def loss(self, scores: torch.Tensor, {0}, y):
                {1} = {0} >= 0
                total = {1}.sum()
                return F.binary_cross_entropy_with_logits(scores, y, reduction="sum") / total
    """
    assert likely(code.format(*names)) == ([(5, "SL102")] if shown else [])
