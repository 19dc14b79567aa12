"""Causes that the operands tell, where no rule speaks of the expression."""

import math

import pytest

pytest.importorskip("torch")

from stablelint.catalog import load_catalog
from stablelint.runtime.guard.reporting.cause import explain
from stablelint.runtime.guard.reporting.event import Element, Event, Kind, Mechanism, Origin, Phase
from stablelint.runtime.tensors.measure import OperandStats


def event(operation: str, *values: float, mechanism: Mechanism = Mechanism.DOMAIN) -> Event:
    element = Element((0,), tuple((f"x{index}", value) for index, value in enumerate(values)))
    return Event(
        Kind.NAN,
        Phase.FORWARD,
        Origin.FUNCTION,
        mechanism,
        0,
        None,
        operation,
        None,
        element=element,
        note="It is 0.",
    )


@pytest.mark.parametrize(
    ("operation", "values", "code"),
    [
        ("mul", (0.0, -math.inf), "SL504"),
        ("sub", (-math.inf, -math.inf), "SL223"),
        ("sub", (math.inf, math.inf), None),
        ("mul", (0.0, 1.0), None),
        ("sub", (math.inf, 1.0), None),
    ],
)
def test_infinite_operands_are_the_cause(operation: str, values: tuple[float, ...], code: str | None) -> None:
    cause = explain(event(operation, *values))
    assert cause.code == code
    assert ("inf is NaN" in cause.summary) == (code is not None or values == (math.inf, math.inf))


@pytest.mark.parametrize(("value", "code"), [(-math.inf, "SL501"), (1.0, None)])
def test_a_row_of_minus_infinity_is_the_cause_of_a_softmax(value: float, code: str | None) -> None:
    assert explain(event("softmax", value)).code == code


def test_sums_of_products_are_told_by_what_their_operands_hold() -> None:
    def operand(name: str, inf: int, zero: int) -> OperandStats:
        return OperandStats(name, (2, 2), "float32", "cpu", 0.0, 1.0, 0, inf, zero)

    told = Event(
        Kind.NAN,
        Phase.FORWARD,
        Origin.FUNCTION,
        Mechanism.DOMAIN,
        0,
        None,
        "mm",
        None,
        operands=(operand("a", 1, 0), operand("b", 0, 2)),
    )
    assert explain(told).code == "SL504"


def test_a_lost_eps_has_a_page() -> None:
    cause = explain(event("step", mechanism=Mechanism.ABSORBED))
    assert cause.code == "SL413"
    assert cause.summary.startswith("It is 0.")


def test_the_pages_exist_by_these_names() -> None:
    rules = load_catalog().rules
    names = {
        "SL504": "infinity-times-zero",
        "SL501": "fully-masked-softmax",
        "SL223": "unguarded-shift",
        "SL413": "half-optimizer",
    }
    assert {code: rules[code].name for code in names} == names
