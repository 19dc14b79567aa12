"""Confidence: the chance that a maintainer would repair a finding, by the facts that hold of it.

A logistic model: the log-odds are the sum of the weights of the facts that hold. A flaw, which the text alone shows,
has no operand to ask about: its chance starts from the share of its rule's findings that were worth a change to those
who read them, and few facts add to it. Weights, shares and threshold are measured on repairs that maintainers made and
on sites that were read (`benchmarks/calibrate.py`), with whole repositories left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from stablelint.analysis.evidence.fact import all_facts
from stablelint.analysis.evidence.subject import Subject
from stablelint.diagnostic import LIKELY_FROM, RULE, Diagnostic, Level, Reason
from stablelint.records import dataclass, field, replace

_WEIGHTS = Path(__file__).with_name("weights.json")
ENOUGH = 5  # findings that were read, from which a share is told


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of a rule's flaws that are worth a change, how many were read, and how many of those were worth it."""

    share: float
    read: int
    worth: int


@dataclass(frozen=True, slots=True)
class Weights:
    """What each fact adds to the log-odds, and what they start from."""

    base: float
    facts: Mapping[str, float]
    flaws: Mapping[str, float] = field(default_factory=dict)  # the facts that tell on a flaw too
    rates: Mapping[str, Rate] = field(default_factory=dict)  # of flaws, by rule
    unread: float = 0.5  # the share of a rule of which nobody has read a finding
    # By tenths: which, the mean that was said, the share that was worth it, how many were read.
    reliability: tuple[tuple[float, float, float, float], ...] = ()


@cache
def weights() -> Weights:
    """The measured weights."""
    table = json.loads(_WEIGHTS.read_text(encoding="utf8"))
    reliability = tuple(tuple(row) for row in table.pop("reliability", ()))
    rates = {code: Rate(*row) for code, row in table.pop("rates", {}).items()}
    return Weights(**table, rates=rates, reliability=reliability)


def reasons(subject: Subject) -> tuple[Reason, ...]:
    """The facts that hold of a subject and what each adds to the log-odds, the heaviest first."""
    measured = weights()
    table = measured.flaws if subject.is_flaw else measured.facts
    found = [Reason(f.name, f.sentence, table.get(f.name, 0.0)) for f in all_facts() if f.holds(subject)]
    if subject.is_flaw:
        found.append(_of_rule(subject.site.rule.code))
    return tuple(sorted(found, key=lambda reason: (-abs(reason.weight), reason.fact)))


def _of_rule(code: str) -> Reason:
    """What is known of a rule's flaws, as a weight beside the base."""
    measured = weights()
    rate = measured.rates.get(code, Rate(measured.unread, 0, 0))
    sentence = (
        f"about {rate.share:.0%} of such findings are worth a repair"
        if rate.read >= ENOUGH
        else "few findings of this rule have been read so far"
    )
    return Reason(RULE, sentence, math.log(rate.share / (1.0 - rate.share)) - measured.base)


def confidence_of(because: tuple[Reason, ...]) -> float:
    """The chance, in (0, 1), that a maintainer would repair what these facts hold of."""
    odds = weights().base + sum(reason.weight for reason in because)
    return 1.0 / (1.0 + math.exp(-odds))


def with_reason(finding: Diagnostic, reason: Reason) -> Diagnostic:
    """The finding with one more reason, and the confidence that follows."""
    because = (reason, *finding.because)
    confidence = round(confidence_of(because), 4)
    return replace(finding, because=because, confidence=confidence, level=level_of(confidence))


def level_of(confidence: float) -> Level:
    """Whether a finding of that confidence is likely to be worth a repair."""
    return Level.LIKELY if confidence >= LIKELY_FROM else Level.POSSIBLE
