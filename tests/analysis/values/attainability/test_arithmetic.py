"""When sums and quotients come to 0, and not only to NaN."""

import pytest

from tests.analysis.support import body, unguarded, violated

RATES = body("""
    def f1(hits: torch.Tensor, labels: torch.Tensor, w: torch.Tensor):
        found = (hits * labels > 0).sum()
        wrong = (hits * labels < 0).sum()
        left = (hits > labels).sum()
        a = found / ({0})
        b = found / ({1})
        return 2 * a * b / (a + b)
""")


def test_shares_of_one_count_are_0_together_beside_their_nan() -> None:
    assert (7, "SL102") in violated(RATES.format("found + wrong", "left + found"))


@pytest.mark.parametrize(
    "wholes", [("found", "found"), ("found + wrong", "found * wrong"), ("wrong + left", "left")]
)
def test_shares_that_are_nan_wherever_their_count_is_0(wholes: tuple[str, str]) -> None:
    code = RATES.format(*wholes)
    assert (7, "SL102") not in violated(code)
    assert (7, "SL102") in unguarded(code)
