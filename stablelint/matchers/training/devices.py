"""Where tensors are: those that were moved to a device, and those made on the CPU."""

from __future__ import annotations

import ast

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
from stablelint.matchers.names import qualified
from stablelint.matchers.training.shapes import Shape, Shapes
from stablelint.matchers.tree import around, contexts, mentions
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having

_CREATIONS = having("create") | {"tensor"}
_COPYING = frozenset(("from_numpy", "as_tensor"))
# Their results are where their first tensor is.
_FOLLOWING = having("like", "layout", "copy", "total", "row", "join", "cast") - {"to", "type_as"} | {
    "int", "long", "bool", "index", "one_hot",
}  # fmt: skip
# Operations that take tensors of one device only.
_MIXING = (*sorted(having("promote", "product", "join", "loss")), "where", "linear_module")
_ELEMENTWISE = having("elementwise")
_DEFAULTS = ("set_default_device", "set_default_tensor_type")
_ORIGINS = 12  # operations between a tensor and where it was made


@observes("|".join(_MIXING) + " to|cuda " + "|".join((*_CREATIONS, "from_numpy", "as_tensor")))
def made_on_cpu(review: Review, rule: Rule) -> Sites:
    """`x.to(device) + torch.randn(8)`: a tensor made on the CPU meets one that was moved."""
    if review.module.mentions(*_DEFAULTS):
        return
    shapes, devices = Shapes(), _Devices()
    for pair in observed(review, *_MIXING):
        value, frame = pair
        if _under_device(value.node, scope_of(frame)):
            continue
        tensors = _tensors_of(value)
        moved = next((v for v in tensors if devices.of(v) == "moved"), None)
        on_cpu = (v for v in tensors if devices.of(v) == "cpu")
        made = next((v for v in on_cpu if shapes.of(v) != Shape((), whole=True)), None)
        if moved is None or made is None:
            continue
        origin = devices.origin(made)
        if _is_buffer(origin):
            continue
        bindings = {"x": moved, "made": origin}
        anchor = origin.node if origin.module is review.module else value.node
        yield make_site(review, rule, pair, bindings, shown=devices.is_surely_moved(moved), anchor=anchor)


def _tensors_of(value: Value) -> list[Value]:
    found: list[Value] = []
    for name, operand in value.operands.items():
        found.extend(operand.data if name == "tensors" and operand.kind is Kind.SEQUENCE else [operand])
    return [v for v in found if v.kind in (Kind.TENSOR, Kind.UNKNOWN)]


class _Devices:
    """Where tensors are, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}

    def of(self, value: Value, depth: int = _ORIGINS) -> str:
        """`moved`, `cpu`, or nothing where it is not known."""
        key = (id(value), depth)
        if key not in self._known:
            self._known[key] = self._found(value, depth) if depth else ""
        return self._known[key]

    def _found(self, value: Value, depth: int) -> str:
        if value.op in ("to", "cuda"):
            return self._target(value, depth)
        if value.op in _CREATIONS:
            return _made(value)
        if value.op == "cpu":
            return "cpu"
        if value.op in _FOLLOWING and value.operands:
            tensors = _tensors_of(value)
            return self.of(tensors[0], depth - 1) if tensors else ""
        if value.op in _ELEMENTWISE or value.op in ("linear_module", "norm_module", "layer_output", "matmul"):
            places = {self.of(v, depth - 1) for v in _tensors_of(value)}
            if "moved" in places:
                return "moved"
            return "cpu" if places == {"cpu"} and value.op in _ELEMENTWISE else ""
        return ""

    def _target(self, value: Value, depth: int) -> str:
        """Where `.to(…)` or `.cuda()` puts a tensor; a cast leaves it where it is."""
        place = value.data if isinstance(value.data, Value) else None
        if (value.op == "to" and place is None) or (place is not None and _names_type(place)):
            return self.of(value.first, depth - 1) if value.first is not None else ""
        if place is not None and place.kind is Kind.TENSOR:
            return self.of(place, depth - 1)
        return "cpu" if place is not None and place.constant() == "cpu" else "moved"

    def origin(self, value: Value) -> Value:
        """The call that made a tensor."""
        while value.op not in _CREATIONS | {"cpu"}:
            inner = next((v for v in _tensors_of(value) if self.of(v) == "cpu"), None)
            if inner is None:
                break
            value = inner
        return value

    def is_surely_moved(self, value: Value) -> bool:
        """Whether a tensor was moved to a GPU by name."""
        if value.op == "cuda":
            return True
        if value.op == "to" and isinstance(value.data, Value):
            return str(value.data.constant() or "").startswith("cuda")
        return any(self.is_surely_moved(v) for v in _tensors_of(value) if self.of(v) == "moved")


def _names_type(given: Value) -> bool:
    """Whether what `.to(…)` is given is an element type: `.to(x.dtype)`, or a name for one."""
    return isinstance(given.node, ast.expr) and spelled(given.node).endswith("dtype")


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


def _under_device(node: ast.AST | None, root: ast.AST) -> bool:
    """Whether a `with torch.device(…)` around a call says where tensors are made."""
    return any(mentions(head, "device", "Device") for head in contexts(node, root))
