"""Confidence: the chance that a maintainer would repair a finding, by the facts that hold of it.

A logistic model: the log-odds are the sum of the weights of the facts that hold. Weights and threshold are measured
on repairs that maintainers made and on sites that were read (`benchmarks/calibrate.py`), with whole repositories left out.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from stablelint.analysis.evidence.fact import all_facts
from stablelint.analysis.evidence.subject import Subject
from stablelint.diagnostic import Diagnostic, Level, Reason

_WEIGHTS = Path(__file__).with_name("weights.json")


@dataclass(frozen=True, slots=True)
class Weights:
    """What each fact adds to the log-odds, what they start from, and the confidence from which a finding is likely."""

    base: float
    likely: float
    facts: dict[str, float]
    reliability: tuple[
        tuple[float, float, float, float], ...
    ] = ()  # tenth, mean said, share worth it, number read


@cache
def weights() -> Weights:
    """The measured weights."""
    table = json.loads(_WEIGHTS.read_text(encoding="utf8"))
    reliability = tuple(tuple(row) for row in table.get("reliability", ()))
    return Weights(table["base"], table["likely"], table["facts"], reliability)


def reasons(subject: Subject) -> tuple[Reason, ...]:
    """The facts that hold of a subject and what each adds to the log-odds, the heaviest first."""
    table = weights().facts
    found = [Reason(f.name, f.sentence, table.get(f.name, 0.0)) for f in all_facts() if f.holds(subject)]
    return tuple(sorted(found, key=lambda reason: (-abs(reason.weight), reason.fact)))


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
    return Level.LIKELY if confidence >= weights().likely else Level.POSSIBLE
