"""What a function's text binds its names to, and which of its expressions carry an autograd graph."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import lru_cache

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.review import Review
from stablelint.matchers.tree import (
    Function,
    ancestors,
    arguments,
    assigned,
    backs_in,
    called,
    contexts,
    end,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import normalise, spelled
from stablelint.syntax.operations import function, having, method
from stablelint.syntax.remembered import remembered
from stablelint.syntax.signatures import parameters
from stablelint.syntax.walk import descendants, functions_below, nodes_below, nodes_in

# Operations whose result has the graph of their first operand.
CARRYING = having("elementwise", "along", "layout", "copy", "cast", "device") - having(
    "cut", "whole", "truth", "compare", "logic", "finite-test", "several", "extreme", "rank"
)
_OF_MODULES = ("parameters", "named_parameters", "train", "load_state_dict", "eval")
_OF_MODULES_AND_TENSORS = ("to", "cuda", "cpu", "half", "zero_grad", "state_dict", "requires_grad_")
_NAMESPACES = frozenset(("torch", "F", "nn.functional", "torch.nn.functional", "torch.special"))
_SWITCHES = ("no_grad", "inference_mode", "enable_grad")
_BETWEEN = 4  # names between a loss and the output that it is computed from


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


def classes_of(review: Review) -> list[ast.ClassDef]:
    """The classes of the file; none unless the module body is reviewed, so that each is seen once."""
    return review.module.sights.classes if review.of_body else []


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


def assigned_in(name: str, tree: ast.AST) -> list[ast.Assign | ast.AnnAssign]:
    """The plain assignments of a name or attribute below a node."""
    return _assignments(tree).get(name, [])


@remembered
def _assignments(tree: ast.AST) -> dict[str, list[ast.Assign | ast.AnnAssign]]:
    """The plain assignments below a node, by what they bind."""
    found: dict[str, list[ast.Assign | ast.AnnAssign]] = {}
    plain: list[ast.Assign | ast.AnnAssign] = nodes_in(tree, ast.Assign, ast.AnnAssign)
    for node in plain:
        for name in dict.fromkeys(assigned(node)[0]):
            found.setdefault(name, []).append(node)
    return found


def bound_to(name: str, before: ast.AST, root: ast.AST) -> ast.expr | None:
    """What the last plain assignment of a name or attribute before a node binds it to, as the text stands."""
    found = [
        (start(node), value) for node, value in _values(root).get(name, []) if end(node) <= start(before)
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None


@remembered
def _values(tree: ast.AST) -> dict[str, list[tuple[ast.AST, ast.expr | None]]]:
    """What the assignments below a node bind to each name, those of a tuple to a tuple part by part."""
    found: dict[str, list[tuple[ast.AST, ast.expr | None]]] = {}
    plain: list[ast.Assign | ast.AnnAssign] = nodes_in(tree, ast.Assign, ast.AnnAssign)
    for node in plain:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for one, value in zip(target.elts, node.value.elts, strict=False):
                found.setdefault(spelled(one), []).append((node, value))
        for name in dict.fromkeys(assigned(node)[0]):
            found.setdefault(name, []).append((node, node.value))
    return found


def unpacked_from(name: str, before: ast.AST, root: ast.AST) -> tuple[int, ast.expr] | None:
    """What a name was last taken out of before a node, and at which place: `h` of `out, h = rnn(x)`."""
    found = [node for node in _unpackings(root).get(name, []) if end(node) <= start(before)]
    last = max(found, key=start, default=None)
    if last is None or not isinstance(last.targets[0], ast.Tuple):
        return None
    return list(map(spelled, last.targets[0].elts)).index(name), last.value


@remembered
def _unpackings(tree: ast.AST) -> dict[str, list[ast.Assign]]:
    """The assignments below a node that take something apart, by what they bind."""
    found: dict[str, list[ast.Assign]] = {}
    for node in nodes_in(tree, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and not isinstance(node.value, ast.Tuple):
            for name in map(spelled, target.elts):
                found.setdefault(name, []).append(node)
    return found


def parameters_of(root: ast.AST) -> dict[str, ast.expr | None]:
    """The annotations of a function's parameters, by name."""
    if not isinstance(root, Function):
        return {}
    return {a.arg: a.annotation for a in parameters(root.args)}


def modules_in(review: Review) -> frozenset[str]:
    """The expressions of a file that stand for modules."""
    return _modules_in(review.module)


@lru_cache(maxsize=1)
def _modules_in(module: ModuleInfo) -> frozenset[str]:
    """What is asked for its parameters, or put into a mode; called, and moved or cleared, which no function is; bound to
    what a class of modules makes; or called like a model on the way to a loss."""
    calls = module.sights.calls
    asked = set(map(subject, calls(*_OF_MODULES)))
    moved = set(map(subject, calls(*_OF_MODULES_AND_TENSORS))) - asked
    run = {spelled(n.func) for n in calls()} if moved else set()
    made = (n for n in nodes_below(module.source.tree, ast.Assign) if makes_module(n.value, module))
    bound = {text for n in made for text in assigned(n)[0]}
    itself = {"self"} if _classes_of_modules(module) else set[str]()
    return frozenset(asked | (moved & run) | bound | itself | trained_in(module)) - {""}


