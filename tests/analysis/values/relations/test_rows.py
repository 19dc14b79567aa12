"""The total of rows that were selected because it is not 0 there."""

import pytest

from tests.analysis.support import assumed, proved

KEPT = [
    ("k = m.sum(-1) > 0", "m[k].sum(-1)"),
    ("k = m.sum(-1) != 0", "m[k].sum(-1, keepdim=True)"),
    ("k = ~(m.sum(-1) == 0)", "m[k].float().sum(-1)"),
    ("k = (0 < m.sum(-1)) & (other > 1)", "m[k].sum(-1)"),
    ("k = m.any(-1)", "m[k].sum(-1)"),
    ("k = m.sum(1).nonzero().squeeze()", "m[k].sum(1)"),
    ("k = m.sum(1) > 0.5", "m[k].sum(dim=1, keepdim=True)"),
]
OTHERS = [
    ("k = m.sum(-1) >= 0", "m[k].sum(-1)"),
    ("k = m.sum(-1) == 0", "m[k].sum(-1)"),
    ("k = (m.sum(-1) > 0) | other", "m[k].sum(-1)"),
    ("k = m.sum(1) > 0", "m[k].sum(-1)"),
    ("k = m.sum(0) > 0", "m[k].sum(0)"),
    ("k = (2 * m).sum(-1) > 0", "(m * other)[k].sum(-1)"),
    ("k = m.sum(-1) > 0; k[0] = True", "m[k].sum(-1)"),
    ("k = m.sum(-1) > 0; m[0] = False", "m[k].sum(-1)"),
    ("k = m.sum(-1) > 0; m = m[k]; m[0] = False", "m.sum(-1)"),
]


def _program(given: str, divisor: str, mask: str = "m > 0") -> str:
    return f"def f(x, m: torch.Tensor, other: torch.Tensor):\n    m = {mask}\n    {given}\n    return x / {divisor}\n"


@pytest.mark.parametrize(("given", "divisor"), KEPT)
def test_rows_that_were_kept_for_their_total_have_one(given: str, divisor: str) -> None:
    assert assumed(_program(given, divisor)) == [(4, "SL102")]


@pytest.mark.parametrize(("given", "divisor"), OTHERS)
def test_rows_that_were_kept_otherwise_or_have_changed_since_may_have_none(given: str, divisor: str) -> None:
    program = _program(given, divisor)
    assert not assumed(program)
    assert not proved(program)


@pytest.mark.parametrize("cast", ["float", "half", "long"])
def test_numbers_that_a_cast_may_turn_into_0_have_no_total_for_being_kept(cast: str) -> None:
    program = _program("k = m.sum(-1) > 0", f"m[k].{cast}().sum(-1)", mask="m.abs().double()")
    assert not assumed(program)
    assert not proved(program)


def test_what_is_added_up_with_signs_is_only_assumed_not_to_cancel() -> None:
    assert assumed(_program("k = m.sum(-1) != 0", "m[k].sum(-1)", mask="m * 2")) == [(4, "SL102")]


def test_the_norm_of_rows_that_were_kept_for_it_is_not_0() -> None:
    program = _program("x = x[x.norm(dim=-1) > 1e-6]", "x.norm(dim=-1, keepdim=True)", mask="x = x.float()")
    assert (4, "SL102") in assumed(program)
