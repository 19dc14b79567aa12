"""What a function is there for, as far as its name, signature, class and decorators tell."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.interpret.classes import ancestors
from stablelint.syntax.walk import descendants

if TYPE_CHECKING:
    from stablelint.analysis.values.state import Frame

_INVERSES = frozenset("inverse _inverse inv log_abs_det_jacobian inverse_transform".split())
_DIRECTIONS = frozenset("inverse reverse reversed invert".split())
_DEPRECATED = re.compile(r"deprecat", re.I)
_GRADIENT = re.compile(r"grad_(in|out|input|output)s?$|^back_?props?$")
_CONSTANT_FILLS = frozenset("zeros_ ones_ constant_ eye_ dirac_".split())
_PLAIN = frozenset("int float bool str".split())


def scales_invertibly(function: FunctionInfo | None, frame: Frame) -> bool:
    """Whether a function is a direction of an invertible transform."""
    if function is None or function.owner is None:
        return False
    names = {a.arg for a in (*function.node.args.args, *function.node.args.kwonlyargs)}
    if not _DIRECTIONS.isdisjoint(names):
        return True
    return any(not _INVERSES.isdisjoint(info.methods) for info in ancestors(function.owner, frame))


def is_deprecated(function: FunctionInfo | None) -> bool:
    """Whether a function says, by a decorator or a warning, that it is kept for old callers only."""
    node = function.node if function is not None else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    calls = (s.value for s in node.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call))
    return any(_speaks_of_it(d) for d in (*node.decorator_list, *calls))


def _speaks_of_it(node: ast.AST) -> bool:
    """Whether `deprecated(...)`, or `warn(..., DeprecationWarning)`, is called."""
    names = [getattr(n, "attr", None) or getattr(n, "id", None) for n in descendants(node)]
    return any(isinstance(name, str) and _DEPRECATED.search(name) for name in names)


def takes_gradients(function: FunctionInfo) -> bool:
    """Whether a function is handed a gradient: it is a backward pass itself, and none is taken through it."""
    arguments = function.node.args
    names = (a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    return any(_GRADIENT.match(name) for name in names)


def takes_numbers_only(function: FunctionInfo) -> bool:
    """Whether annotations tell that a function takes plain numbers, or tensors in their place: none is trained."""
    arguments = function.node.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    if function.owner is not None or arguments.vararg or arguments.kwarg or not every:
        return False
    optional = {
        id(a) for a in (*arguments.posonlyargs, *arguments.args)[-len(arguments.defaults) or len(every) :]
    }
    told = [a for a in every if a.annotation is not None or id(a) not in optional]
    return all(a.annotation is not None and _is_plain(a.annotation) for a in told)


def _is_plain(annotation: ast.expr) -> bool:
    """Whether an annotation admits a plain number or a string, and else at most a tensor."""
    names = {n.id for n in descendants(annotation) if isinstance(n, ast.Name)}
    return not _PLAIN.isdisjoint(names) and names <= _PLAIN | {"Optional", "Union", "Tensor", "torch"}


def fills_at_random(function: FunctionInfo | None, name: str) -> bool:
    """Whether a function hands a tensor of its own, `name` or its data, to one of `torch.nn.init`'s random fillings."""
    if function is None:
        return False
    calls = (n for n in descendants(function.node) if isinstance(n, ast.Call) and n.args)
    return any(_is_filling(call.func) and _root(call.args[0]) == name for call in calls)


def _is_filling(called: ast.expr) -> bool:
    if (
        not isinstance(called, ast.Attribute)
        or not called.attr.endswith("_")
        or called.attr in _CONSTANT_FILLS
    ):
        return False
    module = called.value
    return (module.attr if isinstance(module, ast.Attribute) else _root(module)) == "init"


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