def makes_module(node: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression makes a module, and perhaps moves it: `nn.Linear(8, 8).cuda()`, `Net().to(device)`."""
    while isinstance(inner := receiver(node), ast.Call):
        node = inner
    package, _, name = made_by(node, module).rpartition(".")
    if package in ("torch.nn", "torchvision.models"):
        return not name.endswith(("Parameter", "Buffer", "Loss"))
    return not package and name in _classes_of_modules(module)


@lru_cache(maxsize=1)
def _classes_of_modules(module: ModuleInfo) -> frozenset[str]:
    """The classes of a file that derive from `torch.nn.Module`, or Lightning's, or from one of these."""
    kinds = {info.name: [qualified(base, module) for base in info.bases] for info in module.sights.classes}
    found = {name for name, above in kinds.items() if any(map(_is_module_class, above))}
    while more := {name for name, above in kinds.items() if found.intersection(above)} - found:
        found |= more
    return frozenset(found)


def _is_module_class(name: str) -> bool:
    return normalise(name) == "torch.nn.Module" or name.endswith(".LightningModule")


def is_module_class(info: ast.ClassDef, module: ModuleInfo) -> bool:
    """Whether a class of the file is one of modules, itself or by another class of the file."""
    return info.name in _classes_of_modules(module)


def runs_module(node: ast.AST | None, modules: frozenset[str]) -> bool:
    """Whether a call is one of something that stands for a module."""
    return isinstance(node, ast.Call) and spelled(node.func).removesuffix(".forward") in modules


@lru_cache(maxsize=1)
def trained_in(module: ModuleInfo) -> frozenset[str]:
    """The expressions that are called like models on the way to a loss: `net` of `criterion(net(x), y).backward()`."""
    tree = module.source.tree
    trains = module.mentions("backward", "manual_backward")
    return frozenset(
        spelled(call.func)
        for root in ((tree, *functions_below(tree)) if trains else ())
        for back in backs_in(root)
        for call in models_of(back, root, module)
    )


def models_of(back: ast.Call, root: ast.AST, module: ModuleInfo) -> Iterator[ast.Call]:
    """The calls of models whose outputs the loss of a backward pass is computed from."""
    loss = back.args[0] if back.args else receiver(back)
    for call in calls_behind(loss, back, root) if loss is not None else ():
        inner = (c for part in arguments(call) for c in calls_behind(part, call, root))
        if call is not back and _may_be_model(call, module):
            if not any(_may_be_model(c, module) for c in inner):
                yield call


def calls_behind(node: ast.expr, at: ast.AST, root: ast.AST, depth: int = _BETWEEN) -> Iterator[ast.Call]:
    """The calls in an expression, and in what its names were bound to last."""
    for part in descendants(node):
        if isinstance(part, ast.Call):
            yield part
        elif isinstance(part, ast.Name) and depth:
            made, taken = bound_to(part.id, at, root), unpacked_from(part.id, at, root)
            if taken is not None and (made is None or start(made) < start(taken[1])):
                made = taken[1]
            if made is not None:
                yield from calls_behind(made, made, root, depth - 1)


def _may_be_model(call: ast.Call, module: ModuleInfo) -> bool:
    """Whether a call is one of a name or an attribute of `self`, of a tensor, that no import explains."""
    func, text = call.func, spelled(call.func).removeprefix("self.")
    if not arguments(call) or "." in text or not isinstance(func, ast.Name | ast.Attribute):
        return False
    return not hasattr(builtins, text) and "." not in qualified(func, module).removeprefix("self.")


def is_namespace(node: ast.expr | None) -> bool:
    """Whether an expression is `torch` or one of its modules, by the names everybody gives them."""
    return node is not None and spelled(node) in _NAMESPACES


def operand_of(call: ast.AST) -> ast.expr | None:
    """The tensor whose graph the result of a method or a function of one tensor carries; None for any other call."""
    of = receiver(call)
    if operation_of(call) not in CARRYING or not isinstance(call, ast.Call) or of is None:
        return None
    return next(iter(call.args), of) if is_namespace(of) else of


def carriers(node: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes whose graph is part of that of an expression made by arithmetic."""
    match node:
        case ast.Name() | ast.Attribute():
            yield node
        case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
            yield from carriers(one)
            yield from carriers(other)
        case ast.UnaryOp(operand=inner):
            yield from carriers(inner)
        case ast.Call() if (of := operand_of(node)) is not None:
            yield from carriers(of)


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
