"""What is said about an error."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import torch

from stablelint.runtime.crash.expression import parsed
from stablelint.runtime.plain import Json, plain
from stablelint.runtime.program.location import Location, place_json
from stablelint.runtime.tensors.measure import dtype_name

_LONGEST_MESSAGE = 20_000


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor in the failing expression, in the program's words, and where it came from."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    made_at: Location | None = None  # the statement that made it
    source: Location | None = None  # what stands behind that, in another function
    held: bool = False  # by the module that failed: a parameter or a buffer
    subject: str = ""  # whose places these are, if not its own: it is computed where it failed

    @property
    def written(self) -> ast.expr | None:
        """The name as an expression; None of one in words: `weight of fc1`."""
        return parsed(self.name)

    @property
    def owner(self) -> str:
        """The name as what stands before a method: `(a + b)` of `a + b`."""
        atoms = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, type(None))
        return self.name if isinstance(self.written, atoms) else f"({self.name})"

    @classmethod
    def of(
        cls,
        tensor: torch.Tensor,
        name: str,
        places: Sequence[Location] = (),
        held: bool = False,
        subject: str = "",
    ) -> Operand:
        """The operand that `tensor` is, with the places that made it, or that of which it is computed, the nearest first."""
        dtype, device = dtype_name(tensor.dtype), str(tensor.device)
        shape = tuple(tensor.shape)
        made_at, source = (places[0] if places else None), (places[-1] if len(places) > 1 else None)
        return cls(name, shape, dtype, device, made_at, source, held, "" if subject == name else subject)


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
    other: tuple[tuple[str, Location], ...] = ()  # what further places are

    def as_json(self, error: BaseException) -> dict[str, Json]:
        """The explanation as ``run --output-format json`` prints it under `crash`."""
        described = {
            one.name: plain(getattr(self, one.name)) for one in fields(self) if one.name != "location"
        }
        message = str(error)[:_LONGEST_MESSAGE]
        return {**described, **place_json(self.location), "error": type(error).__name__, "message": message}


class Advice(NamedTuple):
    """What to do, why, and places that it speaks of."""

    texts: tuple[str, ...]
    because: tuple[str, ...] = ()
    places: tuple[tuple[str, Location], ...] = ()

    def onto(self, found: Explanation) -> Explanation:
        """An explanation with this advice."""
        because, other = (*found.because, *self.because), (*found.other, *self.places)
        return replace(found, advice=self.texts, because=because, other=other)
