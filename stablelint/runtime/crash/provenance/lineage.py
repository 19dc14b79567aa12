"""From which operand a value has its dtype: back through the statements that made it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import dtype_name

_MOST_LINKS = 3


def lineage(scene: Scene, operand: Operand) -> Iterator[tuple[str, Location]]:
    """The tensors of the same dtype that an operand was made of, each with the statement that gave it its value."""
    at, seen = operand.made_at, {operand.name}
    for _ in range(_MOST_LINKS):
        link = next(_sources(scene, at, operand.dtype, seen), None) if at is not None else None
        if link is None:
            return
        seen.add(link[0])
        at = link[1]
        yield f"{link[0]}, of which it was made, is {operand.dtype} as well", at


def _sources(scene: Scene, at: Location, dtype: str, seen: set[str]) -> Iterator[tuple[str, Location]]:
    """The tensors of a dtype that a statement reads, and where they are from."""
    for node in ast.walk(at.parsed()):
        text = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else ""
        for frame in reversed(scene.frames) if text and text not in seen else ():
            value = value_of(node, frame.names) if frame.mine and isinstance(node, ast.expr) else None
            if isinstance(value, torch.Tensor) and dtype_name(value.dtype) == dtype:
                made = scene.origins.of(frame, node)[:1] if isinstance(node, ast.expr) else ()
                if made and made[0] != at:
                    yield text, made[0]
