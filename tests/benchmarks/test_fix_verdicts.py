"""Fixes that are wrong on purpose do not pass, and right ones are not refused: a slice of the benchmark."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="fixes are judged by running them")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import fix_verdicts

from stablelint.catalog import load_catalog

SLICE = ("SL101", "SL102", "SL103", "SL106", "SL202", "SL212")


@pytest.mark.parametrize("base", [base for base in fix_verdicts.BASES if base.code in SLICE], ids=str)
def test_fixes_are_judged_as_they_deserve(base: fix_verdicts.Base) -> None:
    judged = list(fix_verdicts.judged(base, load_catalog()))
    assert not [row for row in judged if not row[-1]]


def test_there_are_a_hundred_fixes_of_each_kind_over_twenty_rules() -> None:
    assert len({base.code for base in fix_verdicts.BASES}) >= 20
    assert sum(len(base.fixed) for base in fix_verdicts.BASES) >= 100
    assert sum(len(list(fix_verdicts.wrong_fixes(base))) for base in fix_verdicts.BASES) >= 100
