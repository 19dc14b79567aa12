"""What the text of a function alone shows of its values: whole numbers, and tensors that are made of no other."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stablelint.syntax.names import is_name, last_name
from stablelint.syntax.operations import having
from stablelint.syntax.signatures import parameters
from stablelint.syntax.walk import descendants

Bindings = Mapping[str, Sequence[ast.expr | None]]
_NAMES = 4  # that lead on to others
_COUNTING = frozenset({"len", "int"})  # as functions: `x.int()` is a tensor
_ASKED = frozenset({"size", "dim", "numel", "ndimension"})  # as methods
_COUNTS = frozenset({"ndim", "shape"})
_WHOLE_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_MADE = having("create") - {"full"}  # of sizes alone
_FILLED = having("create", "like")
_CONTAINERS = frozenset({"dict", "list", "set", "OrderedDict", "defaultdict", "Counter"})
_DISPLAYS = (ast.Constant, ast.JoinedStr, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.DictComp)
_ITSELF = ("self", "cls")


def bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment binds, and to what: each part of a tuple by itself."""
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) or node.value is None:
        return
    value = node.value
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts, strict=False)
        else:
            yield target, value


def values_by_name(nodes: Iterable[ast.AST]) -> Bindings:
    """What the names of a function are bound to by its nodes; None for what has no expression of its own."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        for target, value in bindings(node):
            _bind(target, value, found)
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            counted = isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "range"
            _bind(node.target, ast.Constant(0) if counted else None, found)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            _bind(node.optional_vars, None, found)
        elif isinstance(node, ast.arguments):
            for one in parameters(node):
                whole = is_name(one.annotation, "int")
                found.setdefault(one.arg, []).append(ast.Constant(1) if whole else None)
    return found


def _bind(target: ast.expr, value: ast.expr | None, found: dict[str, list[ast.expr | None]]) -> None:
    if isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(value)
        return
    parts = value is not None and is_whole(value, {})  # the sizes of a tensor
    for name in descendants(target) if isinstance(target, ast.Tuple | ast.List) else ():
        if isinstance(name, ast.Name):
            found.setdefault(name.id, []).append(value if parts else None)


def is_whole(node: ast.expr | None, bound: Bindings, depth: int = _NAMES) -> bool:
    """Whether an expression is a whole number of Python's, or holds nothing else."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, bool)
    if isinstance(node, ast.BinOp):
        known = isinstance(node.op, _WHOLE_OPERATORS)
        return known and is_whole(node.left, bound, depth) and is_whole(node.right, bound, depth)
    if isinstance(node, ast.Subscript | ast.UnaryOp):
        return is_whole(node.value if isinstance(node, ast.Subscript) else node.operand, bound, depth)
    if isinstance(node, ast.IfExp):
        return is_whole(node.body, bound, depth) and is_whole(node.orelse, bound, depth)
    if isinstance(node, ast.Call):
        named = _COUNTING if isinstance(node.func, ast.Name) else _ASKED
        return last_name(node.func) in named and len(node.args) < 2
    if isinstance(node, ast.Name):
        held = bound.get(node.id, ())
        return depth > 0 and bool(held) and all(is_whole(value, bound, depth - 1) for value in held)
    return isinstance(node, ast.Attribute) and node.attr in _COUNTS


def is_fresh(node: ast.expr | None) -> bool:
    """Whether an expression is made of numbers that it names, and of no other tensor: `torch.randn(n) * 0.02`."""
    if isinstance(node, ast.Call):
        if last_name(node.func) in _MADE:
            return not any(isinstance(part, ast.Call) for value in node.args for part in descendants(value))
        on = node.func.value if isinstance(node.func, ast.Attribute) else None
        return is_fresh(on) and all(isinstance(value, ast.Constant) for value in node.args)
    if isinstance(node, ast.BinOp):
        return is_fresh(node.left) and is_fresh(node.right)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and is_fresh(node.operand))


def is_computed(target: ast.expr, bound: Bindings) -> bool:
    """Whether what is written into in place may be a tensor with a graph, or a parameter, that a function gets at by
    other ways than as an attribute of what it is given."""
    node, above = target, target
    while not isinstance(node, ast.Name):
        node = node.func if isinstance(node, ast.Call) else node
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return True
        above, node = node, node.value
    held = bound.get(node.id, ())
    if node is target:
        return not held or not all(_is_apart(value, bound) for value in held)
    if isinstance(above, ast.Attribute) and set(held) == {None}:
        return node.id in _ITSELF
    return not held or not all(isinstance(v, ast.Call) and last_name(v.func) in _FILLED for v in held)


def _is_apart(value: ast.expr | None, bound: Bindings) -> bool:
    """Whether an expression is a container, a text, a number, or a tensor that is made of no other."""
    made = isinstance(value, ast.Call) and last_name(value.func) in _FILLED | _CONTAINERS
    return made or isinstance(value, _DISPLAYS) or is_whole(value, bound)
