"""The parameters of a distribution, which are positive wherever its arguments are validated."""

import pytest

from tests.analysis.support import assumed, discharged_by, unmet

HEAD = "from torch.distributions import Gamma, Normal\n"


@pytest.mark.parametrize(
    "quotient",
    ["x / d.scale", "x / d.stddev", "x / d.variance", "torch.log(d.scale)", "1 / d.scale ** 2"],
)
@pytest.mark.parametrize("given", ["d: Normal", "a, b, d=None"])
def test_a_scale_is_assumed_to_be_positive(quotient: str, given: str) -> None:
    made = "" if ":" in given else "    d = Normal(a, b)\n"
    program = f"{HEAD}def f(x, {given}):\n{made}    return {quotient}\n"
    assert len(assumed(program)) == 1
    assert {rule for _, rule in unmet(program)} <= {"SL108"}


def test_a_scale_is_what_it_was_made_of() -> None:
    program = f"{HEAD}def f(x, s):\n    d = Normal(x, s.exp() + 1e-3)\n    return x / d.scale\n"
    assert discharged_by(program)["SL102"] == {"eps"}


@pytest.mark.parametrize("quotient", ["x / d.mean", "x / d.loc", "x / d.rate"])
def test_other_attributes_are_not(quotient: str) -> None:
    program = f"{HEAD}def f(x, d: Normal):\n    return {quotient}\n"
    assert [rule for _, rule in unmet(program)] == ["SL102"]


def test_a_gamma_has_a_rate_and_no_scale() -> None:
    program = f"{HEAD}def f(x, d: Gamma):\n    return x / d.rate, x / d.scale\n"
    assert len(assumed(program)) == len(unmet(program)) == 1
