"""Which expressions of a file stand for models, and which calls run them."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.review import Review
from stablelint.matchers.names import (
    bindings_of,
    bound_anywhere,
    bound_to,
    defined,
    made_by,
    parameters_of,
    qualified,
    unpacked_from,
)
from stablelint.matchers.tree import (
    Function,
    assigned,
    backs_in,
    calls_below,
    loss_of,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import normalise, spelled
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import descendants, functions_below, nodes_below, nodes_in

_OF_MODULES = ("parameters", "named_parameters", "train", "load_state_dict", "eval")
_OF_MODULES_AND_TENSORS = ("to", "cuda", "cpu", "half", "zero_grad", "state_dict", "requires_grad_")
_BETWEEN = 4  # names between a loss and the output that it is computed from


def modules_in(review: Review) -> frozenset[str]:
    """The expressions of a file that stand for modules."""
    return _modules_in(review.module)


@lru_cache(maxsize=1)
def _modules_in(module: ModuleInfo) -> frozenset[str]:
    """What is asked for its parameters, or put into a mode; called, and moved or cleared, which no function is; bound to
    what a class of modules makes; given to one; or called like a model on the way to a loss."""
    calls, asked = module.sights.calls, _asked(module)
    moved = set(map(subject, calls(*_OF_MODULES_AND_TENSORS))) - asked
    run = {spelled(n.func) for n in calls()} if moved else set()
    itself = {"self"} if _classes_of_modules(module) else set[str]()
    known = asked | (moved & run) | itself | modules_made_in(module) | handed_to_modules(module)
    return frozenset(known | trained_in(module)) - {""}


@lru_cache(maxsize=1)
def _asked(module: ModuleInfo) -> frozenset[str]:
    """What is asked for its parameters, or put into a mode."""
    return frozenset(map(subject, module.sights.calls(*_OF_MODULES)))


@lru_cache(maxsize=1)
def handed_to_modules(module: ModuleInfo) -> frozenset[str]:
    """What modules of a file are given when they are made, and call with one thing: `self.net` of `self.net(x)`."""
    found = set[str]()
    for info in (info for info in module.sights.classes if is_module_class(info, module)):
        called = {spelled(n.func) for n in nodes_below(info, ast.Call) if len(arguments(n)) == 1}
        for init in (s for s in info.body if isinstance(s, Function) and s.name == "__init__"):
            given = parameters_of(init)
            found |= {
                text for text in called if any(spelled(b.value) in given for b in bindings_of(text, init))
            }
    return frozenset(found)


@lru_cache(maxsize=1)
def modules_made_in(module: ModuleInfo) -> frozenset[str]:
    """What a file binds to a module that it makes of layers of torch or a class of its own."""
    made = (n for n in nodes_below(module.source.tree, ast.Assign) if makes_module(n.value, module))
    return frozenset(text for n in made for text in assigned(n)[0])


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
    found = {
        name
        for name, above in kinds.items()
        if any(normalise(one) == "torch.nn.Module" or one.endswith(".LightningModule") for one in above)
    }
    while more := {name for name, above in kinds.items() if found.intersection(above)} - found:
        found |= more
    return frozenset(found)


def is_module_class(info: ast.ClassDef, module: ModuleInfo) -> bool:
    """Whether a class of the file is one of modules, itself or by another class of the file."""
    return info.name in _classes_of_modules(module)


def held_by(optimizers: Iterable[str], module: ModuleInfo) -> set[str]:
    """The models whose parameters a file gives to what it binds to these names: `net` of `Adam(net.parameters())`."""
    made = (one for name in optimizers for one in bound_anywhere(name, module.source.tree))
    return {subject(given) for one in made for given in calls_below(one, "parameters")}


# What `torch.nn.Module` has, and what none of its callers takes a graph from.
_OF_EVERY_MODULE = frozenset(
    "add_module apply bfloat16 buffers children cpu cuda double eval float forward get_parameter get_submodule half "
    "load load_state_dict modules named_buffers named_children named_modules named_parameters parameters "
    "register_buffer register_forward_hook register_full_backward_hook register_module register_parameter "
    "requires_grad_ save save_pretrained share_memory state_dict to train type zero_grad".split()
)


def runs_module(node: ast.AST | None, modules: frozenset[str]) -> bool:
    """Whether a call is one of something that stands for a module."""
    return isinstance(node, ast.Call) and spelled(node.func).removesuffix(".forward") in modules


def runs_part(node: ast.Call, modules: frozenset[str]) -> bool:
    """Whether a call is one of a method, not of every module's, that something that stands for one gives named values."""
    method = node.func
    given = any(isinstance(one, ast.Name) for part in node.args for one in descendants(part))
    return (
        isinstance(method, ast.Attribute)
        and given
        and (spelled(method.value) in modules and method.attr not in _OF_EVERY_MODULE)
    )


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


