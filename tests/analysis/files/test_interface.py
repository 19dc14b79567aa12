"""What other files see of a file: a result holds as long as that stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablelint.analysis.files.project import interfaces_of

HELPER = """
import torch

LIMIT = 3

class Scaler:
    def __init__(self, scale=1.0):
        self.scale = scale

    def fill(self, x):
        self.seen = x
        print(x)

def positive(x):
    return x.clamp_min(1e-6)

def report(x):
    print("x is", x)
"""


def interfaces(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "helper.py"
    path.write_text(text)
    found = interfaces_of(str(path))
    path.unlink()
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('print("x is", x)', 'print("it is", x)'),
        ("        print(x)\n", "        print(2 * x)\n"),
        ('    print("x is", x)\n', '    print("x is", x)\n# the end\n'),
    ],
)
def test_what_nobody_follows_is_no_part_of_it(old: str, new: str, tmp_path: Path) -> None:
    assert interfaces(tmp_path, HELPER.replace(old, new)) == interfaces(tmp_path, HELPER)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("clamp_min(1e-6)", "clamp_min(0.0)"),
        ("scale=1.0", "scale=0.0"),
        ("self.seen = x", "self.scale = x"),
        ('print("x is", x)', "return x"),
        ("def report(x)", "def report(x, y=1)"),
        ("import torch", "import torch as torch"),
        ("def positive", "@torch.no_grad()\ndef positive"),
    ],
)
def test_what_a_caller_can_follow_is(old: str, new: str, tmp_path: Path) -> None:
    before, after = interfaces(tmp_path, HELPER), interfaces(tmp_path, HELPER.replace(old, new))
    assert set(before).isdisjoint(after)


def test_rows_count_for_what_may_name_them(tmp_path: Path) -> None:
    before, after = interfaces(tmp_path, HELPER), interfaces(tmp_path, f"# a line more\n{HELPER}")
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_a_file_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    assert interfaces(tmp_path, "def f(:") == ()
    assert interfaces_of(str(tmp_path / "none.py")) == ()
