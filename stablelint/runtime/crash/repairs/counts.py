"""Sizes of layers that count what a program numbers: the least one with which it runs to its end."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from stablelint.runtime.crash.provenance.anew import by_script
from stablelint.runtime.crash.repairs.constructors import constructed, line_of, plus
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at

_FREE = 64  # rows more than are known to be needed, while it is looked for how many are


@dataclass
class _Largest:
    """The largest index that a table of some rows is asked for, in a copy of the process."""

    rows: int
    index: int = -1

    def __enter__(self) -> None:
        original = torch.embedding

        def seen(weight: torch.Tensor, indices: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if len(weight) == self.rows and indices.numel():
                self.index = max(self.index, int(indices.max()))
            return original(weight, indices, *args, **kwargs)

        setattr(torch, "embedding", seen)  # noqa: B010

    def __exit__(self, *_: object) -> None:
        """The copy ends with it."""


def enough_rows(scene: Scene, name: str, least: int) -> Repair | None:
    """The layer that failed with as many rows as the whole script needs; None where that cannot be told."""
    most = 2 * least + _FREE

    def told(then: Scene | None, seen: _Largest) -> bytes:
        return pickle.dumps(seen.index + 1) if then is None and seen.index >= 0 else b""

    for place, way in enumerate(_ways(scene, name, most)):
        edits = [one for one in way.revisions if isinstance(one, Edit)]
        said = (
            by_script(scene, told, lambda: _Largest(most), edits) if len(edits) == len(way.revisions) else b""
        )
        if said:
            return [*_ways(scene, name, pickle.loads(said))][place]
    return None


def _ways(scene: Scene, name: str, value: int) -> Iterator[Repair]:
    """Where the count is computed, and then where the layer is made, the outermost call first."""
    layer = scene.module
    if layer is None:
        return
    more = value - int(getattr(layer, name))
    for at in scene.origins.of_setting(layer, name)[-1:]:
        node = expression_at(at)
        if node is not None and not isinstance(node, ast.Constant):
            edit = Edit.of(node, at.filename, plus(node, more))
            yield Repair(edit.text, None, "setting", revisions=(edit,), where=line_of(scene, edit))
    setting = Setting(id(layer), ((name, value),))
    yield from [*constructed(scene, Repair("", None, "setting", revisions=(setting,)))][::-1]
