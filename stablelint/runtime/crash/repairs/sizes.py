"""Layers of another size, with which the whole forward pass that failed goes on to its end."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from time import monotonic
from typing import Any

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
from stablelint.runtime.tensors.measure import tensors_in

_SECONDS = 3.0  # after which no further pass is begun
_PARTS = (2, 3, 4)  # into which the output of a layer is cut
_NEAREST = 3  # layers before a view


@dataclass(frozen=True, slots=True)
class Resized:
    """A layer made with another size."""

    path: str
    layer: nn.Module
    setting: str
    before: Any
    after: Any

    @property
    def told(self) -> str:
        """The change, as it would be written."""
        return f"nn.{type(self.layer).__name__}(…, {self.setting}={self.after}) of {self.name}"

    @property
    def name(self) -> str:
        """Its path in the model, or its class where it is the model."""
        return self.path or type(self.layer).__name__


def fitting(scene: Scene, found: Repair | None = None) -> Advice | None:
    """What is to be told of layers of other sizes: of those of a repair, or of a layer before what failed."""
    made = again(scene)
    made = made if made is not None and made.error is not None and made.called else None
    changes = list(_resized(scene, found)) if found is not None else []
    before: list[Resized] = []
    if made is not None:
        before = _upstream(scene, made, changes[0]) if changes else _of_elements(scene, made)
    if not changes and not before:
        return None
    advice = found.told if found is not None and not before else f"{before[0].told} passes"
    because = (
        tuple(_because(made, changes[0], (before or changes)[0])) if made is not None and changes else ()
    )
    return Advice((advice,), because, tuple(_places(scene, before or changes)))


def _resized(scene: Scene, found: Repair) -> Iterator[Resized]:
    """The layers that a repair makes with another size."""
    model = (outermost(scene) or (nn.Identity(),))[0]
    layers = {id(layer): (path, layer) for path, layer in model.named_modules()}
    for one in found.revisions:
        if isinstance(one, Setting) and one.layer in layers:
            (path, layer), (name, after) = layers[one.layer], one.changed[0]
            yield Resized(path, layer, name, settings_of(layer).get(name), after)


def _upstream(scene: Scene, made: Pass, failed: Resized) -> list[Resized]:
    """A layer that gives what the failing one takes, of which a part arrives: it gives several such parts then."""
    wanted, given = failed.before, failed.after
    parts = wanted // given if type(wanted) is int and type(given) is int and wanted % given == 0 else 0
    before = [
        (path, layer, given) for path, layer, given in made.called[:-1] if wanted in sizes_of(layer).values()
    ]
    return _widened(scene, before, Fraction(parts)) if parts in _PARTS else []


def _of_elements(scene: Scene, made: Pass) -> list[Resized]:
    """A layer before a view to another number of elements, or before what is some times too large, that gives so many."""
    call = failing(scene)
    given = call.arguments[0] if call is not None else ()
    tensor, sizes = (given[0], [one for one in given[1:] if type(one) is int]) if given else (None, [])
    if isinstance(tensor, torch.Tensor) and len(sizes) > 1 and sizes.count(-1) < 2 and tensor.numel():
        whole = tensor.numel() if min(sizes) > 0 else tensor.numel() // tensor.shape[0]
        return _widened(scene, made.called[-_NEAREST:], Fraction(abs(math.prod(sizes)), whole))
    told = {int(one) for one in re.findall(r"\d+", str(scene.message))} - {0}
    factors = (Fraction(one, other) for one, other in permutations(sorted(told), 2))
    likely = [one for one in factors if one in _PARTS or 1 / one in _PARTS]
    found = (_widened(scene, made.called[-_NEAREST:], one) for one in dict.fromkeys(likely))
    return next(filter(None, found), [])


def _widened(scene: Scene, layers: list[tuple[str, nn.Module, Any]], factor: Fraction) -> list[Resized]:
    """The last of some layers that gives so many times what it gave, with which the pass ends well."""
    until = monotonic() + _SECONDS
    for path, layer, _ in reversed(layers):
        if monotonic() > until:
            return []
        for name, size in sizes_of(layer).items():
            wider = size * factor if type(size) is int else Fraction(1, 2)
            other = remade(layer, {name: int(wider)}) if wider.denominator == 1 and wider != size else None
            if other is not None and ends_well(again(scene, {path: other})):
                return [Resized(path, other, name, size, int(wider))]
    return []


def _because(made: Pass, failed: Resized, changed: Resized) -> Iterator[str]:
    """How what was given is made of parts, and that it is a part itself."""
    given = next(iter(tensors_in(made.called[-1][2])), None)
    joined = next((one for one in made.operations if one.result is given and len(one.given) > 1), None)
    if changed.path != failed.path:
        yield f"{changed.name} gives {changed.before}, of which {failed.name} is given a part of {failed.after}"
    elif joined is not None and joined.at is not None:
        along = next(place for place, size in enumerate(joined.result.shape) if size == failed.after)
        sizes = [one.shape[along] for one in joined.given]
        without = [one for one in sizes if sum(sizes) - one == failed.before]
        whole = f"`{joined.at.expression}` joins {', '.join(map(str, sizes))}: {failed.before} is"
        if failed.before in sizes:
            yield f"{whole} one of them"
        elif without:
            yield f"{whole} the sum without {without[0]}"


def _places(scene: Scene, changes: list[Resized]) -> Iterator[tuple[str, Location]]:
    """Where the sizes of layers that are to be changed come from."""
    model, origins = (outermost(scene) or (nn.Identity(),))[0], scene.origins
    seen: set[Location] = set()
    for one in changes:
        layer = model.get_submodule(one.path)
        made, sizes = origins.of_module(layer), origins.of_setting(layer, one.setting)[-1:]
        told = f"{one.setting} of {one.name}, {one.before}, comes from here"
        for what, at in (*((f"{one.name} is made here", at) for at in made), *((told, at) for at in sizes)):
            if at not in seen and (at in sizes or layer is not scene.module):
                yield what, at
            seen.add(at)
