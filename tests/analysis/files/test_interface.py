"""What other files see of a file: a result holds as long as that stays."""

from pathlib import Path

import pytest

from stablelint.analysis.files.project import interface_of

HELPER = """
import torch

LIMIT = 3

class Scaler:
    def __init__(self, scale=1.0):
        self.scale = scale

    def fill(self, x):
        self.seen = x
        print(x)

class Wider(Scaler):
    pass

def positive(x):
    return torch.relu(x).clamp_min(1e-6) + LIMIT

def report(x):
    print("x is", x)
"""


NAMES = ("LIMIT", "Scaler", "positive", "report")


def digests(folder: Path, text: str) -> dict[str, str]:
    """What each name of the file shows."""
    path = folder / "helper.py"
    path.write_text(text)
    found = interface_of(str(path))
    path.unlink()
    return {name: found.digest_of([name]) for name in NAMES} if found is not None else {}


def changed(folder: Path, old: str, new: str) -> list[str]:
    """The names that show something else once a text is replaced."""
    before, after = digests(folder, HELPER), digests(folder, HELPER.replace(old, new))
    return [name for name in NAMES if before[name] != after[name]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('print("x is", x)', 'print("it is", x)'),
        ("        print(x)\n", "        print(2 * x)\n"),
        ('    print("x is", x)\n', '    print("x is", x)\n# the end\nANOTHER = 1\n'),
        ("LIMIT = 3", "# a line more\nLIMIT = 3"),
    ],
)
def test_what_nobody_follows_is_no_part_of_it(old: str, new: str, tmp_path: Path) -> None:
    assert changed(tmp_path, old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("LIMIT = 3", "LIMIT = 4", ["LIMIT", "positive"]),
        ("clamp_min(1e-6)", "clamp_min(0.0)", ["positive"]),
        ("scale=1.0", "scale=0.0", ["Scaler"]),
        ("self.seen = x", "self.scale = x", ["Scaler"]),
        ("class Wider(Scaler)", "class Wider(Scaler, Base)", ["Scaler"]),
        ("def positive", "Alias = Scaler\n\nclass Colder(Alias):\n    pass\n\ndef positive", ["Scaler"]),
        ('print("x is", x)', "return x", ["report"]),
        ("def report(x)", "def report(x, y=1)", ["report"]),
        ("import torch", "import torch as torch\ntorch = 1", ["positive"]),
        ("import torch", "import torch\nfrom other import *", [*NAMES]),
        ("def positive", "@torch.no_grad()\ndef positive", ["positive"]),
    ],
)
def test_what_a_caller_can_follow_is(old: str, new: str, names: list[str], tmp_path: Path) -> None:
    assert changed(tmp_path, old, new) == names


def test_a_name_that_is_bound_later_is_seen(tmp_path: Path) -> None:
    assert changed(tmp_path, "def report(x)", "x = 3\n\ndef report(x)") == ["Scaler", "positive", "report"]
    assert changed(tmp_path, "LIMIT = 3", "") == ["LIMIT", "positive"]


def test_a_file_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    assert digests(tmp_path, "def f(:") == {}
    assert interface_of(str(tmp_path / "none.py")) is None
