"""Abstract values: what an expression is, where its elements lie, and how that is known.

A value is a node of the data-flow graph. Its operands are values, so a pattern matches through local names, and a
finding can retell how an operand came about by walking the graph.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum, IntEnum
from functools import reduce
from typing import Any

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.paths import Assumption, Paths
from stablelint.numerics.interval import AT_LEAST_ONE, TOP, Interval
from stablelint.records import dataclass, field, replace


class Kind(Enum):
    """What sort of thing a value is."""

    TENSOR = "tensor"
    NUMBER = "number"  # a Python float, int or bool
    STRING = "string"
    NONE = "none"
    SEQUENCE = "sequence"
    MAPPING = "mapping"
    LAYER = "layer"  # an instance of an `nn` class
    INSTANCE = "instance"  # an instance of a class whose source was read
    FUNCTION = "function"
    CLASS = "class"
    NAMESPACE = "namespace"  # an imported module, or a name within one
    SUPER = "super"  # an instance, seen as one of the classes above
    ARRAY = "array"  # of NumPy: computes as a tensor does, and has no gradient
    FOREIGN = "foreign"  # known to be neither: pathlib, a logger
    UNKNOWN = "unknown"

    __hash__ = object.__hash__  # members are looked up in sets all the time


class Attained(IntEnum):
    """How well founded it is that a value attains a critical point of its interval."""

    NONE = 0  # nothing speaks for it
    COINCIDENCE = 1  # only where operands of unknown value happen to vanish or to agree
    SATURATION = 2  # rounding, underflow or saturation reaches it
    EXACT = 3  # ordinary data reaches it: an empty mask, a dead relu, a constant row


# What may be, or hold, a number.
NUMERIC = frozenset({Kind.TENSOR, Kind.NUMBER, Kind.UNKNOWN})
_OF_ARRAYS = frozenset({Kind.ARRAY, Kind.NUMBER, Kind.UNKNOWN})
_WIDEST = (Kind.TENSOR, Kind.ARRAY)  # what is one of these on some path is taken to be on all
_ALIKE = frozenset({Kind.STRING, Kind.FOREIGN, Kind.MAPPING})  # of which one can stand for another
NONEMPTY = "nonempty"  # the guard of a selection that a test has shown to hold an element


@dataclass(frozen=True, slots=True)
class Belief:
    """Where a value lies, and how well founded that is, as long as the settings in `on` stay as they are."""

    interval: Interval
    zero: Attained
    ends: Attained
    on: tuple[Assumption, ...]
    peak: Hashable = None  # as in a value


@dataclass(slots=True, eq=False)
class Value:
    """One node of the data-flow graph.

    `zero` says how well founded it is that an element is exactly 0, `ends` that elements come to the ends of
    `interval`. Two values with the same `key` are equal wherever both are defined. `interval` holds whatever callers
    do; where their leaving a setting alone tells more, `belief` says what.
    """

    op: str
    key: int
    kind: Kind = Kind.UNKNOWN
    operands: Mapping[str, Value] = field(default_factory=dict)
    interval: Interval = TOP
    zero: Attained = Attained.NONE
    ends: Attained = Attained.NONE
    dtype: str | None = None
    node: ast.AST | None = None
    module: ModuleInfo | None = None
    # Constant, elements, class, function, layer: by kind; what has an entry, the place of a part.
    data: Any = None
    name: str = ""
    # The rows (see `relations.rows_of`) in each of which some element attains the upper end.
    peak: Hashable = None
    assumed: bool = False  # a constant that a caller may override
    guard: str | None = None  # the operation that bounded the value: "clamp", "eps", "branch" ...
    link: Value | None = None  # the last layer of the chain whose call gave the value
    belief: Belief | None = None
    # Keys of what it shares its memory with, other than by its operands: itself before a test or a write.
    origin: frozenset[int] = frozenset()

    @property
    def is_constant(self) -> bool:
        """Whether the value is a literal or folded from literals."""
        return self.op == "const"

    @property
    def first(self) -> Value | None:
        """The first operand."""
        for operand in self.operands.values():
            return operand
        return None

    def constant(self) -> Any:
        """The literal, or None; None also of a number that a caller may override."""
        return self.data if self.op == "const" and not self.assumed else None

    def default(self) -> Any:
        """The literal, or what a caller who may override it leaves; None of all else."""
        return self.data if self.op == "const" else None


def unpacked(values: list[Value]) -> list[Value]:
    """Several operands, which may stand in one list or tuple: `view(2, 3)`, `view((2, 3))`."""
    return list(values[0].data) if len(values) == 1 and values[0].kind is Kind.SEQUENCE else values


def sized(value: Value, text: str) -> Value:
    """The value, believed to be a positive whole number where nothing speaks against it."""
    if value.belief is None and value.kind in (Kind.UNKNOWN, Kind.NUMBER) and not value.is_constant:
        if (
            value.zero <= Attained.COINCIDENCE
            and value.interval.hi == math.inf
            and value.interval.contains(0.0)
        ):
            setting = Assumption(f"{text} is positive")
            value.belief = Belief(AT_LEAST_ONE, Attained.NONE, Attained.COINCIDENCE, (setting,))
    return value


def believed(value: Value) -> Value:
    """The value as it is where nobody changes a setting."""
    belief = value.belief
    if belief is None:
        return value
    return Value(
        value.op, value.key, value.kind, value.operands, belief.interval, belief.zero, belief.ends, value.dtype,
        value.node, value.module, value.data, value.name, belief.peak or value.peak, False, value.guard, value.link,
    )  # fmt: skip


def unassumed(value: Value) -> Value:
    """The value without the number or text that a caller may override."""
    return replace(value, op="argument", data=None, assumed=False) if value.assumed else value


def belief_in(
    interval: Interval, zero: Attained, ends: Attained, value: Value, sources: Iterable[Value]
) -> Belief | None:
    """What is believed of `value`, made of `sources`; None where that is no more than what is known."""
    if interval == value.interval and zero == value.zero:
        return None
    on = dict.fromkeys(a for v in sources if v.belief is not None for a in v.belief.on)
    return (
        Belief(interval, zero if interval.contains(0.0) else Attained.NONE, ends, tuple(on)) if on else None
    )


def of_any(value: Value, sources: Iterable[Value]) -> Value:
    """A value that is one of `sources`, whichever, with what is believed of those."""
    held = list(sources)
    if any(v.belief is not None for v in held):
        taken = [believed(v) for v in held]
        interval = reduce(Interval.join, (v.interval for v in taken))
        value.belief = belief_in(
            interval, max(v.zero for v in taken), min(v.ends for v in taken), value, held
        )
    return value


def restricted(value: Value, key: int, interval: Interval, guard: str) -> Value:
    """The value where a test has shown it to lie in `interval`."""
    zero = value.zero if interval.contains(0.0) else Attained.NONE
    belief = value.belief
    if belief is not None:
        met = belief.interval.meet(interval) or _another(belief.interval, interval)
        belief = replace(belief, interval=met) if met is not None and met != interval else None
    return replace(
        value, key=key, interval=interval, zero=zero, guard=guard, belief=belief, origin=value.origin | {value.key}
    )  # fmt: skip


def _another(default: Interval, interval: Interval) -> Interval | None:
    """Where a count lies that is a positive number by default, and is something else here."""
    counts = default.is_point and default.integral and default.lo >= 1
    return AT_LEAST_ONE.meet(interval) if counts else None


class Attributes(dict[str, Value]):
    """What an instance's attributes hold; `fill` computes it when it is first asked for."""

    fill: Callable[[], None] | None = None

    def settled(self) -> Attributes:
        """The attributes as `__init__` leaves them."""
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill()
        return self


