"""Named facts that tell whether a finding is worth a person's time.

A fact is a function of a subject; its docstring says it in a few words, as the reader of a finding is told. Facts are
found by walking `evidence.facts`; what each weighs is measured (`benchmarks/calibrate.py`) and stands in `weights.json`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from stablelint.analysis.evidence import facts
from stablelint.analysis.evidence.subject import Subject

Holds = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: its name, what it says, the sign that its weight is expected to have, and when it holds."""

    name: str
    sentence: str
    sign: int
    holds: Holds


def raises(function: Holds) -> Holds:
    """Marks a fact that speaks for a repair."""
    return _marked(function, 1)


def lowers(function: Holds) -> Holds:
    """Marks a fact that speaks against one."""
    return _marked(function, -1)


def _marked(function: Holds, sign: int) -> Holds:
    sentence = (function.__doc__ or "").strip().splitlines()[0].rstrip(".")
    function.fact = Fact(function.__name__, sentence, sign, function)  # type: ignore[attr-defined]
    return function


@cache
def all_facts() -> tuple[Fact, ...]:
    """Every fact, by name."""
    modules = (
        importlib.import_module(f"{facts.__name__}.{found.name}")
        for found in pkgutil.iter_modules(facts.__path__)
    )
    known = {f.fact.name: f.fact for m in modules for f in vars(m).values() if hasattr(f, "fact")}
    return tuple(known[name] for name in sorted(known))
