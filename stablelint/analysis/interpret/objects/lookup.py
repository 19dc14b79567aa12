"""What names and attributes stand for."""

from __future__ import annotations

import ast
import math
import sys
from dataclasses import replace

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.analysis.files.passing import WRITTEN, target_of
from stablelint.analysis.files.stars import bound_by_star
from stablelint.analysis.interpret.calls.elsewhere import passed_elsewhere
from stablelint.analysis.interpret.objects import classes
from stablelint.analysis.interpret.objects.annotated import (
    annotated_objects,
    is_known_layer,
    keeps_statistics,
    passed_objects,
)
from stablelint.analysis.interpret.objects.definitions import class_value, function_value
from stablelint.analysis.interpret.objects.lineage import keeps_of_layer
from stablelint.analysis.interpret.operations import arrays, distributions
from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.operations.decompositions import part_named
from stablelint.analysis.interpret.paths.narrowing import narrowed_value, open_to_callers, opened
from stablelint.analysis.interpret.statements.lending import disowned
from stablelint.analysis.interpret.statements.writing import STORED, forgotten
from stablelint.analysis.values.lists import CALLABLE
from stablelint.analysis.values.paths import Assumption, Paths
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.transfer import is_complex
from stablelint.analysis.values.value import NUMERIC, Attained, Belief, Kind, Value, sized
from stablelint.numerics.formats import FORMATS
from stablelint.numerics.interval import AT_LEAST_ONE, NONNEGATIVE, POSITIVE, TOP, Interval
from stablelint.syntax import operations
from stablelint.syntax.names import normalise, spelled

_CONSTANTS = {
    **{f"{home}.{name}": getattr(math, name) for home in ("math", "numpy", "torch") for name in ("pi", "e", "inf", "nan")},
    "math.tau": math.tau, "numpy.Inf": math.inf, "numpy.NaN": math.nan,
}  # fmt: skip
_DTYPES = {
    "float16": "float16", "half": "float16", "bfloat16": "bfloat16", "float32": "float32", "float": "float32",
    "float64": "float64", "double": "float64", "bool": "bool", "int64": "int64", "long": "int64", "int32": "int32",
    "int": "int32", "uint8": "uint8", "int8": "int8", "int16": "int16", "short": "int16",
    **dict.fromkeys(("complex32", "complex64", "complex128", "cfloat", "cdouble", "chalf"), "complex64"),
}  # fmt: skip
_BUILTINS = frozenset(
    "vars locals len sum min max abs float int bool round range enumerate zip print isinstance getattr hasattr setattr "
    "sorted list tuple dict set str super any all map filter reversed type id iter next pow divmod property staticmethod "
    "exec eval".split()
)
_LAYER_SIZES = (
    "in_channels out_channels kernel_size in_features out_features num_features embedding_dim hidden_size"
)
_OF_LAYERS = {
    **dict.fromkeys(_LAYER_SIZES.split(), AT_LEAST_ONE),
    "eps": POSITIVE,
    "running_var": NONNEGATIVE,
}
# The imaginary part is another number than the real one.
_VIEW_OF = {
    "data": "detach",
    "T": "transpose",
    "mT": "transpose",
    "imag": "imag",
}


def name(node: ast.Name, frame: Frame) -> Value:
    """What a name stands for at this point."""
    scope: Frame | None = frame
    while scope is not None:
        found = scope.state.names.get(node.id)
        if found is not None:
            if node.id in scope.module.rebound and found.kind in NUMERIC and _is_shared(node.id, scope):
                return frame.graph.unknown(node.id, node, found.kind)  # any call may have bound it anew
            return taken(found, frame) if found.op == "phi" else found
        scope = scope.closure
    return global_name(node.id, frame.module, frame) or Value(
        "unknown",
        frame.graph.key("free", node.id, id(frame.function)),
        node=node,
        module=frame.module,
        name=node.id,
    )


def _is_shared(name: str, scope: Frame) -> bool:
    """Whether functions that are called here may bind the name of a scope."""
    return scope.function is None or name in scope.function.declared


