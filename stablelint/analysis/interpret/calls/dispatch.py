"""Calls: operations in any spelling, layers, functions of the project, builtins."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from stablelint.analysis.files.callsites import parameters_of
from stablelint.analysis.files.modules import ClassInfo, FunctionInfo
from stablelint.analysis.interpret.calls import inline
from stablelint.analysis.interpret.calls.elsewhere import objects_passed_elsewhere
from stablelint.analysis.interpret.calls.functions import call_named
from stablelint.analysis.interpret.calls.methods import REFILLING, call_method, changes
from stablelint.analysis.interpret.calls.opaque import opaque
from stablelint.analysis.interpret.objects import classes, lookup
from stablelint.analysis.interpret.objects.annotated import annotated_objects
from stablelint.analysis.interpret.objects.lineage import (
    ancestors,
    find_method,
    is_dataclass,
    is_module,
    is_patched,
)
from stablelint.analysis.interpret.objects.lookup import taken
from stablelint.analysis.interpret.objects.options import options_of
from stablelint.analysis.interpret.operations import layers
from stablelint.analysis.interpret.paths.narrowing import open_to_callers, opened
from stablelint.analysis.interpret.statements.assignment import bind, changed
from stablelint.analysis.interpret.statements.lending import exposed, let_write
from stablelint.analysis.interpret.statements.writing import STORED, forgotten, hand_back, replaced
from stablelint.analysis.values import lists
from stablelint.analysis.values.paths import Assumption, Paths, agree
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import NUMERIC, Attributes, Kind, Value, join
from stablelint.syntax.names import spelled
from stablelint.syntax.writes import HOOKS

_PERHAPS_BOUND = frozenset({"attribute", "phi"})
_MOST_PATHS = 6  # that are told apart; a list that grows in nested loops has a path for each way through them


def evaluate_call(node: ast.Call, frame: Frame) -> Value:
    """The value of a call."""
    if isinstance(node.func, ast.Attribute):
        receiver = frame.session.interpreter.evaluate(node.func.value, frame)
        return _call_attribute(receiver, node.func.attr, node, frame)
    return call_value(
        frame.session.interpreter.evaluate(node.func, frame), *arguments_of(node, frame), node, frame
    )


def arguments_of(node: ast.Call, frame: Frame) -> tuple[list[Value], dict[str, Value]]:
    """Positional and keyword arguments; a starred one of unknown length ends the positional ones."""
    positional: list[Value] = []
    for argument in node.args:
        value = frame.session.interpreter.evaluate(argument, frame)
        if isinstance(argument, ast.Starred):
            if value.kind is Kind.SEQUENCE:
                positional.extend(value.data)
            else:
                operands = {"list" if lists.is_list(value) else "within0": value}
                positional.append(Value("starred", frame.graph.fresh(), operands=operands, node=argument))
        else:
            positional.append(value)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = frame.session.interpreter.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif value.kind is Kind.MAPPING and isinstance(value.data, dict):
            keywords.update({k: v for k, v in value.data.items() if isinstance(k, str)})
        elif value.op == "const" and value.data is Ellipsis:
            keywords["..."] = value  # a pattern's "any further arguments"
    _let_run([*positional, *keywords.values()], frame)
    _let_bound_write([*positional, *keywords.values()], frame)
    return positional, keywords


def _let_run(given: list[Value], frame: Frame) -> None:
    """Lets a callee run the functions, and the code of objects, that it is passed: on what stands around, and is passed."""
    for value in given:
        if value.kind is Kind.INSTANCE:
            classes.let_run(value, frame)
        passed = value.operands["function"] if value.op == "partial" else value
        if passed.kind is Kind.NAMESPACE and changes(passed.data):  # `map(torch.zero_, xs)`
            let_write(passed.data, given, frame, in_place=True)
        if passed.kind is not Kind.FUNCTION:
            continue
        function: FunctionInfo = passed.data
        if inline.takes_receiver(function) and frame.receiver is not None:
            classes.forget_touched(frame.receiver, function, frame)
        if function.writes:
            hand_back(None, inline.written_by(function, {}), frame)
            if not function.writes.isdisjoint(parameters_of(function.node)):
                let_write(function.name, given, frame, in_place=True)


def _let_bound_write(given: list[Value], frame: Frame) -> None:
    """Lets methods that change what they belong to, `x.mul_` and `found.append`, be called by whoever has them."""
    perhaps = [value for value in given if value.op in _PERHAPS_BOUND]
    for bound in (leaf for value in perhaps for leaf in lists.leaves(value) if leaf.op == "attribute"):
        thing = bound.operands["input"]
        if thing.kind in STORED and changes(bound.name):
            let_write(bound.name, [thing], frame, in_place=True)
        elif bound.name in lists.GROWING | lists.SHRINKING | REFILLING and (
            thing.kind is Kind.MAPPING or lists.is_list(thing)
        ):
            replaced(thing, forgotten(thing, bound.node or thing.node or ast.Pass(), frame), frame)


def _call_attribute(receiver: Value, attr: str, node: ast.Call, frame: Frame) -> Value:
    if receiver.kind is Kind.SUPER:
        return _super_call(receiver, attr, node, frame)
    if receiver.kind in (Kind.NAMESPACE, Kind.INSTANCE, Kind.CLASS, Kind.LAYER):
        target = lookup.attribute(receiver, attr, node.func, frame)
        positional, keywords = arguments_of(node, frame)
        bound_to = receiver if receiver.kind is Kind.INSTANCE else None
        if bound_to is not None and target.kind is not Kind.FUNCTION:
            if attr in layers.MODULE_METHODS and is_module(receiver.data[0]):
                return _module_method(receiver, attr, [*positional, *keywords.values()], node, frame)
            if classes.register(receiver, attr, positional, keywords, frame):
                return frame.graph.constant(None, node)
            if target.op == "attribute":
                classes.let_inherit(receiver, attr, frame)
            if attr in HOOKS and _may_answer(positional):
                frame.state.attributes[receiver.key, "forward"] = frame.graph.unknown("forward", node)
        if receiver.kind is Kind.LAYER and attr == "forward":
            return layers.call_layer(receiver, positional, keywords, node, frame)
        if receiver.kind is Kind.LAYER:
            return _layer_method(receiver, attr, [*positional, *keywords.values()], node, frame)
        return call_value(target, positional, keywords, node, frame, bound_to)
    positional, keywords = arguments_of(node, frame)
    if receiver.op == "phi" and all(v.kind is Kind.LAYER for v in lists.leaves(receiver)):
        changed = [_layer_method(v, attr, positional, node, frame) for v in lists.leaves(receiver)]
        if any(v.kind is not Kind.LAYER for v in changed):
            return frame.graph.unknown(attr, node)
        paths = receiver.data if len(changed) == len(receiver.operands) else None
        return _rebound(join(frame.graph, layers.distinct(changed), paths), attr, node, frame)
    stored = frame.state.attributes.get((receiver.key, attr))
    if stored is not None:
        return call_value(stored, positional, keywords, node, frame)
    if receiver.op == "phi" and _all_have(attr, lists.leaves(receiver), node, frame):
        return _call_each(receiver, positional, keywords, node, frame, attr)
    methods = [
        (method, one, on)
        for one, on in annotated_objects(receiver, frame)
        if (method := lookup.attribute(one, attr, node.func, frame)).kind is Kind.FUNCTION
    ]
    if methods:
        return _call_passed(methods, positional, keywords, node, frame)
    return call_method(receiver, attr, positional, keywords, node, frame)


def _all_have(attr: str, each: Sequence[Value], node: ast.Call, frame: Frame) -> bool:
    """Whether each of what differs between paths is an object of a class that was read, with that method."""
    return all(v.kind is Kind.INSTANCE for v in each) and all(
        lookup.attribute(v, attr, node.func, frame).kind is Kind.FUNCTION for v in each
    )


def _rebound(value: Value, attr: str, node: ast.Call, frame: Frame) -> Value:
    """A method that changes its object: the object's name stands for the result."""
    if attr in layers.CHANGING and isinstance(node.func, ast.Attribute):
        bind(node.func.value, value, frame)
    return value


