"""What a function's text binds its names to, and which of its expressions carry an autograd graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from stablelint.matchers.tree import ancestors, start
from stablelint.syntax.walk import descendants, functions_below, nodes_below, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Methods and functions of one tensor whose result has the graph of that tensor.
CARRYING = frozenset(
    """
    abs clone contiguous cpu cuda double exp flatten float half log log_softmax logsigmoid mean neg pow ravel relu
    reshape sigmoid softmax sqrt square squeeze sum tanh to transpose permute type unsqueeze view bfloat16 div mul
    """.split()
)

_OF_MODULES = frozenset(("parameters", "named_parameters", "train", "load_state_dict", "eval"))
_NAMESPACES = frozenset(("torch", "F", "nn.functional", "torch.nn.functional", "torch.special"))


def functions_of(review: Review, *words: str) -> Iterator[ast.AST]:
    """The file and its functions, each once, where all the words stand in its text."""
    source = review.module.source
    if not review.of_body or not all(word in source.text for word in words):
        return
    yield from _functions_in(source.tree)


@lru_cache(maxsize=1)
def _functions_in(tree: ast.AST) -> list[ast.AST]:
    return [tree, *functions_below(tree)]


def reached_from(root: ast.AST, tree: ast.AST) -> list[ast.AST]:
    """A node, and the functions of a tree that it calls by name or as methods, and those that these call; each once."""
    functions = {n.name: n for n in functions_below(tree)}
    reached = [root]
    for node in reached:  # which grows meanwhile
        names = {called(n) for n in descendants(node)} & functions.keys()
        reached.extend(f for name in sorted(names) if (f := functions[name]) not in reached)
    return reached


def bound_to(name: str, before: ast.AST, root: ast.AST) -> ast.expr | None:
    """What the last plain assignment of a name or attribute before a node binds it to, as the text stands."""
    found = [
        node
        for node in nodes_in(root, ast.Assign, ast.AnnAssign)
        if start(node) < start(before) and name in _targets(node) and before not in set(descendants(node))
    ]
    last = max(found, key=start, default=None)
    return last.value if isinstance(last, ast.Assign | ast.AnnAssign) else None


def assigned_in(name: str, tree: ast.AST) -> list[ast.Assign | ast.AnnAssign]:
    """The plain assignments of a name or attribute below a node."""
    plain = (n for n in nodes_in(tree, ast.Assign, ast.AnnAssign) if name in _targets(n))
    return [n for n in plain if isinstance(n, ast.Assign | ast.AnnAssign)]


def _targets(node: ast.AST) -> list[str]:
    """The names and attributes that an assignment binds to its whole value."""
    if isinstance(node, ast.Assign):
        return [
            ast.unparse(t) for t in node.targets if isinstance(t, ast.Name | ast.Attribute | ast.Subscript)
        ]
    return [ast.unparse(node.target)] if isinstance(node, ast.AnnAssign) and node.value else []


def modules_in(review: Review) -> frozenset[str]:
    """The expressions of a file that stand for modules: what is asked for its parameters, or put into a mode."""
    return _modules_in(review.module.source.tree)


@lru_cache(maxsize=1)
def _modules_in(tree: ast.AST) -> frozenset[str]:
    calls = (n for n in nodes_below(tree, ast.Call) if called(n) in _OF_MODULES)
    return frozenset(ast.unparse(of) for n in calls if (of := receiver(n)) is not None)


def called(node: ast.AST) -> str:
    """The last component of what a call calls; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def receiver(node: ast.AST) -> ast.expr | None:
    """The object whose method a call is."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.value if isinstance(func, ast.Attribute) else None


def is_namespace(node: ast.expr | None) -> bool:
    """Whether an expression is `torch` or one of its modules, by the names everybody gives them."""
    return node is not None and ast.unparse(node) in _NAMESPACES


def carriers(node: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes whose graph is part of that of an expression made by arithmetic."""
    if isinstance(node, ast.Name | ast.Attribute):
        yield node
    elif isinstance(node, ast.BinOp):
        yield from carriers(node.left)
        yield from carriers(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from carriers(node.operand)
    elif isinstance(node, ast.IfExp):
        yield from carriers(node.body)
        yield from carriers(node.orelse)
    elif called(node) in CARRYING and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of = receiver(node)
        inner = node.args[0] if is_namespace(of) and node.args else of
        if inner is not None:
            yield from carriers(inner)


def graph_is_off(node: ast.AST, root: ast.AST) -> bool:
    """Whether a `with` around a node or a decorator of the function switches recording off, or may do so."""
    heads = list(_heads_around(node, root))
    return _is_no_grad(heads) or any("set_grad_enabled" in head for head in heads)


def is_without_graph(node: ast.AST, root: ast.AST) -> bool:
    """Whether a `with torch.no_grad()` stands around a node, or a decorator like it on the function."""
    return _is_no_grad(list(_heads_around(node, root)))


def _is_no_grad(heads: list[str]) -> bool:
    return any(word in head for head in heads for word in ("no_grad", "inference_mode"))


def _heads_around(node: ast.AST, root: ast.AST) -> Iterator[str]:
    """What stands behind the `with` of the blocks around a node, and the decorators of the functions."""
    for outer in (*ancestors(node, root), root):
        if isinstance(outer, ast.With | ast.AsyncWith):
            yield from (ast.unparse(item.context_expr) for item in outer.items)
        elif isinstance(outer, Function):
            yield from map(ast.unparse, outer.decorator_list)
