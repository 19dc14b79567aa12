"""The objects that annotations name, or that all calls in sight pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.interpret.objects.classes import self_of
from stablelint.analysis.interpret.operations.layers import is_class_of_layers
from stablelint.analysis.values.annotations import classes_named
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import Kind, Value


def passed_objects(target: Value, frame: Frame) -> Iterator[tuple[Value, Assumption]]:
    """An instance of the class of which all calls that the file shows pass one for a parameter."""
    function = target.data if target.op == "argument" else None
    calls = frame.session.calls.get(id(function.node), []) if isinstance(function, FunctionInfo) else []
    passed = [arguments.get(target.name) for arguments in calls]
    objects = [value for value in passed if value is not None and value.kind is Kind.INSTANCE]
    classes = {id(value.data[0]): value.data[0] for value in objects}
    if len(classes) == 1 and len(objects) == len(passed):
        alone = objects[0] if len({value.key for value in objects}) == 1 else None
        info = objects[0].data[0]
        yield (
            alone or self_of(info, quiet_frame(info.module, frame)),
            Assumption(f"{target.name} is what this file passes"),
        )


def annotated_objects(target: Value, frame: Frame) -> Sequence[tuple[Value, Assumption]]:
    """An instance of each class of the project that a parameter is annotated with: `model: Classifier | None`.

    It may be one of a subclass instead.
    """
    if target.op != "argument" or not isinstance(target.node, ast.arg) or target.kind is Kind.TENSOR:
        return ()
    known = frame.session.annotated.get(id(target.node))
    if known is None:
        known = frame.session.annotated[id(target.node)] = tuple(
            _named_by(target.node.annotation, target, frame)
        )
    return known


def is_known_layer(value: Value, frame: Frame) -> bool:
    """Whether a value is a layer of torch: made here, tested for its class, or a parameter that is annotated so."""
    if value.kind is Kind.LAYER or frame.graph.key("layer", value.key) in frame.state.tests:
        return True
    annotation = value.node.annotation if isinstance(value.node, ast.arg) and value.op == "argument" else None
    quiet = quiet_frame(value.module or frame.module, frame) if annotation is not None else frame
    named = (frame.session.interpreter.evaluate(one, quiet) for one in classes_named(annotation))
    return any(map(is_class_of_layers, named))


def keeps_statistics(node: ast.AST, frame: Frame) -> bool:
    """Whether an attribute is of a normalization layer, both of whose running statistics the function reads."""
    normalizers = frame.function.normalizers if frame.function is not None else ()
    return isinstance(node, ast.Attribute) and bool(normalizers) and ast.dump(node.value) in normalizers


def _named_by(annotation: ast.expr | None, target: Value, frame: Frame) -> Iterator[tuple[Value, Assumption]]:
    quiet = quiet_frame(target.module or frame.module, frame)
    for named in classes_named(annotation):
        found = frame.session.interpreter.evaluate(named, quiet)
        if found.kind is Kind.CLASS:
            yield self_of(found.data, quiet), Assumption(f"{target.name} is a plain {ast.unparse(named)}")
