"""An expression that stands at several places of a function: its guard is written once, under a name that all take."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stablelint.codemod.flow.definition import function_of
from stablelint.codemod.flow.effects import Effect, effect, evaluated_before, is_cheap
from stablelint.codemod.guards.beside import attribute_beside, sets_attribute
from stablelint.codemod.guards.bound import (
    ONE,
    QUOTIENTS,
    TERM,
    TINIEST,
    for_all,
    operand_of_guard,
    role_of,
)
from stablelint.codemod.templates.hoist import name_for
from stablelint.codemod.templates.names import written_by
from stablelint.codemod.templates.operand import flat
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text import draft
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Binding, Proposal

_PARAMETER = {"torch.nn.Parameter", "torch.nn.parameter.Parameter"}
_OPENED, _CLOSED = re.compile(r"([(\[])[ \t]*\n\s*$"), re.compile(r"\s*\n[ \t]*([)\]])")


def guarded_once(
    file: File, proposal: Proposal, node: ast.expr
) -> tuple[Proposal, list[draft.Change]] | None:
    """The guard of `node` as statements before the first equal expression, and the changes that all are its name by.

    None where it stands alone, where nothing is divided by another or its root or logarithm taken, or where what it is
    made of may change on the way.
    """
    tree, function, operand = file.tree, function_of(file.tree, node), operand_of_guard(proposal)
    binding = proposal.bindings.get(operand or "")
    if operand is None or function is None or binding is None or binding.span != proposal.span:
        return None
    if is_cheap(node) or effect(node) is Effect.ACTS:
        return None
    alike = [one for one in ast.walk(function) if isinstance(one, ast.expr) and same(one, node)]
    roles = [role_of(tree, one) for one in alike]
    if ONE.match(proposal.template) and not QUOTIENTS.issuperset(roles):
        return None
    is_tiny = TINIEST in proposal.template
    if len(roles) < 2 or None in roles or (TERM in roles and not is_tiny):
        return None
    suite = suite_around(tree, alike)
    reading = [one for one in suite if set(ast.walk(one)) & set(alike)]
    run = suite[suite.index(reading[0]) : suite.index(reading[-1]) + 1]
    read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    first = min(alike, key=lambda one: (one.lineno, one.col_offset))
    if tree.statement(first) is not reading[0] or evaluated_before(tree, first) is None:
        return None
    if any(read.intersection(written_by(one)) for one in run):
        return None
    template = for_all(proposal.template, roles)
    bound = template.replace(f"${operand}", "$given")
    return _given_first(file, replace(proposal, template=bound), binding, suite, alike, reading[0])


def parameter_once(
    file: File, proposal: Proposal, node: ast.expr
) -> tuple[Proposal, list[draft.Change]] | None:
    """As `guarded_once`, for a parameter of a module that is read beside its exponential: ``exp(-self.s) * x + self.s``.

    Raises Withheld for another attribute: other methods would go on without the bound.
    """
    tree, function, operand = file.tree, function_of(file.tree, node), operand_of_guard(proposal)
    found = attribute_beside(tree, proposal, node)
    if found is None or function is None or operand is None:
        return None
    read, limits = found
    sets = [one for one in ast.walk(tree.module) if isinstance(one, ast.Assign) and sets_attribute(one, read)]
    made = {file.qualified(one.value.func) for one in sets if isinstance(one.value, ast.Call)}
    alike = [one for one in ast.walk(function) if isinstance(one, ast.Attribute) and same(one, read)]
    own = (one.func for one in ast.walk(function) if isinstance(one, ast.Call))
    acts = any(isinstance(one, ast.Attribute) and same(one.value, read.value) for one in own)
    if (
        len(made) != len(sets)
        or not made <= _PARAMETER
        or not made
        or acts
        or set(sets) & set(ast.walk(function))
    ):
        raise Withheld(f"`{ast.unparse(read)}` would have to be bounded where the object gets it")
    suite = suite_around(tree, alike)
    while isinstance(tree.link(suite[0]).parent, ast.For | ast.While):
        suite = tree.siblings(tree.statement(tree.link(suite[0]).parent))
    first = next(one for one in suite if set(ast.walk(one)) & set(alike))
    bounded = replace(proposal, template=f"$given{limits}")
    return _given_first(file, bounded, proposal.bindings[operand], suite, alike, first)


def _given_first(
    file: File,
    proposal: Proposal,
    binding: Binding,
    suite: Sequence[ast.stmt],
    alike: Sequence[ast.expr],
    first: ast.stmt,
) -> tuple[Proposal, list[draft.Change]]:
    """The template's bound of `$given` before the first statement, under a name that all equal expressions become."""
    tree, node, bound = file.tree, alike[0], proposal.template
    name = file.scope.fresh(name_for(node), node, f"{tree.text(node)} on line {first.lineno}")
    lines = f"{name} = $made\n{name} = {bound}"
    if bound.count("$given") == 1:
        lines = f"{name} = {bound.replace('$given', '$made')}"
    made, given = (binding._replace(text=text, span=None) for text in (flat(tree.text(node)), name))
    bindings = {**proposal.bindings, "made": made, "given": given}
    anchor = tree.source.span(tree.start(first), tree.end(first))
    statement = replace(proposal, template=lines, kind="insert-before", anchor=anchor, bindings=bindings)
    return statement, _renamed(tree, suite, node, alike, name)


def suite_around(tree: Tree, nodes: Sequence[ast.expr]) -> list[ast.stmt]:
    """The innermost suite that holds all nodes."""
    statement = tree.statement(nodes[0])
    while True:
        suite = tree.siblings(statement)
        within = {inner for one in suite for inner in ast.walk(one)}
        if all(node in within for node in nodes):
            return suite
        statement = tree.statement(tree.link(statement).parent)


def _renamed(
    tree: Tree, suite: Sequence[ast.stmt], node: ast.expr, alike: Sequence[ast.expr], name: str
) -> list[draft.Change]:
    """The changes that put a name in place of expressions equal to one."""
    changes = [(*_alone(tree, *draft.bracketed(tree, one)), name) for one in alike]
    for statement in suite:
        region = tree.region(statement)
        own = [one for one in changes if region.start <= one[0] < region.end]
        expected = [_Named(node, name).visit(copy.deepcopy(one)) for one in region.statements]
        if own and not draft.lawful(tree, region, own, expected):
            raise Withheld("the bounded value cannot be given a name here")
    return changes


def _alone(tree: Tree, start: int, end: int) -> tuple[int, int]:
    """A place with the line breaks around it, where it has lines of its own within brackets: a name needs none."""
    text = tree.source.text
    before, after = _OPENED.search(text, 0, start), _CLOSED.match(text, end)
    return (before.end(1), after.start(1)) if before is not None and after is not None else (start, end)


class _Named(ast.NodeTransformer):
    """A tree with a name in place of an expression."""

    def __init__(self, node: ast.expr, name: str) -> None:
        self._node, self._name = node, name

    def visit(self, node: ast.AST) -> Any:
        return ast.Name(self._name, ast.Load()) if same(node, self._node) else self.generic_visit(node)
