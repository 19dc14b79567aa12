"""What happens to a graph between its making and its backward: it is cut off, overwritten, or never there."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.views import behind, stripped
from stablelint.matchers.common import (
    Kind,
    Observed,
    Review,
    Rule,
    Sites,
    Value,
    made_from,
    make_site,
    observed,
    observes,
    scope_of,
    site_at,
)
from stablelint.matchers.models import runs_module, trained_in
from stablelint.matchers.names import assigned_in, bound_to, is_without_graph, operation_of, reached_from
from stablelint.matchers.training.events import Event, backward_seen, differentiated, events_in, losses_in
from stablelint.matchers.training.gathered import holds_no_graph
from stablelint.matchers.tree import Function, ancestors, called, end, exclusive, start
from stablelint.syntax.aliases import origin
from stablelint.syntax.beforehand import is_computed, values_by_name
from stablelint.syntax.names import called_name, spelled
from stablelint.syntax.operations import having
from stablelint.syntax.remembered import remembered
from stablelint.syntax.sieve import Glance
from stablelint.syntax.walk import descendants, nodes_in

# Operations whose gradient is computed from their result, and from their operand, which autograd keeps.
_SAVES_RESULT = having("saves-result")
_SAVES_OPERAND = having("saves-operand")
# What shares the memory of its operand, and its count of changes.
_VIEWS = having("alias")
_IN_PLACE = (
    *sorted(having("elementwise", "scatter", "into") - having("compare", "logic", "truth", "finite-test")),
    *("zero_", "fill_", "copy_", "normal_", "uniform_", "overwritten"),
)
_ELEMENTWISE = having("elementwise", "along", "layout", "copy", "device", "cast") - having("cut")
_MOVED = having("device", "cast", "layout")
_WITHOUT = frozenset({Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.FOREIGN, Kind.ARRAY})
WITHOUT_GRAPH = having(
    "whole", "truth", "compare", "logic", "finite-test", "blank", "filled", "draw", "grid", "cut"
) | {"const", "item", "numpy", "tolist", "sign", "tensor"}
LOSSES = having("loss")
_CUT = having("cut") | {"item"}
_GIVEN = frozenset("argument unknown item batch part".split())
TRAINED = ("linear_module", "norm_module", "parameter", "layer_output")
VARIABLE = "variable"
_DEPTH = 16
_ASKED = "this does nothing for a loss with a graph, and hides the error of one without: no parameter gets a gradient"
_LEAF = "the loss was cut off its graph and made a leaf of its own: no parameter gets a gradient"
_BARE = "the loss has no graph: nothing that it is made of requires a gradient"

# What leaves whole numbers, of which there is no gradient.
_OF_WHOLE = (ast.FloorDiv, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_WRITTEN = "|".join(("op=", "[]=", *(f"{name}_" for name in _IN_PLACE)))
_SAVED = "|".join((*_SAVES_RESULT, *_SAVES_OPERAND, "parameter"))


def _may_overwrite(seen: Glance) -> bool:
    """Whether something is written in place that may have a graph."""
    bound = values_by_name(seen.nodes)
    targets = (target for node in seen.nodes if (target := _target(node, seen)) is not None)
    return any(is_computed(target, bound) for target in targets)


def _target(node: ast.AST, seen: Glance) -> ast.expr | None:
    """What a node writes into in place; of an initialisation, what it is given."""
    match node:
        case ast.AugAssign(op=operator, target=target):
            return None if isinstance(operator, _OF_WHOLE) else target
        case ast.Subscript(ctx=ast.Store(), slice=key, value=value):
            return None if isinstance(key, ast.JoinedStr) else value
        case ast.Call(func=ast.Attribute(attr=name, value=value), args=given) if name.endswith("_"):
            return given[0] if given and origin(value, seen.imports) else value
    return None


@observes(f"{_WRITTEN} {_SAVED}", where=_may_overwrite)
@observes(f"{_WRITTEN} tensor|randn|rand|zeros|ones requires_grad|requires_grad_")
def in_place(review: Review, rule: Rule) -> Sites:
    """`y += …`, `y[0] = …` or `y.mul_(…)` where the backward pass reads y, or where y is a leaf."""
    losses = losses_in(review)
    differentiated = set(map(id, made_from(losses, stops=("detach",))))
    for value, frame in observed(review, *_IN_PLACE):
        target = value.operands.get("other" if value.op == "where" else "input")
        if target is None or not _is_in_place(value) or not review.gradients.get(id(value)):
            continue
        if losses and differentiated.isdisjoint(map(id, (value, *value.operands.values()))):
            continue
        storage, hidden = _storage(target, value)
        if not review.gradients.get(id(storage), storage.module is review.module):
            continue  # made without a graph, or in another file, where it is not seen whether with one
        if storage.op == "parameter" and stripped(target, _VIEWS - {"detach"}).op == "detach":
            continue
        reader = None if hidden else _reader(storage, (value, frame), review)
        message = _harm(storage, reader, review, hidden=hidden)
        if message is not None and (hidden or not is_beside_forward(scope_of(frame), review.module)):
            yield make_site(review, rule, (value, frame), message=message)


def is_beside_forward(root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a method of a module is none that its `forward` calls: inference, which takes no gradients."""
    owner = next(ancestors(root, module.source.tree), None)
    methods = owner.body if isinstance(owner, ast.ClassDef) else []
    forward = next((m for m in methods if isinstance(m, Function) and m.name == "forward"), None)
    return forward is not None and owner is not None and root not in reached_from(forward, owner)


