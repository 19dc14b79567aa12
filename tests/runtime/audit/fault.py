"""What a planted fault is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    program: str
    name: str
    old: str
    new: str
    check: str
    names: str  # stands in the expression, the subjects or the evidence
