"""Calls of which nothing is known but their name and their arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Kind, Value


def opaque(
    op: str, key: int, operands: Mapping[str, Value], node: ast.AST, frame: Frame, kind: Kind = Kind.UNKNOWN
) -> Value:
    """The value of such a call; matchers are shown it by its name."""
    value = Value(op, key, kind, operands, node=node, module=frame.module, name=op.rpartition(".")[2])
    if frame.reporting:
        frame.session.observe(value, frame)
    return value
