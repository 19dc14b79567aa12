"""Functions and classes as values."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, class_of
from stablelint.analysis.files.reading import FunctionNode
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value


def function_value(function: FunctionInfo | FunctionNode, frame: Frame) -> Value:
    """A function as a value; a nested one keeps the frame it was defined in."""
    if not isinstance(function, FunctionInfo):
        function = FunctionInfo(function, frame.module, None, frame, around=frame.function)
        frame.session.closures.append(function)
    key = frame.graph.key("function", id(function.node))
    return Value("function", key, Kind.FUNCTION, node=function.node, data=function, name=function.name)


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
    """A class as a value."""
    return Value(
        "class",
        frame.graph.key("class", id(info.node)),
        Kind.CLASS,
        node=info.node,
        data=info,
        name=info.name,
    )