def taken(value: Value, frame: Frame) -> Value:
    """The value of the path that agrees with what has been tested; the same value where several do."""
    while value.op == "phi" and isinstance(value.data, Paths) and frame.state.tests:
        agreeing = value.data.agreeing(frame.state.tests)
        if len(agreeing) != 1 or len(value.operands) != len(value.data.tests):
            break
        path = list(value.operands.values())[agreeing[0]]
        value = narrowed_value(path, path.interval.meet(frame.state.effective(value)) or path.interval, frame)
    return value


def global_name(identifier: str, module: ModuleInfo, frame: Frame) -> Value | None:
    """What a module-level name stands for."""
    found = frame.session.globals.get((id(module), identifier))
    if found is not None:
        return found
    if identifier in module.functions:
        return _perhaps(identifier, function_value(module.functions[identifier], frame), module, frame)
    if identifier in module.classes:
        return _perhaps(identifier, class_value(module.classes[identifier], frame), module, frame)
    if identifier in module.assignments and identifier not in module.imports:
        return _assigned(identifier, module, frame)
    imported, by_custom = module.imports.get(identifier), identifier in module.by_custom
    if imported is None and frame.session.is_elsewhere(module):
        binding = bound_by_star(identifier, module, frame.session.project)
        if binding is not None:
            imported, by_custom = binding.qualified, binding.by_custom
    if imported is not None:
        value = namespace(imported, frame, module)
        value = replace(value, assumed=True) if by_custom else value
        frame.session.globals[id(module), identifier] = value
        return value
    if identifier in _BUILTINS:
        return Value(
            "namespace",
            frame.graph.key("namespace", identifier),
            Kind.NAMESPACE,
            data=f"builtins.{identifier}",
        )
    return None


def _assigned(identifier: str, module: ModuleInfo, frame: Frame) -> Value:
    """A module constant; unknown where it is assigned more than once."""
    place = (id(module), identifier)
    values = frame.session.globals
    values[place] = Value("unknown", frame.graph.fresh(), name=identifier)
    if _is_constant(identifier, frame, module):
        quiet = quiet_frame(module, frame)
        value = frame.session.interpreter.evaluate(module.assignments[identifier][0], quiet)
        values[place] = settled(identifier, value, quiet)
        if values[place].kind is Kind.MAPPING and values[place].data == {}:
            for entry, _ in passed_elsewhere((module, identifier), "", frame):
                values[place].data.update(entry.data)
    return values[place]


def _perhaps(identifier: str, value: Value, module: ModuleInfo, frame: Frame) -> Value:
    """A function or class, in whose place another may stand where its name is bound again, here or by another file."""
    return value if _is_constant(identifier, frame, module) else replace(value, assumed=True)


def _is_constant(identifier: str, frame: Frame, module: ModuleInfo) -> bool:
    """Whether nobody binds a top-level name anew, or writes into what it stands for from another file."""
    passed = frame.session.project.passed_to
    return module.is_constant(identifier) and not passed(target_of((module, identifier)), WRITTEN)


def settled(identifier: str, value: Value, frame: Frame) -> Value:
    """What functions see of a top-level name that stands for `value` at the end of its file's body."""
    module = frame.module
    if value.kind is Kind.INSTANCE and identifier in module.attributes_set:
        known = value.data[1].settled()
        for attr, given in module.attributes_set[identifier].items():
            told = frame.session.interpreter.evaluate(given, quiet_frame(module, frame)) if given else None
            known[attr] = told or frame.graph.unknown(attr, value.node)
    if value.kind in NUMERIC and not _is_constant(identifier, frame, module):
        return frame.graph.unknown(identifier, kind=value.kind)
    if value.kind in CALLABLE and identifier in module.rebound:
        return frame.graph.unknown(identifier)
    if value.kind in (Kind.MAPPING, Kind.SEQUENCE):
        written, filled = identifier in module.written_into, frame.session.is_elsewhere(module)  # by entries
        if (written and not filled) or not _is_constant(identifier, frame, module):
            return forgotten(value, value.node or module.source.tree, frame)
        mutable = value.kind is Kind.MAPPING or value.name == "list"
        if mutable and (written or not module.is_script or identifier in module.lent):
            return opened(value, frame.graph.key("table", value.key), identifier, frame)
    if value.kind in STORED and value.interval != TOP and identifier in module.written_into:
        return frame.graph.unknown(identifier, value.node, value.kind)
    return value


