"""A place in a file is found in its syntax: the blocks around it, the call that ends there, the owner of code."""

import ast
from types import CodeType

import pytest

from stablelint.runtime.program.nodes import blocks_around, call_that_ends_at, owner_of

SOURCE = """\
first = 1
for item in range(3):
    try:
        if item:
            second = item
        else:
            third = (item
                     .bit_length())
    finally:
        fourth = 4
class Kind:
    def method(self):
        return [one for one in (1, 2)]
"""


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("first", ["Assign"]),
        ("second", ["For", "Try", "If", "Assign"]),
        ("third", ["For", "Try", "If", "Assign"]),
        ("fourth", ["For", "Try", "Assign"]),
        ("return", ["ClassDef"]),  # not into functions and classes
    ],
)
def test_the_blocks_around_a_place_lead_to_its_statement(word: str, path: list[str]) -> None:
    row = next(row for row, line in enumerate(SOURCE.splitlines(), 1) if word in line)
    column = SOURCE.splitlines()[row - 1].index(word)
    found = blocks_around(ast.parse(SOURCE), row, column)
    assert [type(block[index]).__name__ for block, index in found] == path


def test_the_call_that_ends_somewhere_is_one() -> None:
    tree = ast.parse(SOURCE)
    row = next(row for row, line in enumerate(SOURCE.splitlines(), 1) if "bit_length" in line)
    call = call_that_ends_at(tree, row, SOURCE.splitlines()[row - 1].index("()") + 2)
    assert call is not None
    assert (call.lineno, ast.unparse(call)) == (row - 1, "item.bit_length()")
    assert call_that_ends_at(tree, row, 0) is None


def test_code_is_found_with_the_class_around_it() -> None:
    tree = ast.parse(SOURCE)
    module = compile(SOURCE, "<source>", "exec")
    codes = [one for one in module.co_consts if isinstance(one, CodeType)]
    method = next(one for one in codes[0].co_consts if isinstance(one, CodeType))
    assert owner_of(tree, module) == (tree, None)
    found = owner_of(tree, method)
    assert found is not None
    assert (type(found[0]).__name__, found[1]) == ("FunctionDef", "Kind")
