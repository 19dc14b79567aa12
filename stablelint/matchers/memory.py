"""Reads of memory that nothing has written."""

from __future__ import annotations

import ast

from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import (
    Kind,
    Review,
    Rule,
    Sites,
    Value,
    make_site,
    observed,
    observes,
    scope_of,
)
from stablelint.matchers.tree import ancestors, called, end, parents, start
from stablelint.syntax.names import last_name
from stablelint.syntax.walk import descendants, nodes_below, nodes_in
from stablelint.syntax.writes import is_of_self

_CLASSES = frozenset({"torch.Tensor", "torch.FloatTensor"})
_REDUCTIONS = frozenset("sum mean prod max min norm std var amax amin cumsum exp log sqrt".split())
_FILLING = frozenset({"parameters", "named_parameters", "apply", "load_state_dict", "state_dict"})
_UNFILLED = "nothing in sight fills this parameter: it starts as whatever was in memory"


@observes("empty|empty_like", "Parameter Tensor|FloatTensor")
def uninitialized(review: Review, rule: Rule) -> Sites:
    """The first use of a name bound to `torch.empty(…)`, where that use computes with it."""
    for value, frame in observed(review, "empty", "empty_like"):
        root = scope_of(frame)
        statement = next(ancestors(value.node, root), None)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if not _holds_nothing(value.node):
                uses = [n for n in nodes_in(root, ast.Name) if n.id == name and start(n) > end(statement)]
                use = min(uses, key=lambda n: _moment(n, root), default=None)
                reader = _reader(use, root) if use is not None else None
                if reader is not None:
                    yield make_site(review, rule, (value, frame), anchor=reader)
    yield from _unfilled_parameters(review, rule)


def _unfilled_parameters(review: Review, rule: Rule) -> Sites:
    """`self.w = nn.Parameter(torch.empty(n))` in a module of which no method writes it, nor all parameters."""
    for pair in observed(review, "parameter"):
        value, frame = pair
        owner = frame.function.owner if frame.function is not None else None
        if owner is None or value.node is None or value.first is None or not _is_empty(stripped(value.first)):
            continue
        if not all(last_name(base) == "Module" for base in owner.node.bases):
            continue  # another file may fill what this one declares
        statement = next(ancestors(value.node, scope_of(frame)), None)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        names = [t.attr for t in targets if is_of_self(t) and isinstance(t, ast.Attribute)]
        if names and not _holds_nothing(value.node) and not _is_filled(names[0], frame.module.source.tree):
            yield make_site(review, rule, pair, shown=False, message=_UNFILLED)


def _is_empty(value: Value) -> bool:
    """`torch.empty(…)`, or the old `torch.Tensor(2, n)`, which is given sizes and no elements."""
    sizes = list(value.operands.values())
    old = value.op in _CLASSES and (len(sizes) > 1 or any(v.kind is Kind.NUMBER for v in sizes))
    return old or value.op in ("empty", "empty_like")


def _is_filled(name: str, tree: ast.AST) -> bool:
    """Whether a file hands an attribute to anybody, writes it, or walks over the parameters of a module."""
    for node in nodes_below(tree, ast.Attribute):
        if node.attr in _FILLING:
            return True
        taker = parents(tree).get(node) if node.attr == name else None
        match taker:
            case ast.Call() if node in taker.args and _writes(taker, tree):
                return True
            case ast.Attribute(attr=attr) if attr == "data" or attr.endswith("_"):
                return True
            case ast.Subscript(ctx=ast.Store()):
                return True
        if taker is not None and isinstance(node.ctx, ast.Store):
            if not isinstance(getattr(taker, "value", None), ast.Call):
                return True
    return False


def _writes(call: ast.Call, tree: ast.AST) -> bool:
    """Whether a call is there for its effect: by its name, or because nobody takes its result."""
    return called(call).endswith("_") or isinstance(parents(tree).get(call), ast.Expr)


def _holds_nothing(node: ast.AST | None) -> bool:
    """`torch.empty(0, …)`: there is no memory to read."""
    return isinstance(node, ast.Call) and 0 in {getattr(n, "value", None) for n in descendants(node)}


def _moment(name: ast.Name, root: ast.AST) -> tuple[int, int]:
    """The place in the text by which a name has been used: a target is bound when its statement ends."""
    statement = parents(root).get(name)
    bound = isinstance(name.ctx, ast.Store) and isinstance(statement, ast.Assign)
    return end(statement) if bound else start(name)


def _reader(use: ast.Name, root: ast.AST) -> ast.AST | None:
    """The operation that computes with the name; None where it is written, passed on or looked at."""
    node: ast.AST = use
    for above in ancestors(use, root):
        match above:
            case ast.Subscript(value=inner) if inner is node:
                node = above
            case ast.BinOp():
                return above
            case ast.AugAssign(target=target) if target is node:
                return above
            case ast.Attribute(attr=attr) if attr in _REDUCTIONS:
                node = above
            case ast.Call(func=func) if func is node and isinstance(node, ast.Attribute):
                return above
            case _:
                return None
    return None
