"""Where the nodes of a file hang, whichever was asked for first."""

import ast

import pytest

from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import SourceText

TEXT = """
class One:
    def f(self, x):
        self.kept = x + 1

def two(y):
    return y * 2
"""


@pytest.mark.parametrize("first", [0, 1])
def test_every_node_of_the_file_hangs_somewhere(first: int) -> None:
    tree = Tree(SourceText.decode(TEXT.encode()))
    tops = tree.module.body[first:] + tree.module.body[:first]
    for node in (n for top in tops for n in ast.walk(top) if isinstance(n, ast.expr)):
        assert node in ast.walk(tree.statement(node))
        assert list(tree.ancestors(node))[-1].parent is tree.module


def test_a_node_of_no_file_hangs_nowhere() -> None:
    tree = Tree(SourceText.decode(TEXT.encode()))
    node = ast.parse("z").body[0]
    assert list(tree.ancestors(node)) == []
    with pytest.raises(KeyError):
        tree.link(node)