def _layer_method(receiver: Value, attr: str, positional: list[Value], node: ast.Call, frame: Frame) -> Value:
    grown = layers.grown(receiver, attr, positional, node, frame)
    if grown is not None:
        return _rebound(grown, attr, node, frame)
    if attr in layers.MODULE_METHODS:
        return _module_method(receiver, attr, positional, node, frame)
    hooked = attr in HOOKS and _may_answer(positional)
    if (hooked or attr in layers.REARRANGING) and isinstance(node.func, ast.Attribute):
        changed(receiver, layers.opaque(receiver, frame), node.func.value, frame)
    return frame.graph.unknown(attr, node)


def _may_answer(hooks: list[Value]) -> bool:
    """Whether a hook may put something else in the place of what a module takes or yields."""
    return not hooks or hooks[0].kind is not Kind.FUNCTION or hooks[0].data.outline.returns


def _module_method(receiver: Value, attr: str, arguments: list[Value], node: ast.Call, frame: Frame) -> Value:
    """`model.half()`, `model.to(…)`: the module itself, whose parameters may have another dtype from here on."""
    dtype = layers.CASTS.get(attr) or next((v.dtype for v in arguments if v.dtype is not None), None)
    cast = layers.cast(receiver, dtype, frame)
    if cast is not receiver and isinstance(node.func, ast.Attribute):
        target = node.func.value
        if isinstance(target, ast.Name | ast.Attribute) and receiver.op != "self":
            bind(target, cast, frame)
    return cast


