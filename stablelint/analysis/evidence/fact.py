"""Named facts that tell whether a finding is worth a person's time.

A fact is a function of a subject; its docstring says it in a few words, as the reader of a finding is told. Facts are
found by walking `evidence.facts`; what each weighs is measured (`benchmarks/calibrate.py`) and stands in `weights.json`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from stablelint.analysis.evidence import facts
from stablelint.analysis.evidence.subject import Subject
from stablelint.records import dataclass

Holds = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: its name, what it says, the sign that its weight is expected to have, and when it holds."""

    name: str
    sentence: str
    sign: int
    holds: Holds


def raises(holds: Holds) -> Fact:
    """The fact that a function decides, as one that speaks for a repair."""
    return _fact(holds, 1)


def lowers(holds: Holds) -> Fact:
    """The fact that a function decides, as one that speaks against a repair."""
    return _fact(holds, -1)


def _fact(holds: Holds, sign: int) -> Fact:
    sentence = (holds.__doc__ or "").strip().splitlines()[0].rstrip(".")
    return Fact(holds.__name__, sentence, sign, holds)


@cache
def all_facts() -> tuple[Fact, ...]:
    """Every fact, by name."""
    modules = (
        importlib.import_module(f"{facts.__name__}.{found.name}")
        for found in pkgutil.iter_modules(facts.__path__)
    )
    known = {fact.name: fact for m in modules for fact in vars(m).values() if isinstance(fact, Fact)}
    return tuple(known[name] for name in sorted(known))
