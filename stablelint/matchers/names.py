"""What a function's text binds its names to, and which of its expressions carry an autograd graph."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.analysis.matching.review import Review
from stablelint.matchers.tree import (
    Function,
    ancestors,
    around,
    called,
    contexts,
    end,
    loop_around,
    receiver,
    start,
    subject,
)
from stablelint.syntax.beforehand import bindings
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import function, having, method
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import parameters
from stablelint.syntax.walk import descendants, functions_below, nodes_below, nodes_in

# Operations whose result has the graph of their first operand.
CARRYING = having("elementwise", "along", "layout", "copy", "cast", "device") - having(
    "cut", "whole", "truth", "compare", "logic", "finite-test", "several", "extreme", "rank"
)
# `torch` and its modules, by the names everybody gives them.
_NAMESPACES = frozenset(("torch", "F", "nn.functional", "torch.nn.functional", "torch.special"))
_SWITCHES = ("no_grad", "inference_mode", "enable_grad")


def qualified(node: ast.expr, module: ModuleInfo) -> str:
    """The dotted name that an expression stands for, by the imports of the file; empty where it is none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([module.imports.get(node.id, node.id), *reversed(parts)])


def made_by(node: ast.AST | None, module: ModuleInfo) -> str:
    """The dotted name of what a call calls; empty for anything else."""
    return qualified(node.func, module) if isinstance(node, ast.Call) else ""


def makers_of(name: str, module: ModuleInfo) -> list[str]:
    """The dotted names of what the assignments of a file call for a name or attribute; empty where they call nothing."""
    return [made_by(value, module) for value in bound_anywhere(name, module.source.tree)]


def operation_of(node: ast.AST | None, module: ModuleInfo | None = None) -> str:
    """The operation that a call stands for, by what it calls or else by its name as a method; empty where it is none."""
    by_name = function(made_by(node, module)) if module is not None else None
    spelled = method(called(node)) if by_name is None else None
    return by_name.name if by_name is not None else spelled[0].name if spelled is not None else ""


def functions_of(review: Review, *words: str) -> list[ast.AST]:
    """The file and its functions, each once, where its code speaks of all the words."""
    module = review.module
    held = review.of_body and module.speaks_of(*words)
    return [module.source.tree, *module.sights.functions] if held else []


def functions_naming(review: Review, *names: str) -> list[ast.AST]:
    """The file and its functions, each once, in or around which one of the names is read or written: that of a method
    that is called, say."""
    module = review.module
    held = review.of_body and module.mentions(*names)
    return [module.source.tree, *module.sights.functions_naming(*names)] if held else []


def functions_reaching(review: Review, *names: str, beyond: bool = True) -> list[ast.AST]:
    """Those, and the functions that may call one, or with `beyond` what another file of the project holds."""
    module = review.module
    if beyond and module.stars:
        return functions_of(review)
    helpers = [one.name for one in module.sights.functions_naming(*names)]
    return functions_naming(review, *names, *helpers, *(module.borrowed if beyond else ()))


def classes_of(review: Review) -> list[ast.ClassDef]:
    """The classes of the file; none unless the module body is reviewed, so that each is seen once."""
    return review.module.sights.classes if review.of_body else []


def function_around(node: ast.AST | None, module: ModuleInfo) -> ast.AST:
    """The function of a file in which a node stands; the file's body where it stands in none."""
    tree = module.source.tree
    return next((n for n in ancestors(node, tree) if isinstance(n, Function)), tree)


def defined(call: ast.AST, module: ModuleInfo) -> list[Function]:
    """The functions of the file that a call by name, or of a method of `self`, may run."""
    own = module.sights.functions_named.get(called(call), [])
    return own if own and subject(call) in ("", "self") else []


@remembered
def run_by(call: ast.Call, module: ModuleInfo, project: Project) -> list[tuple[Function, ModuleInfo]]:
    """The functions that a call in a file may run, each with its own file: of that file, or imported by it."""
    own = defined(call, module)
    found = project.resolve(call.func, module) if not own else None
    if isinstance(found, FunctionInfo) and isinstance(found.node, Function):
        return [(found.node, found.module)]
    return [(function, module) for function in own]


def turns_of(node: ast.AST, root: ast.AST, module: ModuleInfo) -> list[ast.AST]:
    """What runs a node again and again: the loop around it in its function; else the function itself, where loops of the
    file or those of Lightning call it, and these loops."""
    loop = loop_around(node, root)
    if loop is not None or not isinstance(root, Function):
        return [loop] if loop is not None else []
    tree = module.source.tree
    calls = (n for n in module.sights.calls(root.name) if subject(n) in ("", "self"))
    loops = [loop for n in calls for loop in around(n, tree, ast.For, ast.AsyncFor, ast.While)[:1]]
    is_hook = root.name == "training_step" and module.mentions("LightningModule")
    return [root, *loops] if loops or is_hook else []


def reached_from(root: ast.AST, tree: ast.AST) -> list[ast.AST]:
    """A node, and the functions of a tree that it calls by name or as methods, and those that these call; each once.

    The functions around it are not among them: `worker.start()` in `start` is another's.
    """
    outside = set(ancestors(root, tree))
    functions = {n.name: n for n in functions_below(tree) if n not in outside}
    reached = [root]
    for node in reached:  # which grows meanwhile
        names = {called(n) for n in descendants(node)} & functions.keys()
        reached.extend(f for name in sorted(names) if (f := functions[name]) not in reached)
    return reached


