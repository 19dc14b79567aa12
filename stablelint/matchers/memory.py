"""Reads of memory that nothing has written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import make_site, observed, scope_of
from stablelint.matchers.tree import parents, start
from stablelint.syntax.names import last_name
from stablelint.syntax.sieve import is_of_self
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_CLASSES = frozenset({"torch.Tensor", "torch.FloatTensor"})
_REDUCTIONS = frozenset("sum mean prod max min norm std var amax amin cumsum exp log sqrt".split())
_FILLING = frozenset({"parameters", "named_parameters", "apply", "load_state_dict", "state_dict"})
_UNFILLED = "nothing in sight fills this parameter: it starts as whatever was in memory"


@observes("empty|empty_like", "Parameter Tensor|FloatTensor")
def uninitialized(review: Review, rule: Rule) -> Iterator[Site]:
    """The first use of a name bound to `torch.empty(…)`, where that use computes with it."""
    for value, frame in observed(review, "empty", "empty_like"):
        root = scope_of(frame)
        assert value.node is not None
        statement = parents(root).get(value.node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or _holds_nothing(value.node):
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name):
            continue
        use = _first_use(target.id, statement, root)
        if use is None:
            continue
        reader = _reader(use, root)
        if reader is not None:
            yield make_site(review, rule, (value, frame), anchor=reader)
    yield from _unfilled_parameters(review, rule)


def _unfilled_parameters(review: Review, rule: Rule) -> Iterator[Site]:
    """`self.w = nn.Parameter(torch.empty(n))` in a module of which no method writes it, nor all parameters."""
    for pair in observed(review, "parameter"):
        value, frame = pair
        owner = frame.function.owner if frame.function is not None else None
        if owner is None or value.node is None or value.first is None or not _is_empty(stripped(value.first)):
            continue
        if not all(last_name(base) == "Module" for base in owner.node.bases):
            continue  # another file may fill what this one declares
        statement = parents(scope_of(frame)).get(value.node)
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
    above = parents(tree)
    for node in nodes_below(tree, ast.Attribute):
        if node.attr in _FILLING:
            return True
        if node.attr == name:
            taker = above.get(node)
            handed = (
                isinstance(taker, ast.Call) and node in taker.args and last_name(taker.func).endswith("_")
            )
            written = isinstance(taker, ast.Attribute) and (taker.attr == "data" or taker.attr.endswith("_"))
            subscripted = isinstance(taker, ast.Subscript) and isinstance(taker.ctx, ast.Store)
            again = isinstance(node.ctx, ast.Store) and not isinstance(
                getattr(taker, "value", None), ast.Call
            )
            if handed or written or subscripted or again:
                return True
    return False


def _holds_nothing(node: ast.AST) -> bool:
    """`torch.empty(0, …)`: there is no memory to read."""
    literals = {n.value for n in descendants(node) if isinstance(n, ast.Constant)}
    return 0 in literals


def _first_use(name: str, after: ast.stmt, root: ast.AST) -> ast.Name | None:
    begun = (after.end_lineno or 0, after.end_col_offset or 0)
    uses = [n for n in nodes_in(root, ast.Name) if n.id == name and start(n) > begun]
    return min(uses, key=lambda n: _moment(n, root), default=None)


def _moment(name: ast.Name, root: ast.AST) -> tuple[int, int]:
    """The place in the text by which a name has been used: a target is bound when its statement ends."""
    statement = parents(root).get(name)
    if isinstance(name.ctx, ast.Store) and isinstance(statement, ast.Assign):
        return statement.end_lineno or 0, statement.end_col_offset or 0
    return start(name)


def _reader(use: ast.Name, root: ast.AST) -> ast.AST | None:
    """The operation that computes with the name; None where it is written, passed on or looked at."""
    node: ast.AST = use
    above = parents(root).get(node)
    while isinstance(above, ast.Subscript) and above.value is node:
        node, above = above, parents(root).get(above)
    if isinstance(above, ast.AugAssign) and above.target is node:
        return above
    if isinstance(above, ast.BinOp):
        return above
    if isinstance(above, ast.Attribute) and above.attr in _REDUCTIONS:
        call = parents(root).get(above)
        return call if isinstance(call, ast.Call) and call.func is above else None
    return None
