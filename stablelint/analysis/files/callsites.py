"""Which calls a file shows of a function, and which numbers they pass.

By the text alone: a call is known by the last name of what it calls. What it passes is a number where that is
written down, in the call or in a default, an attribute or a constant of the file that the call names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.analysis.files.reading import FunctionNode
from stablelint.analysis.files.sights import CallSite
from stablelint.syntax.names import called_name
from stablelint.syntax.signatures import defaults_of, parameters, placed

_DEPTH = 4  # names that lead on to others
Number = int | float


def is_written(info: ClassInfo, attr: str) -> bool:
    """Whether the file shows an attribute being written by another object, or by a class that inherits it."""
    return attr in info.assigned_below or info.module.sights.writes(attr)


def numbers_passed(function: FunctionInfo, parameter: str) -> list[Number] | None:
    """The numbers that calls in the same file pass for a parameter; None where one passes what cannot be told."""
    numbers: list[Number] = []
    for site, skipped in _calls_of(function):
        passed = argument_of(site.call, function, parameter, skipped)
        if passed is None:
            continue
        number = _number(passed, site, function.module, _DEPTH)
        if number is None:
            return None
        numbers.append(number)
    return numbers


def _calls_of(function: FunctionInfo) -> Iterator[tuple[CallSite, int]]:
    """The calls of a function that its file shows, and how many of their arguments stand for no parameter."""
    module, owner, name = function.module, function.owner, function.name
    builds = owner is not None and name in ("__init__", "__post_init__", "__new__")
    called = owner.name if owner is not None and builds else name
    if _is_spelled_again(called, module):
        for site in module.sights.calls_of(called):
            yield site, int(called_name(site.call) == "partial")
    if owner is None or not builds:
        return
    below = [subclass.node for subclass in owner.subclasses]
    for site in module.sights.calls_of(name) if below else ():
        if site.owner in below:
            receiver = site.call.func.value if isinstance(site.call.func, ast.Attribute) else None
            yield site, int(receiver is not None and called_name(receiver) == owner.name)


def _is_spelled_again(name: str, module: ModuleInfo) -> bool:
    """Whether the text calls something of that name, or hands it to a call, besides defining it."""
    text = module.source.text
    return text.count(f"{name}(") > 1 or f"({name}," in text


def argument_of(call: ast.Call, function: FunctionInfo, parameter: str, skipped: int) -> ast.expr | None:
    """What a call passes for a parameter; None where it leaves that out, or hands on what cannot be seen."""
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    signature = function.node.args
    names = [a.arg for a in placed(signature)]
    if function.owner is not None and not function.has_decorator("staticmethod"):
        names = names[1:]
    given = call.args[skipped:]
    place = names.index(parameter) if parameter in names else len(given)
    if place >= len(given) or any(isinstance(a, ast.Starred) for a in given[: place + 1]):
        return None
    return given[place]


def _number(node: ast.expr | None, site: CallSite, module: ModuleInfo, depth: int) -> Number | None:
    """The number that an expression is written as, or that the default, attribute or constant it names is."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, site, module, depth)
        return -inner if inner is not None else None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) else None
    if not depth:
        return None
    if isinstance(node, ast.Name):
        if site.function is not None and node.id in parameters_of(site.function):
            return _number(default_of(site.function, node.id), site, module, depth - 1)
        values = module.assignments.get(node.id, [])
        alone = values[0] if len(values) == 1 else None
        return _number(alone, CallSite(site.call, None, None), module, depth - 1)
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self" and site.owner is not None:
        return _kept(node.attr, site, module, depth - 1)
    return None


def _kept(attr: str, site: CallSite, module: ModuleInfo, depth: int) -> Number | None:
    """The number that `__init__` keeps on `self`."""
    info = module.classes.get(site.owner.name) if site.owner is not None else None
    builder = info.methods.get("__init__") if info is not None else None
    if info is None or info.node is not site.owner or builder is None or attr in info.reassigned:
        return None
    for statement in ast.walk(builder.node):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(t, ast.Attribute) and t.attr == attr for t in targets):
            assert isinstance(statement, ast.Assign)
            return _number(statement.value, CallSite(site.call, builder.node, site.owner), module, depth)
    return None


def parameters_of(function: FunctionNode) -> list[str]:
    """The names of the parameters that a call can give one argument."""
    return [a.arg for a in parameters(function.args)]


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number that is written down."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) in (int, float)


def default_of(function: FunctionNode, parameter: str) -> ast.expr | None:
    """The default of a parameter, if it has one."""
    return {p.arg: d for p, d in defaults_of(function)}.get(parameter)