def namespace(qualified: str, frame: Frame, origin: ModuleInfo | None = None) -> Value:
    """What a qualified name stands for: a constant, a dtype, something in this project, or just a name."""
    qualified = normalise(qualified)
    if qualified in _CONSTANTS:
        return frame.graph.constant(_CONSTANTS[qualified])
    root, _, rest = qualified.partition(".")
    if root in ("torch", "numpy") and rest in _DTYPES:
        dtype = _DTYPES[rest]
        return Value("dtype", frame.graph.key("dtype", dtype), Kind.FOREIGN, data=dtype, dtype=dtype)
    foreign = root not in ("torch", "numpy", "math", "builtins") and root not in sys.stdlib_module_names
    if foreign and operations.function(qualified) is None:
        found = _in_project(qualified, frame, origin or frame.module)
        if found is not None:
            return found
    return Value("namespace", frame.graph.key("namespace", qualified), Kind.NAMESPACE, data=qualified)


def _in_project(qualified: str, frame: Frame, origin: ModuleInfo) -> Value | None:
    found = frame.session.project.find(qualified, origin)
    if isinstance(found, FunctionInfo):
        return _perhaps(found.name, function_value(found, frame), found.module, frame)
    if isinstance(found, ClassInfo):
        return _perhaps(found.name, class_value(found, frame), found.module, frame)
    if found is not None:
        module, identifier = found
        known = frame.session.globals.get((id(module), identifier))
        return known if known is not None else _assigned(identifier, module, frame)
    return None


def attribute(base: Value, attr: str, node: ast.AST, frame: Frame) -> Value:
    """The value of `base.attr` when it is read, not called."""
    stored = frame.state.attributes.get((base.key, attr))
    if stored is not None:
        return taken(stored, frame) if stored.op == "phi" else stored
    if attr == "__dict__":
        disowned(base, "", frame)  # whoever has it can write into it
    if base.kind is Kind.SUPER:
        return frame.graph.unknown(attr, node)
    if base.kind is Kind.NAMESPACE:
        found = _read_here(namespace(f"{base.data}.{attr}", frame), node, frame)
        return _as_sure(found, base)
    if base.kind is Kind.INSTANCE:
        if (base.key, "__class__") in frame.state.attributes:
            return frame.graph.unknown(attr, node)
        found = classes.instance_attribute(base, attr, node, frame)
        if found.interval == TOP and found.belief is None and frame.module.is_zeroed(attr):
            found = replace(found, zero=Attained.EXACT)
        inherited = attr in _OF_LAYERS and found.op == "attribute"
        if inherited and keeps_of_layer(base.data[0], attr, frame):
            return _of_layer(found, attr, node)
        return _read_here(_as_sure(found, base), node, frame)
    if base.kind is Kind.LAYER and attr in base.data.arguments:
        argument: Value = base.data.arguments[attr]
        return argument
    if base.kind is Kind.CLASS:
        return _as_sure(classes.class_attribute(base.data, attr, frame), base)
    if base.op in ("finfo", "iinfo"):
        return _finfo_field(base, attr, node, frame)
    if base.kind is Kind.MAPPING and isinstance(base.data, dict) and attr in base.data:
        entry: Value = base.data[attr]
        return entry
    if base.kind in (Kind.STRING, Kind.FOREIGN) and base.op != "mapping":
        return frame.graph.foreign(node)
    if base.kind is Kind.ARRAY and not arrays.is_attribute(attr):
        return frame.graph.foreign(node)
    if attr == "shape":
        return Value("shape", frame.graph.key("shape", base.key), Kind.UNKNOWN, {"input": base}, node=node)
    decomposed = part_named(base, attr, node, frame)
    if decomposed is not None:
        return decomposed
    parameter = distributions.attribute(base, attr, node, frame)
    if parameter is not None:
        return parameter
    if attr in ("indices", "dtype", "device", "layout"):
        key = frame.graph.part("attribute", base.key, attr)
        dtype = base.dtype if attr == "dtype" else None
        return Value("attribute", key, Kind.FOREIGN, {"input": base}, node=node, dtype=dtype, name=attr)
    if attr == "imag" and is_complex(base):
        return apply("imag", {"input": base}, node, frame)
    if (
        attr in operations.VIEWING
        and (base.kind is Kind.TENSOR or attr in ("T", "mT", "data"))
        and base.kind is not Kind.LAYER
    ):
        dims = {f"dim{i}": frame.graph.constant(i - 2) for i in range(2)} if attr == "mT" else {}
        op = "real" if attr == "real" and is_complex(base) else _VIEW_OF.get(attr, "view")
        return apply(op, {"input": base, **dims}, node, frame)
    if base.kind is Kind.TENSOR and attr == "ndim":
        return Value(
            "ndim",
            frame.graph.key("ndim", base.key),
            Kind.NUMBER,
            {"input": base},
            Interval(0, 64),
            node=node,
        )
    key = frame.graph.part("attribute", base.key, attr)
    value = Value("attribute", key, Kind.UNKNOWN, {"input": base}, node=node, module=frame.module, name=attr)
    is_of_layer = attr in _OF_LAYERS and (is_known_layer(base, frame) or keeps_statistics(node, frame))
    if is_of_layer and not frame.module.is_zeroed(attr):
        return _of_layer(value, attr, node)
    return _of_parameter(base, attr, node, value, frame)