def models_of(back: ast.AST, root: ast.AST, module: ModuleInfo) -> Iterator[ast.Call]:
    """The calls of models whose outputs the loss of a backward pass is computed from."""
    loss = loss_of(back)
    for call in calls_behind(loss, back, root, module) if loss is not None else ():
        inner = (c for part in arguments(call) for c in calls_behind(part, call, root, module))
        if call is not back and _may_be_model(call, module):
            if not any(_may_be_model(c, module) for c in inner):
                yield call


def calls_behind(
    node: ast.expr, at: ast.AST, root: ast.AST, module: ModuleInfo, depth: int = _BETWEEN
) -> Iterator[ast.Call]:
    """The calls in an expression, in what its names were bound to last, and in what functions of the file give back."""
    for part in descendants(node):
        if isinstance(part, ast.Call):
            yield part
            for function in defined(part, module) if depth else ():
                for given in nodes_in(function, ast.Return):
                    if given.value is not None:
                        yield from calls_behind(given.value, given, function, module, depth - 1)
        elif isinstance(part, ast.Name) and depth:
            made, taken = bound_to(part.id, at, root), unpacked_from(part.id, at, root)
            if taken is not None and (made is None or start(made) < start(taken[1])):
                made = taken[1]
            filled = isinstance(made, ast.List) and not made.elts
            puts = (n for n in nodes_in(root, ast.Call) if filled and spelled(n.func) == f"{part.id}.append")
            for held in [made] if made is not None and not filled else [n.args[0] for n in puts if n.args]:
                yield from calls_behind(held, held, root, module, depth - 1)


def _may_be_model(call: ast.Call, module: ModuleInfo) -> bool:
    """Whether a call is one of a name that no definition or import explains, or of such an attribute that the file binds or
    uses as a module: what is only called on `self` may be a method that another file defines."""
    func, text = call.func, spelled(call.func).removeprefix("self.")
    if not arguments(call) or "." in text or not isinstance(func, ast.Name | ast.Attribute):
        return False
    tree = module.source.tree
    if defined(call, module) or any(_is_of_torch(n, module) for n in bound_anywhere(text, tree)):
        return False
    used = bound_anywhere(spelled(func), tree) or spelled(func) in _asked(module)
    if isinstance(func, ast.Attribute) and not used:
        return False
    return not hasattr(builtins, text) and "." not in qualified(func, module).removeprefix("self.")


def _is_of_torch(bound: ast.expr, module: ModuleInfo) -> bool:
    """Whether a name stands for something of torch as it is, `torch.cuda.FloatTensor if gpu else torch.FloatTensor`, or for
    what the standard library makes: `namedtuple("Batch", fields)`."""
    of = (bound.body, bound.orelse) if isinstance(bound, ast.IfExp) else (bound,)
    made = made_by(bound, module).partition(".")[0] in sys.stdlib_module_names
    return made or any(qualified(one, module).startswith("torch.") for one in of)
