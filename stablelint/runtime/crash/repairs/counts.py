"""Sizes of layers that count what a program numbers: the least one with which it runs to its end."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from types import ModuleType
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode

from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.provenance.anew import by_script, modules_of
from stablelint.runtime.crash.provenance.history import makers
from stablelint.runtime.crash.repairs.constructors import constructed, line_of, plus, settled
from stablelint.runtime.crash.repairs.edits import Edit, Setting
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import expression_at, statement_at
from stablelint.runtime.program.carried import written_names
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.syntax.names import names_in

_COUNTED = ("embedding", "cross_entropy", "nll_loss")
_MOST_TRIED = 3  # other ways to count
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

    def needed(way: Repair, rows: int) -> int:
        edits = [one for one in way.revisions if isinstance(one, Edit)]
        said = by_script(scene, told, lambda: _Largest(rows), edits)
        return int(pickle.loads(said)) if said else 0

    for place, way in enumerate(_ways(scene, layer, name, most)):
        if rows := needed(way, most):
            largest = islice(_by_largest(scene, layer, name), _MOST_TRIED)
            same = (one for one in largest if needed(one, rows) == rows)
            return next(same, None) or [*_ways(scene, layer, name, rows)][place]
    return None


def made_later(scene: Scene, layer: nn.Module | None) -> Iterator[Repair]:
    """A model made just before it is used, after what may have added to what it counts."""
    for at in makers(scene).get(id(layer), ())[::-1]:
        made, tree = statement_at(at) or ast.Pass(), parse_file(at.filename) or ast.Pass()
        blocks = (getattr(one, name, None) or [] for one in ast.walk(tree) for name in ("body", "orelse"))
        block = next((one for one in blocks if isinstance(one, list) and made in one), [made])
        rest = block[block.index(made) + 1 :]
        names = written_names([made])
        first = next((place for place, one in enumerate(rest) if names & names_in(one)), 0)
        if names and first:
            moved = Edit.of(rest[first], at.filename, f"{ast.unparse(made)}\n{ast.unparse(rest[first])}")
            text = f"`{ast.unparse(made)}` after line {rest[first - 1].end_lineno}"
            yield Repair(text, None, revisions=(Edit.of(made, at.filename, "pass"), moved))


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
    for node, filename in _computed(scene, layer, name):
        yield _as(scene, node, filename, plus(node, more))
    key = next((path.rpartition(".")[2] for path, one in modules_of(scene.frames) if one is layer), "")
    for node, at in settled(scene, key, getattr(layer, name)):  # of layers that a dictionary names
        yield replace(
            _as(scene, node, at.filename, str(value)),
            text=f"{value} in place of {ast.unparse(node)} for {key!r}",
        )
    setting = Setting(id(layer), ((name, value),))
    yield from [*constructed(scene, Repair("", None, "setting", revisions=(setting,)))][::-1]


def _by_largest(scene: Scene, layer: nn.Module, name: str) -> Iterator[Repair]:
    """The count as one more than the largest of what it is counted of, whose numbers may leave some out."""
    for node, filename in _computed(scene, layer, name):
        for call in (one for one in [*ast.walk(node)][::-1] if isinstance(one, ast.Call)):
            owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
            for part in (*call.args, *owner):
                if not isinstance(value_of(part, scene.globals_of(filename)), ModuleType):
                    for text in ("int({}.max()) + 1", "max({}) + 1"):
                        yield _as(scene, node, filename, text.format(ast.unparse(part)))


def _computed(scene: Scene, layer: nn.Module, name: str) -> Iterator[tuple[ast.expr, str]]:
    """The expression that computes the count, and its file."""
    for at in scene.origins.of_setting(layer, name)[-1:]:
        node = expression_at(at) or getattr(statement_at(at), "value", None)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            yield node, at.filename


def _as(scene: Scene, node: ast.expr, filename: str, text: str) -> Repair:
    edit = Edit.of(node, filename, text)
    return Repair(edit.text, None, "setting", revisions=(edit,), where=line_of(scene, edit))
