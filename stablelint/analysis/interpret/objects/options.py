"""What a parser of the command line yields where nothing is given: the defaults of its options, as attributes."""

from __future__ import annotations

import ast

from stablelint.analysis.files.indexing import class_of
from stablelint.analysis.files.modules import ClassInfo, ModuleInfo
from stablelint.analysis.files.options import PARSING
from stablelint.analysis.interpret.objects.classes import self_of
from stablelint.analysis.interpret.objects.lineage import is_dataclass
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import Kind, Value

PARSER = "argparse.ArgumentParser"
_LATER = "transformers.HfArgumentParser"  # reads them once it is asked to
_READERS = frozenset(
    {"tyro.cli", "omegaconf.OmegaConf.structured", "simple_parsing.parse", "pyrallis.parse", _LATER}
)


def structured(qualified: str, given: list[Value], node: ast.Call, frame: Frame) -> Value | None:
    """What reads a data class of options from the command line, or yields one; None for any other call."""
    classes = [
        value.data for one in given[:1] for value in (one.data if one.kind is Kind.SEQUENCE else [one])
    ]
    if (
        qualified not in _READERS
        or not classes
        or not all(isinstance(info, ClassInfo) and is_dataclass(info) for info in classes)
    ):
        return None
    if qualified == _LATER:
        return Value(_LATER, frame.graph.fresh(), Kind.FOREIGN, node=node, module=frame.module, data=classes)
    return self_of(classes[0], quiet_frame(classes[0].module, frame))


def parser(node: ast.Call, frame: Frame) -> Value:
    """A parser of the command line, to which options are added."""
    return Value(PARSER, frame.graph.fresh(), Kind.FOREIGN, node=node, module=frame.module)


def parsed(receiver: Value, method: str, frame: Frame) -> Value | None:
    """The options that a parser yields; None where it is another method, or another object."""
    if receiver.op == _LATER and method.endswith("_into_dataclasses"):
        made = [self_of(info, quiet_frame(info.module, frame)) for info in receiver.data]
        return frame.graph.sequence(made, receiver.node)
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
