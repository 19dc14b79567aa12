"""Whether a rewrite away from its finding changes a value that others use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from stablelint.codemod.flow.definition import Function, binds, definition, function_of, in_loop, scope_of
from stablelint.codemod.flow.nodes import OF_SHAPE, looks_names_up, readers, viewed
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Proposal, Span
from stablelint.syntax.order import keeps_order, order_readers

_IN_ORDER = r"\b(?:list|tuple|len|enumerate|reversed|iter)\("


def check_unshared(tree: Tree, span: Span, inside: Sequence[Span], template: str = "") -> str | None:
    """Raise Withheld unless what the expression at `span` gives is used within the spans `inside` alone.

    Where a function returns it, the rewrite is one for all who call that: what is returned says so.

    That is so within these, and for a value that is bound to one name or attribute which is read
    nowhere else; where `template` takes an increasing function away, also for readers of the order alone.
    """
    node = tree.find(span)
    if not isinstance(node, ast.expr):
        return None
    statement = tree.statement(node)
    takes_away = re.fullmatch(r"\$\w+", template) is not None
    if takes_away and _returns(statement, node):
        return _for_callers(tree, statement, inside)
    function = function_of(tree, statement)
    is_bound = isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is node
    if is_bound and function is not None and looks_names_up(function):
        raise Withheld("what the value that would change is bound to may be looked up by its name")
    if any(one.contains(span) for one in inside):
        return None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise Withheld("the value that would change may be used elsewhere")
    target = statement.targets[0]
    places = [range(tree.source.offset(one.start), tree.source.offset(one.end)) for one in inside]
    own = range(tree.start(node), tree.end(node))  # `z = softmax(z)` reads the z before
    readers = [
        other
        for other in _readers(tree, statement, target)
        if not any(tree.start(other) in one for one in (*places, own))
    ]
    if takes_away and keeps_order(node):
        unmoved = order_readers(tree.module, ast.unparse(target))
        readers = [other for other in readers if other not in unmoved]
    within = [other for other in _readers(tree, statement, target) if tree.start(other) not in own]
    is_local = isinstance(target, ast.Name)
    if readers and takes_away and is_local and all(_returns(tree.statement(one), one) for one in readers):
        return _for_callers(tree, statement, inside)
    if not readers and len(within) > len(inside):
        raise Withheld(
            f"`{ast.unparse(target)}`, which would change, is read {len(within)} times in the finding"
        )
    if readers:
        raise Withheld(
            f"`{ast.unparse(target)}`, which would change, is used on line {readers[0].lineno} too"
        )
    return None


def _returns(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether a statement returns an expression, or a view of it, and nothing else."""
    value = statement.value if isinstance(statement, ast.Return) else None
    return value is not None and (value is node or viewed(value) is node)


def _for_callers(tree: Tree, statement: ast.stmt, inside: Sequence[Span]) -> str:
    """What changes for the callers of a function that returns something else: those of this file, by their lines."""
    function = function_of(tree, statement)
    owner = _owner(tree, statement)
    method = function.name if function is not None else "it"
    name = owner.name if owner is not None else method
    calls = _calls_of(tree.module, {name} if owner is None else set())
    if owner is not None:
        calls += _calls_of(owner, {"self", "self.forward"} if method == "forward" else {f"self.{method}"})
    for scope in ast.walk(tree.module):
        if isinstance(scope, Function | ast.ClassDef):
            calls += _calls_of(scope, _instances(scope, name, isinstance(scope, ast.ClassDef)))
    _check_computed(tree, calls, inside)
    known = {row for one in inside for row in range(one.start.row, one.end.row + 1)}
    others = ", ".join(map(str, sorted({one.lineno for one in calls} - known)))
    seen = f", as on line {others}," if others else ""
    return f"all who call `{name}`{seen} then get what it has computed before this step"


def takers_elsewhere(tree: Tree, proposal: Proposal) -> list[Span]:
    """The operations of other functions that a change of what its own function returns is made for; all of them where a
    layer of a model goes."""
    function = _function_at(tree, proposal.span)
    outermost = [one for one in (*proposal.program[-1:], *proposal.takers) if one is not None]
    return [one for one in outermost if proposal.kind == "delete" or _function_at(tree, one) is not function]


def _function_at(tree: Tree, span: Span) -> ast.AST | None:
    node = tree.find(span)
    return None if node is None else function_of(tree, node)


def check_taken_alone(tree: Tree, takers: Sequence[Span]) -> None:
    """Raise Withheld where a loss takes, for what a function gave, logits that others read as its probabilities.

    Readers of the shape, and of the order of the elements alone, read the same as before.
    """
    calls = [one for one in map(tree.find, takers) if isinstance(one, ast.Call) and one.args]
    places = [range(tree.start(one), tree.end(one)) for one in calls]
    for call in calls:
        taken = viewed(call.args[0])
        given = definition(tree, taken)
        model = taken if given is None else given.value
        if isinstance(model, ast.Call):
            calls_alike = _calls_of(tree.module, {ast.unparse(model.func)})
            _check_computed(tree, calls_alike, takers)
            _check_handed_over(model, calls_alike, takers)
        if not isinstance(taken, ast.Name) or given is None or not isinstance(given.value, ast.Call):
            continue
        unmoved = order_readers(tree.module, taken.id)
        for other in _readers(tree, given.statement, ast.Name(taken.id, ast.Store())):
            above = tree.link(other).parent
            is_shape = isinstance(above, ast.Attribute) and above.attr in OF_SHAPE
            if other not in unmoved and not is_shape and not any(tree.start(other) in one for one in places):
                raise Withheld(f"`{taken.id}`, which would change, is used on line {other.lineno} too")


