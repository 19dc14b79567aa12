"""Where the sizes of layers come from that a repair makes with others."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from stablelint.runtime.crash.layers import outermost
from stablelint.runtime.crash.repairs.edits import Setting
from stablelint.runtime.crash.repairs.remade import settings_of
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.location import Location


def sizes_from(scene: Scene, found: Repair) -> Iterator[tuple[str, Location]]:
    """The lines that make the layers of a repair, and those that give their sizes, each once."""
    model, seen = (outermost(scene) or (nn.Identity(),))[0], set[Location]()
    layers = {id(layer): (path, layer) for path, layer in model.named_modules()}
    for one in (one for one in found.revisions if isinstance(one, Setting) and one.layer in layers):
        (path, layer), (setting, _) = layers[one.layer], one.changed[0]
        name, sizes = path or type(layer).__name__, scene.origins.of_setting(layer, setting)[-1:]
        told = f"{setting} of {name}, {settings_of(layer).get(setting)}, comes from here"
        made = () if layer is scene.module else scene.origins.of_module(layer)
        for what, at in (*((f"{name} is made here", at) for at in made), *((told, at) for at in sizes)):
            if at not in seen:
                yield what, at
            seen.add(at)
