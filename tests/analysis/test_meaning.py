"""Zeros and overflows that the meaning of a value, or of a function, excludes."""

from __future__ import annotations

import pytest

from .support import likely


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("x >= x.amax(-1, keepdim=True)", False),
        ("x.amax(-1, keepdim=True) <= x", False),
        ("x == x.min(-1, keepdim=True).values", False),
        ("x.abs() >= x.abs().amax(-1, keepdim=True) / 2", False),
        ("x >= x.mean(-1, keepdim=True)", False),
        ("x >= x.amax(-1, keepdim=True) / 2", True),  # of negative numbers no element reaches half
        ("x.abs() >= x.abs().amax(-1, keepdim=True) * 2", True),
        ("x > x.amax(-1, keepdim=True)", True),
        ("x >= y.amax(-1, keepdim=True)", True),
        ("x <= x.amax(-1, keepdim=True) - 1", True),
    ],
)
def test_what_is_compared_with_its_own_maximum_reaches_it(test: str, shown: bool) -> None:
    code = f"""
    def spread(x: torch.Tensor, y: torch.Tensor):
        chosen = {test}
        return x.sum(-1) / (3.0 * chosen.float().sum(-1))
    """
    assert ((3, "SL102") in likely(code)) is shown


def test_a_product_of_probabilities_is_seldom_one_but_for_its_logarithm() -> None:
    code = """
    def any_of(logits: torch.Tensor):
        p = torch.sigmoid(logits)
        some = 1 - (1 - p).prod(-1)
        return p / some[..., None], torch.log(some)
    """
    assert [rule for line, rule in likely(code) if line == 4] == ["SL101"]


@pytest.mark.parametrize(
    ("parameters", "more", "shown"),
    [
        ("self, x, inverse=False", "", False),
        ("self, x", "def inverse(self, y): ...", False),
        ("self, x", "def kl(self, y): ...", True),
    ],
)
def test_an_invertible_transform_scales_by_an_exponential(parameters: str, more: str, shown: bool) -> None:
    code = f"""
    class Coupling(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 8)

        {more or "pass"}

        def forward({parameters}):
            log_scale, shift = self.layer(x).chunk(2, -1)
            return x * torch.exp(log_scale) + shift, log_scale.sum(-1)
    """
    assert ("SL201" in [rule for _, rule in likely(code)]) is shown


@pytest.mark.parametrize(
    ("above", "first", "shown"),
    [
        ("", "warnings.warn('use Scale', DeprecationWarning)", False),
        ("@deprecated('use Scale')", "pass", False),
        ("", "warnings.warn('x is constant')", True),
    ],
)
def test_what_is_deprecated_is_kept_as_it_was(above: str, first: str, shown: bool) -> None:
    code = f"""
    import warnings
    {above}
    def scaled(x: torch.Tensor):
        {first}
        return (x - x.min()) / (x.max() - x.min())
    """
    assert ("SL102" in [rule for _, rule in likely(code)]) is shown


@pytest.mark.parametrize(
    ("annotation", "shown"), [("float", False), ("int | None", False), ("torch.Tensor", True)]
)
def test_what_takes_plain_numbers_is_not_trained(tmp_path: object, annotation: str, shown: bool) -> None:
    code = f"""
    def filters(low: {annotation}, high: {annotation}):
        def scale(x):
            return torch.where(x > 1, torch.log(x), x)
        return scale(high) - scale(low)
    """
    assert ("SL503" in [rule for _, rule in likely(code)]) is shown
