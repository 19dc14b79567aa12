"""What is written into a tensor in place is there for every name and view of it; what is trained has no first value."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from stablelint.analysis.interpret.paths.narrowing import opened
from stablelint.analysis.values import lists
from stablelint.analysis.values.selections import FILLED, can_be_empty
from stablelint.analysis.values.state import HELD, Frame
from stablelint.analysis.values.value import Attained, Kind, Value, join
from stablelint.numerics.interval import TOP
from stablelint.records import dataclass, field
from stablelint.syntax.operations import VIEWING, having

# What may yield the very elements of its operand, and not a copy of them.
_SHARING = having("alias", "may-alias")
_CHOOSING = frozenset({"phi", "list_of", "python.or", "python.and"})
_SHOWING = _SHARING | _CHOOSING | {"attribute"}
_CONTAINERS = (Kind.SEQUENCE, Kind.MAPPING)
_HOLDING = (*_CONTAINERS, Kind.INSTANCE)
_LISTS = frozenset({"phi", "list_of"})  # what may be a list of unknown length
_Written = dict[int, tuple[Value, Value]]  # targets and their results, by the identity of these
STORED = (Kind.TENSOR, Kind.ARRAY, Kind.UNKNOWN)  # what may have elements in memory


def written_into(target: Value, result: Value, frame: Frame) -> None:
    """Lets all that shares elements with `target` know that `result` was written into it.

    A name of the same tensor stands for the result; of a view of it, or of what it is a view of, nothing is known.
    """
    all_written([(target, result)], frame)


def all_written(pairs: Sequence[tuple[Value, Value]], frame: Frame) -> None:
    """`written_into` for several targets and their results at once."""
    writes, kept, held = _Writes(), kept_by_objects(frame), dict[tuple[int, ...], set[int]]()
    for target, result in pairs:
        sources = _sources(target)
        own = _lying_in(sources)
        result.origin |= own
        if not own.isdisjoint(frame.graph.arguments):
            _open_other_arguments(own, frame)
        for key in own:
            frame.graph.written.setdefault(key, frame.graph.youngest)
        holders = list(_holders_among(sources, kept, frame))
        among = tuple(holder.key for holder in holders)
        if among not in held:
            held[among] = _held_by(holders, kept)
        this = {id(result): (target, result)}
        for root in own | held[among]:
            writes.at[root] = {**writes.at[root], **this} if root in writes.at else this
        if any(
            _is_opaque(source) and source.op != "attribute" for source in sources
        ):  # whatever is held anywhere
            writes.anywhere |= this
    if writes.anywhere:
        writes.held = _held_by([*frame.state.names.values(), *frame.state.attributes.values()], kept)
    _rewrite(partial(_overwritten, writes=writes, frame=frame), frame)
    around = frame.closure
    while around is not None:  # what a nested function writes is there once it is called
        _lose(writes.at.keys() | writes.held, around)
        around = around.closure


@dataclass(slots=True)
class _Writes:
    """Targets and their results by the key of a tensor that a target may be; those that may be anything that is held."""

    at: dict[int, _Written] = field(default_factory=dict)
    anywhere: _Written = field(default_factory=dict)
    held: set[int] = field(default_factory=set)

    def into(self, value: Value) -> _Written:
        """The writes that may change elements of a value, by their result."""
        if not self.anywhere and value.op not in _SHOWING and not value.origin and value.key not in self.at:
            return {}
        storage = _storage(value)
        held = bool(self.anywhere) and not self.held.isdisjoint(storage)
        if not held and self.at.keys().isdisjoint(storage):
            return {}
        found = dict(self.anywhere) if held else {}
        for key in self.at.keys() & storage:
            found |= self.at[key]
        return found


def _overwritten(value: Value, writes: _Writes, frame: Frame) -> Value | None:
    """What a value has become, into whose elements something may be written; None where nothing is."""
    if value.kind not in STORED:
        return None
    met = writes.into(value)
    if not met or any(value is result or value.key == result.key for _, result in met.values()):
        return None
    target, result = next(iter(met.values()))
    if len(met) == 1 and value.key == target.key:
        computed_apart = value.node is not target.node  # equal values, and perhaps two tensors
        return join(frame.graph, [value, result]) if computed_apart else result
    return _lost(value, frame)


def _lost(value: Value, frame: Frame) -> Value:
    """What has the elements of a value, into which something was written of which nothing is known."""
    result = unread(value, frame)
    result.origin = frozenset(_storage(value))
    return result


def _open_other_arguments(own: set[int], frame: Frame) -> None:
    """Opens what is known of other tensors that are passed: a caller may pass one and the same, or views of it."""
    others = frame.graph.arguments - own
    if others.isdisjoint(frame.state.facts) and others.isdisjoint(frame.graph.written):
        return

    def become(value: Value) -> Value | None:
        told = value.interval is not TOP or value.key in frame.state.facts
        if not told or value.kind not in STORED or not _lies_in(value, others) or _lies_in(value, own):
            return None
        frame.state.facts.pop(value.key, None)
        if value.op == "argument" or value.interval == TOP:
            return None
        return opened(value, frame.graph.fresh(), value.name or "what is passed", frame)

    _rewrite(become, frame)


def is_written(value: Value, moment: int, frame: Frame) -> bool:
    """Whether something was written into the elements of a value before the graph had its key `moment`."""
    written = frame.graph.written
    return any(written.get(one.key, moment) < moment for one in _sources(value))


def hand_back(inner: Frame | None, given: Mapping[str, Value], frame: Frame) -> None:
    """Lets the caller's names know what a body has written into its arguments; all of it where it was not run."""
    if inner is None:
        for value in given.values():
            for tensor in tensors_in(value):
                written_into(tensor, unread(tensor, frame), frame)
        return
    ends = [*inner.exits, *([] if inner.state.dead else [inner.state])]
    for name in inner.wrote & given.keys():
        left = [state.names[HELD + name] for state in ends]
        if left and given[name].kind in STORED:
            written_into(given[name], join(frame.graph, left), frame)
        if given[name].kind in STORED:
            continue
        kept = [{part.key for part in _parts_of(one)} for one in left]
        for part in _parts_of(given[name]):
            if not all(part.key in keys for keys in kept):
                for tensor in tensors_in(part):
                    written_into(tensor, unread(tensor, frame), frame)


