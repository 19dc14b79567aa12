"""Softmax over rows that -inf may fill, however the -inf gets there."""

import pytest

from tests.analysis.support import open_

IMPORTS = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def reported(*lines: str) -> list[str]:
    """The rules that are reported of scores `e` between nodes of a graph."""
    body = "".join(f"    {line}\n" for line in lines)
    return [rule for _, rule in open_(f"def attend(e: torch.Tensor, adj, group):\n{body}", IMPORTS)]


@pytest.mark.parametrize(
    "masked",
    [
        'torch.where(adj > 0, e, float("-inf"))',
        "torch.where(adj > 0, e, torch.full_like(e, -math.inf))",
        'torch.where(adj > 0, e, torch.tensor(float("-inf")))',
        "torch.where(adj == 0, -math.inf, e)",
        "e.masked_fill(adj == 0, -math.inf)",
        "e + torch.zeros_like(e).masked_fill(adj == 0, -math.inf)",
    ],
)
@pytest.mark.parametrize("head", ["softmax", "log_softmax", "logsumexp"])
def test_a_node_may_have_no_neighbour(masked: str, head: str) -> None:
    assert reported(f"e = {masked}", f"return torch.{head}(e, dim=1)") == ["SL501"]


def test_an_assignment_by_a_mask_masks() -> None:
    assert reported("e[adj == 0] = -math.inf", "return e.softmax(-1)") == ["SL501"]
    assert reported("adj_mask = adj == 0", "e[adj_mask] = -math.inf", "return e.softmax(-1)") == ["SL501"]


@pytest.mark.parametrize(
    ("mask", "spared"),
    [
        ("(group != group.T) & ~torch.eye(5).bool()", True),
        ("(group != group.T) | torch.eye(5).bool()", False),
        ("~((group == group.T) & ~torch.eye(5).bool())", False),
        ("~((group == group.T) | torch.eye(5).bool())", True),
        ("(adj + torch.eye(5)) == 0", True),
        ("(adj - torch.eye(5)) == 0", False),
        ("torch.ones(5, 5).triu(1).bool()", True),
        ("group[None] > group[:, None]", True),
        ("~(group[None] <= group[:, None])", True),
        ("group[None] >= group[:, None]", False),
        ("(group[:, None] - group[None]).abs() > 5", True),
        ("(group[:, None] - group[None]).abs() < 5", False),
    ],
)
def test_a_diagonal_is_kept_in_or_out(mask: str, spared: bool) -> None:
    codes = reported(f"e = e.masked_fill({mask}, -math.inf)", "return e.softmax(-1)")
    assert ("SL501" not in codes) is spared


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("torch.eq(group, group.T).float()", ["SL501"]),
        ("((adj > 0) & ~torch.eye(5).bool()).float()[:3]", ["SL501"]),
        ("((adj > 0) | torch.eye(5).bool()).float()", []),
        ("adj.relu()", ["SL101"]),
        ("(adj > 0) + 1e-6", []),
    ],
)
def test_the_logarithm_of_truth_values_is_a_mask(mask: str, expected: list[str]) -> None:
    assert reported(f"return torch.logsumexp(e + ({mask}).log(), dim=1)") == expected


def test_the_factors_of_a_mask_stand_in_either_order() -> None:
    for masked in ("s - 1e9 * (1 - adj)", "s - (1 - adj) * 1e9", "-1e9 * (1 - adj) + s"):
        assert reported("s = e.half()", f"return {masked}") == ["SL403"]


def test_what_is_called_a_mask_selects() -> None:
    code = """
    def hide(s: torch.Tensor, mask, mask_ids):
        s = s.half()
        s[{index}] = -1e9
        return s
    """
    assert [rule for _, rule in open_(code.format(index="mask"))] == ["SL403"]


@pytest.mark.parametrize(
    ("mask", "is_left"),
    [
        ("torch.full((4, 4), fill_value=1).tril(diagonal=0).triu(diagonal=-2)", True),
        ("torch.ones(4, 4).tril()", True),
        ("e.tril()", False),
        ("torch.full((4, 4), 0)", False),
    ],
)
def test_the_logarithm_of_a_triangle_of_ones_is_a_mask(mask: str, is_left: bool) -> None:
    assert ("SL101" not in reported(f"return torch.log({mask})")) is is_left


def test_the_logarithm_of_a_mask_of_ones_or_of_a_test_is_meant() -> None:
    code = """
    def mask_of(x, lengths):
        if lengths is None:
            return torch.ones_like(x)
        return (torch.arange(9) < lengths).float()

    def f(x: torch.Tensor, lengths):
        return x + torch.log(mask_of(x, lengths))
    """
    assert [rule for _, rule in open_(code) if rule == "SL101"] == []


def test_the_logarithm_of_a_product_of_tests_is_meant() -> None:
    code = """
    def log_prob(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor):
        above, below = x.ge(low).type_as(low), x.lt(high).type_as(low)
        return torch.log(above.mul(below))
    """
    assert [rule for _, rule in open_(code) if rule == "SL101"] == []
