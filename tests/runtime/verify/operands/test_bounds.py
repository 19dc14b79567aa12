"""The numbers that boundary operands are filled with."""

import math
from itertools import combinations

import pytest

from stablelint.catalog import contract as contracts
from stablelint.diagnostic import Position, Span
from stablelint.numerics.formats import FORMATS, FloatFormat
from stablelint.runtime.verify.operands.page import bound_of
from stablelint.runtime.verify.site import Site

_CONTRACTS = [
    ("x > 0", "x >= 2 / max"),
    ("x >= 0", "x > 0"),
    ("abs(x) <= 1", "abs(x) < 1"),
    ("x <= log(max)", None),
    ("abs(x) >= 1 / max", "abs(x) >= 1 / sqrt(max)"),
]


@pytest.fixture(params=["float16", "float32", "float64"])
def fmt(request: pytest.FixtureRequest) -> FloatFormat:
    return FORMATS[request.param]


def _parts(forward: str, backward: str | None) -> list[contracts.Contract]:
    return [contracts.parse(text) for text in (forward, backward) if text]


def _site(forward: str | None, backward: str | None) -> Site:
    span = Span(Position(1, 1), Position(1, 5))
    return Site("SL101", "a.py", span, "f(x)", "f(x)", None, {"x": "x"}, forward=forward, backward=backward)


@pytest.mark.parametrize(("forward", "backward"), _CONTRACTS)
def test_what_is_inside_keeps_the_contract_and_what_is_near_or_beyond_breaks_it(
    forward: str, backward: str | None, fmt: FloatFormat
) -> None:
    bound = bound_of(_site(forward, backward), "x", fmt)
    assert bound is not None
    assert bound.near
    assert bound.inside
    parts = _parts(forward, backward)

    def keeps(value: float) -> bool:
        return all(part.holds({"x": value}, fmt) for part in parts)

    assert all(keeps(value) for value in bound.inside)
    assert not any(keeps(value) for value in (*bound.near, *bound.beyond))


@pytest.mark.parametrize(("forward", "backward"), _CONTRACTS)
def test_two_values_at_an_edge_that_are_neighbours_break_different_halves(
    forward: str, backward: str | None, fmt: FloatFormat
) -> None:
    bound = bound_of(_site(forward, backward), "x", fmt)
    assert bound is not None
    parts = _parts(forward, backward)
    for one, other in combinations(bound.near, 2):
        if math.isclose(one, other, rel_tol=4 * fmt.eps):
            halves = [[part.holds({"x": value}, fmt) for part in parts] for value in (one, other)]
            assert halves[0] != halves[1]


def test_a_contract_of_another_operand_has_no_bounds() -> None:
    assert bound_of(_site("y > 0", None), "x", FORMATS["float32"]) is None
