"""Functions and classes as values."""

from __future__ import annotations

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo
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
