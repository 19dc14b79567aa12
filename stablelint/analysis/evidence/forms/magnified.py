"""Forms whose rounding error is seen: what is computed next keeps it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.forms.cancelling import summands
from stablelint.analysis.values.relations.squares import root_of
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.names import called_name, is_name
from stablelint.syntax.walk import children, descendants

_ROOTS = frozenset("sqrt rsqrt sqrt_ rsqrt_ log log_ log2 log10".split())


def is_magnified(difference: ast.AST, body: ast.AST) -> bool:
    """Whether a difference is itself put under a root or a logarithm, or made part of a quotient of two variables.

    Added to something else, or shown as it is, it needs no more digits than that. One name of `body` is followed.
    """
    parents = {child: node for node in descendants(body) for child in children(node)}
    return any(_magnifies(use, parents) for use in _uses(difference, body, parents))


def _uses(node: ast.AST, body: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """The expression, and where a name is read that is given nothing else."""
    yield node
    statement = parents.get(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    name = statement.targets[0]
    if isinstance(name, ast.Name):
        named = [n for n in descendants(body) if is_name(n, name.id)]
        read = [n for n in named if isinstance(n.ctx, ast.Load)]
        yield from read if len(read) + 1 == len(named) else ()


def _magnifies(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    outer = parents.get(node)
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Pow):
        return outer.left is node and isinstance(outer.right, ast.Constant) and outer.right.value == 0.5
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Div):
        other = outer.right if outer.left is node else outer.left
        return any(isinstance(part, ast.Name) for part in descendants(other))
    if isinstance(outer, ast.Attribute):
        return outer.attr in _ROOTS and isinstance(parents.get(outer), ast.Call)
    return isinstance(outer, ast.Call) and node in outer.args and called_name(outer) in _ROOTS


def is_variance_by_difference(value: Value) -> bool:
    """`a - mean ** 2`: a variance made of two moments, which rounding carries below 0 where the data are constant."""
    # A total starts at 0.
    parts = [(factor, term) for factor, term in summands(value) if term.default() != 0]
    taken = [term for factor, term in parts if factor == -1.0]
    others = [term for factor, term in parts if factor > 0 and not term.is_constant]
    if len(taken) != 1 or not others or len(others) + 1 != len(parts):
        return False
    base = root_of(taken[0])
    if base is None or taken[0].node is None:
        return False
    if stripped(base).op == "mean" and all(stripped(v).op == "mean" for v in others):
        return False  # two means of one tensor: there is a rule for them
    return words.names_a_mean(ast.unparse(taken[0].node))