def unread(value: Value, frame: Frame) -> Value:
    """A tensor after something was written into it of which nothing is known, but how many elements there are."""
    emptiable = {FILLED: value} if can_be_empty(value, frame.state) else {}
    made = Value("written", frame.graph.fresh(), value.kind, emptiable, dtype=value.dtype, node=value.node)
    made.module = value.module
    return made


def _parts_of(container: Value) -> Iterator[Value]:
    """What lists and mappings hold, at whatever depth, where it may be a tensor: on whichever path, as it is."""
    for part in (*lists.held_by(container).values(), *lists.elements_of(container)):
        yield from [part] if part.kind in STORED else _parts_of(part)


def tensors_in(value: Value) -> Iterator[Value]:
    """What may be a tensor: a value, or what lists and mappings hold, at whatever depth."""
    if value.kind in STORED and value.op != "list_of":
        yield value
    for part in (
        *lists.held_by(value).values(),
        *(lists.elements_of(value) if value.op == "list_of" else ()),
    ):
        for leaf in lists.leaves(part):
            yield from tensors_in(leaf)


def forgotten(container: Value, node: ast.AST, frame: Frame, value: Value | None = None) -> Value:
    """A list or mapping with elements that are not known, one of them perhaps `value`."""
    if container.kind is Kind.MAPPING:
        held = {"held": container, **({"value": value} if value is not None else {})}
        return Value("mapping", frame.graph.fresh(), Kind.MAPPING, held, node=node, name=container.name)
    return lists.list_of([], None, node, frame, container)


