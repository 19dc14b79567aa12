"""Copies of a result that are leaves of their own, on the way to a loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.lists import elements_of, is_list
from stablelint.analysis.values.views import behind
from stablelint.matchers.common import (
    Kind,
    Review,
    Rule,
    Sites,
    Value,
    made_from,
    make_site,
    observed,
    observes,
    scope_of,
)
from stablelint.matchers.models import is_module_class, modules_in, runs_module
from stablelint.matchers.names import graph_is_off
from stablelint.matchers.training.graph import LOSSES, TRAINED, VARIABLE, WITHOUT_GRAPH, is_beside_forward
from stablelint.matchers.training.steps import steps_of
from stablelint.matchers.tree import ancestors, argument, assigned
from stablelint.syntax.names import spelled
from stablelint.syntax.walk import descendants, nodes_in

_READING = ("tolist", "numpy", "item")
_TOTALS = ("mean", "sum", "dot")
_COPIES = "Variable|tensor|from_numpy|FloatTensor"
_ARITHMETIC = frozenset("add sub mul div neg phi".split())


@observes(f"{_COPIES} backward", f"{_COPIES} {'|'.join((*_TOTALS, *sorted(LOSSES)))}")
@observes(_COPIES, anywhere="Module")
def copied_into_leaf(review: Review, rule: Rule) -> Sites:
    """`Variable(model(x))`, `torch.tensor(loss, requires_grad=True)` on the way to a loss, or given back as one."""
    copies, told = observed(review, "parameter", VARIABLE), set[int]()
    steps = [s for s in steps_of(review) if s.differentiated is not None]
    modules = modules_in(review) if copies or steps else frozenset[str]()
    for step in steps:
        loss = step.differentiated
        if loss is None:
            continue
        added = set(map(id, _summands(loss)))
        for value in made_from([loss], stops=("detach",)):
            source = _copied(value) if value is not loss else None
            if source is None or id(value) in told or _is_weight(value, step.root):
                continue
            if _is_meant(value, step.root):
                continue
            if _comes_from(source, modules) or (id(value) in added and source.operands):
                told.add(id(value))
                yield make_site(review, rule, (value, step.frame), {"x": source})
    for value, frame in copies:
        source, node = _copied(value), value.node
        if source is None or not isinstance(node, ast.Call) or id(value) in told:
            continue
        root = scope_of(frame)
        asks = spelled(argument(node, "requires_grad") or node) == "True"
        returned = asks and _is_total(source) and _is_returned(node, root)
        if returned or (_is_of_forward(root, review.module) and _is_within(value, source, root, modules)):
            yield make_site(review, rule, (value, frame), {"x": source})


def _is_of_forward(root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a function is a module's `forward`, or a method that it calls."""
    owner = next(ancestors(root, module.source.tree), None)
    return (
        isinstance(owner, ast.ClassDef)
        and is_module_class(owner, module)
        and not is_beside_forward(root, module)
    )


def _is_within(copy: Value, source: Value, root: ast.AST, modules: frozenset[str]) -> bool:
    """Whether a module copies what its own layers gave, on the way to what they give next."""
    meant = _is_weight(copy, root) or _is_meant(copy, root) or (copy.node and graph_is_off(copy.node, root))
    return not meant and _comes_from(source, modules)


def _is_weight(value: Value, root: ast.AST) -> bool:
    """Whether a copy is one factor of a product: the weight of a policy's log-probability, which shall be a constant."""
    above = next(ancestors(value.node, root), None)
    return isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult)


def _is_meant(value: Value, root: ast.AST) -> bool:
    """Whether a copy is told to carry no graph, or has a name whose `.grad` is read: its own gradient is what is wanted."""
    asks = argument(value.node, "requires_grad") if isinstance(value.node, ast.Call) else None
    if isinstance(asks, ast.Constant) and asks.value is False:
        return True
    made = [n for n in nodes_in(root, ast.Assign) if value.node in descendants(n)]
    names = {text for n in made for text in assigned(n)[0]}
    return any(n.attr == "grad" and spelled(n.value) in names for n in nodes_in(root, ast.Attribute))


def _summands(value: Value) -> Iterator[Value]:
    """A value, and what it is the sum of."""
    yield value
    for part in value.operands.values() if value.op == "add" else ():
        yield from _summands(part)


def _is_total(value: Value) -> bool:
    """Whether a value is made of a loss, or of a total over all elements: what a loss function gives back."""
    held = elements_of(value) if is_list(value) else [value]
    if is_list(value) and any(one.kind is Kind.TENSOR for one in held):
        return True
    parts = [part for one in held for part in behind(one, lambda v: v.op not in _ARITHMETIC)]
    return any(v.op in LOSSES or (v.op in _TOTALS and "dim" not in v.operands) for v in parts)


def _is_returned(node: ast.AST, root: ast.AST) -> bool:
    """Whether a function returns an expression, or a name that is bound to it."""
    parts = {part for n in nodes_in(root, ast.Return) for part in descendants(n)}
    made = [n for n in nodes_in(root, ast.Assign) if node in descendants(n)]
    names = {text for n in made for text in assigned(n)[0]}
    return node in parts or any(isinstance(p, ast.Name) and p.id in names for p in parts)


def _copied(value: Value) -> Value | None:
    """The tensor of whose elements a call makes a leaf."""
    made = value.operands.get("data") if value.op == "parameter" else None
    while made is not None and made.op in ("to", "cuda", "float") and made.first is not None:
        made = made.first
    leaf = value if made is None else made
    return leaf.first if leaf.op == VARIABLE or (made is not None and leaf.op == "tensor") else None


def _comes_from(value: Value, modules: frozenset[str]) -> bool:
    """Whether a module or a parameter is among what a value is computed from, with its graph."""
    read = of = value
    while of.op in (*_READING, "detach", "cpu") and of.first is not None:
        read, of = (of.first if of.op in _READING else read), of.first
    source = (
        of if read is not value else value
    )  # whoever reads numbers out has to detach what they are read from
    parts = behind(source, lambda v: v.op in WITHOUT_GRAPH or v.op == VARIABLE)
    return any(v.op in TRAINED or runs_module(v.node, modules) for v in parts)
