"""Expressions over named operands: an expression's text is turned into code in which operands are variables."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType


class NotReplayable(Exception):
    """The expression cannot be evaluated outside its program; the message says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Code over operand variables.

    `operands` maps the variable's name to the source text that it stands for, in order of first appearance.
    """

    text: str
    source: str  # the same expression, over the variables
    code: CodeType
    operands: Mapping[str, str]


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression, or of a simple statement that computes one (`x /= y`, `y = x.log()`)."""
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except SyntaxError:
        pass
    try:
        body = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise NotReplayable(f"not an expression: {error.msg}") from error
    if len(body) == 1:
        match body[0]:
            case ast.AugAssign(target=target, op=op, value=value):
                left = ast.parse(ast.unparse(target), mode="eval").body
                return ast.BinOp(left, op, value)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Expr(value=value):
                return value
            case ast.Return(value=ast.expr() as value):
                return value
    raise NotReplayable("not an expression")


def key_of(tree: ast.expr) -> str:
    """Equal for expressions that are spelled alike but for layout and context."""
    return ast.unparse(tree)


class _Substitute(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr):
            name = self._names.get(key_of(node))
            if name is not None:
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        visited: ast.AST = self.generic_visit(node)
        return visited


def _forbid(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
            raise NotReplayable("the expression awaits or yields")


class _Atoms(ast.NodeVisitor):
    """Collects what an expression needs from its surroundings: names and attribute chains on them."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self._bound: list[frozenset[str]] = [frozenset()]
        self.found: dict[str, ast.expr] = {}

    def _add(self, node: ast.expr, name: str) -> None:
        if name not in self._known and not any(name in names for names in self._bound):
            self.found.setdefault(key_of(node), node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and not hasattr(builtins, node.id):
            self._add(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id == "self":
            self._add(node, root.id)  # `self.eps` is a value; `self` itself cannot be stored
        else:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        # the method of a value is no value of its own: `self.scale.exp()` needs `self.scale`
        if isinstance(node.func, ast.Attribute):
            inner = node.func.value
            if isinstance(inner, ast.Name) and inner.id == "self":
                self._add(node.func, "self")
            else:
                self.visit(inner)
        else:
            self.visit(node.func)
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            self.visit(argument)

    def _visit_scope(self, node: ast.AST, names: Iterable[str]) -> None:
        self._bound.append(frozenset(names))
        self.generic_visit(node)
        self._bound.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        parts = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self._visit_scope(node, (part.arg for part in parts))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        targets = (
            name.id
            for generator in node.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name)
        )
        self._visit_scope(node, targets)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def needed(texts: Iterable[str], operands: Mapping[str, str], known: frozenset[str]) -> dict[str, str]:
    """All operands of the expressions in `texts`: variable name (`o0`, `o1` …) to source text.

    The given `operands` come first; then every name or `self.` chain that is neither inside one of them nor
    in `known`. Operands that are literals are left in place. Raises `NotReplayable`.
    """
    wanted: dict[str, None] = {}
    for text in operands.values():
        tree = parse_expression(text)
        if not _is_literal(tree):
            wanted[key_of(tree)] = None
    trees = [parse_expression(text) for text in texts]
    names = {key: f"o{index}" for index, key in enumerate(wanted)}
    used: set[str] = set()
    for tree in trees:
        _forbid(tree)
        reduced = _Substitute(names).visit(tree)
        used |= {node.id for node in ast.walk(reduced) if isinstance(node, ast.Name)}
        atoms = _Atoms(known | frozenset(names.values()))
        atoms.visit(reduced)
        for key in atoms.found:
            wanted.setdefault(key, None)
    first = [key for key in wanted if key not in names or names[key] in used]
    return {f"o{index}": key for index, key in enumerate(first)}


def _is_literal(tree: ast.expr) -> bool:
    try:
        ast.literal_eval(tree)
    except (ValueError, TypeError):
        return False
    return True


def compile_expression(text: str, variables: Mapping[str, str]) -> Expression:
    """Code for `text` in which each source text of `variables` is the variable of that name."""
    tree = parse_expression(text)
    _forbid(tree)
    names = {key_of(parse_expression(source)): name for name, source in variables.items()}
    reduced = _Substitute(names).visit(tree)
    wrapped = ast.fix_missing_locations(ast.Expression(reduced))
    try:
        code = compile(wrapped, "<site>", "eval")
    except (SyntaxError, ValueError) as error:
        raise NotReplayable(f"cannot be compiled: {error}") from error
    present = {node.id for node in ast.walk(reduced) if isinstance(node, ast.Name)}
    return Expression(
        text,
        ast.unparse(reduced),
        code,
        {name: source for name, source in variables.items() if name in present},
    )