class Binding(NamedTuple):
    """What an assignment binds a name to: a value, or what stands at a place of it, where it takes the value apart."""

    node: ast.Assign | ast.AnnAssign
    value: ast.expr
    place: int | None = None


def assigned_in(name: str, tree: ast.AST) -> list[ast.Assign | ast.AnnAssign]:
    """The plain assignments of a name or attribute in a function."""
    return [one.node for one in _bound(name, tree) if one.value is one.node.value]


def bound_to(name: str, before: ast.AST, root: ast.AST) -> ast.expr | None:
    """What the last plain assignment of a name or attribute before a node binds it to, as the text stands."""
    last = _last(_bound(name, root), before)
    return last.value if last is not None else None


def bindings_of(name: str, tree: ast.AST) -> list[Binding]:
    """What the assignments in a function bind a name to, those of a tuple to a tuple part by part."""
    return _bindings(tree).get(name, [])


def unpacked_from(name: str, before: ast.AST, root: ast.AST) -> tuple[int, ast.expr] | None:
    """What a name was last taken out of before a node, and at which place: `h` of `out, h = rnn(x)`."""
    last = _last((one for one in _bindings(root).get(name, ()) if one.place is not None), before)
    return (last.place, last.value) if last is not None and last.place is not None else None


def bound_anywhere(name: str, tree: ast.AST) -> list[ast.expr]:
    """What the assignments of a file, in all its functions, bind a name or attribute to."""
    return [one.value for one in _bound(name, tree, nodes_below)]


def _last(found: Iterable[Binding], before: ast.AST) -> Binding | None:
    earlier = (one for one in found if end(one.node) <= start(before))
    return max(earlier, key=lambda one: start(one.node), default=None)


def _bound(name: str, tree: ast.AST, walk: Callable[..., Any] = nodes_in) -> list[Binding]:
    return [one for one in _bindings(tree, walk).get(name, ()) if one.place is None]


@remembered
def _bindings(tree: ast.AST, walk: Callable[..., Any] = nodes_in) -> dict[str, list[Binding]]:
    """What the assignments that a walk comes to bind, by name."""
    found: dict[str, list[Binding]] = {}
    for node in walk(tree, ast.Assign, ast.AnnAssign):
        for target, value in bindings(node):
            found.setdefault(spelled(target), []).append(Binding(node, value))
            parts = target.elts if isinstance(target, ast.Tuple) else ()
            for place, part in enumerate(parts):
                found.setdefault(spelled(part), []).append(Binding(node, value, place))
    return found


def parameters_of(root: ast.AST) -> dict[str, ast.expr | None]:
    """The annotations of a function's parameters, by name."""
    if not isinstance(root, Function):
        return {}
    return {a.arg: a.annotation for a in parameters(root.args)}


def operand_of(call: ast.AST) -> ast.expr | None:
    """The tensor whose graph the result of a method or a function of one tensor carries; None for any other call."""
    of = receiver(call)
    if operation_of(call) not in CARRYING or not isinstance(call, ast.Call) or of is None:
        return None
    return next(iter(call.args), of) if spelled(of) in _NAMESPACES else of


def carriers(node: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes whose graph is part of that of an expression made by arithmetic."""
    match node:
        case ast.Name() | ast.Attribute():
            yield node
        case ast.BinOp(left=one, op=ast.Div() | ast.FloorDiv() | ast.Pow()):
            # A number of steps or of elements, by which losses are divided, has no graph.
            yield from carriers(one)
        case ast.IfExp(body=one, orelse=other):
            # `loss.item() if isinstance(loss, torch.Tensor) else loss`: what is left as it is has no graph.
            read_out = {text for arm in (one, other) for text in _read_out(arm)}
            yield from (
                part for arm in (one, other) for part in carriers(arm) if spelled(part) not in read_out
            )
        case ast.BinOp(left=one, right=other):
            yield from carriers(one)
            yield from carriers(other)
        case ast.UnaryOp(operand=inner):
            yield from carriers(inner)
        case ast.Call() if (of := operand_of(node)) is not None:
            yield from carriers(of)


def _read_out(node: ast.expr) -> Iterator[str]:
    """What a call that carries no graph asks for a value: `loss.item()`, `float(loss)`."""
    if isinstance(node, ast.Call) and operand_of(node) is None:
        yield from (spelled(given) for given in (receiver(node), *node.args) if given is not None)


def graph_is_off(node: ast.AST, root: ast.AST) -> bool:
    """Whether a `with` around a node or a decorator of the function switches recording off, or may do so."""
    return is_without_graph(node, root) or any("set_grad_enabled" in head for head in _heads(node, root))


def is_without_graph(node: ast.AST, root: ast.AST) -> bool:
    """Whether a `with torch.no_grad()` stands around a node, or a decorator like it on the function: the nearest counts."""
    switches = (head for head in _heads(node, root) if any(word in head for word in _SWITCHES))
    return "enable_grad" not in next(switches, "enable_grad")


def _heads(node: ast.AST, root: ast.AST) -> list[str]:
    """What stands behind the `with` of the blocks around a node, and the decorators of the functions."""
    functions = [n for n in (*ancestors(node, root), root) if isinstance(n, Function)]
    decorators = [d for function in functions for d in function.decorator_list]
    return list(map(spelled, (*contexts(node, root), *decorators)))