def callers_of_chain(tree: Tree, span: Span, inside: Sequence[Span]) -> str | None:
    """Who else gets another result where a layer of an `nn.Sequential` goes; None where nobody is in sight.

    Raises Withheld where its layers are looked for by their places, and where other places than those `inside` compute with
    what it gives.
    """
    node = tree.find(span)
    if node is None:
        return None
    statement = tree.statement(node)
    named = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = ast.unparse(named) if isinstance(named, ast.Name | ast.Attribute) else ""
    owner = _owner(tree, statement) if name.startswith("self.") else None
    scope = owner or scope_of(tree, statement)
    if not name and isinstance(statement, ast.AugAssign):
        raise Withheld(f"the layer is added to others on line {statement.lineno}")
    for row in _looked_into(tree, scope, name) if name else ():
        raise Withheld(f"the layers of `{name}` are looked for by their places on line {row}")
    calls = list(_calls_of(scope, {name}))
    _check_computed(tree, calls, inside)
    called = sorted({one.lineno for one in calls})
    if owner is None and len(called) < 2:
        return None
    lines = f", as on line {', '.join(map(str, called))}," if called else ""
    return f"all who call `{name if owner is None else owner.name}`{lines} then get what enters the layer"


def _check_computed(tree: Tree, calls: Sequence[ast.Call], inside: Sequence[Span]) -> None:
    """Raise Withheld where a call elsewhere than `inside`, or what has its result, stands in arithmetic or is compared."""
    for one in (one for call in calls for one in (call, *_named_readers(tree, call))):
        row, above = one.lineno, (link.parent for link in tree.ancestors(one))
        parts = (each for each in above if not isinstance(each, ast.Attribute))
        taker = next(each for each in parts if not isinstance(each, ast.expr) or viewed(each) is not one)
        is_known = any(span.start.row <= row <= span.end.row for span in inside)
        if isinstance(taker, ast.Compare | ast.BinOp | ast.UnaryOp) and not is_known:
            raise Withheld(f"`{ast.unparse(one)}`, which would change, is used on line {row} too")


def _check_handed_over(model: ast.Call, calls: Sequence[ast.Call], inside: Sequence[Span]) -> None:
    """Raise Withheld where a helper runs a model, `apply(self.net, x)`, that it runs for others than those `inside`, too."""
    handed = {ast.unparse(one) for one in model.args if isinstance(one, ast.Attribute)}
    for call in calls:
        known = any(span.start.row <= call.lineno <= span.end.row for span in inside)
        shared = handed & {ast.unparse(one) for one in call.args}
        if call is not model and shared and not known:
            raise Withheld(f"`{min(shared)}`, whose result would change, is run on line {call.lineno} too")


def _named_readers(tree: Tree, call: ast.Call) -> Iterator[ast.expr]:
    """The readers of the one name that a statement gives a call's result to."""
    statement = tree.statement(call)
    if isinstance(statement, ast.Assign) and viewed(statement.value) is call:
        if isinstance(statement.targets[0], ast.Name):
            yield from _readers(tree, statement, statement.targets[0])


def _looked_into(tree: Tree, scope: ast.AST, name: str) -> Iterator[int]:
    """The lines on which a layer of a chain is taken, or all of them in their order."""
    chain = re.escape(name)
    taken = re.compile(
        rf"{_IN_ORDER}{chain}\)|(\*|\bin ){chain}\b(?!\.)|\b{chain}(\[|\.(named_)?(children|modules)\()"
    )
    for one in ast.walk(scope):
        if isinstance(one, ast.stmt) and taken.search(tree.source.line(one.lineno)):
            yield one.lineno


def _instances(scope: ast.AST, name: str, of_self: bool) -> set[str]:
    """The names, or attributes of `self`, that a scope gives to instances of a class."""
    found: set[str] = set()
    for one in ast.walk(scope):
        if (
            isinstance(one, ast.Assign)
            and isinstance(one.value, ast.Call)
            and ast.unparse(one.value.func) == name
        ):
            texts = {ast.unparse(target) for target in one.targets}
            found |= {text for text in texts if text.startswith("self.") == of_self}
    return found


def _calls_of(scope: ast.AST, names: set[str]) -> list[ast.Call]:
    """The calls of one of the names."""
    return [one for one in ast.walk(scope) if isinstance(one, ast.Call) and ast.unparse(one.func) in names]


def _readers(tree: Tree, statement: ast.stmt, target: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    if isinstance(target, ast.Name):
        scope = scope_of(tree, statement)
        first = 0 if in_loop(tree, statement) else tree.start(statement)
        within = (
            one for one in ast.walk(scope) if one is not scope and isinstance(one, Function | ast.Lambda)
        )
        later = {one for function in within for one in ast.walk(function)}
        others = {
            one
            for function in later
            if isinstance(function, Function) and binds(function, target.id)
            for one in ast.walk(function)
        }
        for name in readers(scope, target.id):
            # What is read before the statement is the name's earlier value; a function may have a name of its own.
            if name not in others and (tree.start(name) >= first or name in later):
                yield name
    elif isinstance(target, ast.Attribute):
        for node in ast.walk(tree.module):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == target.attr
                and isinstance(node.ctx, ast.Load)
            ):
                yield node
    else:
        raise Withheld("the value that would change may be used elsewhere")


def _owner(tree: Tree, node: ast.stmt | ast.expr) -> ast.ClassDef | None:
    """The innermost class around a node. (The links upwards are known of asked-for statements only.)"""
    around = [
        one
        for one in ast.walk(tree.module)
        if isinstance(one, ast.ClassDef) and one.lineno <= node.lineno <= (one.end_lineno or 0)
    ]
    return max(around, key=lambda one: one.lineno, default=None)
