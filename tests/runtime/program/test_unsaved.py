"""Text that is in no file: a cell is read with the cells that ran before it, under its number."""

import linecache
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import stablelint
from stablelint.runtime.guard.api import Report
from stablelint.runtime.program.location import unsaved

CELLS = {
    "<cell-1>": "import torch\nx = torch.zeros(3)\n",
    "<cell-2>": "def ratio(a):\n    return a / a.float().sum()\n",
    "<cell-3>": "ratio(x).mean().item()\n",
}


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {name: number for number, name in enumerate(CELLS, 4)}
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map=numbers))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    for name, text in CELLS.items():
        monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))


@pytest.mark.usefixtures("notebook")
def test_a_cell_is_known_by_its_number_and_follows_those_before() -> None:
    found = unsaved("<cell-2>")
    assert found is not None
    assert (found.text, found.name) == (CELLS["<cell-2>"], "In[5]")
    assert found.before.strip() == CELLS["<cell-1>"].strip()
    assert unsaved(__file__) is None
    assert unsaved("<no such text>") is None


@pytest.mark.usefixtures("notebook")
def test_a_value_that_a_cell_shows_is_explained_and_mended_in_the_cell_at_fault() -> None:
    names = {"__name__": "__main__"}
    with stablelint.guard(shown=True) as guard:
        for name, text in CELLS.items():
            code = compile(text, name, "exec")
            exec(code.replace(co_name="<cell line: 1>"), names)
    guard.finish()
    (report,) = guard.reports
    assert isinstance(report, Report)
    assert report.event.location is not None
    assert report.event.location.expression == "a / a.float().sum()"
    told = report.as_json()["event"]
    assert (told["cell"], told["location"]["row"], told["source"]) == ("In[5]", 2, CELLS["<cell-2>"])
    assert report.cause.code == "SL102"
    assert report.fix is not None
    assert report.fix.source.startswith("def ratio(a):")
    assert report.verification is not None
    assert report.verification.finite
