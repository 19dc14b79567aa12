"""A quotient that the text shows to be a path."""

import ast
from pathlib import Path

import pytest

from stablelint.syntax.joins import _OF_PATHS, joined_paths


def joined(text: str) -> list[str]:
    tree = ast.parse(text)
    found = joined_paths(tree)
    return sorted(
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.BinOp) and id(node) in found
    )


@pytest.mark.parametrize(
    "text",
    [
        "(a / b).exists()",
        "open(a / b)",
        "os.listdir(a / b)",
        "torch.load(str(a / b))",
        "c = a / b\nc.mkdir()",
        "a.mkdir()\nf(a / b)",
    ],
)
def test_what_is_asked_for_files_is_a_path(text: str) -> None:
    assert joined(text) == ["a / b"]


def test_a_path_is_joined_of_paths() -> None:
    assert joined("open(a / b / c)") == ["a / b", "a / b / c"]
    assert joined("open(a / b)\nf(a / c)") == ["a / b", "a / c"]
    assert joined("open(self.root / b)\nf(self.root / c)") == ["self.root / b", "self.root / c"]


@pytest.mark.parametrize(
    "text",
    [
        "torch.save(a / b, path)",
        "(a / b).sum()",
        "print(a / b)",
        "c = a / b\nc = d\nc.mkdir()",
        "open(f(a / b))",
        "f(a / b).exists()",
        "a.absolute()\nf(a / b)",
        "a.copy()\nf(a / b)",
        "a.replace(1, 2)\nf(a / b)",
    ],
)
def test_what_can_be_a_number_is_left(text: str) -> None:
    assert joined(text) == []


def test_nothing_that_a_tensor_or_an_array_has_tells_a_path() -> None:
    torch, numpy = pytest.importorskip("torch"), pytest.importorskip("numpy")
    others = {*dir(torch.Tensor), *dir(numpy.ndarray), *dir(str), *dir(list), *dir(dict), *dir(set)}
    assert not _OF_PATHS & others
    assert set(dir(Path)) >= _OF_PATHS