def _harm(storage: Value, reader: Value | None, review: Review, *, hidden: bool) -> str | None:
    """What goes wrong when a tensor is overwritten; None where nothing does, or it is not known."""
    if storage.op == "parameter" and not hidden:
        return "a leaf that requires a gradient cannot be changed in place outside of no_grad"
    if storage.op in _SAVES_RESULT and not _is_picked(storage) and _is_trained(storage, review):
        ending = ", and no error tells" if hidden else ""
        return f"the gradient of {storage.op} is computed from its result, which this overwrites{ending}"
    if reader is not None:
        line = start(reader.node)[0]
        return f"the gradient of {reader.op} in line {line} is computed from what this overwrites"
    return None


def _is_picked(value: Value) -> bool:
    """Whether a value is `max` or `min` along a dimension, whose gradient is computed from the places alone."""
    call = value.node
    return "dim" in value.operands and isinstance(call, ast.Call) and called_name(call) in ("max", "min")


def _storage(target: Value, change: Value) -> tuple[Value, bool]:
    """The tensor whose memory a view shares, and whether `.data` hides the change from autograd."""
    hidden = False
    here = descendants(change.node) if change.node is not None else []
    while target.op in _VIEWS and target.first is not None:
        if target.op == "detach" and target.node not in here:
            break  # a tensor of its own, without a graph
        hidden = hidden or (target.op == "detach" and isinstance(target.node, ast.Attribute))
        target = target.first
    return target, hidden


def _reader(storage: Value, change: Observed, review: Review) -> Value | None:
    """An earlier operation in the same function whose gradient reads a tensor that carries a graph itself."""
    value, frame = change
    if storage.op not in _ELEMENTWISE | {"linear_module", "norm_module"} or not _is_trained(storage, review):
        return None
    for earlier, where in review.observed:
        node = earlier.node
        if earlier is value:
            return None
        keeps = earlier.op in _SAVES_OPERAND and not _is_picked(earlier)
        if keeps and earlier.first is storage and where.function is frame.function:
            if node is not None and value.node is not None and start(node) < start(value.node):
                return None if exclusive(node, value.node, scope_of(frame)) else earlier
    return None


def _is_in_place(value: Value) -> bool:
    match value.node:
        case ast.AugAssign(target=target):
            return isinstance(target, ast.Name | ast.Attribute)
        case ast.Subscript(ctx=context):
            return isinstance(context, ast.Store)
        case ast.Call(func=ast.Attribute(attr=name)):  # by its name alone: one of an initialisation
            return name.endswith("_") and not name.endswith("__")
    return False


def _is_trained(value: Value, review: Review) -> bool:
    """Whether a parameter, a layer or a model is among what the value is made of."""
    parts = list(behind(value, lambda v: v.op in ("detach", "size") or v.name in ("dtype", "device")))
    return any(v.op in TRAINED for v in parts) or any(
        runs_module(v.node, trained_in(review.module)) for v in parts
    )


@observes("backward")
@observes("", where=lambda seen: "manual_backward" in seen.callees)  # of Lightning: a word of no operation
def loss_without_graph(review: Review, rule: Rule) -> Sites:
    """`loss.detach().backward()`, or of a loss made of `.item()` or under `no_grad`, or told to require a gradient."""
    for back, seen in backward_seen(review):
        root, message = back.root, _missing_graph(back, seen[0], review)
        if message is not None:
            yield make_site(review, rule, seen, message=message)
        else:
            asked = [n for n, of in _asked(root) if back.text in of]
            earlier = (start(n) for n in assigned_in(back.text, root) if end(n) < start(back.at))
            made = max(earlier, default=(0, 0))
            # What was asked of another tensor, before the name became that of the loss, is none of the loss's.
            for target in [n for n in asked if made <= start(n) <= start(back.at)][-1:]:
                yield site_at(review, rule, target, shown=False, message=_ASKED)
    for root, events in events_in(review).items():
        for back in (one for one in events if one.kind == "backward" and one.is_of_first and not one.is_own):
            for given in back.at.args[:1] if isinstance(back.at, ast.Call) else ():
                if operation_of(bound_to(spelled(given), back.at, root) or given) in _CUT:
                    yield site_at(review, rule, given, message=_BARE)


