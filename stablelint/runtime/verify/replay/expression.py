"""Expressions over named operands: text is turned into code in which operands are variables."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from types import CodeType

from stablelint.syntax.names import is_literal, is_name, names_in
from stablelint.syntax.signatures import arguments, parameters

_SPARES = 12


class NotReplayableError(Exception):
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
        raise NotReplayableError(f"not an expression: {error.msg}") from error
    if len(body) == 1:
        match body[0]:
            case ast.AugAssign(target=target, op=op, value=value):
                left = ast.parse(ast.unparse(target), mode="eval").body
                return ast.BinOp(left, op, value)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Expr(value=value):
                return value
            case ast.Return(value=ast.expr() as value):
                return value
    raise NotReplayableError("not an expression")


def key_of(tree: ast.expr) -> str:
    """Equal for expressions that are spelled alike but for layout and context."""
    return ast.unparse(tree)


def _kinds(keys: Iterable[str]) -> tuple[type[ast.expr], ...]:
    """The kinds of node that expressions with these keys can be: spelling out every node would take long."""
    return tuple({type(parse_expression(key)) for key in keys})


class _Substitute(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values
        self._kinds = _kinds(values)

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, self._kinds) and not isinstance(getattr(node, "ctx", None), ast.Store):
            value = self._values.get(key_of(node))
            if value is not None:
                return ast.copy_location(deepcopy(value), node)
        visited: ast.AST = self.generic_visit(node)
        return visited


def substituted(tree: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """The tree, changed in place, with the expressions of these keys replaced where they are read."""
    reduced = _Substitute(values).visit(tree)
    assert isinstance(reduced, ast.expr)
    return reduced


def _as_variables(tree: ast.expr, names: Mapping[str, str]) -> ast.expr:
    return substituted(tree, {key: ast.Name(name, ast.Load()) for key, name in names.items()})


def _forbid(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
            raise NotReplayableError("the expression awaits or yields")


class _Atoms(ast.NodeVisitor):
    """Collects what an expression needs from its surroundings: names and attribute chains on them."""

    def __init__(self, known: frozenset[str], opaque: frozenset[str] = frozenset()) -> None:
        self._known = known
        self._opaque = opaque
        self._bound: list[frozenset[str]] = [frozenset()]
        self.found: dict[str, ast.expr] = {}

    def _add(self, node: ast.expr, name: str) -> None:
        if name not in self._known and not any(name in names for names in self._bound):
            self.found.setdefault(key_of(node), node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and not isinstance(getattr(builtins, node.id, None), type):
            self._add(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if is_name(root, "self"):
            self._add(node, root.id)  # `self.eps` is a value; `self` itself cannot be stored
        elif isinstance(root, ast.Name) and root.id in self._opaque:
            self._add(node, root.id)
        else:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        if self._opaque and self._callee(node) in self._opaque:
            self.found.setdefault(key_of(node), node)  # its result can be stored, though it cannot
            return
        # the method of a value is no value of its own: `self.scale.exp()` needs `self.scale`
        if isinstance(node.func, ast.Attribute):
            inner = node.func.value
            if is_name(inner, "self"):
                self._add(node.func, "self")
            else:
                self.visit(inner)
        elif not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)):
            self.visit(node.func)  # a builtin that is called is one; as a value, `input` is a tensor
        for argument in arguments(node):
            self.visit(argument)

    def _callee(self, node: ast.Call) -> str:
        """The atom that a call needs for its function."""
        root = node.func
        if isinstance(root, ast.Attribute) and getattr(root.value, "id", "") != "self":
            root = root.value
        while isinstance(root, ast.Attribute | ast.Subscript) and key_of(root) not in self._opaque:
            root = root.value
        return key_of(root)

    def _visit_scope(self, node: ast.AST, names: Iterable[str]) -> None:
        self._bound.append(frozenset(names))
        self.generic_visit(node)
        self._bound.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_scope(node, (part.arg for part in parameters(node.args)))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self._visit_scope(node, set[str]().union(*(names_in(part.target) for part in node.generators)))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815


def spares(texts: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    """Results of calls and attributes inside the expressions, to fall back on where a name cannot be stored.

    `model(x)` is one: `model` is no value that can be written down, what it returns is.
    """
    found: dict[str, None] = {}
    for text in texts:
        tree = parse_expression(text)
        methods = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if node is tree or id(node) in methods or not isinstance(node, ast.Call | ast.Attribute):
                continue
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id not in known:
                found[key_of(node)] = None
    return tuple(found)[:_SPARES]


def needed(
    texts: Sequence[str],
    operands: Mapping[str, str],
    known: frozenset[str],
    opaque: frozenset[str] = frozenset(),
    kept: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """All operands of the expressions in `texts`: variable name (`o0`, `o1` …) to source text.

    The given `operands` come first; then every name or `self.` chain that is neither inside one of them nor
    in `known`. Operands that are literals are left in place. What is called on, or is an attribute of, a name
    in `opaque` is one operand as a whole. An operand that is made of another one is no operand, unless its
    metavariable is in `kept` and every text uses it; nor is one that a text takes apart, as a fix that merges
    its clamp with that of the operand. Raises `NotReplayableError`.
    """
    bound: dict[str, ast.expr] = {}
    for text in operands.values():
        tree = parse_expression(text)
        if not is_literal(tree) and key_of(tree) not in opaque:
            bound[key_of(tree)] = tree
    trees = [parse_expression(text) for text in texts]
    shared = _in_every(trees, bound)
    named = shared & {key_of(parse_expression(operands[name])) for name in kept & operands.keys()}
    wanted = [key for key, tree in bound.items() if key in named or not _contains(tree, bound)]
    wanted += _results_of_opaque(trees, known, opaque)
    used = _used(trees, tuple(dict.fromkeys(wanted)), known, opaque)
    apart = {key for key in used if key in bound and key not in shared and _is_taken_apart(bound[key], used)}
    if apart:
        whole = {name: text for name, text in operands.items() if key_of(parse_expression(text)) not in apart}
        return needed(texts, whole, known, opaque, kept)
    return {f"o{index}": key for index, key in enumerate(used)}


def _in_every(trees: Sequence[ast.expr], bound: Mapping[str, ast.expr]) -> set[str]:
    """The keys of the operands that are part of every text."""
    kinds = tuple({type(tree) for tree in bound.values()})
    shared = set(bound)
    for tree in trees:
        shared &= {key_of(part) for part in _parts(tree) if isinstance(part, kinds)}
    return shared


def _results_of_opaque(
    trees: Sequence[ast.expr], known: frozenset[str], opaque: frozenset[str]
) -> Iterator[str]:
    """The keys of what is called on, or is an attribute of, an opaque name: each is one operand as a whole."""
    for tree in trees if opaque else ():
        atoms = _Atoms(known, opaque)
        atoms.visit(tree)
        yield from (key for key, node in atoms.found.items() if isinstance(node, ast.Call | ast.Attribute))


def _used(
    trees: Sequence[ast.expr], wanted: Sequence[str], known: frozenset[str], opaque: frozenset[str]
) -> list[str]:
    """Those of the `wanted` operands that the texts use, and all that they need besides."""
    names = {key: f"o{index}" for index, key in enumerate(wanted)}
    used: set[str] = set()
    further: dict[str, None] = {}
    for tree in trees:
        _forbid(tree)
        reduced = _as_variables(tree, names)
        used |= names_in(reduced)
        atoms = _Atoms(known | frozenset(names.values()), opaque)
        atoms.visit(reduced)
        further |= dict.fromkeys(atoms.found)
    return [key for key in wanted if names[key] in used] + [key for key in further if key not in names]


def _is_taken_apart(tree: ast.expr, used: Sequence[str]) -> bool:
    """Whether a proper part of an operand is an operand itself."""
    return any(key_of(part) in used for part in _computed_from(tree) if part is not tree)


def _contains(tree: ast.expr, keys: Mapping[str, object]) -> bool:
    """Whether one of the keyed expressions is a proper part of `tree`."""
    return any(key_of(part) in keys for part in _parts(tree) if part is not tree)


def _computed_from(tree: ast.expr) -> list[ast.expr]:
    """The parts of an expression but for its subscripts."""
    found = [tree]
    for name, child in ast.iter_fields(tree):
        if isinstance(tree, ast.Subscript) and name == "slice":
            continue
        for each in child if isinstance(child, list) else [child]:
            inner = each.value if isinstance(each, ast.keyword) else each
            if isinstance(inner, ast.expr):
                found += _computed_from(inner)
    return found


def _parts(tree: ast.expr) -> list[ast.expr]:
    return [part for part in ast.walk(tree) if isinstance(part, ast.expr)]


def compile_expression(text: str, variables: Mapping[str, str]) -> Expression:
    """Code for `text` in which each source text of `variables` is the variable of that name."""
    tree = parse_expression(text)
    _forbid(tree)
    names = {key_of(parse_expression(source)): name for name, source in variables.items()}
    reduced = _as_variables(tree, names)
    wrapped = ast.fix_missing_locations(ast.Expression(reduced))
    try:
        code = compile(wrapped, "<site>", "eval")
    except (SyntaxError, ValueError) as error:
        raise NotReplayableError(f"cannot be compiled: {error}") from error
    present = names_in(reduced)
    operands = {name: source for name, source in variables.items() if name in present}
    return Expression(text, ast.unparse(reduced), code, operands)
