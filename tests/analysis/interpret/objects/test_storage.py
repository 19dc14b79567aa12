"""Spreads that one method keeps for another to divide by."""

from __future__ import annotations

import pytest

from ...support import open_, violated

KEPT = """
class Scaler:
    def __init__(self):
        self.scale = None
    def fit(self, x: torch.Tensor):
        self.mean = x.mean(0)
        self.scale = {kept}
        {after}
    def transform(self, x):
        return (x - self.mean) / self.scale
"""
DIVISION = 9


def reported(kept: str, after: str = "return self") -> bool:
    """Whether the division in the other method is reported by default."""
    return (DIVISION, "SL102") in violated(KEPT.format(kept=kept, after=after).strip())


@pytest.mark.parametrize(
    "kept", ["x.std(0)", "torch.std(x, dim=0)", "x.max() - x.min()", "x.max(0)[0] - x.min(0)[0]"]
)
def test_the_spread_of_data_that_one_method_keeps_is_0_for_another(kept: str) -> None:
    assert reported(kept)


@pytest.mark.parametrize(
    "after",
    [
        "self.scale[self.scale == 0] = 1",
        "self.scale.clamp_(min=1e-6)",
        "self.scale += 1e-6",
        "assert (self.scale > 0).all()",
        "self.scale, self.mean = sane(self.scale, self.mean)",
        "self.scale = self.scale.clamp(min=1e-6)",
    ],
)
def test_a_kept_spread_that_is_minded_somewhere_is_left_alone(after: str) -> None:
    assert not reported("x.std(0)", after)


@pytest.mark.parametrize("kept", ["x.std(0) + 1e-6", "x.std(0).clamp(min=1e-6)", "x.mean(0)", "x.size(0)"])
def test_what_is_bounded_or_no_spread_is_left_alone(kept: str) -> None:
    assert not reported(kept)


def test_a_method_that_reads_what_it_keeps_comes_to_an_end() -> None:
    code = """
        class Running:
            def update(self, x: torch.Tensor):
                self.scale = (x / self.scale).std(0)
                return x / self.scale
        """
    assert (4, "SL102") in open_(code)
