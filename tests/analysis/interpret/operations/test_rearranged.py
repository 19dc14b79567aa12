"""What stands elsewhere, or is repeated, is as large as before: einops, grids."""

import pytest

from tests.analysis.support import discharged_by, open_

IMPORTS = "import torch\nimport torch.nn.functional as F\nfrom einops import rearrange, reduce, repeat\n"


@pytest.mark.parametrize(
    "moved",
    [
        "rearrange(w, 'b c -> c b')",
        "repeat(w, 'b -> b 4')",
        "reduce(w, 'b c -> b', 'mean')",
        "reduce(w, 'b c -> b', reduction='max')",
        "torch.stack(torch.meshgrid(w, w))",
        "torch.stack(torch.meshgrid([w, w], indexing='ij'), dim=-1)",
    ],
)
def test_a_bound_is_kept(moved: str) -> None:
    assert "SL101" in discharged_by(f"def f(x):\n    w = x.abs() + 1\n    return {moved}.log()\n", IMPORTS)


@pytest.mark.parametrize(
    "moved", ["reduce(w, 'b c -> b', how)", "rearrange([w, x], 'n b -> b n')", "repeat(x, 'b -> b 4')"]
)
def test_what_is_not_bounded_stays_open(moved: str) -> None:
    code = f"def f(x, how):\n    w = x.abs() + 1\n    return {moved}.log()\n"
    assert (3, "SL101") in open_(code, IMPORTS)


def test_probabilities_are_followed_into_the_loss() -> None:
    code = "def f(x, y):\n    return F.cross_entropy(rearrange(F.softmax(x, -1), 'b n c -> b c n'), y)\n"
    assert open_(code, IMPORTS) == [(2, "SL301")]


def test_whole_numbers_of_a_grid_lose_no_digits() -> None:
    code = """
    def f(n):
        grid = rearrange(torch.stack(torch.meshgrid(torch.arange(8), torch.arange(8))), 'c i j -> (i j) c')
        far = rearrange(grid, 'i c -> i 1 c') - rearrange(grid, 'j c -> 1 j c')
        return torch.log(far.abs() + 1)
    """
    assert not open_(code, IMPORTS)
