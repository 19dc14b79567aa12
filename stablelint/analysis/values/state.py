"""What holds at a point of a program: names, facts that branches established, and the context managers entered."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol

from stablelint.analysis.files.modules import ClassInfo, Effects, FunctionInfo, ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.analysis.values.masks import TOTALS, total_of_some
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.transfer import format_of, held_in, result_interval
from stablelint.analysis.values.value import Attained, Attributes, Belief, Graph, Value, believed, sized
from stablelint.diagnostic import Passed, Place
from stablelint.numerics.arithmetic import neg
from stablelint.numerics.interval import Interval
from stablelint.records import dataclass, field, replace
from stablelint.syntax.operations import VIEWS, having

_FOLLOWING = VIEWS | frozenset("add sub mul neg item".split())  # operations that a test of an operand narrows
IN_PLACE = _FOLLOWING - having("layout")  # those among them that leave each element where it stands
_CASTS = having("cast")
_FOLLOWED = 3  # of them in a row
HELD = "&"  # before a parameter's name: the tensor that was passed, whatever the name stands for by now
UNFOLLOWED = 1 << 10  # added to the depth of a frame while none of its calls is followed
Observer = Callable[[Value, "Frame"], None]


def identity(value: Value) -> Hashable:
    """What a value is known by in a comparison: its number, or its key.

    Two views are two values: `a > b` for each element says nothing of `a[:, None] - b`.
    """
    constant = value.constant()
    if isinstance(constant, int | float):
        return "number", float(constant)
    return value.key


_POSITIVE = Interval(0.0, math.inf, lo_open=True)


@dataclass(slots=True)
class State:
    """Names, refinements and modes along one path."""

    names: dict[str, Value] = field(default_factory=dict)
    attributes: dict[tuple[int, str], Value] = field(default_factory=dict)
    facts: dict[int, Interval] = field(default_factory=dict)  # by value key
    # Where values lie, by key, as long as the settings stay that they were compared with.
    supposed: dict[int, Belief] = field(default_factory=dict)
    # Of differences that were tested.
    gaps: dict[tuple[Hashable, Hashable], Interval] = field(default_factory=dict)
    nonempty: frozenset[int] = frozenset()  # keys of tensors with an element
    selecting: frozenset[int] = frozenset()  # keys of masks with a true element
    plural: frozenset[int] = frozenset()  # keys of tensors with more than one element
    # How tests came out on this path.
    tests: dict[int, bool | frozenset[object]] = field(default_factory=dict)
    gradient: bool = True
    autocast: str | None = None
    dead: bool = False
    following: frozenset[str] = _FOLLOWING  # the operations through which a test tells of others than it asks

    def copy(self) -> State:
        """An independent copy, for another path."""
        return State(
            dict(self.names),
            dict(self.attributes),
            dict(self.facts),
            dict(self.supposed),
            dict(self.gaps),
            self.nonempty,
            self.selecting,
            self.plural,
            dict(self.tests),
            self.gradient,
            self.autocast,
            self.dead,
        )

    def without_names(self) -> State:
        """What a function that is called here sees of it."""
        return State(
            {},
            dict(self.attributes),
            dict(self.facts),
            dict(self.supposed),
            dict(self.gaps),
            self.nonempty,
            self.selecting,
            gradient=self.gradient,
        )

    def take(self, around: State) -> None:
        """Takes over what a body knows that runs where `around` holds."""
        self.facts, self.attributes = dict(around.facts), dict(around.attributes)
        self.nonempty, self.selecting = around.nonempty, around.selecting

    def shared(self) -> tuple[Hashable, ...]:
        """What `take` takes over, in a form that can be compared."""
        attributes = frozenset((place, value.key) for place, value in self.attributes.items())
        return frozenset(self.facts.items()), attributes, self.nonempty, self.selecting

    @property
    def narrows(self) -> bool:
        """Whether a test on the path has told where some value lies."""
        return bool(self.facts or self.gaps or self.selecting)

    def effective(self, value: Value, depth: int = _FOLLOWED) -> Interval:
        """The value's interval, narrowed by what the path has tested of it, or of what it was made from before."""
        if not self.facts and not self.gaps and not self.selecting:
            return value.interval
        fact = self.facts.get(value.key)
        if fact is None and self.selecting and value.op in TOTALS:
            fact = total_of_some(value.op, value.operands, value.interval, self.selecting)
        if fact is None and value.op in ("add", "sub") and self.gaps:
            fact = self.gap(value.operands) if value.op == "sub" else self._total(value)
        if fact is None and depth and value.op in self.following:
            fact = self._derived(value, depth - 1)
        if fact is None:
            return value.interval
        return value.interval.meet(fact) or fact  # a test is made for what may be

    def believed(self, value: Value) -> Interval:
        """Where the value lies on this path if nobody changes a setting."""
        return self.effective(believed(value))

    def knows(self, key: int) -> bool:
        """Whether the path has shown where the value with that key lies."""
        return key in self.facts or key in self.supposed

    def forget(self, key: int) -> None:
        """Forgets what the path has shown of the value with that key."""
        self.facts.pop(key, None)
        self.supposed.pop(key, None)

    def supposing(self, value: Value) -> Value:
        """The value with what a comparison with a setting has shown of it on this path, or against what it is set to."""
        told = self.supposed.get(value.key)
        if told is None:
            return _handed_over(value) if self._refutes(value) else value
        before = value.belief
        met = before.interval.meet(told.interval) if before is not None else None
        if before is not None and met is not None:
            on = tuple(dict.fromkeys((*before.on, *told.on)))
            zero = before.zero if met.contains(0.0) else Attained.NONE
            return replace(value, belief=replace(before, interval=met, zero=zero, on=on))
        interval = value.interval.meet(told.interval)  # a default, if there is one, does not lead here
        return value if interval is None else replace(value, belief=replace(told, interval=interval))

    def _refutes(self, value: Value) -> bool:
        """Whether a value has been told from the number that it is set to: not 1 here, where the default is 1."""
        if value.belief is None or not value.belief.interval.is_point:
            return False
        gap = self.gaps.get((value.key, ("number", value.belief.interval.lo)))
        return gap is not None and not gap.contains(0.0)

    def suppose(self, value: Value, interval: Interval, on: tuple[Assumption, ...]) -> None:
        """Records that `value` lies in `interval` from here on, as long as what is assumed holds."""
        known = self.supposed.get(value.key)
        met = interval.meet(known.interval if known is not None else self.effective(value))
        if met is not None and met != value.interval:
            zero = value.zero if met.contains(0.0) else Attained.NONE
            before = known.on if known is not None else ()
            self.supposed[value.key] = Belief(met, zero, Attained.COINCIDENCE, (*before, *on))

    def _derived(self, value: Value, depth: int) -> Interval | None:
        """Where a value lies by what was tested of its operands, after it was computed."""
        ranges: dict[str, Interval] = {}
        narrowed = False
        for name, operand in value.operands.items():
            ranges[name] = self.effective(operand, depth)
            narrowed = narrowed or ranges[name] is not operand.interval
        if not narrowed:
            return None
        told = result_interval(value.op, value.operands, ranges, format_of(value))
        return held_in(value.dtype, told) if value.op in _CASTS else told

    def learn(self, value: Value, interval: Interval) -> None:
        """Records that `value` lies in `interval` from here on."""
        self.learn_of(value.key, interval)
        if value.op == "sub" and value.operands.keys() == {"input", "other"}:
            left, right = map(identity, value.operands.values())
            self.relate(left, right, interval)
            self.relate(right, left, neg(interval))

    def learn_of(self, key: int, interval: Interval) -> None:
        """Records that the value with that key lies in `interval` from here on."""
        known = self.facts.get(key)
        met = known.meet(interval) if known is not None else interval
        self.facts[key] = met or interval

    def gap(self, operands: Mapping[str, Value]) -> Interval | None:
        """Where the path has shown the difference of two operands to lie, by comparing them."""
        if operands.keys() != {"input", "other"}:
            return None
        left, right = operands.values()
        return self.gaps.get((identity(left), identity(right)))

    def tell_from_zero(self, one: Value, other: Value) -> None:
        """Records that one of two values is not 0 from here on: if neither is negative their sum is positive."""
        for left, right in ((one, other), (other, one)):
            self.gaps[("sum", identity(left)), identity(right)] = _POSITIVE

    def _total(self, value: Value) -> Interval | None:
        """That a sum is positive, where neither of its two operands is negative, and not both are 0."""
        parts = [*value.operands.values()]
        if len(parts) != 2 or any(part.interval.lo < 0 for part in parts):
            return None
        left, right = map(identity, parts)
        return self.gaps.get((("sum", left), right))

    def relate(self, left: Hashable, right: Hashable, gap: Interval) -> None:
        """Records where the difference of two values, each known by an identity, lies from here on."""
        known = self.gaps.get((left, right))
        self.gaps[left, right] = (known.meet(gap) if known is not None else None) or gap


