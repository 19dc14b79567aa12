"""Confidence out of weights: of a table of the test's own."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablelint.analysis.evidence import score
from stablelint.analysis.evidence.fact import Fact
from stablelint.diagnostic import LIKELY_FROM, RULE, Level, Reason

TABLE = score.Weights(
    base=-1.0,
    facts={"heavy": 2.0, "light": 0.5, "against": -2.5},
    flaws={"against": -2.5},
    rates={"SL205": score.Rate(0.8, 20, 17)},
    unread=0.3,
)
FACTS = (
    Fact("against", "speaks against it", -1, lambda subject: subject.bad),
    Fact("heavy", "speaks for it", 1, lambda subject: True),
    Fact("light", "hardly speaks", 1, lambda subject: True),
    Fact("mute", "weighs nothing", 1, lambda subject: True),
)
LOG_ODDS = st.floats(-6, 6)


@pytest.fixture(autouse=True)
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "weights", lambda: TABLE)
    monkeypatch.setattr(score, "all_facts", lambda: FACTS)


def subject(*, bad: bool, flaw_of: str = "") -> SimpleNamespace:
    site = SimpleNamespace(rule=SimpleNamespace(code=flaw_of))
    return SimpleNamespace(bad=bad, is_flaw=bool(flaw_of), site=site)


def because(*parts: float) -> tuple[Reason, ...]:
    return tuple(Reason(f"fact{n}", "sentence", weight) for n, weight in enumerate(parts))


def test_reasons_are_what_holds_the_heaviest_first() -> None:
    told = score.reasons(subject(bad=True))  # type: ignore[arg-type]
    assert [(reason.fact, reason.weight) for reason in told] == [
        ("against", -2.5),
        ("heavy", 2.0),
        ("light", 0.5),
        ("mute", 0.0),
    ]
    assert told[0].sentence == "speaks against it"
    assert "against" not in [r.fact for r in score.reasons(subject(bad=False))]  # type: ignore[arg-type]


@pytest.mark.parametrize(("bad", "odds"), [(False, 1.5), (True, -1.0)])
def test_confidence_is_the_logistic_function_of_the_sum(bad: bool, odds: float) -> None:
    confidence = score.confidence_of(score.reasons(subject(bad=bad)))  # type: ignore[arg-type]
    assert math.log(confidence / (1 - confidence)) == pytest.approx(odds)


@given(st.lists(LOG_ODDS, max_size=8), st.floats(0.001, 5))
def test_another_reason_moves_confidence_its_own_way(parts: list[float], more: float) -> None:
    before, higher, lower = (score.confidence_of(because(*parts, *one)) for one in ((), (more,), (-more,)))
    assert 0 < before <= 1
    assert higher >= before >= lower
    if abs(sum(parts)) < 20:  # beyond, a double may not tell the chances apart
        assert higher > before > lower


@given(
    st.lists(LOG_ODDS, max_size=8).flatmap(lambda parts: st.tuples(st.just(parts), st.permutations(parts)))
)
def test_the_order_of_reasons_does_not_matter(pair: tuple[list[float], list[float]]) -> None:
    one, other = (score.confidence_of(because(*parts)) for parts in pair)
    assert one == pytest.approx(other)


def test_a_finding_is_likely_from_the_threshold_on() -> None:
    assert [score.level_of(c) for c in (0.99 * LIKELY_FROM, LIKELY_FROM, 1.01 * LIKELY_FROM)] == [
        Level.POSSIBLE,
        Level.LIKELY,
        Level.LIKELY,
    ]


@pytest.mark.parametrize(("code", "share"), [("SL205", 0.8), ("SL999", 0.3)])
def test_a_flaw_is_as_sure_as_its_rule(code: str, share: float) -> None:
    told = score.reasons(subject(bad=False, flaw_of=code))  # type: ignore[arg-type]
    assert score.confidence_of(told) == pytest.approx(share)
    assert [reason.fact for reason in told if reason.weight] == [RULE]


def test_a_flaw_says_what_share_of_its_rule_is_worth_a_repair() -> None:
    reason, *_ = score.reasons(subject(bad=False, flaw_of="SL205"))  # type: ignore[arg-type]
    assert reason.sentence == "about 80% of such findings are worth a repair"


def test_a_fact_that_tells_on_flaws_lowers_what_their_rule_says() -> None:
    told = score.reasons(subject(bad=True, flaw_of="SL205"))  # type: ignore[arg-type]
    odds = math.log(0.8 / 0.2) - 2.5
    assert score.confidence_of(told) == pytest.approx(1 / (1 + math.exp(-odds)))


def test_a_share_of_few_findings_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(TABLE, rates={"SL205": score.Rate(0.3, 2, 0)})
    monkeypatch.setattr(score, "weights", lambda: few)
    reason, *_ = score.reasons(subject(bad=False, flaw_of="SL205"))  # type: ignore[arg-type]
    assert reason.sentence == "few findings of this rule have been read so far"
    assert score.confidence_of((reason,)) == pytest.approx(0.3)
