"""The nodes below a tree, by kind."""

import ast

import pytest

from stablelint.syntax.walk import descendants, nodes_below, nodes_in

TEXT = """
class Layer:
    width = 3

    def forward(self, x):
        for turn in range(3):
            try:
                x = x + turn
            except ValueError as error:
                raise error
            else:
                match x:
                    case 1:
                        y = [lambda z: z for z in x]
                    case _:
                        y = x
        finally_ = (y := x)

        def inner():
            return x

        return inner


if Layer:
    z = Layer()
"""


@pytest.mark.parametrize(
    "kinds", [(ast.Assign,), (ast.Assign, ast.Return, ast.FunctionDef), (ast.Name,), (ast.stmt, ast.expr)]
)
def test_nodes_come_in_the_order_of_the_walk_whatever_their_kinds(kinds: tuple[type[ast.AST], ...]) -> None:
    tree = ast.parse(TEXT)
    assert nodes_below(tree, *kinds) == [node for node in descendants(tree)[1:] if isinstance(node, kinds)]


def test_nodes_in_a_function_leave_out_those_of_functions_within() -> None:
    function = ast.parse(TEXT).body[0].body[1]
    assert len(nodes_below(function, ast.Return)) == 2
    assert len(nodes_in(function, ast.Return)) == 1