def _handed_over(value: Value) -> Value:
    """The value as any that a caller may pass: another count where it is one."""
    if not value.is_constant:
        return replace(value, belief=None)
    other = replace(value, op="argument", data=None, belief=None, assumed=False)
    return sized(other, value.name) if type(value.data) is int and value.data >= 1 else other


@dataclass(slots=True)
class Frame:
    """The interpretation of one function body (or module body)."""

    graph: Graph
    module: ModuleInfo
    function: FunctionInfo | None
    state: State
    session: Session
    depth: int = 0
    reporting: bool = False
    receiver: Value | None = None
    closure: Frame | None = None
    returns: list[Value] = field(default_factory=list)
    breaks: list[State] = field(default_factory=list)  # states at which the present loop is left
    continues: list[State] = field(default_factory=list)  # and those that go on to its next turn
    # Arguments that the body may write into, see `HELD`.
    given: dict[str, Value] = field(default_factory=dict)
    exits: list[State] = field(default_factory=list)  # states at which such a body returns
    wrote: set[str] = field(default_factory=set)  # parameters through which it has written
    loop_depth: int = 0
    caught: int = 0  # `try` statements around this point that catch a division by zero
    raised: State | None = None  # what holds where a statement of the innermost of them raises
    cost: int = 1  # of a statement, from the budget
    idle: frozenset[int] = frozenset()  # ids of statements of whose calls nothing is to be learnt
    statement: ast.stmt | None = None

    def observed(self, value: Value) -> Value:
        """The value, shown to whoever looks for matches if this run reports."""
        if self.reporting:
            self.session.observe(value, self)
        return value


