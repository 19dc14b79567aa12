"""Calls of which nothing is known but their name and their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace

from stablelint.analysis.interpret.paths.narrowing import open_container
from stablelint.analysis.interpret.statements.writing import replaced
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value


def opaque(
    op: str, key: int, operands: Mapping[str, Value], node: ast.AST, frame: Frame, kind: Kind = Kind.UNKNOWN
) -> Value:
    """The value of such a call, which may write into lists and mappings; matchers are shown it by its name."""
    if not op.startswith("torch."):
        _hand_over(operands.values(), frame)
    value = Value(op, key, kind, operands, node=node, module=frame.module, name=op.rpartition(".")[2])
    if frame.reporting:
        frame.session.observe(value, frame)
    return value


def _hand_over(arguments: Iterable[Value], frame: Frame) -> None:
    """Lets a body that is not seen change the numbers of lists and mappings."""
    for given in arguments:
        if given.data and (
            given.kind is Kind.MAPPING or (given.kind is Kind.SEQUENCE and given.name == "list")
        ):
            key = frame.graph.fresh()
            name = next((n for n, value in frame.state.names.items() if value.key == given.key), "it")
            replaced(given, replace(open_container(given, key, name, frame), key=key), frame)
