"""Fixes a program as `fix` does, and judges the result."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.codemod.fixpoint import fix_source
from stablelint.diagnostic import Applicability, Diagnostic, Level
from tests.codemod.differential.cores import Core, cores
from tests.codemod.differential.judge import Difference, differences
from tests.codemod.differential.programs import Program, programs

CATALOG = load_catalog(entry_points=False)
_OPTIONS = AnalysisOptions(root=Path("/"), level=Level.POSSIBLE)


@dataclass(frozen=True, slots=True)
class Tried:
    """A program with what its fixes have made of it."""

    program: Program
    fixed: str
    applied: tuple[Diagnostic, ...]
    differences: tuple[Difference, ...]


def fixed(source: str, unsafe: bool = False) -> tuple[str, tuple[Diagnostic, ...]]:
    """Source with all its safe fixes made (with `unsafe`, those that change values as well), at every level."""

    def accept(item: Diagnostic) -> bool:
        if item.fix is None or item.fix.is_choice:
            return False
        return unsafe or item.fix.applicability is Applicability.SAFE

    def diagnose(data: bytes) -> tuple[Diagnostic, ...]:
        return check_source(data, "/program.py", CATALOG, _OPTIONS).diagnostics

    outcome = fix_source(source.encode(), diagnose, accept)
    return outcome.source.decode(), outcome.applied


def drawn(seed: int) -> Iterator[tuple[Program, Core]]:
    """Every kind of program around every expression, once, as the seed has it."""
    rng = random.Random(seed)
    for core in cores(CATALOG, rng):
        for program in programs(core, rng):
            yield program, core


def tried(program: Program, core: Core) -> Tried:
    """Makes the safe fixes of a program and compares it with what they leave."""
    source, applied = fixed(program.source)
    found = differences(program, source, core) if source != program.source else []
    return Tried(program, source, applied, tuple(found))
