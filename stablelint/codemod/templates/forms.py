"""Giving a template the form that its place asks for: its arguments, its names, method or function.

All functions here take and return LibCST expressions in which metavariables are placeholders.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import cast

import libcst as cst

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.templates.operand import Operand, bare
from stablelint.syntax import operations

_ROOTS = frozenset({"torch", "math", "numpy"})


def dotted(node: cst.BaseExpression) -> str | None:
    """``a.b.c`` as text, or None for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr.value}"
    return None


def is_placeholder(node: cst.BaseExpression) -> bool:
    """Whether a node is a metavariable."""
    return isinstance(node, cst.Name) and node.value.startswith(PREFIX)


class _Transform(cst.CSTTransformer):
    """Replace expressions by what `rewrite` gives for them, from the inside out; None keeps one."""

    def __init__(self, rewrite: Callable[[cst.BaseExpression], cst.BaseExpression | None]) -> None:
        super().__init__()
        self._rewrite = rewrite

    def on_leave(
        self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT
    ) -> cst.CSTNodeT | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNodeT]:
        """Apply the rewrite to expressions only."""
        if not isinstance(updated_node, cst.BaseExpression):
            return updated_node
        rewritten = self._rewrite(updated_node)
        # The visitor's type promises a node of the same class; any expression may stand for another.
        return updated_node if rewritten is None else cast("cst.CSTNodeT", rewritten)


def transform(
    expression: cst.BaseExpression, rewrite: Callable[[cst.BaseExpression], cst.BaseExpression | None]
) -> cst.BaseExpression:
    """The expression with `rewrite` applied everywhere within it."""
    result = expression.visit(_Transform(rewrite))
    assert isinstance(result, cst.BaseExpression)
    return result


def without_unbound(expression: cst.BaseExpression, bound: Mapping[str, Operand]) -> cst.BaseExpression:
    """Drop keyword arguments whose metavariable is not bound: the site does not give them."""

    def rewrite(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Call):
            return None
        kept = [
            arg
            for arg in node.args
            if not (arg.keyword and is_placeholder(arg.value) and identifier(arg.value) not in bound)
        ]
        return None if len(kept) == len(node.args) else node.with_changes(args=joined(kept))

    return transform(expression, rewrite)


def _has_rest(call: cst.Call) -> bool:
    return any(isinstance(arg.value, cst.Ellipsis) for arg in call.args)


def with_rest(expression: cst.BaseExpression, rest: list[cst.Arg]) -> cst.BaseExpression:
    """Put the site's further arguments in place of ``...``, keywords after positional arguments."""

    def rewrite(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not isinstance(node, cst.Call) or not _has_rest(node):
            return None
        given = {arg.keyword.value for arg in node.args if arg.keyword}
        args: list[cst.Arg] = []
        for arg in node.args:
            if isinstance(arg.value, cst.Ellipsis):
                args += [item for item in rest if item.keyword is None or item.keyword.value not in given]
            else:
                args.append(arg)
        args.sort(key=lambda item: item.keyword is not None or item.star == "**")
        return node.with_changes(args=joined(args))

    return transform(expression, rewrite)


def without_double_negation(
    expression: cst.BaseExpression, operands: dict[str, Operand]
) -> cst.BaseExpression:
    """Write ``-$x`` as ``y`` where the operand is ``-y``."""

    def rewrite(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if not (isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)):
            return None
        operand = operands.get(identifier(node.expression))
        if operand is None or not (
            isinstance(operand.tree, ast.UnaryOp) and isinstance(operand.tree.op, ast.USub)
        ):
            return None
        name = f"{operand.placeholder}_negated"
        node_inside = operand.node.operand if isinstance(operand.node, ast.UnaryOp) else None
        text = bare(operand.text.removeprefix("-"))
        operands[name] = Operand(name, text, operand.tree.operand, node_inside, operand.span, operand.dtype)
        return cst.Name(name)

    return transform(expression, rewrite)


def as_method(expression: cst.BaseExpression, operands: Mapping[str, Operand]) -> cst.BaseExpression:
    """``torch.log($x.clamp_min(...))`` as ``$x.clamp_min(...).log()``, where the tensor has such a method."""
    if (
        not isinstance(expression, cst.Call)
        or not expression.args
        or expression.args[0].keyword
        or expression.args[0].star
    ):
        return expression
    name = dotted(expression.func) or ""
    base, _, operation = name.rpartition(".")
    if base not in ("torch", "torch.nn.functional") or operations.method(operation) is None:
        return expression
    if operation in ("where", "pow") or operation.endswith("_"):
        return expression
    receiver = as_method(expression.args[0].value, operands)
    if not _is_rooted(receiver):
        return expression
    method = cst.Attribute(receiver, cst.Name(operation))
    return expression.with_changes(func=method, args=joined(list(expression.args[1:])))


def with_methods(
    expression: cst.BaseExpression, operands: Mapping[str, Operand], names: frozenset[str]
) -> cst.BaseExpression:
    """The template with the functions called `names` as methods of their first argument."""

    def rewrite(node: cst.BaseExpression) -> cst.BaseExpression | None:
        if isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] in names:
            return as_method(node, operands)
        return None

    return transform(expression, rewrite)


