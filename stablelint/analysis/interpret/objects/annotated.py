"""The objects that annotations name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.interpret.objects.classes import self_of
from stablelint.analysis.values.annotations import classes_named
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import Kind, Value


def annotated_objects(target: Value, frame: Frame) -> Iterator[tuple[Value, Assumption]]:
    """An instance of each class of the project that a parameter is annotated with: `model: Classifier | None`.

    It may be one of a subclass instead.
    """
    if target.op != "argument" or not isinstance(target.node, ast.arg) or target.module is None:
        return
    quiet = quiet_frame(target.module, frame)
    for named in classes_named(target.node.annotation):
        found = frame.session.interpreter.evaluate(named, quiet)
        if found.kind is Kind.CLASS:
            yield self_of(found.data, quiet), Assumption(f"{target.name} is a plain {ast.unparse(named)}")
