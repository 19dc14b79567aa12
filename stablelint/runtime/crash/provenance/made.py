"""Where the layers of a script are made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.scene import models_of
from stablelint.runtime.program.frames import resolve, site_of, user_frames
from stablelint.runtime.program.location import Location

_MOST_CALLS = 6
Places = tuple[Location, ...]  # calls of the program that led to one another, the innermost first


@dataclass
class Makers:
    """The calls of the program that made each module, in a copy of the process."""

    places: dict[int, Places] = field(default_factory=dict)  # by the module's identity

    def watch(self) -> None:
        """From now on."""
        original = nn.Module.__init__

        def __init__(module: nn.Module, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            frames = user_frames(sys._getframe(1), _MOST_CALLS)
            self.places[id(module)] = tuple(resolve(site_of(one)) for one in frames)
            original(module, *args, **kwargs)

        setattr(nn.Module, "__init__", __init__)  # noqa: B010

    def by_path(self, frames: list[Frame]) -> dict[str, Places]:
        """The same by the places of the modules in what the frames hold."""
        return {path: self.places[id(one)] for path, one in modules_of(frames) if id(one) in self.places}


def modules_of(frames: list[Frame]) -> Iterator[tuple[str, nn.Module]]:
    """The modules that the program's frames hold, each by a path that is the same in another run."""
    for count, frame in enumerate(one for one in reversed(frames) if one.mine):
        for name, value in models_of([frame], local=True):
            yield from ((f"{count}/{name}/{path}", module) for path, module in value.named_modules())
