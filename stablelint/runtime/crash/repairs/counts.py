"""Sizes of layers that count what a program numbers: the least one with which it runs to its end."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode

from stablelint.runtime.crash.provenance.anew import by_script
from stablelint.runtime.crash.provenance.made import modules_of
from stablelint.runtime.crash.repairs.constructors import constructed, line_of, plus
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, statement_at
from stablelint.runtime.tensors.measure import tensors_in

_COUNTED = ("embedding", "cross_entropy", "nll_loss")
_FREE = 64  # rows more than are known to be needed, while it is looked for how many are


class _Largest(TorchFunctionMode):
    """The largest number that a table or scores of some rows are asked for, in a copy of the process."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows, self.index = rows, -1

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _COUNTED:
            whole, scores = (
                [one for one in tensors_in((args, kwargs)) if one.is_floating_point() is is_float]
                for is_float in (False, True)
            )
            if whole and scores and self.rows in scores[0].shape[:2]:
                self.index = max(self.index, int(whole[0].max()))
        return func(*args, **(kwargs or {}))


def enough(scene: Scene, layer: nn.Module, name: str, least: int) -> Repair | None:
    """A layer with as many rows, or outputs, as the whole script needs; None where that cannot be told."""
    most = 2 * least + _FREE

    def told(then: Scene | None, seen: _Largest) -> bytes:
        return pickle.dumps(seen.index + 1) if then is None and seen.index >= 0 else b""

    for place, way in enumerate(_ways(scene, layer, name, most)):
        edits = [one for one in way.revisions if isinstance(one, Edit)]
        if said := by_script(scene, told, lambda: _Largest(most), edits):
            return [*_ways(scene, layer, name, pickle.loads(said))][place]
    return None


def enough_outputs(scene: Scene, count: int, least: int) -> Repair | None:
    """The last layer of so many outputs with as many as there are classes."""
    layers = [
        (path.split("/")[:2], layer, name)
        for path, layer in modules_of(scene.frames)
        for name in ("out_features", "out_channels")
        if getattr(layer, name, None) == count
    ]
    of_first = [one[1:] for one in layers if one[0] == layers[0][0]]
    return enough(scene, *of_first[-1], least) if of_first else None


def _ways(scene: Scene, layer: nn.Module, name: str, value: int) -> Iterator[Repair]:
    """Where the count is computed, and then where the layer is made, the outermost call first."""
    more = value - int(getattr(layer, name))
    for at in scene.origins.of_setting(layer, name)[-1:]:
        node = expression_at(at) or getattr(statement_at(at), "value", None)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            edit = Edit.of(node, at.filename, plus(node, more))
            yield Repair(edit.text, None, "setting", revisions=(edit,), where=line_of(scene, edit))
    setting = Setting(id(layer), ((name, value),))
    yield from [*constructed(scene, Repair("", None, "setting", revisions=(setting,)))][::-1]