def _super_call(receiver: Value, attr: str, node: ast.Call, frame: Frame) -> Value:
    info, instance = receiver.data
    above = ancestors(instance.data[0] if instance is not None else info, frame)
    above = above[above.index(info) + 1 :] if info in above else ancestors(info, frame)[1:]
    function = next((c.methods[attr] for c in above if attr in c.methods), None)
    positional, keywords = arguments_of(node, frame)
    if function is None or instance is None:
        operands = {f"argument{i}": v for i, v in enumerate(positional)} | keywords
        return opaque(f"super.{attr}", frame.graph.fresh(), operands, node, frame)
    if attr == "__init__":
        return _construct_part(function, positional, keywords, instance, node, frame)
    return inline.call_function(function, positional, instance, node, frame, keywords)


def _construct_part(
    function: FunctionInfo,
    positional: list[Value],
    keywords: dict[str, Value],
    instance: Value,
    node: ast.Call,
    frame: Frame,
) -> Value:
    """The constructor of a base, which sets attributes on an object: `super().__init__(…)`, `Base.__init__(self, …)`."""
    arguments = inline.bind_call(function, positional, keywords, instance, node, frame)
    inner = inline.run_function(function, arguments or None, instance, frame)
    if inner is not None:
        own = classes.set_on(instance, inner)
        frame.state.attributes.update({(instance.key, attr): v for attr, v in own.items()})
        instance.data[1].update({attr: v for attr, v in own.items() if attr not in instance.data[1]})
    return frame.graph.constant(None, node)


def call_value(
    target: Value,
    positional: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
    frame: Frame,
    receiver: Value | None = None,
) -> Value:
    """Calls whatever `target` is; nothing is proved by what one yields in whose place another may stand."""
    if target.assumed and target.kind in lists.CALLABLE:
        result = call_value(replace(target, assumed=False), positional, keywords, node, frame, receiver)
        if result.kind in lists.CALLABLE:
            return replace(result, assumed=True)
        return opened(result, frame.graph.key("set", result.key), spelled(node.func), frame)
    if target.op == "partial":
        return call_value(target.operands["function"], *_completed(target, positional, keywords), node, frame)
    if target.op == "phi" and any(v.kind in lists.CALLABLE for v in lists.leaves(target)):
        return _call_each(target, positional, keywords, node, frame)
    if target.kind is Kind.NAMESPACE:
        return call_named(target.data, positional, keywords, node, frame)
    if target.kind is Kind.FUNCTION:
        function: FunctionInfo = target.data
        if function.name == "apply" and function.owner is not None:
            return frame.graph.unknown(node=node, kind=Kind.TENSOR)
        own = receiver if inline.takes_receiver(function) else None
        if (
            own is None
            and inline.takes_receiver(function)
            and positional
            and positional[0].kind is Kind.INSTANCE
        ):
            own, positional = positional[0], positional[1:]
            if function.name == "__init__":
                return _construct_part(function, positional, keywords, own, node, frame)
        if function.yields_options and (options := options_of(function.module, frame)) is not None:
            return options
        result = inline.call_function(function, positional, own, node, frame, keywords)
        changed = own or (frame.receiver if inline.takes_receiver(function) else None)  # `f = self.step; f()`
        if changed is not None:
            classes.forget_touched(changed, function, frame)
        classes.forget_written(function.touches.others, frame)
        if receiver is not None:
            result = _overridden(result, receiver, function, positional, keywords, node, frame)
        return result
    if target.kind is Kind.CLASS:
        return _instantiate(target.data, positional, keywords, node, frame)
    if target.kind is Kind.LAYER:
        return layers.call_layer(target, positional, keywords, node, frame)
    if target.kind is Kind.INSTANCE:
        return _call_instance(target, positional, keywords, node, frame)
    if target.kind is Kind.FOREIGN:
        return frame.graph.foreign(node)
    passed = objects_passed_elsewhere(target, frame) or list(annotated_objects(target, frame))
    if passed:
        return _call_passed([(one, None, on) for one, on in passed], positional, keywords, node, frame)
    if target.op == "attribute" and target.operands["input"].kind in STORED and target.name != "forward":
        return call_method(target.operands["input"], target.name, positional, keywords, node, frame)
    exposed(target.key, "", frame)
    _let_bound_write([target], frame)
    let_write(target.name, target.operands.values() if target.op == "unknown" else (), frame)
    operands = {f"argument{i}": v for i, v in enumerate(positional)} | keywords
    result = opaque(f"call.{target.name or 'call'}", frame.graph.fresh(), operands, node, frame)
    # What is cast and called is a model, and computes in the type of its parameters.
    return replace(result, dtype=target.dtype) if target.op in layers.CASTS else result


