"""Which expressions may be evaluated twice, earlier, later or not at all."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from enum import IntEnum

from stablelint.codemod.flow.nodes import is_number, root_name
from stablelint.codemod.text.locate import Tree
from stablelint.syntax import operations
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having


class Effect(IntEnum):
    """What evaluating an expression can do."""

    NONE = 0  # a constant or a name
    READS = 1  # the value depends on when it is evaluated; evaluating changes nothing
    ACTS = 2  # may change state: an unknown call, an await, an assignment, a random number


_ACTING = having("acts", "draw")
BUILTINS = frozenset(
    """
    len float int bool max min abs sum round isinstance getattr tuple list range zip sorted
    """.split()
)
# Tensor and module attributes that are called, read only, and missing from the table of operations.
_READERS = frozenset(
    """
    log_prob cdf icdf entropy stride get_device is_contiguous element_size
    """.split()
)


def effect(node: ast.AST) -> Effect:
    """The strongest effect that evaluating `node` can have, judged by its own text alone."""
    if isinstance(node, ast.Constant | ast.Name | ast.Lambda):
        return Effect.NONE
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
        return Effect.ACTS
    if isinstance(node, ast.Call) and not is_pure_call(node):
        return Effect.ACTS
    children = [
        child
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.expr | ast.keyword | ast.comprehension)
    ]
    inner = max((effect(child) for child in children), default=Effect.NONE)
    return (
        inner
        if isinstance(node, ast.keyword | ast.Starred | ast.UnaryOp | ast.Tuple)
        else max(inner, Effect.READS)
    )


def is_pure_call(node: ast.Call) -> bool:
    """Whether a call changes nothing, by its name; `self.norm(x)` may be a module of any kind."""
    keywords = {keyword.arg for keyword in node.keywords}
    if "out" in keywords or "inplace" in keywords:
        return False
    if isinstance(node.func, ast.Name):
        name = node.func.id
        return name in BUILTINS or (operations.canonical(name) is not None and _is_operation(name, node))
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        return not is_own and _is_operation(node.func.attr, node)
    return False


def _is_operation(name: str, call: ast.Call) -> bool:
    method = operations.method(name)
    known = operations.canonical(name) or (method[0] if method is not None else None)
    known = known or operations.function(spelled(call.func) or "")
    if name.endswith("_") or (known is not None and known.name in _ACTING):
        return False
    if known is not None and "inplace" in known.parameters[: len(call.args)]:
        return False
    return name in _READERS or known is not None


def is_cheap(node: ast.AST) -> bool:
    """Whether an expression may be written twice: a constant, a name, an attribute or plain index of one."""
    if isinstance(node, ast.Name | ast.Constant):
        return True
    if isinstance(node, ast.Attribute):
        return is_cheap(node.value) and not isinstance(node.value, ast.Subscript)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant | ast.Name)
    if isinstance(node, ast.Subscript):
        return (
            isinstance(node.slice, ast.Constant)
            and isinstance(node.value, ast.Name | ast.Attribute)
            and is_cheap(node.value)
        )
    return False


# Operations whose result has the element type of their operand, under autocast too.
KEEPS_TYPE = having("keep-sort", "layout", "copy", "spread", "total", "pick", "like") - having(
    "widened", "narrowed", "promote", "commute", "replace", "into", "join", "several", "acts"
)


_TOTALS = having("total", "spread")


def dtype_source(node: ast.expr, imported: Callable[[str], bool]) -> ast.expr | None:
    """A cheap part of `node` that has its element type, or None.

    Follows what keeps the type of a floating-point tensor: sign, arithmetic with a number, views, clamps.
    `imported` tells a module's name from a tensor's.
    """
    if isinstance(node, ast.Name | ast.Attribute):
        return node if is_cheap(node) and not imported(root_name(node)) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return dtype_source(node.operand, imported)
    if isinstance(node, ast.Subscript):
        # An item of a list or a dict has a type that the container has not; a part of a tensor has the tensor's.
        is_inverted = isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.op, ast.Invert)
        part = isinstance(node.slice, ast.Tuple | ast.Slice | ast.Compare) or is_inverted
        return dtype_source(node.value, imported) if part else node if is_cheap(node) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        if is_number(node.left):
            return dtype_source(node.right, imported)
        return dtype_source(node.left, imported) if is_number(node.right) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        found = operations.method(node.func.attr) or (operations.canonical(node.func.attr), False)
        receiver = node.func.value
        operand = node.args[0] if imported(root_name(receiver)) and node.args else receiver
        given = any(keyword.arg in ("dtype", None) for keyword in node.keywords)
        if operand is receiver and found[0] is not None:  # `process.std(t, x)` is of another object
            unknown = any(keyword.arg not in found[0].parameters for keyword in node.keywords)
            given = given or unknown or (found[0].name in _TOTALS and not all(map(is_number, node.args)))
        keeps = found[0] is not None and found[0].name in KEEPS_TYPE and not given
        return dtype_source(operand, imported) if keeps else None
    return None


def evaluated_before(tree: Tree, node: ast.expr) -> list[ast.AST] | None:
    """What the statement around `node` evaluates before it; None where it may not evaluate `node` just once.

    Lambdas, comprehensions, branches, short circuits, loop conditions and defaults are not certain.
    """
    earlier: list[ast.AST] = []
    child: ast.AST = node
    for link in tree.ancestors(node):
        before = _before(link.parent, link.field, link.index)
        if before is None:
            return None
        earlier.extend(before)
        child = link.parent
        if isinstance(child, ast.stmt):
            return earlier
    return None


_ONLY_FIELD: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.Assign, ast.AnnAssign, ast.Return, ast.Expr), "value"),
    **dict.fromkeys((ast.If, ast.Assert), "test"),
    **dict.fromkeys((ast.For, ast.AsyncFor), "iter"),
    ast.Raise: "exc",
    ast.Match: "subject",
}
_REPEATED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension)


def _before(parent: ast.AST, field: str, index: int | None) -> list[ast.AST] | None:
    if isinstance(parent, ast.stmt | ast.withitem):
        return _before_in_statement(parent, field, index)
    if isinstance(parent, _REPEATED):
        return None
    if isinstance(parent, ast.IfExp):
        return [] if field == "test" else None
    if isinstance(parent, ast.BoolOp):
        return [] if index == 0 else None
    if isinstance(parent, ast.Compare):
        return [] if field == "left" else [parent.left] if index == 0 else None
    if isinstance(parent, ast.Dict):
        return [item for item in (*parent.keys, *parent.values) if item is not None]
    return list(_fields_before(parent, field, index))


def _before_in_statement(parent: ast.AST, field: str, index: int | None) -> list[ast.AST] | None:
    if isinstance(parent, ast.AugAssign):
        return [parent.target] if field == "value" else None
    if isinstance(parent, ast.With | ast.AsyncWith):
        return [] if field == "items" and index == 0 else None
    if isinstance(parent, ast.withitem):
        return [] if field == "context_expr" else None
    return [] if _ONLY_FIELD.get(type(parent)) == field else None


def _fields_before(parent: ast.AST, field: str, index: int | None) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(parent):
        if name == field and index is None:
            return
        for position, item in enumerate(value if isinstance(value, list) else [value]):
            if name == field and position == index:
                return
            if isinstance(item, ast.expr | ast.keyword):
                yield item