def _as_sure(found: Value, base: Value) -> Value:
    """What is looked up in a thing, in whose place another may stand where it may stand in that of the thing."""
    return replace(found, assumed=True) if base.assumed and found.kind in CALLABLE else found


def _of_layer(value: Value, attr: str, node: ast.AST) -> Value:
    """What a layer keeps of its statistics, a size or setting, believed to lie where its constructor puts it."""
    interval = _OF_LAYERS[attr]
    if interval is AT_LEAST_ONE:
        return sized(value, attr)
    ends = Attained.NONE if interval.lo_open else Attained.COINCIDENCE
    bound = "positive" if interval.lo_open else "not negative"
    value.belief = Belief(interval, ends, ends, (Assumption(f"{spelled(node)} is {bound}"),))
    return value


def _of_parameter(base: Value, attr: str, node: ast.AST, value: Value, frame: Frame) -> Value:
    """A number that is an attribute of a parameter, as what is passed has it, or the class that an annotation names."""
    known = [*annotated_objects(base, frame)] or [*passed_objects(base, frame)]
    if len(known) != 1:
        return value
    found = classes.instance_attribute(known[0][0], attr, node, frame)
    if found.kind not in NUMERIC or (found.interval == TOP and found.belief is None):
        return value
    return _read_here(open_to_callers(found, value.key, known[0][1].text, ()), node, frame)


def _read_here(value: Value, node: ast.AST, frame: Frame) -> Value:
    """A number that was written elsewhere, by the name under which it is read."""
    return replace(value, node=node, module=frame.module) if value.is_constant else value


def _finfo_field(base: Value, attr: str, node: ast.AST, frame: Frame) -> Value:
    """`torch.finfo(dtype).eps`: the number where the dtype is known, its range where not."""
    fmt = FORMATS.get(base.dtype or "")
    same = {name: name for name in ("eps", "tiny", "max", "resolution")}
    values = {**same, "smallest_normal": "tiny", "min": "max"}
    if attr not in values:
        return frame.graph.foreign(node)
    sign = -1.0 if attr == "min" else 1.0
    key = frame.graph.key("finfo", base.key, attr)
    if fmt is not None:
        interval = Interval.point(sign * getattr(fmt, values[attr]))
    else:
        ends = sorted(sign * getattr(f, values[attr]) for f in FORMATS.values() if f.name != "float64")
        interval = Interval(ends[0], ends[-1])
    guard = "eps" if attr in ("eps", "tiny", "smallest_normal") else None
    return Value(
        "finfo_field", key, Kind.NUMBER, {"type": base}, interval, Attained.NONE, Attained.EXACT, node=node,
        module=frame.module, name=attr, guard=guard,
    )  # fmt: skip
