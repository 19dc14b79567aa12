"""The table of repaired lines is well formed, and a repair is found by what stands at its line."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import repairs
from repairs import Item, Repair

REPAIR = Repair(
    package="timm",
    version="0.9.7",
    pypi="timm==0.9.7",
    file="timm/loss.py",
    line=20,
    quote="return x / x.sum()",
    kind="zero-div",
    repair="clamp_min(eps)",
    visible="single-expression",
    half="test",
)


def item(first: int, last: int, level: str = "likely", code: str = "SL102") -> Item:
    return {"location": {"row": first}, "end_location": {"row": last}, "level": level, "code": code}


@pytest.mark.parametrize(("first", "last"), [(20, 20), (19, 19), (21, 21), (10, 30)])
def test_a_finding_within_a_line_or_across_it_finds_the_repair(first: int, last: int) -> None:
    assert repairs.answer(REPAIR, [item(first, last)]).level == "likely"


@pytest.mark.parametrize(("first", "last"), [(18, 18), (22, 22), (1, 18), (22, 30)])
def test_a_finding_further_away_does_not(first: int, last: int) -> None:
    assert repairs.answer(REPAIR, [item(first, last)]).level == "none"


def test_the_default_level_counts_before_the_possible_one() -> None:
    both = [item(20, 20, "possible", "SL101"), item(20, 20, "likely", "SL102")]
    assert repairs.answer(REPAIR, both) == repairs.Answer(REPAIR, "likely", ("SL101", "SL102"))
    assert repairs.answer(REPAIR, both[:1]).level == "possible"


def test_the_table_counts_a_default_finding_at_both_levels() -> None:
    answers = [
        repairs.Answer(REPAIR, "likely", ("SL102",)),
        repairs.Answer(replace(REPAIR, line=9), "possible", ("SL102",)),
        repairs.Answer(replace(REPAIR, line=7), "none", ()),
    ]
    rows = [line.split() for line in repairs.table(answers).splitlines()[1:]]
    assert ["all", "3", "1", "2"] in rows
    assert ["kind", "zero-div", "3", "1", "2"] in rows


def test_every_repair_is_told_once_and_in_known_words() -> None:
    table = repairs.load()
    places = Counter(repair.place for repair in table)
    assert [place for place, count in places.items() if count > 1] == []
    assert {repair.half for repair in table} == {"seen", "test"}
    assert {repair.visible for repair in table} <= {
        "single-expression",
        "same-function",
        "cross-function",
        "run-time",
    }
    for repair in table:
        assert repair.pypi == f"{repair.package}=={repair.version}"
        assert repair.line > 0
        assert repair.quote == repair.quote.strip() != ""
        assert repair.file.endswith(".py")
        assert not Path(repair.file).is_absolute()