def replaced(container: Value, result: Value, frame: Frame) -> None:
    """Lets all that stands for a list or mapping, or holds it, stand for what it has become."""
    _rewrite(lambda value: result if value.key == container.key else None, frame)


def trained(values: Iterable[Value], frame: Frame) -> None:
    """Takes their first value from all that stands for one of `values`: an optimizer changes it."""
    for value in list(values):
        trained(lists.held_by(value).values(), frame)
        if value.kind is Kind.TENSOR and value.op != "parameter":
            _replace(_storage(value), trainable(value, frame), frame)


def trainable(value: Value, frame: Frame) -> Value:
    """A tensor that asks for a gradient: any finite value once it has been trained."""
    return Value(
        "parameter", frame.graph.fresh(), Kind.TENSOR, {"data": value}, zero=Attained.COINCIDENCE,
        ends=Attained.COINCIDENCE, dtype=value.dtype, node=value.node, module=frame.module, name=value.name,
    )  # fmt: skip


def _lose(roots: Set[int], frame: Frame) -> None:
    """Forgets what is known of all that shares elements with one of `roots`; two of them need not be the same."""

    def become(value: Value) -> Value | None:
        if value.kind not in STORED or not _lies_in(value, roots):
            return None
        return _lost(value, frame)

    _rewrite(become, frame)


def _replace(roots: Set[int], result: Value, frame: Frame) -> None:
    """Puts `result` for all that shares elements with one of `roots`."""

    def become(value: Value) -> Value | None:
        shares = value.kind in STORED and value is not result and value.key != result.key
        return result if shares and _lies_in(value, roots) else None

    _rewrite(become, frame)


def _rewrite(become: Callable[[Value], Value | None], frame: Frame) -> None:
    """Puts what values have become, each where it is not None, for all names and attributes, and within containers."""
    tables: tuple[dict[Any, Value], ...] = (frame.state.names, frame.state.attributes)
    for places in tables:
        for place, value in places.items():
            left = become(value)
            if left is None and value.kind in _CONTAINERS:
                left = _rewritten(value, become, frame)
            if left is not None and left is not value:
                if isinstance(place, str) and place.startswith(HELD):
                    frame.wrote.add(place.removeprefix(HELD))
                places[place] = left


def _rewritten(value: Value, become: Callable[[Value], Value | None], frame: Frame) -> Value:
    """What a value is once it, or what it holds, has become something else."""
    result = become(value)
    if result is not None or value.kind not in _CONTAINERS:
        return result or value
    held = lists.held_by(value)
    parts = {place: _rewritten(part, become, frame) for place, part in held.items()}
    if all(parts[place] is part for place, part in held.items()):
        return value
    return lists.holding(value, parts, frame.graph.fresh())


def _holders_among(
    sources: Iterable[Value], kept: Mapping[int, list[Value]], frame: Frame
) -> Iterator[Value]:
    """The objects of which no more is known than what they hold, one of which a value with these sources may be."""
    for source in sources:
        if _is_opaque(source):
            yield source
        elif source.op == "item" and isinstance(source.data, Value):
            if parts := [*_without_kept(source.data)]:
                yield frame.graph.sequence(parts)
        elif source.op == "index" and (of := source.first) and (of.key in kept or of.op == "overwritten"):
            yield of
        elif source.op == "attribute" and source.first is not None and source.first.kind is Kind.INSTANCE:
            own = source.first.data[1].settled().get(source.name)
            yield frame.graph.sequence([own]) if own is not None else source.first


def _held_by(holders: Iterable[Value], kept: Mapping[int, list[Value]]) -> set[int]:
    """Keys of the tensors that objects hold, at whatever depth."""
    pending, keys = list(holders), set[int]()
    seen: set[int] = set()
    told: set[int] = set()  # identities: equal values can have their elements in two places
    while pending:
        holder = pending.pop()
        if holder.key in seen:
            continue
        seen.add(holder.key)
        for one in held_in(holder, kept):
            if id(one) in told:
                continue
            told.add(id(one))
            if one.operands or one.kind in _HOLDING or one.op == "item" or one.key in kept:
                pending.append(one)
            for part in lists.leaves(one) if one.op == "phi" else (one,):
                if part.kind in STORED:
                    keys |= _storage(part)
    return keys