class Graph:
    """Makes values; equal operations on equal operands get equal keys."""

    def __init__(self) -> None:
        self._keys: dict[Any, int] = {}
        self._next = 0
        self.parts: dict[int, set[int]] = {}  # keys of attributes and items, by the key of what has them
        self.wholes: dict[int, int] = {}  # and the keys of what has them, by theirs
        self.arguments: set[int] = set()  # keys of what is passed to a function, whose callers are not seen
        self.lengths: set[int] = set()  # keys of what `len` gives
        self.optional: set[int] = set()  # keys of what is None on some path
        self.written: dict[int, int] = {}  # of what was written into, and the youngest key at that time
        self._constants: dict[
            tuple[type, Any], tuple[int, Kind, Mapping[str, Value], Interval, Attained, Attained]
        ] = {}

    @property
    def youngest(self) -> int:
        """The last key that was given away."""
        return self._next

    def fresh(self) -> int:
        """A key that no other value has."""
        self._next += 1
        return self._next

    def key(self, *identity: Any) -> int:
        """The key of an operation with that identity."""
        found = self._keys.get(identity)
        if found is None:
            self._next += 1
            found = self._keys[identity] = self._next
        return found

    def part(self, sort: str, whole: int, place: Hashable) -> int:
        """The key of an attribute, or an item, of what has the key `whole`."""
        key = self.key(sort, whole, place)
        self.parts.setdefault(whole, set()).add(key)
        self.wholes[key] = whole
        return key

    def constant(self, data: Any, node: ast.AST | None = None) -> Value:
        """A literal."""
        known = self._constants.get((type(data), data))
        if known is None:
            known = self._constants[type(data), data] = self._constant(data)
        key, kind, operands, interval, zero, ends = known
        dtype = "complex64" if type(data) is complex else None
        return Value("const", key, kind, operands, interval, zero, ends, dtype, node, None, data)

    def _constant(self, data: Any) -> tuple[int, Kind, Mapping[str, Value], Interval, Attained, Attained]:
        """Key, kind, operands, interval and attainability of a literal."""
        key = self.key("const", type(data).__name__, data if data == data else "nan")
        if isinstance(data, bool | int | float):
            interval = Interval.point(data)
            zero = Attained.EXACT if data == 0 else Attained.NONE
            return key, Kind.NUMBER, {}, interval, zero, Attained.EXACT
        if isinstance(data, complex):
            return key, Kind.NUMBER, {}, TOP, Attained.NONE, Attained.NONE
        kind = Kind.NONE if data is None else Kind.STRING if isinstance(data, str | bytes) else Kind.FOREIGN
        return key, kind, {}, TOP, Attained.NONE, Attained.NONE

    def unknown(
        self,
        name: str = "",
        node: ast.AST | None = None,
        kind: Kind = Kind.UNKNOWN,
        among: Sequence[Value] = (),
    ) -> Value:
        """A value of which nothing is known, but perhaps `among` which containers it may be found."""
        within = {
            f"within{i}": v
            for i, v in enumerate(among)
            if v.kind in (Kind.SEQUENCE, Kind.MAPPING, Kind.INSTANCE) or v.operands
        }
        return Value("unknown", self.fresh(), kind, within, node=node, name=name)

    def foreign(self, node: ast.AST | None = None) -> Value:
        """A value that is known not to be a tensor."""
        return Value("foreign", self.fresh(), Kind.FOREIGN, node=node)

    def sequence(self, elements: list[Value], node: ast.AST | None = None) -> Value:
        """A tuple or list of known length."""
        key = self.key("sequence", *(e.key for e in elements))
        return Value("sequence", key, Kind.SEQUENCE, node=node, data=elements)


