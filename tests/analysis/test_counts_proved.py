"""Zeros and overflows that the meaning of a value, or of a function, excludes."""

from __future__ import annotations

import pytest

from .support import open_


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
    assert ((3, "SL102") in open_(code)) is shown


@pytest.mark.parametrize(
    ("parameters", "more", "shown"),
    [
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
    assert ("SL201" in [rule for _, rule in open_(code)]) is shown


@pytest.mark.parametrize(
    ("above", "first", "shown"),
    [
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
    assert ("SL102" in [rule for _, rule in open_(code)]) is shown


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
    assert ("SL503" in [rule for _, rule in open_(code)]) is shown


@pytest.mark.parametrize(("result", "shown"), [("weight[y]", False), ("weight[x]", True), ("weight", True)])
def test_a_class_without_a_member_is_not_read_by_its_members(result: str, shown: bool) -> None:
    code = f"""
    def weights(y: torch.Tensor, x: torch.Tensor):
        weight = 1.0 / y.bincount()
        return {result}
    """
    assert ((2, "SL102") in open_(code)) is shown


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        ("the second moment, over the mask", True),
    ],
)
def test_a_comment_above_a_statement_speaks_of_all_of_it(comment: str, shown: bool) -> None:
    code = f"""
    def average(x: torch.Tensor, mask: torch.Tensor):
        count = (mask == 1).sum(-1)
        # {comment}
        mean = (
            x.sum(-1) / count
        )
        return mean
    """
    assert ((5, "SL102") in open_(code)) is shown


@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        ("self.layer(x)", True),
    ],
)
def test_a_weight_hardly_comes_to_a_scale_of_zero(scale: str, shown: bool) -> None:
    code = f"""
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.raw = nn.Parameter(torch.zeros(3))
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return torch.distributions.Normal(x, F.softplus({scale}))
    """
    assert ("SL108" in [rule for _, rule in open_(code)]) is shown


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        ("share", True),
    ],
)
def test_what_every_call_in_sight_passes_tells_more_than_a_name(passed: str, shown: bool) -> None:
    code = f"""
    def likelihood(x, log_scale):
        return torch.exp(0.5 * -log_scale) * x

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            share = self.layer(x.mean)
            return likelihood(x.mean, {passed})
    """
    assert ((2, "SL201") in open_(code)) is shown


@pytest.mark.parametrize(
    ("fill", "shown"),
    [
        ("nn.init.constant_(x, 1.0)", True),
        ("nn.init.orthogonal_(y)", True),
    ],
)
def test_what_an_initialiser_has_just_filled_is_not_constant(fill: str, shown: bool) -> None:
    code = f"""
    def rescale(x: torch.Tensor, y: torch.Tensor, scale: float):
        {fill}
        return scale / (x.size(-1) * x.var())
    """
    assert ((3, "SL102") in open_(code)) is shown
