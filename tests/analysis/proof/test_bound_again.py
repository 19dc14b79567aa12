"""Functions, classes and constants whose names something binds a second time: none of them is sure."""

from pathlib import Path

import pytest

from stablelint.config import Settings
from stablelint.diagnostic import Level
from stablelint.workspace.pipeline import check
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request
from tests.analysis.support import CATALOG, proved

SCALE = "def scale(x):\n    return x.abs() + 1\n"
USE = "\ndef f(x):\n    return x / scale(x)\n"
BOUND_AGAIN = {
    "by a function": SCALE + "def patch(g):\n    global scale\n    scale = g\n" + USE,
    "among the globals": SCALE + 'def patch(g):\n    globals()["scale"] = g\n' + USE,
    "on a branch": SCALE + "if torch.cuda.is_available():\n    scale = torch.abs\n" + USE,
    "by an import": SCALE + "try:\n    from fast import scale\nexcept ImportError:\n    pass\n" + USE,
    "by another definition": (
        "if torch.cuda.is_available():\n    def scale(x):\n        return x\n"
        "else:\n    def scale(x):\n        return x.abs() + 1\n" + USE
    ),
    "a class": "class A:\n    n = 1.0\nclass A:\n    n = 0.0\ndef f(x):\n    return x / A.n",
    "a constant, by an import": "E = 1.0\nfrom conf import E\ndef f(x):\n    return x / E",
    "a constant, by a pattern": "E = 1.0\nmatch 3:\n    case E:\n        pass\ndef f(x):\n    return x / E",
    "a constant under a key": "E = 1.0\ndef s(k, v):\n    globals()[k] = v\ndef f(x):\n    return x / E",
    "a constant, by who has all names": "E = 1.0\ndef s(v):\n    g = globals()\n    g['E'] = v\ndef f(x):\n    return x / E",
    "at the top level": "E = 1.0\nvars()['E'] = 0.0\nr = torch.ones(3) / E",
}
KEPT = {
    "names that are looked at": "E = 1.0\nnames = [k for k in globals().keys()]\ndef f(x):\n    return x / E",
    "another name": 'E = 1.0\nD = 1.0\nglobals()["D"] = 0.0\ndef f(x):\n    return x / E',
    "a function's own names": "E = 1.0\ndef g(v):\n    locals()['E'] = v\ndef f(x):\n    return x / E",
    "one name in a loop of another": "for E in (1, 2):\n    pass\nD = 1.0\ndef f(x):\n    return x / D",
}
LIBRARY = (
    f"import torch\n{SCALE}{USE}\n"
    "class A(torch.nn.Module):\n    def forward(self, x):\n        return x.abs() + 1\n"
    "def g(x):\n    return x / A()(x)\n"
)
REPLACED = {
    "a function": ("import lib.mod as mod\nmod.scale = print", 1),
    "a function, by its name": ("from lib import mod\nsetattr(mod, 'scale', print)", 1),
    "a method": ("from lib.mod import A\nA.forward = print", 1),
    "something else": ("import lib.mod as mod\nmod.other = print", 2),
}


@pytest.mark.parametrize("code", BOUND_AGAIN.values(), ids=BOUND_AGAIN)
def test_what_is_bound_again_proves_nothing(code: str) -> None:
    assert "SL102" not in [rule for _, rule in proved(code)]


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_what_is_bound_once_does(code: str) -> None:
    assert "SL102" in [rule for _, rule in proved(code)]


@pytest.mark.parametrize("name", REPLACED)
def test_what_another_file_replaces_proves_nothing(name: str, tmp_path: Path) -> None:
    text, proofs = REPLACED[name]
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").touch()
    (tmp_path / "lib/mod.py").write_text(LIBRARY)
    (tmp_path / "main.py").write_text(f"import torch\n{text}\n")
    request = Request(
        Settings(root=tmp_path, level=Level.POSSIBLE),
        Selection(frozenset({"SL102"}), "/"),
        discharged=True,
        jobs=1,
    )
    found = check([str(tmp_path)], request, CATALOG)
    assert len([d for d in found.discharged if not d.assumes]) == proofs