def _zero_on(path: Value, all_paths: list[Value], paths: Paths | None) -> Attained:
    """How well founded a 0 is that one path brings: one that the defaults do not lead to is seldom taken."""
    usual = paths.usual if paths is not None else None
    if usual is None or len(all_paths) != 2 or path is all_paths[usual]:
        return path.zero
    return min(path.zero, Attained.COINCIDENCE)


def join(graph: Graph, values: list[Value], paths: Paths | None = None) -> Value:
    """The value that is one of `values`, depending on the path taken; `paths` tell which path leads to which."""
    distinct = list({v.key: v for v in values}.values())
    if len(distinct) == 1:
        return distinct[0]
    kinds = {v.kind for v in distinct}
    if kinds <= NUMERIC or kinds <= _OF_ARRAYS:
        return _one_of_numbers(graph, distinct, kinds, paths)
    if kinds == {Kind.SEQUENCE} and len({len(v.data) for v in distinct}) == 1:
        columns = zip(*(v.data for v in distinct), strict=True)
        return graph.sequence([join(graph, list(column), paths) for column in columns], distinct[0].node)
    known = [v for v in distinct if v.kind is not Kind.NONE]
    if 0 < len(known) < len(distinct):
        return _optional(graph, join(graph, known))
    kind = kinds.pop() if len(kinds) == 1 and kinds <= _ALIKE else Kind.UNKNOWN
    last = distinct[-1]
    key = _key_of_paths(graph, distinct, paths)
    return Value("phi", key, kind, _operands(distinct), node=last.node, module=last.module, data=paths)