def quiet_frame(module: ModuleInfo, frame: Frame) -> Frame:
    """A frame at module level that reports nothing; what it tells is kept, and so its calls are always followed."""
    return Frame(frame.graph, module, None, State(), frame.session, frame.depth % UNFOLLOWED + 1)


class Interpreter(Protocol):
    """What interpreting one construct asks for of every other: expressions hold calls, calls run bodies."""

    def evaluate(self, node: ast.expr | None, frame: Frame) -> Value:
        """The value of an expression; never raises for valid syntax."""

    def execute(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        """Runs statements in the frame."""

    def call(
        self,
        target: Value,
        positional: list[Value],
        keywords: dict[str, Value],
        node: ast.Call,
        frame: Frame,
        receiver: Value | None = None,
    ) -> Value:
        """The value of calling whatever `target` is."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What held at a call of a function."""

    gradient: bool
    facts: dict[int, Interval]
    nonempty: frozenset[int]
    selecting: frozenset[int]
    plural: frozenset[int]

    @classmethod
    def at(cls, state: State) -> Caller:
        """What holds now."""
        return cls(state.gradient, dict(state.facts), state.nonempty, state.selecting, state.plural)


def hand_over(callers: list[Caller], state: State) -> None:
    """Lets a function's body know what held at each of its calls."""
    first = callers[0]
    shared = set(first.facts)
    for caller in callers[1:]:
        shared &= caller.facts.keys()
    for key in shared:
        fact = first.facts[key]
        for caller in callers[1:]:
            fact = fact.join(caller.facts[key])
        state.facts[key] = fact
    state.nonempty |= frozenset.intersection(*(c.nonempty for c in callers))
    state.selecting |= frozenset.intersection(*(c.selecting for c in callers))
    state.plural |= frozenset.intersection(*(c.plural for c in callers))


@dataclass(slots=True)
class Session:
    """What one run over one file shares among its frames."""

    observe: Observer  # called for each operation of a reporting frame
    project: Project
    interpreter: Interpreter
    home: ModuleInfo | None = None  # the file under analysis
    # Arguments seen, by function node id.
    calls: dict[int, list[dict[str, Value]]] = field(default_factory=dict)
    callers: dict[int, list[Caller]] = field(default_factory=dict)  # what held there, by the same id
    # What calls of functions in other files pass for parameters that those divide by.
    passed: dict[Place, set[Passed]] = field(default_factory=dict)
    memo: dict[tuple[Hashable, ...], Value] = field(default_factory=dict)
    # What functions yield whatever they are passed, by node id, key of their object, and whether a gradient is taken.
    general: dict[tuple[int, int, bool], Value | None] = field(default_factory=dict)
    globals: dict[tuple[int, str], Value] = field(default_factory=dict)  # by module id and name, on demand
    # A class and its bases, by class id.
    lineage: dict[int, tuple[ClassInfo, ...]] = field(default_factory=dict)
    # The methods that a class and its bases hand to others, each with its class, by class id.
    lent: dict[int, dict[str, ClassInfo]] = field(default_factory=dict)
    # Of methods, by class id and their own, or their sort.
    effects: dict[tuple[int, int | str], Effects] = field(default_factory=dict)
    # By parameter's node id.
    annotated: dict[int, Sequence[tuple[Value, Assumption]]] = field(default_factory=dict)
    instances: dict[int, Value] = field(default_factory=dict)  # `self` as methods see it, by class id
    default_dtype: str | None = None  # as `torch.set_default_dtype` set it
    measures: bool = True  # nobody asks where the values of a pattern lie
    building: set[int] = field(default_factory=set)  # keys of instances whose `__init__` runs
    running: list[int] = field(default_factory=list)  # function node ids on the stack
    budget: int = 0  # statements that calls may still interpret for the present root
    cut_off: int = 0  # how many bodies have come to no end for want of it
    closures: list[FunctionInfo] = field(default_factory=list)  # functions that keep the frame around them
    constructed: list[Attributes] = field(default_factory=list)  # of instances, which their values refer to

    def close(self) -> None:
        """Lets go of what was remembered, so that frames and values are freed at once."""
        self.observe = ignore
        for function in self.closures:
            function.closure, function.given = None, {}
            function.part("calls", "handed", "nested", "receivers")
        for attributes in self.constructed:
            attributes.fill = None
            attributes.clear()
        self.closures, self.constructed, self.running = [], [], []
        for table in (
            self.calls,
            self.callers,
            self.memo,
            self.general,
            self.globals,
            self.lineage,
            self.lent,
            self.effects,
            self.annotated,
            self.instances,
        ):
            table.clear()

    def is_elsewhere(self, module: ModuleInfo) -> bool:
        """Whether a module is another file than the one under analysis."""
        return module is not self.home


def ignore(value: Value, frame: Frame) -> None:
    """Observes nothing."""