def _is_opaque(value: Value) -> bool:
    """Whether a value may be anything that its operands, or what they are made of, hold."""
    if value.op == "attribute":
        of = value.first
        return of is not None and of.kind is not Kind.INSTANCE and of.interval == TOP
    return value.op in ("unknown", "starred") or "." in value.op


def kept_by_objects(frame: Frame) -> Mapping[int, list[Value]]:
    """What has been assigned to attributes, by the key of the object that has them."""
    kept = defaultdict[int, list[Value]](list)
    for (key, _), value in frame.state.attributes.items():
        kept[key].append(value)
    return kept


def held_in(value: Value, kept: Mapping[int, list[Value]]) -> list[Value]:
    """What a container, an object, or a call that nobody has followed has been given to hold, or keeps in attributes."""
    held = kept.get(value.key, [])
    if value.kind is Kind.INSTANCE:
        # What nobody has asked for yet is made anew when it is, endlessly where objects refer to each other.
        known = value.data[1].values() if value.data[1].fill is None else ()
        return [*held, *known, *value.operands.values()]
    if value.op in ("item", "overwritten"):
        return [*held, *_without_kept(value)]
    if value.kind is Kind.MAPPING:
        return [*held, *lists.held_by(value).values(), *value.operands.values()]
    if value.kind is Kind.SEQUENCE or (value.op in _LISTS and lists.is_list(value)):
        held = [*held, *lists.elements_of(value)]
    return [*held, *value.operands.values()] if _is_opaque(value) else held


def _without_kept(thing: Value) -> Iterable[Value]:
    """What else something may hold of which no more is known than where it comes from."""
    if thing.op == "item" and isinstance(thing.data, Value):
        return (thing.data,) if thing.data.op != "attribute" else ()
    perhaps_filled = thing.op == "overwritten" and thing.kind is Kind.UNKNOWN
    return (
        thing.operands.values() if perhaps_filled or (_is_opaque(thing) and thing.op != "attribute") else ()
    )


def _sources(value: Value) -> list[Value]:
    """The value, and what it shows the elements of: itself in another shape, or one of several."""
    shown = _shown(value)
    if not shown:
        return [value]
    found, seen = [value], {value.key}
    for one in found:  # grows while it is walked
        for other in _shown(one):
            if other.key not in seen:
                seen.add(other.key)
                found.append(other)
    return found


def _shown(value: Value) -> Collection[Value]:
    """The operands of which a value may show the very elements."""
    if value.op in _CHOOSING:
        return value.operands.values()
    shares = value.op in _SHARING or (value.op == "attribute" and value.name in VIEWING)
    first = value.first if shares else None
    return () if first is None else (first,)


def shares_memory(value: Value, others: Iterable[Value]) -> bool:
    """Whether elements of a value may lie where those of others do."""
    own = _storage(value)
    return any(not own.isdisjoint(_storage(other)) for other in others)


def _storage(value: Value) -> set[int]:
    """Keys of the tensors in which the elements of a value may lie."""
    if not _shown(value):
        return {value.key, *value.origin}
    return _lying_in(_sources(value))


def _lying_in(sources: Iterable[Value]) -> set[int]:
    """Keys of the tensors in which the elements of any of several values may lie."""
    return {key for one in sources for key in (one.key, *one.origin)}


def _lies_in(value: Value, places: Set[int]) -> bool:
    """Whether elements of a value may lie in one of some tensors, given by their keys."""
    if value.op not in _SHOWING and not value.origin:
        return value.key in places
    return not places.isdisjoint(_storage(value))
