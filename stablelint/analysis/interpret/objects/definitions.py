"""Functions and classes as values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stablelint.analysis.files.indexing import class_of
from stablelint.analysis.files.modules import ClassInfo, FunctionInfo
from stablelint.analysis.files.reading import FunctionNode
from stablelint.analysis.interpret.objects.lineage import is_remade
from stablelint.analysis.values.lists import CALLABLE
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value


def function_value(function: FunctionInfo | FunctionNode, frame: Frame) -> Value:
    """A function as a value; a nested one keeps the frame it was defined in."""
    if not isinstance(function, FunctionInfo):
        function = FunctionInfo(function, frame.module, None, frame, around=frame.function)
        function.given = dict(_defaults(function, frame))
        frame.session.closures.append(function)
    key = frame.graph.key("function", id(function.node))
    return Value("function", key, Kind.FUNCTION, node=function.node, data=function, name=function.name)


def _defaults(function: FunctionInfo, frame: Frame) -> Iterator[tuple[str, Value]]:
    """What the defaults of a nested function hold that are no constants: evaluated once, where it is defined."""
    for parameter, default in function.defaults:
        if not isinstance(default, ast.Constant):
            value = frame.session.interpreter.evaluate(default, frame)
            if (
                value.kind not in CALLABLE and not value.is_constant
            ):  # by the time of a call it may have been written into
                yield (
                    parameter.arg,
                    frame.graph.unknown(parameter.arg, parameter, among=[frame.graph.sequence([value])]),
                )


def named_tuple(name: str, fields: Sequence[str], node: ast.Call, frame: Frame) -> Value:
    """The class that a call, `namedtuple(name, fields)`, makes."""
    text = "\n ".join(
        [f"class {name}(typing.NamedTuple):", *(f"{field}: object" for field in fields), "pass"]
    )
    made = ast.parse(text).body[0]
    assert isinstance(made, ast.ClassDef)
    for part in ast.walk(made):
        ast.copy_location(part, node)
    return class_value(class_of(made, frame.module), frame)


def class_value(info: ClassInfo, frame: Frame) -> Value:
    """A class as a value; what its text says is assumed where other code has a hand in what it makes."""
    return Value(
        "class",
        frame.graph.key("class", id(info.node)),
        Kind.CLASS,
        node=info.node,
        data=info,
        name=info.name,
        assumed=is_remade(info, frame),
    )
