"""Arrays of NumPy in double precision that reach a model in single precision."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Kind, Review, Rule, Sites, Value, make_site, observes
from stablelint.matchers.names import modules_in, qualified, runs_module
from stablelint.matchers.tree import called, is_given, mentions, receiver
from stablelint.syntax.operations import having

# What NumPy makes in float64 unless told otherwise, and what keeps the element type of its operand.
_DOUBLES = frozenset(
    "zeros ones linspace logspace eye random.rand random.randn random.random random.normal random.uniform "
    "random.standard_normal random.random_sample loadtxt genfromtxt".split()
)
_KEEPING = frozenset(
    "sin cos exp log sqrt tanh abs sign square reshape transpose concatenate stack vstack hstack".split()
)
_CASTING = ("astype", "float32")
_VIEWS = having("layout", "copy", "device", "join", "linear") | {"to", "index", "batch", "parameter"}
_DEFAULTS = ("set_default_dtype", "set_default_tensor_type", "double", "float64")


@observes("linear_module from_numpy|as_tensor|tensor", "from_numpy|as_tensor|tensor parameters|train|eval")
def double_into_float(review: Review, rule: Rule) -> Sites:
    """`model(torch.from_numpy(np.random.rand(8, 4)))`: the weights are float32, the array is float64."""
    if review.module.mentions(*_DEFAULTS):
        return
    modules = modules_in(review)
    for pair in review.observed:
        value = pair[0]
        given = value.first
        runs = value.op.startswith("call.") and runs_module(value.node, modules)
        if given is None or not (value.op == "linear_module" or runs):
            continue
        made, layer = _double_source(given), value.operands.get("layer")
        if made is not None and (layer is None or layer.dtype in (None, "float32")):
            anchor = made.node if made.module is review.module else value.node
            yield make_site(review, rule, pair, {"made": made}, anchor=anchor)


def _double_source(value: Value) -> Value | None:
    """The tensor of doubles that a value is a view of, or computed from by arithmetic; None where it is none."""
    if value.dtype not in (None, "float64"):
        return None
    if value.op == "tensor":
        data = value.operands.get("data")
        if data is None or data.kind not in (Kind.FOREIGN, Kind.ARRAY) or value.module is None:
            return None
        return value if isinstance(data.node, ast.expr) and _is_double(data.node, value.module) else None
    if value.op not in _VIEWS:
        return None
    operands = [v for v in value.operands.values() if v.kind is Kind.TENSOR]
    return next((made for v in operands if (made := _double_source(v)) is not None), None)


def _is_double(node: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression of NumPy yields float64."""
    if isinstance(node, ast.BinOp):
        return _is_double(node.left, module) or _is_double(node.right, module)
    if isinstance(node, ast.Subscript):
        return _is_double(node.value, module)
    if not isinstance(node, ast.Call) or mentions(node, *_CASTING) or is_given(node, "dtype", None):
        return False
    of = receiver(node)
    if called(node) in _KEEPING and isinstance(of, ast.Call):
        return _is_double(of, module)  # `np.linspace(0, 1, 9).reshape(-1, 1)`
    root, _, name = qualified(node.func, module).partition(".")
    if root != "numpy":
        return False
    if name in ("array", "asarray"):
        return bool(node.args) and _holds_floats(node.args[0])
    return name in _DOUBLES or (name in _KEEPING and any(_is_double(a, module) for a in node.args))


def _holds_floats(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return any(map(_holds_floats, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, float)
