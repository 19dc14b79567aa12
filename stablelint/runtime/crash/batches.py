"""The last batch of a loader, shorter than the others, where what it met was made for a whole one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from torch.utils.data import DataLoader

from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.expression import value_of
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.source import loop_around
from stablelint.runtime.program.frames import resolve


def with_short_batch(scene: Scene, found: Explanation) -> Explanation:
    """The explanation, and that the batch is a short one, if that is why its operands do not fit."""
    numbers = set(map(int, re.findall(r"\d+", scene.message)))
    for text, loader in _loaders(scene):
        whole, samples = loader.batch_size, len(loader.sampler)  # type: ignore[arg-type]
        rest = samples % whole if whole else 0
        short = any(rest in one.shape and whole not in one.shape for one in found.operands)
        made = next((one for one in found.operands if whole in one.shape and rest not in one.shape), None)
        if whole and rest and not loader.drop_last and {whole, rest} <= numbers and short and made:
            counted = f"{samples} = {samples // whole} · {whole} + {rest}"
            reason = f"the last batch of {text} has {rest} samples of {whole} ({counted}), and {made.name} is for {whole}"
            advice = "drop_last=True for that loader", f"{made.name} made anew for a batch of another size"
            at = (("the loader is made here", one) for one in scene.origins.of_module(loader))
            return replace(found, because=(*found.because, reason), advice=advice, other=(*found.other, *at))
    return found


def _loaders(scene: Scene) -> Iterator[tuple[str, DataLoader[object]]]:
    """The loaders that loops of the program were going over, the innermost first."""
    for frame in reversed(scene.frames):
        loop = loop_around(frame.site.code.co_filename, resolve(frame.site).row) if frame.mine else None
        for node in ast.walk(loop.iter) if isinstance(loop, ast.For) else ():
            value = value_of(node, frame.names) if isinstance(node, ast.expr) else None
            if isinstance(value, DataLoader):
                yield ast.unparse(node), value