def _missing_graph(back: Event, seen: Value, review: Review) -> str | None:
    """What is wrong with the loss of a backward; None where it has a graph, or may have one."""
    loss = differentiated(seen)
    if loss is None:
        return None
    if not review.gradients.get(id(seen)):
        off = loss.op in LOSSES and is_without_graph(back.at, back.root)
        return _BARE if off and _is_cut(loss, review) else None
    if loss.op == VARIABLE:
        return _LEAF
    if loss.kind is not Kind.TENSOR:
        return _BARE if _is_called_without_graph(loss, review) else None
    if loss.op == "parameter":
        leaf = loss.operands.get("data")
        return _LEAF if leaf is not None and _is_cut_leaf(leaf, review) else None
    return _BARE if _is_cut(loss, review) else None


@remembered
def _asked(root: ast.AST) -> list[tuple[ast.expr, tuple[str, str]]]:
    """Where a function asks for gradients, `loss.requires_grad = True`, `loss.requires_grad_()`, and what is called so."""
    found: list[tuple[ast.expr, tuple[str, str]]] = []
    nodes: list[ast.AST] = nodes_in(root, ast.Assign, ast.Call)
    for node in nodes:
        place = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "func", None)
        if isinstance(place, ast.Attribute) and "requires_grad" in place.attr:
            if not spelled(node).endswith(("False", "False)")):
                found.append((place, (spelled(place.value), spelled(node))))
    return found


def _is_cut_leaf(leaf: Value, review: Review) -> bool:
    """Whether a leaf holds what was computed; numbers that are written out or passed in are the point of a gradient."""
    if leaf.op != "tensor":
        return leaf.op not in ("rand", "randn", "zeros", "ones") and _is_cut(leaf, review)
    data = leaf.operands.get("data")
    return data is not None and not (
        data.is_constant or data.kind is Kind.SEQUENCE or data.op in ("argument", "unknown")
    )


def _is_cut(value: Value, review: Review, depth: int = _DEPTH) -> bool:
    """Whether a value is known to carry no graph; what a method returns that others override is not."""
    if value.kind is Kind.NONE or value.op == "attribute" or value.assumed:
        return False  # what the constructor gives it says nothing of what it is now
    if isinstance(value.node, ast.Subscript):
        return holds_no_graph(value.node.value, review.module)
    if value.op in WITHOUT_GRAPH or value.kind in _WITHOUT:
        copied = called(value.node) == "tensor"  # `torch.tensor` copies, and cuts what it copies off
        return value.op != "tensor" or copied or _is_written(value)
    if depth == 0 or value.op in _GIVEN:
        return False
    if review.gradients.get(id(value)) is False or _is_called_without_graph(value, review):
        return True
    if value.op in LOSSES and "input" in value.operands:
        other = value.operands.get("target")
        cut = other is None or _is_given(other) or _is_cut(other, review, depth - 1)
        return cut and _is_cut(value.operands["input"], review, depth - 1)
    operands = [v for name, v in value.operands.items() if name not in ("dim", "dtype")]
    known = [v for v in operands if not _is_entry(v)]
    return value.op in _ELEMENTWISE and bool(known) and all(_is_cut(v, review, depth - 1) for v in known)


def _is_given(target: Value) -> bool:
    """Whether a target is one of the data, as they come or moved: `batch["label"].to(device)`."""
    target = stripped(target, _MOVED)
    return target.op in _GIVEN or isinstance(target.node, ast.Subscript)


def _is_entry(value: Value) -> bool:
    """Whether a value is an entry of a batch that is a dict, moved or as it is: `sample["mask"].cuda()`."""
    node = stripped(value, _MOVED).node
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )


def _is_called_without_graph(value: Value, review: Review) -> bool:
    """Whether what is known of a value is that a `no_grad` stands around the call that gives it."""
    node = value.node if value.op.startswith("call.") and value.module is review.module else None
    return node is not None and is_without_graph(node, review.module.source.tree)


def _is_written(value: Value) -> bool:
    """Whether a tensor is made of numbers, and not of what may be tensors in a list."""
    data = value.operands.get("data")
    return data is not None and (data.kind in (Kind.NUMBER, Kind.FOREIGN, Kind.ARRAY) or data.op == "item")
