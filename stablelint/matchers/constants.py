"""Constants that an element type cannot hold, or cannot tell from a simpler one."""

from __future__ import annotations

import ast

from stablelint.analysis.matching.sites import encloses
from stablelint.analysis.matching.targets import operand_of
from stablelint.analysis.values.families import LOGARITHMS
from stablelint.analysis.values.views import behind, stripped
from stablelint.matchers.common import (
    Frame,
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
from stablelint.matchers.tree import ancestors, around, called
from stablelint.numerics.formats import FLOAT32, round_to
from stablelint.syntax.operations import VIEWS, having

_BYTES = (256, 65536)
_BYTE_TENSORS = frozenset(
    {"byte", "torchvision.io.read_image", "torchvision.io.decode_image", "torchvision.io.image.read_image"}
)
_BOUNDS = having("bound")
# What has no pole, in its value or its gradient, at an operand of 1 or -1 or at what the others of them make of it.
_POLELESS = VIEWS | frozenset("add sub mul neg relu abs square sum mean exp mse_loss l1_loss index".split())
_LEAVES = having("given")
# What leaves the lowest number where it was, or puts it there; and what keeps a sum from falling below it.
_FILLS = VIEWS | frozenset("add mul masked_fill where overwritten full triu tril phi".split())
_FLOORS = frozenset("clamp clamp_min max maximum".split())
_OPERATIONS = ("add", "sub", "clamp", "maximum", "minimum")  # a factor of nearly 1 may well be 1


@observes("1-eps|~0 add|sub|clamp|maximum|minimum")
def absorbed_eps(review: Review, rule: Rule) -> Sites:
    """`1 - 1e-15` beside a tensor: computed in double precision, it is 1 once it meets float32."""
    # Where the constants were written: one that is used again is the same slip.
    reported = set[ast.AST | None]()
    for value, frame in observed(review, *_OPERATIONS):
        if value.kind in (Kind.NUMBER, Kind.ARRAY) or value.dtype == "float64":
            continue
        for constant in value.operands.values():
            node = constant.node
            if not _is_absorbed(constant) or node in reported:
                continue
            if constant.module is not None and constant.module is not frame.module:
                continue  # told where it is written
            if _is_idle(value, constant, frame) or _is_harmless_bound(review, value):
                continue
            reported.add(node)
            inside = value.node is not None and node is not None and encloses(value.node, node)
            whole = int(round_to(constant.data, FLOAT32))
            yield make_site(
                review, rule, (value, frame), _bound(value, constant, whole) if inside else {"c": constant},
                message=f"{constant.data!r} is {whole} in float32: the small term is absorbed",
                anchor=node if inside else None, texts=_texts(value, frame),
            )  # fmt: skip


def _bound(value: Value, constant: Value, whole: int) -> dict[str, Value]:
    """A bound of -1 or 1 by the page's name for its side, and what is bounded; any other constant as `c`."""
    bounded = value.first if value.op in _BOUNDS and value.first is not constant else None
    if bounded is None or abs(whole) != 1:
        return {"c": constant}
    side = "above" if constant.data > whole else "below"
    return {f"{side}_{'one' if whole > 0 else 'minus_one'}": constant, "x": bounded}


def _texts(value: Value, frame: Frame) -> dict[str, str]:
    """What is bounded as the call has it, whatever its name stands for afterwards."""
    given = operand_of(value.node, frame.module)
    return {} if given is None else {"x": frame.module.source.segment(given)}


def _is_absorbed(constant: Value) -> bool:
    """A float next to a nonzero integer that float32 rounds to that integer."""
    number = constant.default()
    if not isinstance(number, float) or number.is_integer() or not 0.5 < abs(number) < 1e6:
        return False
    node, whole = constant.node, round_to(number, FLOAT32)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return any(_literal(part) in (whole, -whole) for part in (node.left, node.right))
    return isinstance(node, ast.Constant) and whole.is_integer()


def _literal(node: ast.expr) -> float | None:
    """The number that an expression is written as, whatever its sign."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return inner.value if isinstance(inner, ast.Constant) and isinstance(inner.value, int | float) else None


def _is_idle(bounded: Value, constant: Value, frame: Frame) -> bool:
    """Whether it is the upper bound of what only the logarithm is taken of, which is 0 at 1: no bound is needed."""
    if bounded.op != "clamp" or bounded.operands.get("max") is not constant or bounded.node is None:
        return False
    outer = next(ancestors(bounded.node, scope_of(frame)), None)
    calls = around(bounded.node, scope_of(frame), ast.Call)[:1]
    return any(called(c) == "log" and (c.func is outer or c.args[:1] == [bounded.node]) for c in calls)


def _is_harmless_bound(review: Review, bounded: Value) -> bool:
    """Whether nothing behind a bound of 1 or -1 has a pole there: sums, products, and the logarithm of what it bounds.

    What is handed on, or returned as it is, may meet a pole anywhere.
    """
    if bounded.op not in _BOUNDS:
        return False
    made, uses = {bounded.key: bounded}, 0
    for value, _ in review.observed:
        parts = [part for part in value.operands.values() if part.key in made]
        if value.key in made or not parts:
            continue
        divides = value.op == "div" and value.operands["other"].key not in made
        first = value.first if value.op in LOGARITHMS else None
        of_it = first is not None and stripped(first).key == bounded.key
        if not (divides or value.op in _POLELESS or of_it):
            return False
        made[value.key] = value
        uses += 1
    return uses > 0


@observes("*256 []")
def joined_bytes(review: Review, rule: Rule) -> Sites:
    """`x[..., 0] * 256 + x[..., 1]`: components of one array that nothing has widened are joined as bytes."""
    for pair in observed(review, "add"):
        high, low = (_factored(v) for v in list(pair[0].operands.values())[:2])
        if high[1] == 1:
            high, low = low, high
        if high[1] not in _BYTES or low[1] not in (1, *_BYTES):
            continue
        whole, other = _array_of(high[0]), _array_of(low[0])
        if whole is not None and other is not None and whole.key == other.key:
            yield make_site(review, rule, pair)


@observes("sub uint8|byte|read_image|decode_image")
def byte_difference(review: Review, rule: Rule) -> Sites:
    """`a - b` of two tensors of bytes, which is 255 where `b` is larger by one."""
    for pair in observed(review, "sub"):
        sides = list(pair[0].operands.values())
        # Of bytes, other than truth values.
        bytes_ = [v for v in sides if (v.dtype == "uint8" or v.op in _BYTE_TENSORS) and v.interval.hi > 1]
        if len(sides) == len(bytes_) == 2:
            yield make_site(review, rule, pair)


def _factored(value: Value) -> tuple[Value, object]:
    """A value without its constant factor, and the factor."""
    if value.op == "mul" and len(value.operands) == 2:
        a, b = value.operands.values()
        if a.is_constant or b.is_constant:
            return (b, a.default()) if a.is_constant else (a, b.default())
    return value, 1


def _array_of(component: Value) -> Value | None:
    """The array whose component a value is, where it still has the type in which it came."""
    if component.op != "index" or component.first is None:
        return None
    array, place = component.first, component.node
    # One index alone may take a number out of a list, and a Python number is never too narrow.
    is_plane = isinstance(place, ast.Subscript) and isinstance(place.slice, ast.Tuple)
    own = array.dtype == "uint8" or (
        array.dtype is None and array.op in _LEAVES and (is_plane or array.kind is Kind.TENSOR)
    )
    return array if own else None


@observes("finfo + add", where=lambda seen: "min" in seen.loads)
def added_masks(review: Review, rule: Rule) -> Sites:
    """`scores + padding + causal`, both filled with the lowest number there is: where both are set, the sum is -inf."""
    for pair in observed(review, "add"):
        value, frame = pair
        terms = list(value.operands.values())[:2]
        if value.node is not None and all(map(_is_filled_with_lowest, terms)):
            calls = around(value.node, scope_of(frame), ast.Call)[:1]
            if not any(called(c) in _FLOORS for c in calls):
                yield make_site(review, rule, pair)


def _is_filled_with_lowest(term: Value) -> bool:
    """Whether a mask, or what one was added to, holds `torch.finfo(dtype).min` where it is set."""
    parts = behind(term, lambda v: v.op not in _FILLS)
    return any(part.op == "finfo_field" and part.name == "min" for part in parts)
