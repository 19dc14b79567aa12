"""The stretch of a file that makes a step, and what a fix makes of it."""

import ast
import linecache
import sys

import pytest

pytest.importorskip("torch")

from stablelint.runtime.program import frames
from stablelint.runtime.program.region import Region, region_at, replacement_tree

SOURCE = "for step in range(1):\n    here(step / 2)\n"
FILENAME = "<a step>"


def test_a_fix_finds_its_place_after_many_other_files_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, FILENAME, (len(SOURCE), None, SOURCE.splitlines(True), FILENAME))
    met: list[Region | None] = []

    def here(_: float) -> None:
        frame = sys._getframe(1)
        met.append(region_at(frame.f_code, frame.f_lasti))

    exec(compile(SOURCE, FILENAME, "exec"), {"here": here})
    (region,) = met
    assert region is not None
    monkeypatch.setattr(frames, "_trees", {})
    (fixed,) = replacement_tree(region, ast.parse(SOURCE.replace("step / 2", "step / 3")))
    assert ast.unparse(fixed) == "here(step / 3)"
