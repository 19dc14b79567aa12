"""What the text around a site tells of its author's mind."""

from __future__ import annotations

import pytest

from ..support import likely


@pytest.mark.parametrize(
    ("says", "shown"),
    [
        ("The result is NaN where the norm of x is 0.", False),
        ("Raises a division by zero for an empty x.", False),
        ("Never NaN.", True),
        ("Scales x.", True),
    ],
)
def test_a_docstring_that_says_when_the_result_is_bad_is_believed(says: str, shown: bool) -> None:
    code = f'''
    def scaled(x: torch.Tensor):
        """{says}"""
        return x / x.abs().max()
    '''
    assert (likely(code) != []) is shown


@pytest.mark.parametrize(("after", "shown"), [("p[0] = 0.0", False), ("p[i] = 0.0", True), ("q = 0.0", True)])
def test_an_element_that_is_put_right_at_once_was_met(after: str, shown: bool) -> None:
    code = f"""
    def weights(n: int, i: int):
        p = 1.0 / torch.relu(torch.arange(9.0) - n)
        {after}
        return p
    """
    assert ((2, "SL102") in likely(code)) is shown


@pytest.mark.parametrize(("f", "shown"), [("torch.arctan", False), ("torch.sin", True)])
def test_an_arctangent_bears_an_infinite_quotient(f: str, shown: bool) -> None:
    code = f"""
    def angle(x: torch.Tensor):
        a, b = x[..., 0], x[..., 1]
        return {f}(a / b)
    """
    assert ((3, "SL102") in likely(code)) is shown


@pytest.mark.parametrize(
    ("complement", "shown"),
    [("torch.log1p(-torch.exp(x))", False), ("torch.exp(x) - 2", True)],
)
def test_what_is_the_logarithm_of_a_probability_does_not_overflow(complement: str, shown: bool) -> None:
    code = f"""
    def log1mexp_loss(x: torch.Tensor):
        return torch.where(x < -0.7, {complement}, x)
    """
    assert any(rule == "SL503" for _, rule in likely(code)) is shown
