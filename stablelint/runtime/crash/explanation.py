"""What is said about an error, and which explainers there are."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import torch

from stablelint.runtime.guard.reporting.event import Json, Location, place_json

if TYPE_CHECKING:
    from stablelint.runtime.crash.scene import Scene

_LONGEST_MESSAGE = 20_000


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor in the failing expression, in the program's words, and where it came from."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    origin: str | None = None
    location: Location | None = None  # of the statement that made it

    @classmethod
    def of(
        cls, tensor: torch.Tensor, name: str, origin: str | None = None, location: Location | None = None
    ) -> Operand:
        """The operand that `tensor` is."""
        dtype = str(tensor.dtype).removeprefix("torch.")
        return cls(name, tuple(tensor.shape), dtype, str(tensor.device), origin, location)

    def as_json(self) -> dict[str, Json]:
        """Name, shape, dtype, device and origin."""
        made: Json = None
        if self.location is not None:
            made = {
                "filename": self.location.filename,
                "row": self.location.row,
                "text": self.location.expression,
            }
        return {
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "device": self.device,
            "origin": self.origin,
            "made_at": made,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence, what it rests on, and what to do; `layers` are rows of name, input and output shape."""

    kind: str
    summary: str
    because: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    layers: tuple[tuple[str, str, str], ...] = ()
    location: Location | None = None
    other: tuple[tuple[str, Location], ...] = ()  # further places, and what they are

    def as_json(self, error: BaseException) -> dict[str, Json]:
        """The explanation as ``run --output-format json`` prints it under `crash`."""
        return {
            "kind": self.kind,
            "error": type(error).__name__,
            "message": str(error)[:_LONGEST_MESSAGE],
            "summary": self.summary,
            **place_json(self.location),
            "because": list(self.because),
            "advice": list(self.advice),
            "operands": [one.as_json() for one in self.operands],
            "layers": [list(row) for row in self.layers],
            "other": [{"what": what, **at.as_json()} for what, at in self.other],
        }


Explain = Callable[["Scene", "re.Match[str]"], Explanation | None]


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains the errors whose message matches."""

    pattern: re.Pattern[str]
    explain: Explain = field(repr=False)


def explains(pattern: str) -> Callable[[Explain], Explainer]:
    """Make an explainer of a function: `pattern` is searched in the error's message."""
    return lambda explain: Explainer(re.compile(pattern), explain)


@cache
def all_explainers() -> tuple[Explainer, ...]:
    """Every explainer in the folder `explain`."""
    return tuple(_walk())


def _walk() -> Iterator[Explainer]:
    from stablelint.runtime.crash import explain

    for found in pkgutil.iter_modules(explain.__path__):
        module = importlib.import_module(f"{explain.__name__}.{found.name}")
        yield from (value for value in vars(module).values() if isinstance(value, Explainer))


def explanation_of(scene: Scene) -> Explanation | None:
    """What the first explainer that knows the error says of it; None where none does."""
    for one in all_explainers():
        match = one.pattern.search(scene.message)
        if match is not None and (found := one.explain(scene, match)) is not None:
            return found
    return None
