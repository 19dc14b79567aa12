"""Where tensors are: those that were moved to a device, and those made on the CPU."""

from __future__ import annotations

import ast

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
from stablelint.matchers.names import qualified
from stablelint.matchers.training.shapes import Shape, Shapes
from stablelint.matchers.tree import around, called, contexts, mentions
from stablelint.syntax.beforehand import Bindings, values_by_name
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.sieve import Glance
from stablelint.syntax.signatures import argument

_CREATIONS = having("create") | {"tensor"}
_COPYING = frozenset(("from_numpy", "as_tensor"))
# Their results are where their first tensor is.
_FOLLOWING = having("like", "layout", "copy", "total", "row", "join", "cast") - {"to", "type_as"} | {
    "int", "long", "bool", "index", "one_hot",
}  # fmt: skip
# Operations that take tensors of one device only.
_MIXING = (*sorted(having("promote", "product", "join", "loss")), "where", "linear_module")
_ELEMENTWISE = having("elementwise")
_OF_LAYERS = having("layer") | {"matmul"}
_DEFAULTS = ("set_default_device", "set_default_tensor_type")
_ORIGINS = 8  # operations between a tensor and where it was made


def _may_be_on_cpu(seen: Glance) -> bool:
    """Whether a function makes or moves a tensor that its text does not put where another one is: `device=x.device`."""
    bound = values_by_name(seen.nodes)
    words = {name: seen.imports.get(name, name).rpartition(".")[2] for name in seen.calls}
    makes = [name for name, word in words.items() if word in _CREATIONS | _COPYING]
    places = [argument(call, "device") for name in makes for call in seen.calls[name]]
    places += [call.args[0] if call.args else argument(call, "device") for call in seen.calls.get("to", ())]
    return "cpu" in seen.loads or not all(_is_of_other(place, bound) for place in places)


def _is_of_other(place: ast.expr | None, bound: Bindings) -> bool:
    """Whether an expression is the device, or the type, of something that the function does not make an object of."""
    if isinstance(place, ast.Name):
        held = bound.get(place.id, ())
        return bool(held) and all(_is_of_other(value, {}) for value in held)
    of = (
        spelled(place.value) if isinstance(place, ast.Attribute) and place.attr in ("device", "dtype") else ""
    )
    of_other = of.isidentifier() and of not in ("self", "cls")
    return of_other and not any(called(value)[:1].isupper() for value in bound.get(of, ()))


@observes(
    "|".join(_MIXING) + " to|cuda " + "|".join((*_CREATIONS, "from_numpy", "as_tensor")), where=_may_be_on_cpu
)
def made_on_cpu(review: Review, rule: Rule) -> Sites:
    """`x.to(device) + torch.randn(8)`: a tensor made on the CPU meets one that was moved."""
    shapes = Shapes()
    for pair in observed(review, *_MIXING) if not review.module.mentions(*_DEFAULTS) else ():
        value, frame = pair
        if any(mentions(head, "device", "Device") for head in contexts(value.node, scope_of(frame))):
            continue  # `with torch.device(…)` says where tensors are made
        tensors = _tensors_of(value)
        moved = next((v for v in tensors if _place(v) == "moved"), None)
        on_cpu = (v for v in tensors if _place(v) == "cpu" and shapes.of(v) != Shape((), whole=True))
        made = next(map(_origin, on_cpu), None)
        if moved is not None and made is not None and not _is_buffer(made):
            anchor = made.node if made.module is review.module else value.node
            by_name = any(v.op == "cuda" for v in made_from([moved]))
            yield make_site(review, rule, pair, {"x": moved, "made": made}, shown=by_name, anchor=anchor)


def _tensors_of(value: Value) -> list[Value]:
    found: list[Value] = []
    for name, operand in value.operands.items():
        found.extend(operand.data if name == "tensors" and operand.kind is Kind.SEQUENCE else [operand])
    return [v for v in found if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]


def _place(value: Value, depth: int = _ORIGINS) -> str:
    """Where a tensor is: `moved`, `cpu`, or nothing where it is not known."""
    tensors = _tensors_of(value) if depth else []
    if value.op in _CREATIONS or value.op == "cpu":
        return _made(value) if value.op != "cpu" else "cpu"
    if value.op in ("to", "cuda"):
        target = value.data if isinstance(value.data, Value) else None
        node = target.node if target is not None else None
        is_type = isinstance(node, ast.expr) and spelled(node).endswith("dtype")  # `.to(x.dtype)`
        if value.op == "cuda" or (target is not None and not is_type and target.kind is not Kind.TENSOR):
            return "cpu" if target is not None and target.constant() == "cpu" else "moved"
        tensors = [target] if target is not None and target.kind is Kind.TENSOR else tensors[:1]
    elif value.op in _FOLLOWING:
        tensors = tensors[:1]
    elif value.op not in _ELEMENTWISE | _OF_LAYERS:
        return ""
    places = {_place(v, depth - 1) for v in tensors}
    if "moved" in places:
        return "moved"
    return "cpu" if places == {"cpu"} and value.op not in _OF_LAYERS else ""


def _origin(value: Value) -> Value:
    """The call that made a tensor of the CPU."""
    while value.op not in _CREATIONS | {"cpu"}:
        inner = next((v for v in _tensors_of(value) if _place(v) == "cpu"), None)
        if inner is None:
            break
        value = inner
    return value


def _made(value: Value) -> str:
    """Where a call that makes a tensor puts it; `x.new_zeros(…)` and `torch.zeros_like(x)` follow x."""
    node = value.node
    if not isinstance(node, ast.Call) or value.module is None or "..." in value.operands:
        return ""
    package, _, name = qualified(node.func, value.module).rpartition(".")
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if package != "torch" or name not in _CREATIONS | _COPYING or None in given:
        return ""
    if "device" in given:
        device, known = given["device"], value.operands.get("device")
        if isinstance(device, ast.Constant):
            return "cpu" if device.value in ("cpu", None) else "moved"
        named = known is not None and known.constant() == "cpu"
        return "cpu" if named else "moved"
    # `as_tensor` of a tensor leaves it where it is
    return "cpu" if name != "as_tensor" else ""


def _is_buffer(made: Value) -> bool:
    """Whether a tensor is made where buffers are registered: it moves with its module."""
    if made.node is None or made.module is None:
        return False
    functions = around(made.node, made.module.source.tree, ast.FunctionDef)
    return any(mentions(function, "register_buffer") for function in functions)
