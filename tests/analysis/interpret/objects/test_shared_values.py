"""Tensors and lists of a file or a class, which functions write into under another name, or in another file."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.diagnostic import Status
from tests.analysis.support import CATALOG, assumed, proved, unmet

HEAD = "import torch\n"
USE = "def f(x):\n    {}\n    return 1 / T\n"


@pytest.mark.parametrize(
    ("held", "write"),
    [("S = [T]", "S[0].zero_()"), ('S = {"a": T}', 'S["a"].zero_()'), ("S = T", "S.zero_()")],
)
def test_a_tensor_is_written_into_through_what_holds_it(held: str, write: str) -> None:
    code = f"T = torch.ones(3)\n{held}\n"
    assert proved(code + USE.format(write), HEAD) == []
    assert proved(code + USE.format("pass"), HEAD) != []


@pytest.mark.parametrize(
    ("touch", "status"),
    [
        ("def touch():\n    T.zero_()\n", Status.UNGUARDED),
        ("def touch():\n    T[0] = 0\n    return 1\n", Status.UNGUARDED),
        ("def touch():\n    T.sum()\n", Status.DISCHARGED),
    ],
)
def test_a_tensor_of_another_file_is_written_into_there(touch: str, status: Status, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(f"{HEAD}T = torch.ones(3)\n{touch}")
    source = f"{HEAD}from other import T\n{USE.format('pass')}".encode()
    options = AnalysisOptions(root=tmp_path, discharged=True)
    found = check_source(source, str(tmp_path / "program.py"), CATALOG, options)
    assert [d.status for d in (*found.diagnostics, *found.discharged)] == [status]


def test_a_list_of_a_class_is_believed_and_proves_nothing() -> None:
    code = "class A:\n    sizes = [1]\n    def f(self, x):\n        return 1 / (x.abs() + self.sizes[0])\n"
    assert [rule for _, rule in assumed(code, HEAD)] == ["SL102"]
    assert unmet(code, HEAD) == []
