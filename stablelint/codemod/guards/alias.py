"""A rewrite that leaves a name for what has one already: ``p = z``, or even ``z = z``.

The assignment goes, and its reader reads the other name.
"""

from __future__ import annotations

import ast
import re

from stablelint.codemod.flow.definition import function_of, in_loop
from stablelint.codemod.flow.nodes import looks_names_up, readers, stores
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.text import draft
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import comments


def without_alias(
    tree: Tree, node: ast.expr, template: str, operands: dict[str, Operand]
) -> list[draft.Change] | None:
    """The changes that delete the assignment of `node` and let its reader read the operand that replaces it.

    None where the rewrite is more than one name, where the assignment has lines in common with another statement,
    has a comment or is all there is in its suite, or where the names may come to hold other values.
    """
    statement = tree.statement(node)
    operand = next(iter(operands.values()), None)
    if operand is None or len(operands) != 1 or re.fullmatch(r"\$\w+", template) is None:
        return None
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not isinstance(operand.tree, ast.Name):
        return None
    region = tree.region(statement)
    ending = tree.source.text[tree.end(statement) : region.end].strip()
    if region.statements != (statement,) or ending or comments(tree.source.text[region.start : region.end]):
        return None
    if len(tree.siblings(statement)) == 1:
        return None
    removal = draft.removal(tree, region)
    if target.id == operand.tree.id:
        return [removal]
    reader = _only_reader(tree, statement, target.id, operand.tree.id)
    return None if reader is None else [removal, (tree.start(reader), tree.end(reader), operand.tree.id)]


def _only_reader(tree: Tree, statement: ast.stmt, name: str, other: str) -> ast.Name | None:
    """The one place that reads `name`, given by `statement`, where `other` holds then what it holds now."""
    function = function_of(tree, statement)
    if function is None or in_loop(tree, statement) or looks_names_up(function):
        return None
    found = list(readers(function, name))
    rebound = any(one.lineno > statement.lineno for one in stores(function, other))
    nested = any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and one is not function
        for one in ast.walk(function)
    )
    return found[0] if len(found) == len(stores(function, name)) == 1 and not rebound and not nested else None
