"""Arrays of NumPy in double precision that reach a model in single precision."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.value import Kind, Value
from stablelint.matchers.common import Review, Rule, Sites, computed, make_site, observes
from stablelint.matchers.models import makes_module, modules_in, modules_made_in, runs_module
from stablelint.matchers.tree import called, is_given, mentions, receiver, subject
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.sieve import Glance
from stablelint.syntax.signatures import argument, arguments

_DRAWN = ("normal", "uniform", "random", "standard_normal")  # methods of NumPy's generators
_IMAGE = "cv2.imread"  # of bytes
# What keeps the element type of an array or a table.
_KEEPING = frozenset("to_numpy copy flatten ravel drop dropna values data reshape".split())
_COMPUTING = having("elementwise", "along", "keep-sort") | {"batch", "stacked", "attribute"}
_COPYING = "from_numpy|as_tensor|tensor"
_OF_ARRAYS = ("numpy", "pandas", "sklearn")
_DEFAULTS = ("set_default_dtype", "set_default_tensor_type")
_DOUBLE = ("double", "float64")
_DOUBLES = (*_DOUBLE, "float")  # of NumPy
_DEPTH = 12  # operations between an array and what made it
_WIDTH = 40  # values looked at


def _imports_arrays(seen: Glance) -> bool:
    return any(name.partition(".")[0] in _OF_ARRAYS for name in seen.imports.values())


def _uses_arrays(seen: Glance) -> bool:
    return any(
        seen.imports[name].partition(".")[0] in _OF_ARRAYS for name in seen.words & seen.imports.keys()
    )


@observes(_COPYING, where=_imports_arrays)
@observes("double|float64")
@observes("linear_module|layer_output", anywhere=_COPYING, where=_uses_arrays)
def double_into_float(review: Review, rule: Rule) -> Sites:
    """`model(torch.from_numpy(np.random.rand(8, 4)))`: the weights are float32, the array is float64."""
    module = review.module
    arrays = any(name.partition(".")[0] in _OF_ARRAYS for name in module.imports.values())
    if module.mentions(*_DEFAULTS) or not (arrays or module.mentions(*_DOUBLE)):
        return
    modules = modules_in(review)
    if any(_is_doubled(call, modules, module) for call in module.sights.calls(*_DOUBLE, "to")):
        return
    told, own = set[int](), modules_made_in(module)
    for value, frame in computed(review):
        layer = value.operands.get("layer")
        if layer is not None:
            given, known = value.first, layer.dtype in (None, "float32") and value.op == "linear_module"
        else:
            given, known = value.operands.get("argument0"), runs_module(value.node, own)
            if not runs_module(value.node, modules):
                continue
        made = _doubles_in(given) if given is not None else None
        if made is None or id(made.node) in told or not isinstance(made.node, ast.expr):
            continue
        if isinstance(made.node, ast.Call) and is_given(made.node, "requires_grad"):
            continue  # a gradient is asked for, which the cast of a tensor does not keep
        # Who writes a type of doubles knows of it: only of weights that are made here is the type known.
        if known or made.op == "tensor":
            told.add(id(made.node))
            anchor = made.node if made.module in (None, module) else value.node
            yield make_site(review, rule, (value, frame), {"made": made}, anchor=anchor)


def _is_doubled(call: ast.Call, modules: frozenset[str], module: ModuleInfo) -> bool:
    """Whether a call makes a module one of doubles: `model.double()`, `nn.Linear(4, 1).to(torch.float64)`."""
    casts = called(call) == "double" or any(mentions(one, *_DOUBLE) for one in arguments(call))
    made = called(receiver(call))
    may_make = makes_module(call, module) or (made[:1].isupper() and not made.endswith("Tensor"))
    return casts and (subject(call) in modules or may_make)


def _doubles_in(value: Value) -> Value | None:
    """The tensor of doubles that a value is, or is computed from; None where it is none."""
    pending, seen = [value], set[int]()
    while pending and len(seen) < _WIDTH:
        one = pending.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if one.op == "tensor" and one.dtype is None and called(one.node).endswith("Tensor"):
            continue  # `torch.FloatTensor(array)` casts
        if one.op == "tensor" and one.dtype in (None, "float64"):
            data = one.operands.get("data")
            if data is not None and _is_double(data):
                return one
        elif one.dtype == "float64":
            inner = (_doubles_in(v) for v in one.operands.values() if v.kind is Kind.TENSOR)
            return next(filter(None, inner), one)
        elif one.dtype is None and one.op in _COMPUTING:
            # What is written in place keeps its own type: `x.copy_(doubles)`, `x[i] = doubles`.
            is_written = one.op.endswith("_") or one.op == "overwritten"
            parts = [one.first] if is_written and one.first else one.operands.values()
            pending += [v for v in parts if v.kind is Kind.TENSOR]
    return None


def _is_double(value: Value, depth: int = _DEPTH) -> bool:
    """Whether an array is one of float64, by what made it: NumPy, pandas or scikit-learn."""
    if value.dtype is not None or not depth:
        return value.dtype == "float64"
    call = value.node if isinstance(value.node, ast.Call) else None
    first, name = value.first, called(call) or value.name
    if call is not None and (is_given(call, "dtype", None) or name == "astype"):
        written = arguments(call)[:1] if name == "astype" else [argument(call, "dtype")]
        return any(
            one is not None and spelled(one).rpartition(".")[2].strip("'") in _DOUBLES for one in written
        )
    if value.op.startswith("sklearn.datasets.") or value.op == "pandas.read_csv":
        return True
    if first is None:
        return value.kind is Kind.FOREIGN and receiver(call) is not None and name in _DRAWN
    if name in ("fit_transform", "transform"):
        return first.op.startswith("sklearn.preprocessing.") and first.op.endswith("Scaler")
    if value.op == "div" and first.op == _IMAGE:
        return True
    if value.op == "unknown" and first.op.startswith("sklearn.datasets."):
        return True  # a part of what is unpacked
    if value.op in _COMPUTING or name in _KEEPING:
        return any(_is_double(v, depth - 1) for v in value.operands.values() if v.kind is not Kind.NUMBER)
    return False