def _is_rooted(node: cst.BaseExpression) -> bool:
    """Whether a node is a metavariable or a chain of calls and attributes on one."""
    while not is_placeholder(node):
        if isinstance(node, cst.Call):
            node = node.func
        elif isinstance(node, cst.Attribute):
            node = node.value
        else:
            return False
    return True


def with_names(expression: cst.CSTNode, spell: Callable[[str], str]) -> cst.CSTNode:
    """Write qualified names (``torch.nn.functional.softplus``) as `spell` says."""
    found: dict[cst.CSTNode, cst.BaseExpression] = {}

    class _Names(cst.CSTTransformer):
        def visit_Attribute(self, node: cst.Attribute) -> bool:  # noqa: N802 - the name LibCST gives it
            name = dotted(node)
            if name is None or name.partition(".")[0] not in _ROOTS:
                return True
            found[node] = cst.parse_expression(spell(name))
            return False

        def leave_Attribute(  # noqa: N802 - the name LibCST gives it
            self, original_node: cst.Attribute, updated_node: cst.Attribute
        ) -> cst.BaseExpression:
            return found.get(original_node, updated_node)

    result = expression.visit(_Names())
    assert isinstance(result, cst.CSTNode)
    return result


class _Quoted(cst.CSTTransformer):
    def __init__(self, quote: Callable[[], str]) -> None:
        self._quote = quote

    def leave_SimpleString(  # noqa: N802 - the name LibCST gives it
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        inner = updated_node.value[1:-1]
        if any(mark in inner for mark in "'\"\\"):
            return updated_node
        quote = self._quote()
        return updated_node.with_changes(value=f"{quote}{inner}{quote}")


def with_quotes(node: cst.CSTNode, quote: Callable[[], str]) -> cst.CSTNode:
    """The template with its strings in the quotation marks that the file uses; `quote` tells them."""
    visited = node.visit(_Quoted(quote))
    assert isinstance(visited, cst.CSTNode)
    return visited


def code(node: cst.CSTNode) -> str:
    """Source text of a node."""
    return cst.Module([]).code_for_node(node)


def argument(value: str, keyword: str | None = None, star: str = "") -> cst.Arg:
    """An argument whose value is a placeholder."""
    text = f"{star}{value}" if keyword is None else f"{keyword}={value}"
    call = cst.ensure_type(cst.parse_expression(f"f({text})"), cst.Call)
    return call.args[0]


def joined(args: list[cst.Arg]) -> list[cst.Arg]:
    """Arguments with a comma between each two."""
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    last = len(args) - 1
    return [
        arg.with_changes(comma=comma if index < last else cst.MaybeSentinel.DEFAULT)
        for index, arg in enumerate(args)
    ]


def identifier(node: cst.BaseExpression) -> str:
    """The identifier that a node is, or the empty text."""
    return node.value if isinstance(node, cst.Name) else ""
