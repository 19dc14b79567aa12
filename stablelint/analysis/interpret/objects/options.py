"""What a parser of the command line yields where nothing is given: the defaults of its options, as attributes."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo, class_of
from stablelint.analysis.files.options import PARSING
from stablelint.analysis.interpret.objects.classes import self_of
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import Kind, Value

PARSER = "argparse.ArgumentParser"


def parser(node: ast.Call, frame: Frame) -> Value:
    """A parser of the command line, to which options are added."""
    return Value(PARSER, frame.graph.fresh(), Kind.FOREIGN, node=node, module=frame.module)


def parsed(receiver: Value, method: str, frame: Frame) -> Value | None:
    """The options that a parser yields; None where it is another method, or another object."""
    if receiver.op != PARSER or method not in PARSING or receiver.module is None:
        return None
    found = options_of(receiver.module, frame)
    if found is None or method == "parse_args":
        return found
    return frame.graph.sequence([found, frame.graph.unknown(node=receiver.node)], receiver.node)


def options_of(module: ModuleInfo, frame: Frame) -> Value | None:
    """The options that a file defines, each with its default; None where it defines none."""
    if module.options is None:
        return None
    return self_of(class_of(module.options, module), quiet_frame(module, frame))
