"""The models of a file that are trained: what the losses of its backward passes are computed by."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import lru_cache

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import qualified
from stablelint.matchers.names import assigned_in, bound_to, called, receiver
from stablelint.matchers.tree import start
from stablelint.syntax.walk import descendants, functions_below, nodes_in

_DEPTH = 4  # names between a loss and the output that it is computed from


@lru_cache(maxsize=1)
def trained_in(module: ModuleInfo) -> frozenset[str]:
    """The expressions that are called like models on the way to a loss: `net` of `criterion(net(x), y).backward()`."""
    tree = module.source.tree
    roots: list[ast.AST] = [tree, *functions_below(tree)]
    return frozenset(
        ast.unparse(call.func)
        for root in roots
        for back in backs_in(root)
        for call in models_of(back, root, module)
    )


def backs_in(root: ast.AST) -> list[ast.Call]:
    """The backward passes of a function."""
    return [n for n in nodes_in(root, ast.Call) if called(n) in ("backward", "manual_backward")]


def gives_back_loss(made: ast.expr | None, tree: ast.AST) -> bool:
    """Whether an expression calls a function of the file that goes backward from a loss and returns it with its graph."""
    called_here = [f for f in functions_below(tree) if made is not None and f.name == called(made)]
    return any(
        isinstance(given, ast.Name)
        and any(given.id in map(ast.unparse, (receiver(b) or b, *b.args)) for b in backs_in(f))
        and not any(start(n) > start(backs_in(f)[0]) for n in assigned_in(given.id, f))
        for f in called_here
        for given in (n.value for n in nodes_in(f, ast.Return))
    )


def models_of(back: ast.Call, root: ast.AST, module: ModuleInfo) -> Iterator[ast.Call]:
    """The calls of models whose outputs the loss of a backward pass is computed from."""
    loss = back.args[0] if back.args else receiver(back)
    for call in _behind(loss, back, root, _DEPTH) if loss is not None else ():
        given = (*call.args, *(k.value for k in call.keywords))
        inner = (c for part in given for c in _behind(part, call, root, _DEPTH))
        if call is not back and _may_be_model(call, module):
            if not any(_may_be_model(c, module) for c in inner):
                yield call


def _behind(node: ast.expr, at: ast.AST, root: ast.AST, depth: int) -> Iterator[ast.Call]:
    """The calls in an expression, and in what its names were bound to last."""
    for part in descendants(node):
        if isinstance(part, ast.Call):
            yield part
        elif isinstance(part, ast.Name) and depth:
            made = bound_to(part.id, at, root)
            if made is not None:
                yield from _behind(made, made, root, depth - 1)


def _may_be_model(call: ast.Call, module: ModuleInfo) -> bool:
    """Whether a call is one of a name or an attribute of `self`, of a tensor, that no import explains."""
    func, text = call.func, ast.unparse(call.func).removeprefix("self.")
    if not call.args or "." in text or not isinstance(func, ast.Name | ast.Attribute):
        return False
    return not hasattr(builtins, text) and "." not in qualified(func, module).removeprefix("self.")
