"""Runs a drawn program on operands of many kinds, and tells which of its proofs that falsifies."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import Catalog
from tests.analysis.generated.programs import KINDS, NAMESPACE, Program, operand

_TRIALS = 12
_NUMBERS = (0, 1, 2, 0.5, -1, 3, -0.5, 100)
# Beyond these, in size, quotients and squares leave float32, of which an open end of a range says nothing.
_LEAST, _GREATEST = 1e-9, 1e9


@dataclass(frozen=True)
class Falsified:
    """A proof, and what the expression gave that was proved safe."""

    row: int
    expression: str
    by: str
    got: str


def proofs_of(program: Program, catalog: Catalog) -> dict[int, str]:
    """What discharges the questions of a program, by row; what is assumed, and what is open besides, left out."""
    report = check_source(program.text.encode(), "program.py", catalog, AnalysisOptions(discharged=True))
    told = {found.span.start.row for found in report.diagnostics}
    told |= {found.span.start.row for found in report.discharged if found.assumes}
    return {
        found.span.start.row: found.discharged_by or ""
        for found in report.discharged
        if found.span.start.row in program.rows.keys() - told
    }


def falsified(program: Program, proofs: dict[int, str], seed: int) -> Iterator[Falsified]:
    """The proofs that fail on some of the operands, each once."""
    found: dict[int, str] = {}

    def look(row: int, ask: Callable[[], Any], names: dict[str, Any]) -> None:
        if row in proofs and row not in found and all(map(_is_ordinary, names.values())):
            got = _bad(ask)
            if got:
                found[row] = got

    rng = random.Random(seed)
    for trial in range(_TRIALS):
        torch.manual_seed(trial)
        held = {**NAMESPACE, "_look": look}
        given = operand(rng, rng.randrange(KINDS)), operand(rng, rng.randrange(KINDS)), rng.choice(_NUMBERS)
        try:
            exec(program.watched, held)
            held["f"](*given)
        except Exception:  # what the program does with these operands is its own affair
            continue
    for row, got in found.items():
        yield Falsified(row, program.rows[row], proofs[row], got)


def _is_ordinary(value: Any) -> bool:
    """Whether a value is finite, and neither vast nor minute: no other site has gone wrong before."""
    if not isinstance(value, torch.Tensor | int | float):
        return True
    sizes = torch.as_tensor(value).double().abs()
    sizes = sizes[sizes != 0]
    return bool(((sizes >= _LEAST) & (sizes <= _GREATEST)).all())


def _bad(ask: Callable[[], Any]) -> str:
    """What an expression gave that is not finite, or the error of a number out of its domain; else ""."""
    try:
        got = ask()
    except (ZeroDivisionError, ValueError) as error:
        return repr(error)
    except Exception:  # of shapes and types, of which no proof speaks
        return ""
    bad = isinstance(got, torch.Tensor) and got.is_floating_point() and not bool(torch.isfinite(got).all())
    return str(got.reshape(-1)[:4].tolist()) if bad else ""
