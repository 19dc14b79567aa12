"""What is said about an error."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from stablelint.runtime.plain import Json
from stablelint.runtime.program.location import Location, place_json

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
