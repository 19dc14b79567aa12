"""Interprets statements: assignments, branches, loops, and the ways out of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from stablelint.analysis.files.indexing import class_of
from stablelint.analysis.files.reading import catches_at_yield, returns_truth
from stablelint.analysis.interpret.expressions import binary, evaluate, evaluate_test, wait
from stablelint.analysis.interpret.objects.classes import let_run
from stablelint.analysis.interpret.objects.definitions import class_value, function_value
from stablelint.analysis.interpret.objects.lineage import find_method
from stablelint.analysis.interpret.objects.lookup import namespace
from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.operations.layers import CASTS
from stablelint.analysis.interpret.paths.conditions import assume
from stablelint.analysis.interpret.paths.contexts import enter_context
from stablelint.analysis.interpret.paths.defaults import usually
from stablelint.analysis.interpret.paths.narrowing import narrowed
from stablelint.analysis.interpret.statements.assignment import bind, changed, held
from stablelint.analysis.interpret.statements.lending import shortened
from stablelint.analysis.interpret.statements.loops import run_for, run_while
from stablelint.analysis.interpret.statements.writing import forgotten, replaced, written_into
from stablelint.analysis.values import lists
from stablelint.analysis.values.merging import merge
from stablelint.analysis.values.outcomes import outcome
from stablelint.analysis.values.paths import NOTHING_RAISED
from stablelint.analysis.values.state import HELD, UNFOLLOWED, Frame, State
from stablelint.analysis.values.value import Kind, Value, join
from stablelint.syntax.names import called_name, imported_names
from stablelint.syntax.operations import having
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import descendants

COMPUTED = (ast.Call, ast.BinOp)  # defaults of parameters that are evaluated where they stand
_FRESH = having("blank", "filled")


_DIVISION_ERRORS = frozenset({"ZeroDivisionError", "ArithmeticError", "Exception", "BaseException"})


def execute(body: Sequence[ast.stmt], frame: Frame) -> None:
    """Runs statements until one of them leaves."""
    for statement in body:
        if frame.state.dead:
            return
        idle = id(statement) in frame.idle
        if not frame.reporting:
            frame.session.budget -= min(frame.cost, 1) if idle else frame.cost
            if frame.session.budget <= 0:
                frame.session.cut_off += 1
                frame.state.dead = True
                frame.returns.append(frame.graph.unknown())
                return
        if frame.raised is not None:
            frame.raised = merge(frame.graph, frame.raised, frame.state.copy(), id(frame.function))
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            previous, depth = frame.statement, frame.depth
            frame.statement, frame.depth = statement, depth + UNFOLLOWED * idle
            handler(statement, frame)
            frame.statement, frame.depth = previous, depth


def _expression(node: ast.Expr, frame: Frame) -> None:
    call = node.value
    method = call.func if isinstance(call, ast.Call) else None
    changed = [method.value] if isinstance(method, ast.Attribute) and method.attr.endswith("_") else []
    value = _evaluate_into(changed, call, frame)
    if isinstance(method, ast.Attribute) and method.attr == value.op and _is_cast_in_place(value):
        bind(method.value, value, frame)
    if isinstance(call, ast.Call):
        _fill_arguments(call, frame)


def _is_cast_in_place(value: Value) -> bool:
    """Whether a cast that is dropped is that of a model, which it changes: of a tensor nobody would have any use for it."""
    return value.op in CASTS and value.first is not None and value.first.kind is Kind.UNKNOWN


def _evaluate_into(places: list[ast.expr], written: ast.expr, frame: Frame) -> Value:
    """The value of what is written into places: without a gradient where none of them keeps one."""
    tracked = not frame.state.gradient or not places or isinstance(places[0], ast.Name)
    if tracked or not all(_is_untracked(place, frame) for place in places):
        return evaluate(written, frame)
    frame.state.gradient = False
    value = evaluate(written, frame)
    frame.state.gradient = True
    return value


def _is_untracked(place: ast.expr, frame: Frame) -> bool:
    """Whether a place is the data of a tensor, which knows of no gradient: `weight.data[i]`, `weight.detach()`."""
    while isinstance(place, ast.Subscript):
        place = place.value
    function = place.func if isinstance(place, ast.Call) else place
    named = isinstance(function, ast.Attribute) and function.attr in ("data", "detach")
    return named and evaluate(_load(place), frame).op == "detach"


def _fill_arguments(call: ast.Call, frame: Frame) -> None:
    """A call whose result is dropped is there for its effect: it may fill the fresh tensors that it is given."""
    for argument in arguments(call):
        while isinstance(argument, ast.Subscript | ast.Starred):
            argument = argument.value
        if isinstance(argument, ast.Name):
            value = frame.state.names.get(argument.id)
            if value is not None and value.op in _FRESH:
                frame.state.names[argument.id] = frame.graph.unknown(argument.id, argument, Kind.TENSOR)


def _assign(node: ast.Assign, frame: Frame) -> None:
    value = _evaluate_into(node.targets, node.value, frame)
    for target in node.targets:
        bind(target, value, frame)


def _annotated(node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        bind(node.target, evaluate(node.value, frame), frame)


def _augmented(node: ast.AugAssign, frame: Frame) -> None:
    current = evaluate(_load(node.target), frame)
    added = evaluate(node.value, frame)
    if isinstance(node.op, ast.Add) and lists.is_list(current):
        longer = lists.concatenated(current, added, node, frame)
        bind(node.target, longer, frame)
        if current.name == "list" or current.op == "list_of":  # a tuple is another one then
            replaced(current, longer, frame)
        return
    result = held(binary(type(node.op), current, added, node, frame), current, node, frame)
    bind(node.target, result, frame)
    if current.kind in (Kind.TENSOR, Kind.ARRAY):
        written_into(current, result, frame)
    elif current.kind is Kind.UNKNOWN:  # a number stays what it is for its other names
        written_into(current, join(frame.graph, [current, result]), frame)


def _load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


def _return(node: ast.Return, frame: Frame) -> None:
    value = evaluate(node.value, frame)
    frame.returns.append(narrowed(value, frame))
    if frame.given:
        frame.exits.append(frame.state.copy())
    frame.state.dead = True


def _leave(node: ast.stmt, frame: Frame) -> None:
    """Leaves a path; what an exception says of it is nobody's operand."""
    if isinstance(node, ast.Break):
        frame.breaks.append(frame.state.copy())
    elif isinstance(node, ast.Continue):
        frame.continues.append(frame.state.copy())
    frame.state.dead = True


