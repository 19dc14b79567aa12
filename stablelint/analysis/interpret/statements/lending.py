"""What others that get at an object, a list or a tensor may do to it, whose code is not seen."""

from __future__ import annotations

from collections.abc import Iterable

from stablelint.analysis.interpret.paths.narrowing import opened
from stablelint.analysis.interpret.statements.writing import (
    STORED,
    all_written,
    held_in,
    kept_by_objects,
    unread,
)
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.numerics.interval import TOP

_CHANGING = (*STORED, Kind.NUMBER)


def let_write(name: str, arguments: Iterable[Value], frame: Frame, in_place: bool = False) -> None:
    """Lets a body that is not seen write into objects and tensors; for sure into these where it works `in_place`."""
    written: list[tuple[Value, Value]] = []
    for given in _within(arguments, frame):
        known, said = given.kind in STORED and given.interval != TOP, handed(given, name)
        if in_place and given.kind in STORED:
            written.append((given, unread(given, frame)))
        elif known:
            written.append((given, opened(given, frame.graph.fresh(), said, frame)))
        if (
            given.kind not in (Kind.TENSOR, Kind.ARRAY)
            and not known
            and given.key not in frame.session.building
        ):
            disowned(given, said, frame)
    if written:
        all_written(written, frame)


def handed(given: Value, name: str) -> str:
    """What has become of a value, in words."""
    return f"{given.name or 'it'}, handed to {name.rpartition('.')[2]},"


def _within(values: Iterable[Value], frame: Frame) -> Iterable[Value]:
    """The values, and what those hold that are containers, objects, or made by a call that is not followed."""
    found = {id(value): value for value in values}
    pending, kept = list(found.values()), kept_by_objects(frame)
    for value in pending:  # grows while it is walked
        new = {id(one): one for one in held_in(value, kept) if id(one) not in found}
        found |= new
        pending += new.values()
    return pending


def disowned(thing: Value, said: str, frame: Frame) -> None:
    """Forgets what was tested of an object's attributes, items and length, where its own or unseen code may change them."""
    told = frame.state.facts or frame.state.supposed
    for key in frame.graph.parts.get(thing.key, ()) if told else ():
        frame.state.forget(key)
    if thing.kind not in (Kind.TENSOR, Kind.ARRAY):
        frame.state.nonempty -= {thing.key}
    exposed(thing.key, said, frame)


def shortened(container: Value, frame: Frame) -> None:
    """Forgets what was tested of a container that is not known, and the lengths of all others: each may be the same."""
    disowned(container, "", frame)
    frame.state.nonempty = frozenset()
    for key in frame.graph.lengths:
        frame.state.forget(key)


def tested(frame: Frame) -> set[int]:
    """The keys of values of which a test has told something, or of their length, attributes or items."""
    state, wholes = frame.state, frame.graph.wholes
    found = {*state.facts, *state.supposed, *state.nonempty}
    pending = [whole for key in found if (whole := wholes.get(key)) is not None]
    for whole in pending:  # grows while it is walked
        if whole not in found:
            found.add(whole)
            pending += [wholes[whole]] if whole in wholes else []
    return found


def exposed(thing: int, said: str, frame: Frame) -> None:
    """Opens what was assigned to the attributes of an object, given by its key, to others that get at it.

    It stays if nobody changed it; nothing is said where somebody is known to, and a 0 is a start that others go on from.
    What else is passed may be the same object.
    """
    held, passed = frame.state.attributes, frame.graph.arguments
    reached = {thing} | passed if thing in passed else {thing}
    for place, value in [p for p in held.items() if p[0][0] in reached]:
        if value.kind not in _CHANGING:
            continue
        if place[0] != thing:
            other = f"{place[1]} of another object that is passed"
            held[place] = opened(value, frame.graph.fresh(), other, frame)
            continue
        among = (
            value.operands.values() if value.op == "unknown" else [value] if value.interval is not TOP else ()
        )
        lost = frame.graph.unknown(place[1], value.node, among=list(among))
        stays = said and value.zero is not Attained.EXACT
        held[place] = opened(value, lost.key, f"{said} .{place[1]}", frame) if stays else lost
