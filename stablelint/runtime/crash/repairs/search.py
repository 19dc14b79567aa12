"""What would make a failed call pass: small changes of its arguments, each tried by making the call with it.

Nothing is said that did not pass. Of several, those come first whose result looks most like what was meant: as large as
an operand, by views before casts of sizes, by what stands in the call before what was set elsewhere.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from time import thread_time
from typing import Any, NamedTuple

import torch
from torch import nn

from stablelint.runtime.crash.repairs.edits import Revision
from stablelint.runtime.crash.repairs.failing import Call
from stablelint.runtime.crash.repairs.layers import changes
from stablelint.runtime.crash.repairs.tensors import Change, Name
from stablelint.runtime.tensors.measure import tensors_in

_MOST_TRIED = 600
_SECONDS = 3.0
_TOLD = 3
_HALVES = ("cast", "view", "wider")  # kinds of changes of which two are tried together
_SIZES = re.compile(r"[\d, ()\[\]]+")
_COMPARED = 60  # characters of two errors
_MOST_GROWN = 4  # times the elements of all operands that a result may have


@dataclass(frozen=True, slots=True)
class Repair:
    """A change with which the call passes, as it would be written, and the shape that comes of it."""

    text: str
    shape: tuple[int, ...] | None
    kind: str = ""
    revisions: tuple[Revision, ...] = ()  # with which the program makes the call so
    where: str = ""  # it is made, if not in the expression that failed
    until: str = ""  # what fails then
    idle: int = 0  # parameters that ask for gradients and that an optimizer then steps without one, at most
    spread: int = 0  # lines where two tensors gave more elements than either has
    untried: bool = False

    @property
    def told(self) -> str:
        """That it passes, and what comes of it."""
        several, text = " and " in self.text and len(self.revisions) != 1, self.text + self.where
        known = self.shape and self.kind != "setting" and " in line " not in text
        gives = f", and the call gives {self.shape}" if known else ""
        if self.untried:
            return text
        passes = "pass" if several else "passes"
        return f"{text} {passes} this call{self.until}" if self.until else f"{text} {passes}{gives}"


def repairs(call: Call, name: Name) -> list[Repair]:
    """The changes that make a call pass, the likeliest first.

    `name` is what the value at a place is called.
    """
    search = _Search(call, thread_time() + _SECONDS)
    try:
        call.result()
    except Exception as error:  # whatever torch says
        search.failure = _worded(error)
    else:
        return []
    search.through(islice(changes(call, name), _MOST_TRIED))
    if not _plain(search.found):
        search.through(islice(search.twofold(name), _MOST_TRIED))
    return _likeliest(call, _plain(search.found) or search.found)


class _Passed(NamedTuple):
    """A change that passed: its rank and kind."""

    rank: int
    kind: str
    repair: Repair


@dataclass
class _Search:
    """What passed of the changes of a call that were tried."""

    call: Call
    until: float
    failure: str = ""  # of the call as it is
    found: list[_Passed] = field(default_factory=list)
    halves: list[Change] = field(default_factory=list)  # with which the call fails otherwise

    def through(self, changes: Iterable[Change]) -> None:
        """Try changes, as long as there is time."""
        for kind, text, changed in changes:
            if thread_time() > self.until:
                break
            same = sum(other == kind for _, other, _ in self.found)
            is_last = _weight(kind).last and any(not _weight(other).last for _, other, _ in self.found)
            if same >= _weight(kind).most or is_last:
                continue
            try:
                self._keep(kind, text, changed)
            except Exception as error:  # whatever torch says: then it does not pass
                if kind in _HALVES and _worded(error) != self.failure:
                    self.halves.append((kind, text, changed))

    def twofold(self, name: Name) -> Iterator[Change]:
        """What failed otherwise, with a change of another kind, of the same operand or a further one."""
        for first, text, half in [*self.halves]:
            if first == "wider" and (made := half.evaluated()) is not None and made.whole is not None:
                yield first, f"{ast.unparse(made.whole[1].func)}.eval() and {text}", made
            place = next(i for i, one in enumerate(half.values) if one is not self.call.values[i])
            for kind, more, changed in changes(half, partial(_named, name, place, text)):
                if kind in _HALVES and kind != first:
                    same = changed.values[place] is not half.values[place]
                    yield first, more if same else f"{text} and {more}", changed

    def _keep(self, kind: str, text: str, changed: Call) -> None:
        """Keep a change that passes. Raises whatever the call raises."""
        shape, told = _shape(changed.unreduced().result()), _shape(changed.result())
        if changed.small:  # kernels ask for more than what is known of shapes
            replace(changed, hollow=False).result()
        operands = [tuple(one.shape) for one in self.call.values if hasattr(one, "shape")]
        largest, size = max(map(math.prod, operands), default=1), math.prod(shape or ())
        fixed = _weight(kind).rank
        rank = 0 if told == () or shape in operands else 1 if size <= largest else 2
        rank = rank if fixed is None else fixed
        is_layer = isinstance(self.call.function, nn.Module) and not self.call.is_loss
        grown = size > _MOST_GROWN * max(1, sum(map(math.prod, operands))) and not is_layer
        if not (grown and not _weight(kind).grows) and not (kind == "wider" and _is_beaten(rank, self.found)):
            self._add(rank, kind, Repair(text, told, kind, revisions=changed.revisions or ()))

    def _add(self, rank: int, kind: str, one: Repair) -> None:
        """Keep a repair; of those of a kind only one for each shape that comes of it."""
        alike = [other for _, other, two in self.found if one.shape == two.shape]
        if kind in ("setting", "switch") or kind not in alike:
            self.found.append(_Passed(rank, kind, one))


def _named(name: Name, changed: int, text: str, place: int) -> str:
    """What the value at a place is called, after one has changed."""
    return text if place == changed else name(place)


def _worded(error: Exception) -> str:
    """What an error says, whatever sizes it speaks of."""
    return _SIZES.sub("", f"{type(error).__name__}: {error}")[:_COMPARED]


def _plain(passed: list[_Passed]) -> list[_Passed]:
    """Those that are no last resort."""
    return [one for one in passed if not _weight(one.kind).last]


def _likeliest(call: Call, passed: list[_Passed]) -> list[Repair]:
    """The likeliest first."""
    best = min((one.rank for one in passed), default=0)
    samples = next((one.shape[:1] for one in call.values if isinstance(one, torch.Tensor)), None)
    views = [one.repair.shape for one in passed if one.kind in ("view", "wider")]
    beaten = {"view", "wider"} if any(one.kind == "order" for one in passed) else set()
    keeps = any(shape is not None and shape[:1] == samples for shape in views)
    beaten |= {"switch"} if keeps or (views and not isinstance(call.function, nn.Module)) else set()
    beaten |= {"setting"} if keeps and not isinstance(call.function, nn.RNNBase) else set()
    beaten |= {"size"} if any(one.kind == "layer" for one in passed) else set()
    beaten |= {"joined"} if any(one.kind == "wider" for one in passed) else set()
    likely = [one for one in passed if one.kind not in beaten and (one.kind != "wider" or one.rank <= best)]
    shaped = [one for one in likely if one.kind in ("view", "wider")]
    if any((one.repair.shape or ())[:1] == samples for one in shaped):  # those that keep the samples
        likely = [one for one in likely if one not in shaped or (one.repair.shape or ())[:1] == samples]
    return [one.repair for one in sorted(likely, key=lambda one: one.rank)][:_TOLD]


def _shape(result: Any) -> tuple[int, ...] | None:
    if type(result).__name__ == "ndarray":
        return tuple(result.shape)
    return next((tuple(one.shape) for one in tensors_in(result)), None)


def _is_beaten(rank: int, found: list[_Passed]) -> bool:
    """Whether a view without a further dimension does as well."""
    return any(other == "view" and best <= rank for best, other, _ in found)


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the changes of a kind are weighed."""

    most: int = 2  # that are told
    rank: int | None = None  # of all of them, in place of what their result says: the smallest comes first
    grows: bool = False  # results may be much larger
    last: bool = False  # told where no other kind has passed


_PLAIN = _Kind()
_WEIGHED = {
    **dict.fromkeys(("cast", "joined"), _Kind(grows=True)),
    "order": _Kind(rank=-1, grows=True),
    "subscript": _Kind(rank=-1),
    "setting": _Kind(rank=3, grows=True),
    "switch": _Kind(most=1, rank=3, grows=True),
    "dimension": _Kind(most=1),
    "size": _Kind(most=1, last=True),
    **dict.fromkeys(("function", "layer", "turned"), _Kind(last=True)),
}


def _weight(kind: str) -> _Kind:
    return _WEIGHED.get(kind, _PLAIN)
