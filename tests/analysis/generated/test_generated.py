"""A slice of the programs that `benchmarks/generated_proofs.py` draws: no proof of theirs is falsified."""

import random

import pytest

pytest.importorskip("torch")

from stablelint.catalog import load_catalog
from tests.analysis.generated.programs import Program, draw
from tests.analysis.generated.tried import falsified, proofs_of


@pytest.mark.parametrize("seed", range(6))
def test_no_proof_in_a_drawn_program_is_falsified(seed: int) -> None:
    rng, catalog = random.Random(seed), load_catalog(entry_points=False)
    asked = 0
    for _ in range(16):
        program = draw(rng)
        proofs = proofs_of(program, catalog)
        asked += len(proofs)
        wrong = list(falsified(program, proofs, seed))
        assert not wrong, f"{wrong}\n{program.text}"
    assert asked > 12


def test_a_false_proof_is_seen() -> None:
    program = Program(["v0 = x.abs()"], ["1 / v0", "1 / (v0 + 1)"])
    rows = dict.fromkeys(program.rows, "range")
    assert [found.expression for found in falsified(program, rows, 0)] == ["1 / v0"]