def _if(node: ast.If, frame: Frame) -> None:
    test = evaluate_test(node.test, frame)
    decided = test.op == "const" and not test.assumed
    if decided:
        execute(node.body if test.data else node.orelse, frame)
        return
    before = frame.state
    if type(node.body[0]) is ast.Raise:
        _pass(test, False, before)
        execute(node.orelse, frame)
        return
    taken = before.copy()
    _pass(test, True, taken)
    frame.state = taken
    execute(node.body, frame)
    after_body = frame.state
    frame.state = before
    _pass(test, False, frame.state)
    execute(node.orelse, frame)
    frame.state = merge(frame.graph, after_body, frame.state, id(frame.function), usually(test))


def _pass(test: Value, truth: bool, state: State) -> None:
    assume(test, truth, state)
    state.tests.update(outcome(test, truth))


def _for(node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    run_for(node, frame, execute)


def _with(node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    saved = (frame.state.gradient, frame.state.autocast)
    suppressed = [e for item in node.items for e in _suppressed(item.context_expr)]
    caught = any(map(_catches, suppressed))
    frame.caught += caught
    entered: list[Value] = []
    for item in node.items:
        context = evaluate(item.context_expr, frame)
        entered.append(context)
        _switch(node, [context], frame)
        if item.optional_vars is not None:
            # A progress bar gives itself; what another `__enter__` gives is not known.
            given = frame.graph.unknown(node=item.optional_vars, among=[context])
            bind(item.optional_vars, context if context.op == "progress" else given, frame)
        enter_context(item.context_expr, context, frame)
    contexts = zip((item.context_expr for item in node.items), entered, strict=True)
    if suppressed or any(_swallows(*one, frame) for one in contexts):
        raised = _attempt(lambda: execute(node.body, frame), frame)
        frame.state = merge(frame.graph, frame.state, raised, id(frame.function))
    else:
        execute(node.body, frame)
    frame.caught -= caught
    _switch(node, entered, frame)
    frame.state.gradient, frame.state.autocast = saved


def _switch(node: ast.With | ast.AsyncWith, entered: Sequence[Value], frame: Frame) -> None:
    """Enters or leaves contexts: their own code runs, and that of others where it is waited for."""
    for context in entered:
        let_run(context, frame)
    if isinstance(node, ast.AsyncWith):
        wait((), frame)


def _suppressed(node: ast.expr) -> list[ast.expr]:
    """The exceptions that a context swallows."""
    return node.args if isinstance(node, ast.Call) and called_name(node) == "suppress" else []


def _swallows(entered: ast.expr, context: Value, frame: Frame) -> bool:
    """Whether code that is seen may let what is raised within a context pass: it goes on behind the `with` then."""
    if context.kind is Kind.INSTANCE:
        leaving = (find_method(context.data[0], name, frame) for name in ("__exit__", "__aexit__"))
        return any(method is not None and returns_truth(method.node) for method in leaving)
    made_by = evaluate(entered.func, frame) if isinstance(entered, ast.Call) else context
    return made_by.kind is Kind.FUNCTION and catches_at_yield(made_by.data.node)


def _try(node: ast.Try, frame: Frame) -> None:
    if not node.finalbody:
        _try_and_catch(node, frame)
        return
    left = [(states, len(states)) for states in (frame.breaks, frame.continues, frame.exits)]
    returned = len(frame.returns)
    raised = _attempt(lambda: _try_and_catch(node, frame), frame)
    for states, since in left:
        states[since:] = [end for s in states[since:] if not (end := _cleaned(s, node.finalbody, frame)).dead]
    _clean_up(node.finalbody, raised, returned, frame)


def _try_and_catch(node: ast.Try, frame: Frame) -> None:
    caught = any(_catches(handler.type) for handler in node.handlers)
    frame.caught += caught
    before = _attempt(lambda: execute(node.body, frame), frame)
    frame.caught -= caught
    execute(node.orelse, frame)
    after = frame.state
    for handler in node.handlers:
        frame.state = before.copy()
        if handler.name:
            frame.state.names[handler.name] = frame.graph.foreign(handler)
        execute(handler.body, frame)
        after = merge(frame.graph, after, frame.state, id(frame.function), NOTHING_RAISED)
    frame.state = after


def _attempt(run: Callable[[], None], frame: Frame) -> State:
    """Runs the body of a `try`; what holds where one of its statements, at whatever depth, raises or leaves."""
    around, frame.raised = frame.raised, State(dead=True)
    run()
    raised, frame.raised = frame.raised, around
    if around is not None:
        frame.raised = merge(frame.graph, around, raised.copy(), id(frame.function))
    return raised


def _clean_up(body: Sequence[ast.stmt], raised: State, returned: int, frame: Frame) -> None:
    """Runs a `finally` as it is reached on every path, and quietly once more for the path that goes on behind it.

    It may write into what has been `returned` before it.
    """
    after = frame.state
    frame.state = merge(frame.graph, after.copy(), raised, id(frame.function))
    kept = {f"{HELD}return {i}": value for i, value in enumerate(frame.returns[returned:])}
    frame.state.names.update(kept)
    execute(body, frame)
    left = [frame.state.names.pop(name, value) for name, value in kept.items()]
    frame.returns[returned : returned + len(kept)] = left
    if frame.raised is not None:
        frame.raised = merge(frame.graph, frame.raised, frame.state.copy(), id(frame.function))
    if after.dead or frame.state.dead:
        frame.state.dead = True
        return
    frame.state = _cleaned(after, body, frame)


def _cleaned(state: State, body: Sequence[ast.stmt], frame: Frame) -> State:
    """What holds after a `finally` that is reached with `state`."""
    now, reporting = frame.state, frame.reporting
    frame.state, frame.reporting = state, False
    execute(body, frame)
    end, frame.state, frame.reporting = frame.state, now, reporting
    return end


def _catches(types: ast.expr | None) -> bool:
    """Whether an `except` clause takes a division by zero."""
    if isinstance(types, ast.Tuple):
        return any(_catches(t) for t in types.elts)
    return types is None or called_name(types) in _DIVISION_ERRORS


def _assert(node: ast.Assert, frame: Frame) -> None:
    assume(evaluate_test(node.test, frame), True, frame.state)


def _delete(node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            let_run(evaluate(_load(target), frame), frame)
            frame.state.names.pop(target.id, None)
        elif isinstance(target, ast.Attribute):
            bind(target, frame.graph.unknown(target.attr, target), frame)
        elif isinstance(target, ast.Subscript):
            container = evaluate(_load(target.value), frame)
            if container.kind in (Kind.SEQUENCE, Kind.MAPPING):
                changed(container, forgotten(container, node, frame), target.value, frame)
            else:
                shortened(container, frame)


def _import(node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    if frame.function is None:
        return  # a module-level import: found by its name, once something uses it
    for local, qualified in imported_names(node, frame.module.package):
        frame.state.names[local] = namespace(qualified, frame)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    if frame.reporting:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if isinstance(default, COMPUTED):
                evaluate(default, frame)  # once, where the function is defined
    if frame.function is None and node.name in frame.module.functions:
        return  # a module-level function: found by its name, wherever it stands
    frame.state.names[node.name] = function_value(node, frame)


def _class(node: ast.ClassDef, frame: Frame) -> None:
    if frame.reporting:
        _class_body(node, frame)
    if frame.function is None and node.name in frame.module.classes and node.name not in frame.module.several:
        return  # a module-level class: found by its name, wherever it stands
    frame.state.names[node.name] = class_value(class_of(node, frame.module), frame)


def _class_body(node: ast.ClassDef, frame: Frame) -> None:
    """What the body of a class computes; its names are its own."""
    outside = frame.state
    frame.state = outside.copy()
    for statement in node.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef):
            execute([statement], frame)
    frame.state = outside


def _match(node: ast.Match, frame: Frame) -> None:
    subject = evaluate(node.subject, frame)
    rest, after = frame.state, None
    for case in node.cases:
        frame.state = rest.copy()
        test = _case(case.pattern, subject, frame)
        if test is not None:
            _pass(test, True, frame.state)
        if case.guard is not None:
            _pass(evaluate(case.guard, frame), True, frame.state)
        elif test is not None:
            _pass(test, False, rest)
        elif isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            rest.dead = True  # takes whatever is left
        execute(case.body, frame)
        after = frame.state if after is None else merge(frame.graph, after, frame.state, id(frame.function))
    frame.state = merge(frame.graph, after, rest, id(frame.function)) if after is not None else rest


def _case(pattern: ast.pattern, subject: Value, frame: Frame) -> Value | None:
    """Binds what a case captures; the test that it makes, where that is a comparison with values."""
    if isinstance(pattern, ast.MatchValue):
        return apply("eq", {"input": subject, "other": evaluate(pattern.value, frame)}, None, frame)
    if isinstance(pattern, ast.MatchOr):
        tests = [_case(part, subject, frame) for part in pattern.patterns]
        known = [test for test in tests if test is not None]
        if len(known) < len(tests):
            return None
        return reduce(lambda a, b: apply("logical_or", {"input": a, "other": b}, None, frame), known)
    if isinstance(pattern, ast.MatchAs):
        test = _case(pattern.pattern, subject, frame) if pattern.pattern is not None else None
        if pattern.name is not None:
            frame.state.names[pattern.name] = subject
        return test
    for part in descendants(pattern):
        name = getattr(part, "name", None) or getattr(part, "rest", None)
        if isinstance(name, str):
            frame.state.names[name] = frame.graph.unknown(name, part, among=[subject])
    return None


_HANDLERS: dict[type[ast.stmt], Callable[[Any, Frame], None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _leave,
    ast.Break: _leave,
    ast.Continue: _leave,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: lambda node, frame: run_while(node, frame, execute),
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Match: _match,
}
