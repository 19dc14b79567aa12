"""Denominators that are 0 only as a whole, and those that count what a test finds."""

from __future__ import annotations

import pytest

from ..support import likely, possible

GIVEN = "x: torch.Tensor, w: torch.Tensor, probs: torch.Tensor, adj: torch.Tensor, labels: torch.Tensor"


def at(line: str, name: str = "f") -> set[str]:
    """Rules reported by default in a function of one line."""
    code = f"def {name}({GIVEN}):\n    return {line}"
    assert (2, "SL102") in possible(code) or (2, "SL102") in likely(code) or (2, "SL502") in likely(code)
    return {rule for _, rule in likely(code)}


@pytest.mark.parametrize(
    "total",
    [
        "w.abs().sum(-1)",
        "(x - w).square().mean()",
        "(x - w).clamp(min=0).sum(-1)",
        "(probs * (probs >= probs.topk(3, -1)[0][..., -1:])).sum(-1)",
        "(0.5 * w.abs().sum(0) ** 2)",
        "F.mse_loss(x, w, reduction='none').mean(1)",
    ],
)
def test_a_total_of_values_is_0_only_where_all_of_them_are(total: str) -> None:
    assert at(f"x / {total}") == set()


@pytest.mark.parametrize(
    "count",
    [
        "(w > 0.5).sum(-1)",
        "((w > 0.5) & (x < w)).float().sum(-1)",
        "((w > 0.5) * torch.exp(x)).sum(-1)",
        "(w > 0.5).sum(-1).sum(-1)",
        "(1 - (w > 0.5).float()).sum(-1)",
        "F.relu(w).sum(-1)",
        "adj.sum(-1)",
        "(adj * torch.eye(8)).sum(-1)",
    ],
)
def test_a_count_of_what_a_test_finds_is_0_where_it_finds_nothing(count: str) -> None:
    assert "SL102" in at(f"x / {count}")


def test_a_length_divides_its_own_vector() -> None:
    assert at("x.mean() / (x - w).norm(dim=-1)") == set()
    assert at("1 / torch.cdist(x, w)") == set()
    assert at("3 * (x - w) / (x - w).norm(dim=-1)") == {"SL102"}


def test_a_loss_may_be_relative_to_a_length() -> None:
    assert at("(x - w).norm() / w.norm()", name="convergence_loss") == {"SL102"}
    assert at("(x - w).norm() / w.norm()", name="compare") == set()


def test_a_number_of_selected_things_divides_their_sum() -> None:
    assert at("w.sum() / x[labels > 0].numel()") == set()
    assert at("x[labels > 0].sum() / x[labels > 0].numel()") == {"SL102"}


def test_what_an_object_has_gathered_is_not_asked_for_too_early() -> None:
    code = """
    class Merger:
        def __init__(self, size):
            self.image = torch.zeros(size)
            self.cover = torch.zeros(size)

        def add(self, tile: torch.Tensor, weight: torch.Tensor):
            self.image += tile
            self.cover += weight

        def merge(self):
            return self.image / self.cover
    """
    assert likely(code) == []


@pytest.mark.parametrize(
    ("spanned", "shown"), [("node_loss", False), ("F.mse_loss(x, y, reduction='none')", False), ("x", True)]
)
def test_the_losses_of_many_things_are_not_all_alike(spanned: str, shown: bool) -> None:
    code = f"""
    def scaled(x: torch.Tensor, y: torch.Tensor, node_loss: torch.Tensor):
        v = {spanned}
        return v / (v.max() - v.min())
    """
    assert ((3, "SL102") in likely(code)) is shown


@pytest.mark.parametrize(("label", "shown"), [("0", False), ("1", True)])
def test_there_is_always_some_background(label: str, shown: bool) -> None:
    selected = f"def loss(x, labels):\n    return x[labels == {label}].mean()"
    assert (likely(selected) == [(2, "SL502")]) is shown
    counted = f"def loss(x, y, labels):\n    return y / (labels == {label}).sum()"
    assert (likely(counted) == [(2, "SL102")]) is shown