def _overridden(
    result: Value,
    receiver: Value,
    function: FunctionInfo,
    positional: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
    frame: Frame,
) -> Value:
    """What a method of `self` yields, whichever class `self` is of."""

    def ask(other: Value) -> Value:
        method = lookup.attribute(other, function.name, node.func, frame)
        return call_value(method, positional, keywords, node, frame, other)

    return classes.of_any_class(result, receiver, function, ask, frame)


def _call_passed(
    passed: Sequence[tuple[Value, Value | None, Assumption]],
    positional: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
    frame: Frame,
) -> Value:
    """A call of what other files pass or an annotation names, or of its method, whose object comes with it.

    It may be another object: nothing is proved by it.
    """
    results = [call_value(one, positional, keywords, node, frame, own) for one, own, _ in passed]
    return _as_passed(join(frame.graph, results), tuple(where for *_, where in passed), node, frame)


def _as_passed(made: Value, on: tuple[Assumption, ...], node: ast.Call, frame: Frame) -> Value:
    """What such an object yields, or each part of it."""
    if made.kind is Kind.SEQUENCE:
        return replace(
            made,
            key=frame.graph.key("passed", made.key),
            data=[_as_passed(part, on, node, frame) for part in made.data],
            name="list",  # of which the length is not known
        )
    if made.kind not in NUMERIC:
        return frame.graph.unknown(node=node)
    result = open_to_callers(made, frame.graph.key("passed", made.key), on[0].text, ())
    return replace(result, belief=result.belief and replace(result.belief, on=on))


def _completed(
    partial: Value, positional: list[Value], keywords: dict[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments of a partial application and those of its call."""
    given, named = partial.data
    return [*given, *positional], {**named, **keywords}


def _call_each(
    target: Value,
    positional: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
    frame: Frame,
    method: str = "",
) -> Value:
    """A call of what differs between paths, or of its method: each path's own, with the arguments as they are on it.

    Where paths part and meet too often, each is called once, with the arguments as they are on any.
    """
    results: list[Value] = []
    each = lists.leaves(target)
    many = len(each) > _MOST_PATHS
    paths = target.data if isinstance(target.data, Paths) and not many else None
    saved = frame.state.tests
    for position, path in enumerate(each if many else target.operands.values()):
        if paths is not None and paths.is_fallback(position):
            continue
        if paths is not None and len(paths.tests) == len(target.operands):
            if not agree(paths.tests[position], saved):
                continue
            frame.state.tests = {**saved, **paths.tests[position]}
        given = [taken(v, frame) for v in positional]
        named = {name: taken(v, frame) for name, v in keywords.items()}
        if method and path.op == "phi":
            results.append(_call_each(path, given, named, node, frame, method))
            continue
        called = lookup.attribute(path, method, node.func, frame) if method else path
        results.append(call_value(called, given, named, node, frame, path if method else None))
    frame.state.tests = saved
    return join(frame.graph, results, paths) if results else frame.graph.unknown(node=node)


def _call_instance(
    target: Value, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    info: ClassInfo = target.data[0]
    for name in ("__call__", "forward"):
        own = frame.state.attributes.get((target.key, name)) or target.data[1].settled().get(name)
        if own is not None:
            return call_value(own, positional, keywords, node, frame)
        method = find_method(info, name, frame)
        if method is not None and is_patched(info, name, frame):
            return call_value(
                classes.class_attribute(info, name, frame), positional, keywords, node, frame, target
            )
        if method is not None:
            result = inline.call_function(method, positional, target, node, frame, keywords)
            classes.forget_touched(target, method, frame)
            return result
    return frame.graph.unknown(node=node)


def _instantiate(
    info: ClassInfo, positional: list[Value], keywords: dict[str, Value], node: ast.Call, frame: Frame
) -> Value:
    given = {f"argument{i}": v for i, v in enumerate(positional)} | keywords  # it may hold, and lend, each
    instance = Value(
        "instance",
        frame.graph.fresh(),
        Kind.INSTANCE,
        given,
        node=node,
        module=frame.module,
        data=(info, Attributes()),
        name=info.name,
    )
    function = find_method(info, "__init__", frame)
    arguments: dict[str, Value] | None = dict(keywords)
    if function is not None:
        arguments = inline.bind_call(function, positional, keywords, instance, node, frame)
    elif is_dataclass(info):
        arguments = dict(zip(info.fields, positional, strict=False)) | keywords
    classes.construct(instance, info, arguments, frame)
    return instance
