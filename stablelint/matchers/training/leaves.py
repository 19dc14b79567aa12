"""Copies of a result that are leaves of their own, on the way to a loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.lists import elements_of, is_list
from stablelint.analysis.values.views import COPIES, behind
from stablelint.matchers.common import (
    Kind,
    Review,
    Rule,
    Sites,
    Value,
    computed,
    made_from,
    make_site,
    observed,
    observes,
)
from stablelint.matchers.models import is_module_class, modules_in, runs_module
from stablelint.matchers.names import function_around, graph_is_off, made_by
from stablelint.matchers.training.events import losses_in
from stablelint.matchers.training.graph import LOSSES, TRAINED, VARIABLE, WITHOUT_GRAPH, is_beside_forward
from stablelint.matchers.tree import ancestors, assigned, called, calls_in, mentions
from stablelint.syntax.beforehand import is_fresh
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.sieve import Glance
from stablelint.syntax.signatures import argument
from stablelint.syntax.walk import descendants, nodes_in

_READING = ("tolist", "numpy", "item")
_TOTALS = ("mean", "sum", "dot")
_MADE = "Parameter"
_ASKING = ("Variable", "requires_grad_", "requires_grad")
_LEAVES = "|".join((*_ASKING, _MADE))
_ARITHMETIC = having("arithmetic", "scale") | {"phi"}
# Made without the numbers of what they are given.
_UNTOUCHED = having("draw", "blank", "filled", "grid", "size")


def _may_copy(seen: Glance) -> bool:
    """Whether what becomes a leaf may be made of another tensor."""
    if not seen.words.isdisjoint(_ASKING):
        return True
    names = [n for n in seen.calls if n == _MADE or seen.imports.get(n, "").endswith(f".{_MADE}")]
    calls = [call for name in names for call in seen.calls[name]]
    others = sum(seen.loads[name] for name in names) > len(calls)  # it is handed to somebody
    return others or not names or any(not (call.args and is_fresh(call.args[0])) for call in calls)


@observes(f"{_LEAVES} backward", f"{_LEAVES} {'|'.join((*_TOTALS, *sorted(LOSSES)))}")
@observes("backward", anywhere=_LEAVES)
@observes(_LEAVES, anywhere="Module", where=_may_copy)
def copied_into_leaf(review: Review, rule: Rule) -> Sites:
    """`Variable(model(x))`, `model(x).detach().requires_grad_()` on the way to a loss, or given back as one."""
    leaves = [(pair, source) for pair in computed(review) if (source := _copied(pair[0])) is not None]
    losses = losses_in(review) if leaves else []
    added = {id(part) for loss in losses for part in _summands(loss)}
    within = set(map(id, made_from(losses, stops=("detach",)))) - set(map(id, losses))
    taken = [] if losses else [value for value, _ in observed(review, *LOSSES)]
    scored = set(map(id, made_from(taken)))
    modules = modules_in(review) if leaves else frozenset[str]()
    for (value, frame), source in leaves:
        root, comes = function_around(value.node, review.module), _comes_from(value, source, modules)
        above = next(ancestors(value.node, root), None)
        # The weight of a policy's log-probability, which is one factor of a product, shall be a constant.
        weighs = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult)
        if weighs or _is_meant(value, root, review.module):
            continue
        given = argument(value.node, "requires_grad") if isinstance(value.node, ast.Call) else None
        asks = value.op == "parameter" and (given is None or isinstance(given, ast.Constant))
        trained = id(value) in within and (comes or (id(value) in added and bool(source.operands)))
        told = asks and ((comes and id(value) in scored) or (_is_total(source) and _is_returned(value, root)))
        off = value.node is not None and graph_is_off(value.node, root)
        if trained or told or (comes and not off and _is_of_forward(root, review.module)):
            yield make_site(review, rule, (value, frame), {"x": source})


def _is_of_forward(root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a function is a module's `forward`, or a method that it calls."""
    owner = next(ancestors(root, module.source.tree), None)
    return (
        isinstance(owner, ast.ClassDef)
        and is_module_class(owner, module)
        and not is_beside_forward(root, module)
    )


def _is_meant(value: Value, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a copy is told to carry no graph, or its own gradient is what is wanted: `.grad` of its name is read, or
    `grad` or an optimizer is given that."""
    asks = argument(value.node, "requires_grad") if isinstance(value.node, ast.Call) else None
    if isinstance(asks, ast.Constant) and asks.value is False:
        return True
    names = _names_of(value, root)
    takers = (
        n for n in calls_in(root) if called(n) == "grad" or made_by(n, module).startswith("torch.optim.")
    )
    return any(mentions(n, *names) for n in takers) or any(
        n.attr == "grad" and spelled(n.value) in names for n in nodes_in(root, ast.Attribute)
    )


def _names_of(value: Value, root: ast.AST) -> set[str]:
    """What assignments bind a value, or what it is a part of, to."""
    return {
        text for n in nodes_in(root, ast.Assign) if value.node in descendants(n) for text in assigned(n)[0]
    }


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


def _is_returned(value: Value, root: ast.AST) -> bool:
    """Whether a function returns a value, or a name that is bound to it."""
    parts, names = (
        {part for n in nodes_in(root, ast.Return) for part in descendants(n)},
        _names_of(value, root),
    )
    return value.node in parts or any(isinstance(p, ast.Name) and p.id in names for p in parts)


def _copied(value: Value) -> Value | None:
    """What a value is a leaf of its own with the elements of; None where it has a graph, which asking for one keeps."""
    if value.op == VARIABLE:
        return value.first
    made = value.operands.get("data") if value.op == "parameter" else None
    cut = called(value.node) == "Parameter"
    while made is not None:
        cut = cut or made.op in WITHOUT_GRAPH
        if made.first is None or not (made.op in COPIES or made.op == "tensor"):
            break
        made = made.first
    return made if cut else None


def _comes_from(leaf: Value, value: Value, modules: frozenset[str]) -> bool:
    """Whether a module or a parameter is among what a copy is computed from: who asks for its gradient wants theirs, else
    with its graph. A copy of weights alone is computed from none."""
    asks, weights = leaf.op == "parameter", value if value.op == "parameter" else None
    source = value if asks else _read_from(value)
    held = elements_of(source) if is_list(source) else [source]
    reached = (
        behind(one, lambda v: v.op in _UNTOUCHED or (not asks and v.op in WITHOUT_GRAPH)) for one in held
    )
    parts = (part for one in reached for part in one if part is not weights)
    return any(part.op in TRAINED or runs_module(part.node, modules) for part in parts)


def _read_from(value: Value) -> Value:
    """What the numbers of a value are read from: whoever reads them out has to detach that."""
    read = of = value
    while of.op in (*_READING, "detach", "cpu") and of.first is not None:
        read, of = (of.first if of.op in _READING else read), of.first
    return of if read is not value else value
