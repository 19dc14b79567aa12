"""Layers of another size, with which the whole forward pass that failed goes on to its end."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from time import thread_time
from typing import Any, NamedTuple

import torch
from torch import nn

from stablelint.runtime.crash.explanation import Advice
from stablelint.runtime.crash.layers import Pass, again, ends_well, outermost
from stablelint.runtime.crash.repairs.edits import Setting
from stablelint.runtime.crash.repairs.failing import failing
from stablelint.runtime.crash.repairs.remade import remade, settings_of, sizes_of
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.location import Location

_SECONDS = 3.0  # after which no further pass is begun
_PARTS = (2, 3, 4)  # into which the output of a layer is cut
_NEAREST = 3  # layers before a view


class Resized(NamedTuple):
    """A layer made with another size: its path in the model, or its class where it is the model."""

    name: str
    layer: nn.Module  # as it was
    setting: str
    before: Any
    after: Any


def fitting(scene: Scene, found: Repair | None = None) -> Advice | None:
    """What is to be told of layers of other sizes: of those of a repair, or of a layer before what failed."""
    made = again(scene)
    made = made if made is not None and made.error is not None and made.called else None
    changes = list(_resized(scene, found)) if found is not None else []
    before = _before(scene, made, changes[0] if changes else None) if made is not None else []
    if not changes and not before:
        return None
    told, because = found.told if found is not None else "", tuple[str, ...]()
    for one in before[:1]:
        told = f"nn.{type(one.layer).__name__}(…, {one.setting}={one.after}) of {one.name} passes"
        part = (f"is given a part of {failed.after}" for failed in changes[:1])
        because = tuple(f"{one.name} gives {one.before}, of which {changes[0].name} {text}" for text in part)
    return Advice((told,), because, tuple(_places(scene, before or changes)))


def _resized(scene: Scene, found: Repair) -> Iterator[Resized]:
    """The layers that a repair makes with another size."""
    model = (outermost(scene) or (nn.Identity(),))[0]
    layers = {id(layer): (path, layer) for path, layer in model.named_modules()}
    for one in found.revisions:
        if isinstance(one, Setting) and one.layer in layers:
            (path, layer), (name, after) = layers[one.layer], one.changed[0]
            yield Resized(path or type(layer).__name__, layer, name, settings_of(layer).get(name), after)


def _before(scene: Scene, made: Pass, failed: Resized | None) -> list[Resized]:
    """A layer before the failing one, or before a view, of which it takes a part, or some times what there is."""
    if failed is not None:
        wanted, given = failed.before, failed.after
        parts = wanted // given if type(wanted) is int and type(given) is int and wanted % given == 0 else 0
        likely = [one for one in made.called[:-1] if wanted in sizes_of(one[1]).values()]
        return _widened(scene, likely, Fraction(parts)) if parts in _PARTS else []
    call = failing(scene)
    given = call.arguments[0] if call is not None else ()
    tensor, sizes = (given[0], [one for one in given[1:] if type(one) is int]) if given else (None, [])
    if isinstance(tensor, torch.Tensor) and len(sizes) > 1 and sizes.count(-1) < 2 and tensor.numel():
        whole = tensor.numel() if min(sizes) > 0 else tensor.numel() // tensor.shape[0]
        return _widened(scene, made.called[-_NEAREST:], Fraction(abs(math.prod(sizes)), whole))
    told = {int(one) for one in re.findall(r"\d+", str(scene.message))} - {0}
    factors = (Fraction(one, other) for one, other in permutations(sorted(told), 2))
    times = dict.fromkeys(one for one in factors if one in _PARTS or 1 / one in _PARTS)
    return next(filter(None, (_widened(scene, made.called[-_NEAREST:], one) for one in times)), [])


def _widened(scene: Scene, layers: list[tuple[str, nn.Module, Any]], factor: Fraction) -> list[Resized]:
    """The last of some layers that gives so many times what it gave, with which the pass ends well."""
    until = thread_time() + _SECONDS
    for path, layer, _ in reversed(layers if factor else []):
        for name, size in sizes_of(layer).items() if thread_time() < until else ():
            wider = size * factor if type(size) is int else Fraction(1, 2)
            other = remade(layer, {name: int(wider)}) if wider.denominator == 1 and wider != size else None
            if other is not None and ends_well(again(scene, {path: other})):
                return [Resized(path or type(layer).__name__, layer, name, size, int(wider))]
    return []


def _places(scene: Scene, changes: list[Resized]) -> Iterator[tuple[str, Location]]:
    """Where the layers that are to be changed are made, and where their sizes come from, each line once."""
    model, origins, seen = (outermost(scene) or (nn.Identity(),))[0], scene.origins, set[Location]()
    for one in changes:
        layer = dict(model.named_modules()).get(one.name, model)
        sizes = origins.of_setting(layer, one.setting)[-1:]
        told = f"{one.setting} of {one.name}, {one.before}, comes from here"
        made = () if layer is scene.module else origins.of_module(layer)
        for what, at in (*((f"{one.name} is made here", at) for at in made), *((told, at) for at in sizes)):
            if at not in seen:
                yield what, at
            seen.add(at)
