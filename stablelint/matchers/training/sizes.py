"""Sizes that do not fit: layers behind one another, losses of tensors that broadcast, sizes in another order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.interpret.operations.layers import Layer
from stablelint.analysis.matching.sites import text_at
from stablelint.analysis.values.value import unpacked
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import (
    Kind,
    Observed,
    Review,
    Rule,
    Sites,
    Value,
    computed,
    made_from,
    make_site,
    observed,
    observes,
    scope_of,
)
from stablelint.matchers.training.shapes import (
    UNKNOWN,
    Shape,
    Shapes,
    channels_of,
    first_size,
    last_size,
    through,
)
from stablelint.syntax.beforehand import is_whole
from stablelint.syntax.names import listed, spelled
from stablelint.syntax.operations import having
from stablelint.syntax.sieve import SIZED, Glance
from stablelint.syntax.sizes import are_permuted
from stablelint.syntax.walk import nodes_in

_PERMUTED = "the sizes stand in another order, and the elements in the old one: `permute({})`"
_BETWEEN = (
    "another size stands between those of two neighbouring dimensions: view it behind them, then transpose"
)
_SHAPED = having("elementwise", "copy", "device", "cast") | {"linear_module"}
_PAIRWISE = having("distance")
_MEASURES = having("total") | {"pow", "abs", "square", "sqrt"}


def _names_sizes(seen: Glance) -> bool:
    """Whether sizes of layers are written out in a function: of one, or of what is made for it by a call."""
    calls = (call for several in seen.calls.values() for call in several)
    return SIZED in seen.words or any(sum(map(_is_size, call.args)) > 1 for call in calls)


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1


@observes("linear_module|layer_output sized", "ModuleList sized", anywhere="sized")
@observes("Sequential", anywhere="sized", where=_names_sizes)
def layers_that_do_not_fit(review: Review, rule: Rule) -> Sites:
    """`nn.Linear(784, 256)` and then `nn.Linear(128, 10)`, in a `Sequential` or in what a `forward` does."""
    shapes, seen = Shapes(), set()
    for applied, frame in computed(review):
        if applied.op == "layer":
            found = list(_in_chain(applied))
        elif applied.op in ("linear_module", "norm_module", "layer_output") and "layer" in applied.operands:
            found = [(applied.operands["layer"], shapes.of(applied.first))]
        else:
            continue
        for layer, given in found:
            if applied.op != "layer" and not given.whole and layer.data.qualified.endswith("BatchNorm1d"):
                continue  # of (N, C) or of (N, C, L)
            message = _mismatch(layer.data, given)
            if message is None or layer.node is None or id(layer.node) in seen:
                continue
            seen.add(id(layer.node))
            anchor = layer.node if layer.module is review.module else applied.node
            shown = not _rests_on_defaults(applied)
            yield make_site(review, rule, (applied, frame), message=message, anchor=anchor, shown=shown)


def _rests_on_defaults(value: Value) -> bool:
    """Whether a default of a parameter, which callers may override, is among what a value is made of."""
    links = value.data.chain or () if value.op == "layer" else ()
    return any(v.assumed for v in made_from([value, *links]))


def _in_chain(sequence: Value) -> Iterator[tuple[Value, Shape]]:
    """The layers of a `Sequential`, those of one within it among them, and what each is given."""
    given = UNKNOWN
    pending = list(sequence.data.chain or ())
    while pending:
        link = pending.pop(0)
        if link.kind is not Kind.LAYER:
            given = UNKNOWN
        elif link.data.chain is not None:
            pending = [*link.data.chain, *pending]
        else:
            yield link, given
            given = through(link.data, given)


def _mismatch(layer: Layer, given: Shape) -> str | None:
    """What is wrong with a layer that is given a tensor of that shape; None where nothing is, or it is not known."""
    name, takes = layer.qualified.rpartition(".")[2], first_size(layer)
    behind = channels_of(name) or (int(name[-2]) if name in ("BatchNorm2d", "BatchNorm3d") else 0)
    if name == "BatchNorm1d":  # of (N, C) or (N, C, L)
        behind = int(len(given.dims) > 1 + given.whole)
    comes = given.at(-1 - behind)
    if takes is None or comes is None or takes == comes:
        return None
    if name in ("GroupNorm", "RMSNorm", "InstanceNorm2d"):
        return None
    return f"this takes {takes} {'channels' if behind else 'features'}, and is given {comes}"


@observes("|".join(_PAIRWISE), "sub pow|abs|square")
def broadcast_loss(review: Review, rule: Rule) -> Sites:
    """A loss of `(N, 1)` and `(N,)`, which compares every prediction with every target."""
    shapes = Shapes()
    measured = (v.first for v, _ in computed(review) if v.op in _MEASURES and v.first is not None)
    differences = {v.key for v in measured}
    for pair in observed(review, *_PAIRWISE, "sub"):
        value = pair[0]
        one, other = value.operands.get("input"), value.operands.get("target") or value.operands.get("other")
        if one is None or other is None:
            continue
        if value.op == "sub" and (value.key not in differences or not (_is_unit(one) or _is_unit(other))):
            continue
        first, second = shapes.of(one), shapes.of(other)
        crossed = _crossed(first, second) or _crossed(second, first)
        if (
            crossed
            or (_is_narrowed(one) and second.at(-1) == 1)
            or (_is_narrowed(other) and first.at(-1) == 1)
        ):
            shown = crossed and not _rests_on_defaults(value)
            yield make_site(review, rule, pair, {"a": one, "b": other}, shown=shown)


def _is_narrowed(value: Value) -> bool:
    """Whether the last dimension of something was 1 and was taken away: what is compared with it has one too many."""
    dim = value.operands.get("dim")
    return value.op == "squeeze" and (dim is None or dim.constant() == -1)


def _crossed(column: Shape, row: Shape) -> bool:
    """Whether one is a column and the other a row of more than one element."""
    single = column.at(-1) == 1 and (not column.whole or (len(column.dims) == 2 and column.dims[0] != 1))
    return single and row.whole and len(row.dims) == 1 and row.dims[0] != 1


def _is_unit(value: Value) -> bool:
    """Whether a layer with one output yields a value: a difference of it and something is no outer difference."""
    value = stripped(value, ("to", "cuda", "float", "sigmoid", "relu", "tanh"))
    layer = value.operands.get("layer") if value.op == "linear_module" else None
    return layer is not None and last_size(layer.data) == 1


def _may_permute(seen: Glance) -> bool:
    return are_permuted(
        seen.nodes, (call for name in ("view", "reshape") for call in seen.calls.get(name, ()))
    )


def _may_be_written_out(seen: Glance) -> bool:
    """Whether all sizes that a view is given can be numbers that are written out."""
    views = [call for name in ("view", "reshape") for call in seen.calls.get(name, ())]
    return not views or any(not any(_is_left_open(size, seen) for size in call.args) for call in views)


def _is_left_open(size: ast.expr, seen: Glance) -> bool:
    """Whether a size is -1, or the text takes it from a tensor or another object."""
    return any(
        isinstance(n, ast.UnaryOp)
        or (is_whole(n, {}) and not _is_size(n))
        or (isinstance(n, ast.Name) and n.id in seen.variable)
        for n in listed(size)
    )


_LENGTHENED = frozenset({"pad", "cat"})
_COUNTED = having("grid")


@observes("view size|shape", where=_may_permute)
@observes("view zeros|ones|rand|randn|empty|full|randint|from_numpy", where=_may_be_written_out)
def view_for_transpose(review: Review, rule: Rule) -> Sites:
    """`x.view(x.size(1), x.size(0))`: all sizes of a tensor, in another order; `x.view(batch, heads, steps, -1)`.

    A tensor that was padded before is skewed so, row by row (Shaw et al., 2018; Dai et al., 2019). One that counts shows
    what a view does.
    """
    shapes = Shapes()
    for pair in observed(review, "view"):
        value, tensor = pair[0], pair[0].first
        sizes = unpacked([v for name, v in value.operands.items() if name != "input"])
        if tensor is None or len(sizes) < 2 or tensor.op in _LENGTHENED or stripped(tensor).op in _COUNTED:
            continue
        if (places := _places_of_numbers(sizes, shapes.of(tensor))) is not None:
            yield make_site(review, rule, pair, {"x": tensor}, message=_PERMUTED.format(places))
            continue
        rest = sizes[-1].constant() == -1
        order = _order(sizes[:-1] if rest else sizes, tensor)
        if _is_put_between(sizes, order):
            yield make_site(review, rule, pair, {"x": tensor}, message=_BETWEEN)
        elif len(order) > 1 and order != sorted(order) and sorted(order) == list(range(len(order))):
            if rest or not _has_more_dimensions(pair, tensor, len(order)):
                places = ", ".join([*map(str, order), *["…"] * rest])
                yield make_site(review, rule, pair, {"x": tensor}, message=_PERMUTED.format(places))


def _places_of_numbers(sizes: list[Value], given: Shape) -> str | None:
    """The dimensions that sizes written out as numbers stand for, where they are those of the tensor in another order."""
    numbers, known = [v.constant() for v in sizes], list(given.dims)
    if (
        not given.whole
        or None in known
        or len(set(known) - {1}) < 2
        or sorted(map(str, numbers)) != sorted(map(str, known))
    ):
        return None
    if [n for n in numbers if n != 1] == [n for n in known if n != 1]:
        return None  # dimensions of one element alone have moved
    places = list[int]()
    for number in numbers:
        places.append(next(i for i, n in enumerate(known) if n == number and i not in places))
    return ", ".join(map(str, places))


def _order(sizes: list[Value], tensor: Value) -> list[int]:
    """The dimensions of a tensor whose sizes these are; -1 for any other number.

    What is computed element by element, or by a layer from the last dimension, has the sizes of its operand.
    """
    shaped = {tensor.key}
    while tensor.op in _SHAPED and tensor.first is not None:
        tensor = tensor.first
        shaped.add(tensor.key)
    own = [
        v.op == "size" and type(v.data) is int and v.first is not None and v.first.key in shaped
        for v in sizes
    ]
    return [v.data if is_own else -1 for v, is_own in zip(sizes, own, strict=True)]


def _is_put_between(sizes: list[Value], order: list[int]) -> bool:
    """Whether another size than 1 stands between those of two dimensions that follow one another."""
    first, *between = order[: order.index(1)] if 1 in order[1:] else [-1]
    others = [v.constant() for v in sizes[1 : len(between) + 1]]
    return first == 0 and set(between) == {-1} and not {1, -1}.intersection(others)


def _has_more_dimensions(pair: Observed, tensor: Value, count: int) -> bool:
    """Whether the function takes the shape of a tensor apart into more sizes than it names: the others are 1."""
    value, frame = pair
    text = text_at(tensor, value, frame)
    taken = [n for n in nodes_in(scope_of(frame), ast.Assign) if isinstance(n.targets[0], ast.Tuple)]
    taken = [n for n in taken if spelled(n.value) in (f"{text}.shape", f"{text}.size()")]
    return any(len(getattr(n.targets[0], "elts", ())) > count for n in taken)
