"""Tightening a clamp where its result got its name, instead of clamping the name a second time.

``d = d.clamp(min=0)`` and, as its only reader, ``d.sqrt()``: the fix for ``d`` is another bound in the first line.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from stablelint.codemod.clamps import given_bounds
from stablelint.codemod.locate import Tree
from stablelint.diagnostic import Binding, Proposal


def at_clamp(tree: Tree, proposal: Proposal, node: ast.expr) -> tuple[Proposal, ast.expr] | None:
    """The proposal for the name `node` as one for the clamp that the name stands for, and that clamp.

    None where the name stands for something else, may stand for something else, or has other readers.
    """
    operand = _operand(proposal, node)
    if operand is None or not isinstance(node, ast.Name):
        return None
    value = _clamp_of(tree, node)
    given = given_bounds(value) if value is not None else None
    if value is None or not given or not given.keys() & _sides(proposal.template):
        return None
    span = tree.source.span(tree.start(value), tree.end(value))
    binding = replace(proposal.bindings[operand], text=tree.text(value), span=span)
    others = {name: _anywhere(given) for name, given in proposal.bindings.items()}
    return replace(proposal, span=span, bindings={**others, operand: binding}), value


def _operand(proposal: Proposal, node: ast.expr) -> str | None:
    """The metavariable that the template clamps, where it does nothing else, and where that is `node`."""
    for name, binding in proposal.bindings.items():
        if proposal.template.startswith(f"${name}.clamp") and binding.span == proposal.span:
            return name
    return None


def _sides(template: str) -> frozenset[str]:
    """The bounds that a template sets, by the name of its method."""
    method = template.partition(".")[2].partition("(")[0]
    return frozenset(("min", "max")) if method == "clamp" else frozenset((method.removeprefix("clamp_"),))


def _anywhere(binding: Binding) -> Binding:
    return replace(binding, span=None)


def _clamp_of(tree: Tree, node: ast.Name) -> ast.Call | None:
    """The call whose result the name is, by an assignment before it in the same suite; `node` its only reader."""
    function = _function_without_loop(tree, node)
    if function is None:
        return None
    statement = tree.statement(node)
    suite = tree.siblings(statement)
    for earlier in reversed(suite[: suite.index(statement)]):
        mentioned = any(_is_name(one, node.id) for one in ast.walk(earlier))
        if not mentioned:
            continue
        if not isinstance(earlier, ast.Assign) or not _is_name(earlier.targets[0], node.id):
            return None
        others = [
            one
            for one in ast.walk(function)
            if _is_name(one, node.id) and _row(one) >= earlier.lineno and one is not node
        ]
        own = [one for one in ast.walk(earlier) if _is_name(one, node.id)]
        alone = len(others) == len(own) and len(earlier.targets) == 1
        return earlier.value if alone and isinstance(earlier.value, ast.Call) else None
    return None


def _function_without_loop(tree: Tree, node: ast.expr) -> ast.AST | None:
    """The function around a node, unless a loop stands between them or the function shares its names."""
    for link in tree.ancestors(node):
        parent = link.parent
        if isinstance(parent, ast.For | ast.AsyncFor | ast.While):
            return None
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            shared = any(isinstance(one, ast.Global | ast.Nonlocal) for one in ast.walk(parent))
            return None if shared else parent
    return None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _row(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