def test_a_share_of_a_mask_that_is_positive_tells_of_an_element() -> None:
    code = """
    def calibration(confidence: torch.Tensor, hits: torch.Tensor, low: float, error):
        inside = confidence.gt(low)
        share = inside.float().mean()
        if share.item() {test} 0:
            error += (hits[inside].float().mean() - confidence[inside].mean()) * share
        return error
    """
    assert likely(code.format(test=">")) == []
    assert (5, "SL502") in likely(code.format(test=">="))


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("species >= 0", False),
        ("~(species == -1)", False),
        ("labels >= 0", True),
        ("species >= 1", True),
        ("species.relu() != -1", True),
    ],
)
def test_what_is_minus_one_is_no_index_of_anything(test: str, shown: bool) -> None:
    code = f"""
    def per_atom(x: torch.Tensor, species: torch.Tensor, labels: torch.Tensor):
        return x / ({test}).sum(1).sqrt()
    """
    assert ((2, "SL102") in likely(code)) is shown


@pytest.mark.parametrize(("compared", "shown"), [("x - x.amax(-1, keepdim=True)", False), ("x - w", True)])
def test_the_largest_less_itself_is_above_what_is_below_0(compared: str, shown: bool) -> None:
    code = f"""
    def support(x: torch.Tensor, w: torch.Tensor, t: float):
        return w / (({compared}) > -1.0 / t).sum(-1)
    """
    assert ((2, "SL102") in likely(code)) is shown


@pytest.mark.parametrize(
    ("mask", "shown"),
    [
        ("~action_is_pad", False),
        ("~(~padding_mask + tokens_mask)", False),
        ("tokens_mask.sum(-1).bool()", False),
        ("~mask", True),  # of which nothing is known
        ("mask.bool()", True),
        ("x > 0", True),
    ],
)
def test_a_mask_whose_name_tells_what_it_leaves_out_leaves_something(mask: str, shown: bool) -> None:
    code = f"""
    def loss(x, mask, action_is_pad, padding_mask, tokens_mask):
        return x[{mask}].mean()
    """
    assert (likely(code) == [(2, "SL502")]) is shown


def test_one_selection_that_holds_something_tells_of_the_other_by_the_same_mask() -> None:
    code = """
    def covariance(a: torch.Tensor, b: torch.Tensor, high: float):
        valid = a > high
        x, y = a[valid].detach().reshape(-1).cpu(), b[valid].detach().reshape(-1).cpu()
        if len(x) != 0:
            return (x - x.mean()) * (y - y.mean())
        return a * 0
    """
    assert likely(code) == []
    assert (5, "SL502") in likely(code.replace("b[valid]", "b[b > high]"))


@pytest.mark.parametrize(("divided", "shown"), [("place", False), ("a", True)])
def test_one_of_several_lengths_divides_another_thing(divided: str, shown: bool) -> None:
    program = f"""
    def along(place: torch.Tensor, a: torch.Tensor, b: torch.Tensor, first: bool):
        if first:
            side = torch.linalg.norm(a - b)
        else:
            side = torch.linalg.norm(a)
        return {divided} / side
    """
    assert bool(likely(program)) is shown


@pytest.mark.parametrize(
    ("other", "shown"), [("(s + x).clamp(min=0)", False), ("(s + y).clamp(min=0)", True)]
)
def test_not_both_sides_of_a_place_in_a_thing_are_nothing(other: str, shown: bool) -> None:
    program = f"""
    def centerness(s: torch.Tensor, x: torch.Tensor, y: torch.Tensor):
        front, back = (s - x).clamp(min=0), {other}
        return torch.min(front, back) / torch.max(front, back)
    """
    assert bool(likely(program)) is shown
