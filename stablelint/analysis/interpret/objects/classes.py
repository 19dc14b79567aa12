"""Classes: what `self` holds, what an instance's attributes and methods are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from math import inf

from stablelint.analysis.files.callsites import is_written
from stablelint.analysis.files.counters import least_count
from stablelint.analysis.files.modules import CONSTRUCTORS, ClassInfo, Effects, FunctionInfo
from stablelint.analysis.files.passing import target_of
from stablelint.analysis.interpret.calls.elsewhere import numbers_passed_elsewhere
from stablelint.analysis.interpret.calls.inline import call_function, run_function
from stablelint.analysis.interpret.objects.definitions import function_value
from stablelint.analysis.interpret.objects.lineage import (
    accessors,
    ancestors,
    definition,
    definitions,
    find_method,
    has_unseen_base,
    inherits_from,
    is_dataclass,
    is_module,
    is_patched,
    is_tuple,
    overriding,
)
from stablelint.analysis.interpret.paths.narrowing import narrowed, open_to_callers, opened
from stablelint.analysis.interpret.statements.lending import disowned, exposed, tested
from stablelint.analysis.interpret.statements.writing import (
    all_written,
    forgotten,
    replaced,
    tensors_in,
    unread,
)
from stablelint.analysis.values.families import BLANK
from stablelint.analysis.values.indexing import PAIR, gives_places
from stablelint.analysis.values.state import UNFOLLOWED, Frame, quiet_frame
from stablelint.analysis.values.value import NUMERIC, Attained, Attributes, Kind, Value, join
from stablelint.diagnostic import CALLED
from stablelint.numerics.interval import COUNT, TOP, Interval
from stablelint.syntax.signatures import parameters

_REGISTERS = {
    "register_buffer": ("name", "tensor"),
    "register_parameter": ("name", "param"),
    "register_module": ("name", "module"),
    "add_module": ("name", "module"),
}
_LOADING = frozenset({"load_state_dict"})  # what modules have that writes into their tensors
_DEPTH = 8  # calls within which objects are made
_CONSTRUCTION_BUDGET = 200  # statements that `__init__` and what it calls may take


def self_of(info: ClassInfo, frame: Frame) -> Value:
    """`self` as the methods of a class see it: attributes as `__init__` leaves them for its defaults."""
    instance = frame.session.instances.get(id(info))
    if instance is None:
        instance = frame.session.instances[id(info)] = Value(
            "self",
            frame.graph.fresh(),
            Kind.INSTANCE,
            node=info.node,
            module=info.module,
            data=(info, Attributes()),
            name="self",
        )
        construct(instance, info, None, frame)
    return instance


def construct(instance: Value, info: ClassInfo, arguments: dict[str, Value] | None, frame: Frame) -> None:
    """Sets dataclass fields, and has `__init__` run once an attribute is asked for."""
    attributes: Attributes = instance.data[1]
    if is_dataclass(info):
        for name in info.fields:
            if arguments and name in arguments:
                attributes[name] = arguments[name]
    function, passed = find_method(info, "__init__", frame), arguments
    if function is None and is_dataclass(info):
        function, passed = find_method(info, "__post_init__", frame), {}
    depth = frame.depth % UNFOLLOWED  # whoever asks for an attribute may do so from anywhere
    if function is None or depth > _DEPTH or function.outline.dropped:
        return
    here = Frame(frame.graph, frame.module, None, frame.state.without_names(), frame.session, depth)
    frame.session.constructed.append(attributes)
    attributes.fill = partial(_initialise, function, instance, passed, here)


def _initialise(
    function: FunctionInfo, instance: Value, arguments: dict[str, Value] | None, frame: Frame
) -> None:
    """Runs `__init__` and keeps the attributes on the instance.

    While `__init__` is analysed itself, nothing is known yet of what it leaves behind.
    """
    attributes: Attributes = instance.data[1]
    session = frame.session
    if id(function.node) in session.running:
        attributes.fill = partial(_initialise, function, instance, arguments, frame)
        return
    spent, session.budget = session.budget, _CONSTRUCTION_BUDGET
    session.building.add(instance.key)
    try:
        inner = run_function(function, arguments, instance, frame)
        if inner is not None:
            attributes.update(set_on(instance, inner))
    finally:
        session.building.discard(instance.key)
        session.budget = spent


def set_on(instance: Value, frame: Frame) -> dict[str, Value]:
    """The attributes that a function has set on an instance, as far as its tests have let them through."""
    own = frame.state.attributes.items()
    return {attr: narrowed(v, frame) for (key, attr), v in own if key == instance.key}


def register(
    instance: Value, method: str, positional: list[Value], keywords: dict[str, Value], frame: Frame
) -> bool:
    """`self.register_buffer("x", …)` and its like set an attribute; False where the call is none of them."""
    if method == "save_hyperparameters" and not positional and frame.function is not None:
        frame.state.attributes[(instance.key, "hparams")] = _given_to(frame.function, frame)
        return True
    if method not in _REGISTERS:
        return False
    given = [*positional, *(keywords[name] for name in _REGISTERS[method] if name in keywords)]
    if len(given) >= 2 and isinstance(given[0].constant(), str):
        name, value = given[0].data, given[1]
        if method == "register_buffer" and value.op in BLANK:
            value = _filled_later(value, name, frame)
        frame.state.attributes[(instance.key, name)] = value
    return True


def _given_to(constructor: FunctionInfo, frame: Frame) -> Value:
    """What the parameters of a constructor stand for, by name, as Lightning keeps them."""
    names, sights = frame.state.names, constructor.module.sights
    given = [one.arg for one in parameters(constructor.node.args)[1:]]
    data: dict[object, Value] = {
        name: names[name] for name in given if name in names and not sights.writes(name)
    }
    return Value("mapping", frame.graph.fresh(), Kind.MAPPING, node=constructor.node, data=data)


def _filled_later(value: Value, name: str, frame: Frame) -> Value:
    """What an object keeps and starts with zeros: training, a checkpoint or a build step fills it."""
    return Value(
        "buffer", frame.graph.fresh(), Kind.TENSOR, dtype=value.dtype, node=value.node, module=value.module, name=name
    )  # fmt: skip


def forget_touched(instance: Value, method: FunctionInfo, frame: Frame) -> None:
    """Forgets what was assigned to, or tested of, the attributes that a method, or one that it calls, may change."""
    if instance.kind is Kind.INSTANCE and _may_forget(instance, frame):
        _undergo(instance, _effects_of(method, instance.data[0], frame), frame)


def _undergo(instance: Value, effects: Effects, frame: Frame) -> None:
    """Forgets of an object what methods that have run may have changed."""
    own, held = instance.data[0], frame.state.attributes
    if effects.alters:
        _forget(instance, effects.alters, frame)
    if effects.hands_out:  # whoever has the object can change all of it
        kept = {attr for key, attr in held if key == instance.key}
        _forget(instance, kept | instance.data[1].settled().keys(), frame)
        disowned(instance, "", frame)
    for name in effects.called if held else ():
        if definition(own, name, frame) is None:
            thing = held.get((instance.key, name)) or instance_attribute(instance, name, own.node, frame)
            exposed(thing.key, "", frame)


def let_unseen_run(frame: Frame) -> None:
    """Forgets what others may change of the object whose method runs here: those to whom its class hands it."""
    instance = frame.receiver
    if instance is None or instance.kind is not Kind.INSTANCE or not _may_forget(instance, frame):
        return
    info: ClassInfo = instance.data[0]
    lent = frame.session.lent.get(id(info))
    if lent is None:
        above = ancestors(info, frame)
        lent = frame.session.lent[id(info)] = {name: one for one in above for name in one.lent}
    if lent:
        methods = (one.methods[name] for name, one in lent.items() if name)
        _undergo(instance, _effects_of_all("lent", methods, info, frame), frame)
    if "" in lent:
        disowned(instance, "", frame)


def let_inherit(instance: Value, method: str, frame: Frame) -> None:
    """Forgets what a method of an object may change that is not seen: one of a base in a library."""
    info: ClassInfo = instance.data[0]
    if method in _LOADING and is_module(info):
        made = instance.data[1].settled()
        _forget(instance, [attr for attr, value in made.items() if value.kind is Kind.TENSOR], frame)
    elif _may_forget(instance, frame) and has_unseen_base(info, frame):
        disowned(instance, "", frame)


def forget_written(attributes: Set[str], frame: Frame) -> None:
    """Forgets the attributes that are written of whatever object somebody gets at."""
    if not attributes:
        return
    if frame.receiver is not None and _may_forget(frame.receiver, frame):
        _forget(frame.receiver, attributes, frame)
    held = frame.state.attributes
    for place in [place for place in held if place[1] in attributes]:
        held[place] = frame.graph.unknown(place[1], held[place].node)


def _may_forget(instance: Value, frame: Frame) -> bool:
    """Whether anything is believed of an object that has been made."""
    known = instance.op != "self" or frame.state.facts or frame.state.attributes
    return bool(known) and instance.key not in frame.session.building


def _forget(instance: Value, names: Iterable[str], frame: Frame) -> None:
    held, made = frame.state.attributes, instance.data[1]
    own = {} if instance.op == "self" else {**instance.data[0].fields, **made.settled()}
    written: list[tuple[Value, Value]] = []
    told = tested(frame)
    for attr in names:
        read = frame.graph.part("attribute", instance.key, attr)
        before = held.get((instance.key, attr)) or (None if read in told else made.get(attr))
        known = read in told or attr in own or (before is not None and before.key in told)
        if (instance.key, attr) not in held and not known:
            continue
        before = before or Value("attribute", read, Kind.UNKNOWN)
        after = _reassigned(instance, attr, before, instance.node or instance.data[0].node, frame)
        after.key = frame.graph.fresh()
        held[instance.key, attr] = after
        if before.kind in (Kind.TENSOR, Kind.UNKNOWN):
            written.append((before, after))
        elif before.kind in (Kind.SEQUENCE, Kind.MAPPING):
            written += [(tensor, unread(tensor, frame)) for tensor in tensors_in(before)]
            replaced(before, forgotten(before, instance.data[0].node, frame), frame)
    if written:
        all_written(written, frame)


def let_run(thing: Value, frame: Frame) -> None:
    """Forgets what may have changed where an object is indexed, entered, looped over, compared or called."""
    if thing.kind is Kind.INSTANCE and _may_forget(thing, frame):
        info: ClassInfo = thing.data[0]
        methods = (pair for one in ancestors(info, frame) for pair in one.methods.items())
        special = (m for name, m in methods if name.startswith("__") and name not in CONSTRUCTORS)
        _undergo(thing, _effects_of_all("special", special, info, frame), frame)


def set_property(instance: Value, attr: str, value: Value, node: ast.AST, frame: Frame) -> bool:
    """Lets code of a class take the value of an attribute; False where the attribute just keeps it."""
    info = instance.data[0]
    found = definition(info, attr, frame)
    setter = next((c.setters[attr] for c in ancestors(info, frame) if attr in c.setters), None)
    if isinstance(found, FunctionInfo) and setter is not None:
        call_function(setter, [value], instance, node, frame)
        forget_touched(instance, setter, frame)
        return True
    if value.kind not in NUMERIC:  # a layer or function stays, for its body tells more
        return False
    if isinstance(found, ast.Call) and not is_dataclass(info):  # a descriptor
        frame.state.attributes[instance.key, attr] = frame.graph.unknown(attr, node)
        return True
    through = accessors(info, frame)
    if not through:
        return False
    kept = frame.graph.unknown(attr, node)
    if all(one.hands_on for one in through):
        key = frame.graph.key("accessed", instance.key, attr, value.key)
        kept = open_to_callers(value, key, f"`{through[0].name}` leaves {attr} as it is set", ())
    frame.state.attributes[instance.key, attr] = kept
    return True


def _effects_of(method: FunctionInfo, info: ClassInfo, frame: Frame) -> Effects:
    """What a method does to an object of a class: it, those that it overrides, and those that they run on it."""
    known = frame.session.effects.get((id(info), id(method)))
    if known is None:
        run = _run_by(info, method, frame)
        each = [Effects(one.alters, one.touches.called, one.receivers is None) for one in run]
        own = Effects(frozenset(), frozenset({method.name}), hands_out=False)
        known = frame.session.effects[id(info), id(method)] = _together([own, *each])
    return known


def _effects_of_all(sort: str, methods: Iterable[FunctionInfo], info: ClassInfo, frame: Frame) -> Effects:
    """What the methods of a sort may do to an object of a class, one after another."""
    known = frame.session.effects.get((id(info), sort))
    if known is None:
        each = [_effects_of(method, info, frame) for method in methods]
        known = frame.session.effects[id(info), sort] = _together(each)
    return known


def _together(effects: Sequence[Effects]) -> Effects:
    alters = frozenset[str]().union(*(one.alters for one in effects))
    called = frozenset[str]().union(*(one.called for one in effects))
    return Effects(alters, called, any(one.hands_out for one in effects))


def _run_by(info: ClassInfo, method: FunctionInfo, frame: Frame) -> list[FunctionInfo]:
    """A method of a class, those that it overrides, and those that they run on the object, through others, too."""
    run = [method]
    pending = [*definitions(info, method.name, frame)]
    seen = {id(method)}
    pending += _run_on(info, method, frame)
    for one in pending:  # grows while it is walked
        if id(one) not in seen:
            seen.add(id(one))
            run.append(one)
            pending += _run_on(info, one, frame)
    return run


def _run_on(info: ClassInfo, method: FunctionInfo, frame: Frame) -> Iterator[FunctionInfo]:
    """What a method calls on its object, or hands its object to."""
    for name in sorted(method.touches.called):
        yield from definitions(info, name, frame)
    yield from method.receivers or ()


def instance_attribute(instance: Value, attr: str, node: ast.AST, frame: Frame) -> Value:
    """`self.attr`: what `__init__` set, a class-level default, a method, or unknown."""
    info, attributes = instance.data[0], instance.data[1].settled()
    if attr in attributes:
        value: Value = attributes[attr]
        if value.op in BLANK:
            value = attributes[attr] = _filled_later(value, attr, frame)
        if value.kind in (Kind.LAYER, Kind.INSTANCE, Kind.FUNCTION):
            return replace(value, assumed=True) if _is_set_later(info, attr, frame) else value
        if any(attr in c.reassigned for c in ancestors(info, frame)):
            return _reassigned(instance, attr, value, node, frame)
        return _kept(instance, attr, value, node, frame)
    found = definition(info, attr, frame)
    if isinstance(found, FunctionInfo) and found.has_decorator("property", "cached_property"):
        return _computed(instance, found, node, frame)
    if found is not None:
        value = class_attribute(info, attr, frame)
        return replace(value, assumed=True) if _is_shadowed(info, attr, value, frame) else value
    key = frame.graph.part("attribute", instance.key, attr)
    value = Value(
        "attribute", key, Kind.UNKNOWN, {"input": instance}, node=node, module=frame.module, name=attr
    )
    if attr == "last_epoch" and inherits_from(info, "torch.optim.lr_scheduler.", frame):
        counted = replace(value, kind=Kind.NUMBER, interval=COUNT, zero=Attained.COINCIDENCE)
        return open_to_callers(counted, key, "no schedule is asked before its first step", ())
    return value


def _is_shadowed(info: ClassInfo, attr: str, value: Value, frame: Frame) -> bool:
    """Whether an object may hold something else under the name of a method of its class."""
    known = ancestors(info, frame) if value.kind is Kind.FUNCTION else ()
    return any(attr in one.reassigned or one.sets_any for one in known)


def as_sequence(value: Value, node: ast.AST, frame: Frame) -> Value:
    """A value, or the sequence of what it holds in order: an instance of a named tuple, what is found and where."""
    if value.data is PAIR and gives_places(value):
        places = frame.graph.unknown("indices", node, Kind.TENSOR)
        places = replace(places, interval=COUNT, zero=Attained.EXACT, dtype="int64")
        return frame.graph.sequence([replace(value, data=None), places], node)
    if value.kind is not Kind.INSTANCE or not is_tuple(value.data[0]):
        return value
    return frame.graph.sequence(
        [instance_attribute(value, name, node, frame) for name in value.data[0].fields], node
    )


def _is_set_later(info: ClassInfo, attr: str, frame: Frame) -> bool:
    """Whether an attribute may be another than the constructor sets: by what the file shows, or a subclass elsewhere."""
    return (
        not info.module.is_script
        or any(attr in c.reassigned for c in ancestors(info, frame))
        or is_written(info, attr)
    )


def _computed(instance: Value, method: FunctionInfo, node: ast.AST, frame: Frame) -> Value:
    """What a property yields."""
    result = call_function(method, {}, instance, node, frame)
    forget_touched(instance, method, frame)
    return of_any_class(
        result, instance, method, lambda other: instance_attribute(other, method.name, node, frame), frame
    )


def of_any_class(
    result: Value, receiver: Value, method: FunctionInfo, ask: Callable[[Value], Value], frame: Frame
) -> Value:
    """What a method of `self` yields, where `self` may be of a subclass that has another one.

    Those of the file are asked; those of other files, if there may be any, are assumed to have the same.
    """
    if receiver.op != "self" or result.interval == TOP:
        return result
    info: ClassInfo = receiver.data[0]
    others = [ask(self_of(below, frame)) for below in overriding(info, method.name, frame)]
    if others:
        return join(frame.graph, [result, *others])
    if info.module.is_script and not frame.session.project.passed_to(target_of(info), method.name + CALLED):
        return result
    key, said = frame.graph.key("method", result.key), f"{info.name}.{method.name}"
    beyond = numbers_passed_elsewhere(info, method.name, frame)
    if beyond:
        return open_to_callers(result, key, said, (), method.name, beyond)
    return opened(result, key, said, frame)


def _kept(instance: Value, attr: str, value: Value, node: ast.AST, frame: Frame) -> Value:
    """An attribute as construction leaves it, which others may write; so may they the numbers that it holds."""
    if value.kind in (Kind.SEQUENCE, Kind.MAPPING) and value.data:
        return opened(value, frame.graph.key("elements", instance.key, attr), f"self.{attr}", frame)
    numeric = value.kind in NUMERIC
    if not numeric or isinstance(value.default(), bool) or (value.interval == TOP and value.belief is None):
        return value
    info: ClassInfo = instance.data[0]
    is_of_subclass = instance.op == "self" and attr in info.assigned_below
    if is_of_subclass or info.module.sights.writes(attr):
        return _reassigned(instance, attr, value, node, frame)
    key = frame.graph.part("attribute", instance.key, attr)
    said = f"self.{attr}={value.data!r}" if value.is_constant else f"self.{attr} as `__init__` leaves it"
    kept = open_to_callers(value, key, said, (), attr, numbers_passed_elsewhere(info, attr, frame))
    written = value.is_constant and not isinstance(value.node, ast.arg)
    return replace(kept, node=node, module=frame.module) if written else kept


def _reassigned(instance: Value, attr: str, initial: Value, node: ast.AST, frame: Frame) -> Value:
    """An attribute that other methods assign too: its name is all that is known, or what it is counted up from."""
    key, info = frame.graph.part("attribute", instance.key, attr), instance.data[0]
    kind = initial.kind if initial.kind in (Kind.TENSOR, Kind.NUMBER) else Kind.UNKNOWN
    value = Value("attribute", key, kind, {"input": instance}, node=node, module=frame.module, name=attr)
    least = None if is_written(info, attr) else least_count(ancestors(info, frame), attr)
    if least is None:
        return value
    zero = Attained.COINCIDENCE if least <= 0 else Attained.NONE
    counted = replace(
        value,
        kind=Kind.TENSOR if kind is Kind.TENSOR else Kind.NUMBER,
        interval=Interval(float(least), inf, hi_open=True),
        zero=zero,
    )
    return open_to_callers(counted, key, f"`{info.name}` alone counts self.{attr}", ())


def _default(node: ast.expr, attr: str, info: ClassInfo, frame: Frame) -> Value:
    value = frame.session.interpreter.evaluate(_given(node), quiet_frame(info.module, frame))
    number = value.op == "const" and isinstance(value.data, int | float) and not isinstance(value.data, bool)
    if (number or value.kind is Kind.TENSOR) and is_written(info, attr):
        return frame.graph.unknown(attr, node, value.kind)
    key = frame.graph.key("field", id(info.node), attr)
    if value.kind is Kind.TENSOR:
        return opened(value, key, f"{attr}={ast.unparse(node)}", frame)
    if value.kind is Kind.MAPPING or value.name == "list":
        return opened(value, key, attr, frame)
    if value.op == "const":
        value = (
            open_to_callers(
                value,
                key,
                f"{attr}={ast.unparse(node)}",
                (),
                elsewhere=numbers_passed_elsewhere(info, attr, frame),
            )
            if number
            else replace(value, assumed=True)
        )
    return value


def _given(node: ast.expr) -> ast.expr:
    """The default of a field: `field(default=x)` is x, `field(default_factory=f)` is `f()`."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) != "field":
        return node
    for keyword in node.keywords:
        if keyword.arg == "default":
            return keyword.value
        if keyword.arg == "default_factory":
            return ast.copy_location(ast.Call(keyword.value, [], []), node)
    return node


def class_attribute(info: ClassInfo, attr: str, frame: Frame) -> Value:
    """`Class.attr`."""
    for ancestor in ancestors(info, frame):
        if attr in ancestor.methods:
            return replace(
                function_value(ancestor.methods[attr], frame), assumed=is_patched(info, attr, frame)
            )
        default = ancestor.fields.get(attr)
        if default is not None:
            return _default(default, attr, ancestor, frame)
    return frame.graph.unknown(attr)
