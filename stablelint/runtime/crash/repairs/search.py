"""What would make a failed call pass: small changes of its arguments, each tried by making the call with it.

Nothing is said that did not pass. Of several, those come first whose result looks most like what was meant: as large as
an operand, by views before casts of sizes, by what stands in the call before what was set elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from time import thread_time
from typing import Any, NamedTuple

import torch
from torch import nn

from stablelint.runtime.crash.repairs.calls import changes
from stablelint.runtime.crash.repairs.failing import Call, worded
from stablelint.runtime.crash.repairs.tensors import Change, Name, changes_of_tensors, is_elementwise
from stablelint.runtime.tensors.measure import tensors_in

_MOST_TRIED = 600
_SECONDS = 3.0
_TOLD = 3
_MOST_GROWN = 4  # times the elements of all operands that a result may have

GoesOn = Callable[[Call, Any], bool | None]  # of a changed call and its result
IsOdd = Callable[[tuple[int, ...], tuple[int, ...]], bool]  # of a shape before and after


@dataclass(frozen=True, slots=True)
class Repair:
    """A change with which the call passes, as it would be written, and the shape that comes of it."""

    text: str
    shape: tuple[int, ...] | None
    kind: str = ""
    resized: tuple[int, tuple[int, ...], tuple[int, ...]] | None = (
        None  # a place, and its shape before and after
    )

    @property
    def told(self) -> str:
        """That it passes, and what comes of it."""
        several = " and " in self.text
        gives = f", and {'give' if several else 'gives'} {self.shape}" if self.shape else ""
        return f"{self.text} {'pass' if several else 'passes'}{gives}"


def repairs(call: Call, name: Name, goes_on: GoesOn, is_odd: IsOdd) -> list[Repair]:
    """The changes that make a call pass, the likeliest first.

    `name` is what the value at a place is called, `goes_on` whether what follows takes a result, `is_odd` whether the
    program speaks against another size.
    """
    until = thread_time() + _SECONDS
    search = _Search(call, until, goes_on, is_odd)
    search.through(islice(changes(call, name), _MOST_TRIED))
    twice = _Search(call, until, goes_on, is_odd)
    if all(one.kind == "shape" for one in search.found):
        twice.through(_second(call, name, search.other_errors))
    others = [one for one in search.found if one.kind != "shape"]
    beside = [one for one in search.stuck if one.rank == 0 and one.kind == "wider"]
    if all(one.rank > 0 for one in search.found) and is_elementwise(
        call
    ):  # what follows needs the same change
        others = beside + others
        search.found[:0] = beside
    tiers = (
        _plain(search.found), _plain(twice.found)[:1], others,
        _plain(search.stuck), _plain(twice.stuck)[:1], search.found, search.stuck,
    )  # fmt: skip
    return _likeliest(call, next(filter(None, tiers), []))


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
    goes_on: GoesOn
    is_odd: IsOdd
    found: list[_Passed] = field(default_factory=list)
    stuck: list[_Passed] = field(default_factory=list)  # whose results what follows does not take
    other_errors: list[Change] = field(default_factory=list)  # changes that fail otherwise

    def through(self, changes: Iterable[Change]) -> None:
        """Try changes, as long as there is time."""
        error = _failure(self.call)
        for kind, text, changed in changes:
            if thread_time() > self.until:
                break
            same = sum(other == kind for _, other, _ in self.found)
            is_last = _weight(kind).last and any(not _weight(other).last for _, other, _ in self.found)
            if same >= _weight(kind).most or is_last:
                continue
            try:
                self._keep(kind, text, changed)
            except Exception as other:  # whatever torch says: then it does not pass
                if _weight(kind).joins and (
                    worded(other) != error or _of_one_rank(changed) > _of_one_rank(self.call)
                ):
                    self.other_errors.append((kind, text, changed))

    def _keep(self, kind: str, text: str, changed: Call) -> None:
        """Keep a change that passes. Raises whatever the call raises."""
        result = changed.result()
        shape, told = _shape(changed.unreduced().result()), _shape(result)
        if changed.small:  # kernels ask for more than what is known of shapes
            replace(changed, hollow=False).result()
        operands = [tuple(one.shape) for one in self.call.values if hasattr(one, "shape")]
        largest, size = max(map(math.prod, operands), default=1), math.prod(shape or ())
        fixed = _weight(kind).rank
        rank = 0 if told == () or shape in operands else 1 if size <= largest else 2
        rank = rank if fixed is None else fixed
        resized = self._resized(changed)
        if resized is not None and kind not in ("layer", "joined") and self.is_odd(*resized[1:]):
            return
        kept = self.stuck if self.goes_on(changed, result) is False else self.found
        if kept is self.stuck and kind == "dimension":  # one that happens to fit here alone
            return
        asked = tuple(one for one in self.call.values if type(one) is int)
        if shape == asked and len(asked) > 1:  # the shape that the call itself names
            self._add(0, kind, Repair(text, told, kind, resized), kept)
            return
        is_layer = isinstance(self.call.function, nn.Module) and not self.call.is_loss
        grown = size > _MOST_GROWN * max(1, sum(map(math.prod, operands))) and not is_layer
        if not (grown and not _weight(kind).grows) and not (kind == "wider" and _is_beaten(rank, self.found)):
            self._add(rank, kind, Repair(text, told, kind, resized), kept)

    def _resized(self, changed: Call) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
        """The first operand that a change gives more or fewer elements of its kind."""
        for place, (one, two) in enumerate(zip(self.call.values, changed.values, strict=False)):
            alike = isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor) and one.dtype == two.dtype
            if alike and one.numel() != two.numel() and two.dim():
                return place, tuple(one.shape), tuple(two.shape)
        return None

    @staticmethod
    def _add(rank: int, kind: str, one: Repair, kept: list[_Passed]) -> None:
        """Keep a repair; of those of a kind only one for each shape that comes of it."""
        if kind in ("setting", "switch") or all(
            one.shape != two.shape or other != kind for _, other, two in kept
        ):
            kept.append(_Passed(rank, kind, one))


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
    beaten |= {"size", "shape"} if any(one.kind == "layer" for one in passed) else set()
    likely = [one for one in passed if one.kind not in beaten and (one.kind != "wider" or one.rank <= best)]
    shaped = [one for one in likely if one.kind in ("view", "wider")]
    if any((one.repair.shape or ())[:1] == samples for one in shaped):  # those that keep the samples
        likely = [one for one in likely if one not in shaped or (one.repair.shape or ())[:1] == samples]
    return [one.repair for one in sorted(likely, key=lambda one: one.rank)][:_TOLD]


def _of_one_rank(call: Call) -> bool:
    return len({one.dim() for one in call.values if isinstance(one, torch.Tensor)}) == 1


def _failure(call: Call) -> str:
    try:
        call.result()
    except Exception as error:
        return worded(error)
    return ""


def _second(call: Call, name: Name, firsts: list[Change]) -> Iterator[Change]:
    """Further changes of calls that fail in another way since a first change."""
    for kind, first, begun in firsts:
        changed = {i for i, one in enumerate(begun.values) if one is not call.values[i]}

        def named(place: int, changed: set[int] = changed, first: str = first) -> str:
            return first if place in changed else name(place)

        for other, second, whole in changes_of_tensors(begun, named):
            if _weight(other).joins and second.startswith(first):
                yield kind, second, whole
            elif "cast" in (kind, other) or (kind, other) == ("wider", "size"):
                yield kind, f"{first} and {second}", whole


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
    joins: bool = False  # tried together with another change


_PLAIN = _Kind()
_WEIGHED = {
    **dict.fromkeys(("cast", "view", "wider"), _Kind(joins=True)),
    "order": _Kind(rank=-1, grows=True),
    "setting": _Kind(rank=3, grows=True),
    "switch": _Kind(most=1, rank=3, grows=True),
    "dimension": _Kind(most=1),
    **dict.fromkeys(("size", "shape"), _Kind(most=1, last=True)),
    **dict.fromkeys(("both", "function", "layer"), _Kind(last=True)),
}


def _weight(kind: str) -> _Kind:
    return _WEIGHED.get(kind, _PLAIN)
