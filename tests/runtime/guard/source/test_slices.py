"""The statements behind values that are not finite."""

import ast
import linecache
import sys
from types import FrameType

import pytest

torch = pytest.importorskip("torch")

from stablelint.runtime.guard.source.slices import slices_of_cells  # noqa: E402
from stablelint.runtime.program import location  # noqa: E402

CELLS = {
    "<cell 1>": "x = torch.ones(3)\ny = torch.ones(3)",
    "<cell 2>": "z = x - y\nscaled = z / z.sum()\nother = y * 2",
    "<cell 3>": "found = look()",
}


def test_an_earlier_cell_that_made_a_value_is_found_with_what_it_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(location, "_cells", lambda: {name: at for at, name in enumerate(CELLS)})
    frames: list[FrameType] = []
    names = {"torch": torch, "look": lambda: frames.append(sys._getframe(1))}
    for name, source in CELLS.items():
        monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(True), name))
        exec(compile(source, name, "exec"), names)
    (region,) = slices_of_cells(frames[0])
    assert region.code.co_filename == "<cell 2>"
    assert [ast.unparse(one) for one in region.body] == ["scaled = z / z.sum()"]
