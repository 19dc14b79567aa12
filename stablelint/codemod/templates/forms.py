"""Giving a template the form that its place asks for: its arguments, its names, method or function.

All functions here take and return trees in which metavariables are placeholders.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from dataclasses import replace

from stablelint.catalog.errors import RuleError
from stablelint.catalog.pattern import PREFIX, encode
from stablelint.codemod.templates.operand import Operand, bare, parse_operand
from stablelint.codemod.withheld import Withheld
from stablelint.syntax import operations
from stablelint.syntax.names import dotted, name_of

_ROOTS = frozenset({"torch", "numpy", *sys.stdlib_module_names})
_EXPONENT = re.compile(r"(?<=\de[-+])0(?=\d)")
# Formatters write no space around the power of a name or number; what stands for a metavariable may be more than that.
_POWER = re.compile(rf"(?<![\w.)\]])((?!{PREFIX})[\w.]+) \*\* (-?(?!{PREFIX})[\w.]+)(?![\w.(\[])")
_STRING = re.compile(r"""'([^'"\\]*)'""")
_Rewrite = Callable[[ast.expr], ast.expr | None]


def parse_template(template: str) -> ast.expr:
    """The tree of a template, metavariables as placeholders; Withheld when it is no expression."""
    try:
        return parse_code(encode(template)[0])
    except (SyntaxError, RuleError) as error:
        raise Withheld("the fix is not an expression") from error


def parse_code(code: str) -> ast.expr:
    """The tree of an expression that is known to be one."""
    return ast.parse(code.strip(), mode="eval").body


def code(node: ast.AST, quote: str = "'") -> str:
    """The text of a tree, numbers and powers as people write them (``1e-8``), strings in the quotation marks given."""
    text = _POWER.sub(r"\1**\2", _EXPONENT.sub("", ast.unparse(node)))
    return text if quote == "'" else _STRING.sub(rf"{quote}\1{quote}", text)


def is_placeholder(node: ast.expr) -> bool:
    """Whether a node is a metavariable."""
    return name_of(node).startswith(PREFIX)


def called(node: ast.expr, *arguments: ast.expr, method: str) -> ast.Call:
    """``node.method(arguments)``."""
    return ast.Call(ast.Attribute(node, method, ast.Load()), list(arguments), [])


class _Transform(ast.NodeTransformer):
    """Replace expressions by what `rewrite` gives for them, from the inside out; None keeps one."""

    def __init__(self, rewrite: _Rewrite) -> None:
        self._rewrite = rewrite

    def visit(self, node: ast.AST) -> ast.AST:
        node = self.generic_visit(node)
        return (self._rewrite(node) or node) if isinstance(node, ast.expr) else node


def transform(expression: ast.expr, rewrite: _Rewrite) -> ast.expr:
    """The expression with `rewrite` applied everywhere within it."""
    result = _Transform(rewrite).visit(expression)
    assert isinstance(result, ast.expr)
    return result


def without_double_negation(expression: ast.expr, operands: dict[str, Operand]) -> ast.expr:
    """Write the negative of an operand with one sign at most, where it begins with one or with a number."""

    def rewrite(node: ast.expr) -> ast.expr | None:
        if not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)):
            return None
        operand = operands.get(name_of(node.operand))
        text = _negative(operand) if operand is not None else None
        if operand is None or text is None:
            return None
        inside = operand.node.operand if isinstance(operand.node, ast.UnaryOp) else None
        name = f"{operand.placeholder}_negated"
        operands[name] = replace(operand, placeholder=name, text=text, tree=parse_operand(text), node=inside)
        return ast.Name(name, ast.Load())

    return transform(expression, rewrite)


def with_sign_outside(expression: ast.expr, operands: dict[str, Operand]) -> ast.expr:
    """Write ``$x.clamp(max=c)`` as ``-y.clamp(min=-c)`` where the operand is ``-y``."""
    match expression:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="clamp"),
            keywords=[ast.keyword(arg="max", value=ast.Constant() as bound)],
        ) if isinstance(operands[name].tree, ast.UnaryOp):
            negated = without_double_negation(ast.UnaryOp(ast.USub(), ast.Name(name, ast.Load())), operands)
            if not isinstance(negated, ast.Name):
                return expression
            del operands[name]
            call = called(negated, method="clamp")
            call.keywords.append(ast.keyword("min", ast.UnaryOp(ast.USub(), bound)))
            return ast.UnaryOp(ast.USub(), call)
    return expression


def _negative(operand: Operand) -> str | None:
    """``y * z`` for ``-y * z``, ``y - z`` for ``-y + z``, ``-2 * y`` for ``2 * y``."""
    tree = first = operand.tree
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Mult | ast.Div):
        first = first.left
    match tree:
        case ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=left), op=ast.Add(), right=right):
            return code(ast.BinOp(left, ast.Sub(), right))
        case ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=left), op=ast.Sub(), right=right):
            return code(ast.BinOp(left, ast.Add(), right))
    if isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.USub) and operand.text.startswith("-"):
        return bare(operand.text.removeprefix("-"))
    is_number = isinstance(first, ast.Constant) and isinstance(first.value, int | float)
    return f"-{operand.text}" if is_number and first is not tree else None


def as_method(expression: ast.expr) -> ast.expr:
    """``torch.log($x.clamp_min(...))`` as ``$x.clamp_min(...).log()``, where the tensor has such a method."""
    if not isinstance(expression, ast.Call) or not expression.args:
        return expression
    base, _, operation = dotted(expression.func).rpartition(".")
    if base not in ("torch", "torch.nn.functional") or operations.method(operation) is None:
        return expression
    if operation in ("where", "pow") or operation.endswith("_"):
        return expression
    receiver = as_method(expression.args[0])
    if not _is_rooted(receiver):
        return expression
    method = ast.Attribute(receiver, operation, ast.Load())
    return ast.Call(method, expression.args[1:], expression.keywords)


def with_methods(expression: ast.expr, names: frozenset[str]) -> ast.expr:
    """The template with the functions called `names` as methods of their first argument."""

    def rewrite(node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in names:
            return as_method(node)
        return None

    return transform(expression, rewrite)


def _is_rooted(node: ast.expr) -> bool:
    """Whether a node is a metavariable or a chain of calls and attributes on one."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return is_placeholder(node)


class _Named(ast.NodeTransformer):
    def __init__(self, spell: Callable[[str], str]) -> None:
        self._spell = spell

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = dotted(node)
        if name.partition(".")[0] not in _ROOTS:
            return self.generic_visit(node)
        return parse_code(self._spell(name))


def with_names(tree: ast.AST, spell: Callable[[str], str]) -> ast.AST:
    """Write qualified names (``torch.nn.functional.softplus``) as `spell` says."""
    result: ast.AST = _Named(spell).visit(tree)
    return result
