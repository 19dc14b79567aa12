"""How well founded a 0 is where a test selects what takes its place."""

import pytest

from tests.analysis.support import unguarded, violated

PAIRS = """
def f(x: torch.Tensor, test: torch.Tensor):
    d = torch.where({test}, 1.0, x[None] - x[:, None])
    return 1 / d
"""


@pytest.mark.parametrize(
    ("test", "is_left"), [("torch.eye(len(x)).bool()", False), ("torch.ones(len(x)).bool()", True)]
)
def test_of_all_pairs_those_of_a_row_with_itself_are_0(test: str, is_left: bool) -> None:
    told = violated if is_left else unguarded
    assert told(PAIRS.format(test=test)) == [(3, "SL102")]