def _optional(graph: Graph, held: Value) -> Value:
    """A value, or None: what is done with it is done where it is not None."""
    if held.is_constant:  # which no test of it may take for sure
        held = replace(
            held, op="phi", key=graph.key("optional", held.key), operands={"path0": held}, data=None
        )
    graph.optional.add(held.key)
    return held


def _one_of_numbers(graph: Graph, distinct: list[Value], kinds: set[Kind], paths: Paths | None) -> Value:
    interval = distinct[0].interval
    for other in distinct[1:]:
        interval = interval.join(other.interval)
    # A literal 0 among the paths is a placeholder for "nothing yet"; what is computed decides.
    computed = [v for v in distinct if v.op not in ("const", "zeros", "zeros_like")] or distinct
    dtypes = {v.dtype for v in distinct}
    last = distinct[-1]
    value = Value(
        "phi",
        _key_of_paths(graph, distinct, paths),
        kinds.pop() if len(kinds) == 1 else next((k for k in _WIDEST if k in kinds), Kind.UNKNOWN),
        _operands(distinct),
        interval,
        zero=max(_zero_on(path, distinct, paths) for path in computed),
        ends=min(v.ends for v in distinct),
        dtype=dtypes.pop() if len(dtypes) == 1 else None,
        node=last.node,
        module=last.module,
        data=paths,
        guard=next((v.guard for v in distinct if v.guard), None),
        peak=last.peak if len({v.peak for v in distinct}) == 1 else None,
    )
    usual = paths.default if paths is not None else None
    if usual is not None or any(v.belief is not None for v in distinct):
        value.belief = _belief_on_paths(value, distinct, paths, usual)
    return value


def _belief_on_paths(
    value: Value, distinct: list[Value], paths: Paths | None, usual: int | None
) -> Belief | None:
    """What is believed of a value that differs between paths, of which defaults may lead along one."""
    known = usual is not None and len(distinct) == 2 and not _goes_bad(distinct[1 - usual])
    taken = [believed(v) for v in ([distinct[usual]] if known and usual is not None else distinct)]
    interval = taken[0].interval
    for other in taken[1:]:
        interval = interval.join(other.interval)
    zero, ends = max(v.zero for v in taken), min(v.ends for v in taken)
    found = belief_in(interval, zero, ends, value, distinct)
    if not known or paths is None or (interval == value.interval and zero == value.zero):
        return found
    on = dict.fromkeys((*paths.on, *(found.on if found is not None else ())))
    return Belief(interval, zero if interval.contains(0.0) else Attained.NONE, ends, tuple(on))


def _goes_bad(path: Value) -> bool:
    """Whether known operations lead another path to a critical point, so that no default makes up for it."""
    return max(path.zero, path.ends) >= Attained.SATURATION and not path.is_constant


def _key_of_paths(graph: Graph, distinct: list[Value], paths: Paths | None) -> int:
    if paths is None or not any(paths.tests):
        return graph.key("phi", *sorted(v.key for v in distinct))
    taken = tuple(tuple(tests.items()) for tests in paths.tests)
    return graph.key("phi", taken, *(v.key for v in distinct))


def _operands(distinct: list[Value]) -> dict[str, Value]:
    return {f"path{i}": v for i, v in enumerate(distinct)}
