"""A regression test for digits that are lost, and the words in which operands and results are told."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from stablelint.runtime.verify.outcome import Report, SiteReport
from stablelint.runtime.verify.output.emit_tests import emit_tests
from stablelint.runtime.verify.output.show import operand_shown, witness_shown
from stablelint.runtime.verify.verify import Verification
from tests.runtime.verify.support import call, replay, site

FAULT = site("torch.log(1 + x)", "torch.log1p(x)", {"x": "x"}, expect="inaccurate", safe=True, has_fix=True)
SMALL = call(x=torch.tensor([1e-7, 3e-9]))


def test_lost_digits_have_a_test_that_fails_before_the_fix_and_passes_after(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import torch\n\n\ndef f(x):\n    return torch.log(1 + x)\n", encoding="utf-8")
    fault = replace(FAULT, filename=str(program))
    examination = replay(fault, [SMALL])
    report = SiteReport(fault, examination.decision.verdict, 1)
    (path,) = emit_tests(tmp_path / "tests", Verification(Report((report,)), {fault.id: examination}))
    emitted = runpy.run_path(str(path))
    (name,) = (each for each in emitted if each.startswith("test_"))
    assert emitted["holds"](emitted["fixed"])
    with pytest.raises(AssertionError, match="log1p"):
        emitted[name]()


def test_the_bits_that_are_right_are_told() -> None:
    examination = replay(FAULT, [SMALL])
    witness, replayer = examination.decision.witness, examination.replayer
    assert witness is not None
    assert replayer is not None
    shown = witness_shown(witness, replayer)
    assert shown.original.endswith(" of 24 bits right")
    assert shown.fixed is not None
    assert float(shown.fixed.split(", ")[-1].split(" ")[0]) > 20


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((torch.zeros(2, 3), torch.zeros(4), 1), "tuple of 3: float32 2×3, float32 4, 1"),
        ([torch.zeros(2)] * 9, "list of 9: float32 2, float32 2, float32 2, …"),
        ({"a": [torch.zeros(2)], "b": 3}, "dict of 2: list of 1, 3"),
        ((2, 3), "(2, 3)"),
        (torch.nn.Linear(2, 2), "a Linear"),
        ("x" * 300, "…"),
    ],
)
def test_a_container_is_summarised(value: object, text: str) -> None:
    shown = operand_shown("name", value).text
    assert shown == text or (text == "…" and len(shown) <= 80)
