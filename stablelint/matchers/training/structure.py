"""Flaws in how models are built and stored: modules in plain lists, states kept by reference or loaded anywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.value import Kind
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.names import assigned_in, bound_to, classes_of, functions_naming, made_by, qualified
from stablelint.matchers.training.gathered import additions
from stablelint.matchers.tree import (
    argument,
    arguments,
    assigned,
    called,
    calls_below,
    calls_in,
    end,
    exclusive,
    is_given,
    loop_around,
    mentions,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.walk import functions_below, nodes_below, nodes_in

_MODULES = ("torch.nn.Module", "torch.nn.modules.Module")
_BARE = (
    "Loss",
    "ReLU",
    "GELU",
    "SiLU",
    "Parameter",
    "Pool1d",
    "Pool2d",
    "Pool3d",
    "Tanh",
    "Sigmoid",
    "Upsample",
    "Flatten",
    "Identity",
)  # without parameters, or one themselves
_METHODS = {
    "layers": ("append", "extend", "insert", "pop"),
    "named": ("clear", "items", "keys", "pop", "update", "values"),
}  # that the modules for them have
_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict", "Parameter")
_MOVED = "where this moves the parameter, it is a tensor of its own, which the module does not know of"


@observes()
def unregistered_modules(review: Review, rule: Rule) -> Sites:
    """`self.layers = [nn.Linear(…), …]` in the `__init__` of a module."""
    module = review.module
    for info, init in constructors(review):
        for statement in nodes_in(init, ast.Assign):
            target, value = statement.targets[0], statement.value
            made = bound_to(value.id, statement, init) if isinstance(value, ast.Name) else value
            if not isinstance(target, ast.Attribute) or made is None:
                continue
            names = {target.attr, getattr(value, "id", "")} - {""}
            if not _holds_modules(made, module) and not _is_filled(made, names, init, module):
                continue
            if not _is_registered(names, info):
                name = "named" if isinstance(made, ast.Dict | ast.DictComp) else "layers"
                held = {name: value} if _suits(name, names, info) else {}
                yield site_at(review, rule, value, held, statement=statement)


def _suits(name: str, names: set[str], info: ast.ClassDef) -> bool:
    """Whether a class asks of a list or dict only for methods that a `ModuleList` or `ModuleDict` has."""
    asked = (one.func for one in nodes_below(info, ast.Call) if isinstance(one.func, ast.Attribute))
    return all(one.attr in _METHODS[name] for one in asked if spelled(one.value).rpartition(".")[2] in names)


def constructors(review: Review) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef]]:
    """The modules that a file defines, each with its `__init__`."""
    kinds = {info.name: info for info in classes_of(review)}
    for info in classes_of(review):
        init = next((s for s in info.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
        if init is not None and _is_module(info, kinds, review.module):
            yield info, init


@observes()
def unregistered_parameters(review: Review, rule: Rule) -> Sites:
    """`self.scale = torch.ones(1, requires_grad=True)` or `nn.Parameter(…).to(device)` in the `__init__` of a module."""
    held = review.module.mentions("Parameter") or "requires_grad" in review.module.source.text
    for info, init in constructors(review) if held else ():
        for statement in nodes_in(init, ast.Assign):
            target, value = statement.targets[0], statement.value
            moved = _moved_parameter(value, review.module)
            if not isinstance(target, ast.Attribute) or (
                moved is None and not _is_leaf(value, review.module)
            ):
                continue
            if is_read_outside(target.attr, info, review.module):
                continue  # who reads it elsewhere may train it
            stores = [n for n in nodes_below(info, ast.Assign) if ast.unparse(target) in assigned(n)[0]]
            if len(stores) > 1:
                continue  # a place for what comes later
            if moved is not None:
                yield site_at(review, rule, value, moved, message=_MOVED, kind=Kind.TENSOR)
            elif not _is_registered({target.attr}, info):
                yield site_at(review, rule, value, {"leaf": value})


def is_read_outside(attr: str, info: ast.ClassDef, module: ModuleInfo) -> bool:
    """Whether an attribute of that name stands in the file outside of a class."""
    anywhere, inside = (
        sum(n.attr == attr for n in nodes_below(tree, ast.Attribute)) for tree in (module.source.tree, info)
    )
    return anywhere > inside


def _moved_parameter(node: ast.expr, module: ModuleInfo) -> dict[str, ast.expr] | None:
    """The operands of an expression that copies a parameter to another device or type, where it is one."""
    inner = receiver(node) if called(node) in ("to", "cuda", "half", "double", "bfloat16") else None
    if not isinstance(inner, ast.Call) or not made_by(inner, module).endswith("nn.Parameter"):
        return None
    given = [*node.args, *(one.value for one in node.keywords)] if isinstance(node, ast.Call) else []
    if len(inner.args) != 1 or inner.keywords or len(given) > 1:
        return {}
    if given:
        return {"data": inner.args[0], "place": given[0]} if called(node) == "to" else {}
    return {"raw": inner.args[0]} if called(node) == "cuda" else {}


def _is_leaf(node: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression makes a tensor that asks for gradients: `torch.ones(1, requires_grad=True)`."""
    given = argument(node, "requires_grad") if isinstance(node, ast.Call) else None
    asks = isinstance(given, ast.Constant) and given.value is True
    if called(node) == "requires_grad_" and not ast.unparse(node).endswith("(False)"):
        return made_by(receiver(node), module).startswith("torch.")
    return (
        asks
        and made_by(node, module).startswith("torch.")
        and not made_by(node, module).endswith("Parameter")
    )


def _is_module(info: ast.ClassDef, kinds: dict[str, ast.ClassDef], module: ModuleInfo) -> bool:
    """Whether a class derives from `torch.nn.Module`, or Lightning's, itself or by another class of the file."""
    names = [qualified(base, module) for base in info.bases]
    if any(name in _MODULES or name.endswith(".LightningModule") for name in names):
        return True
    above = [kinds[name] for name in names if name in kinds and kinds[name] is not info]
    return any(_is_module(one, kinds, module) for one in above)


def _is_filled(made: ast.expr, names: set[str], init: ast.FunctionDef, module: ModuleInfo) -> bool:
    """Whether a list, by its name or as an attribute, begins empty and is given layers in the same function."""
    texts = names | {f"self.{name}" for name in names}
    adding = nodes_in(init, ast.Call, ast.AugAssign, ast.Assign)
    held = [held for node in adding for kept, held in additions(node) if ast.unparse(kept) in texts]
    empty = isinstance(made, ast.List) and not made.elts
    return empty and any(_is_layer(one, module) or _holds_modules(one, module) for one in held)


def _holds_modules(node: ast.expr, module: ModuleInfo) -> bool:
    """A list, a tuple, a comprehension or a dict of layers that have parameters."""
    match node:
        case ast.Call(args=[inner]) if called(node) in ("list", "tuple"):
            return _holds_modules(inner, module)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return any(_is_layer(part, module) for part in parts)
        case ast.BinOp(left=inner, op=ast.Mult()):
            return _holds_modules(inner, module)
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.DictComp(value=part):
            return _is_layer(part, module)
    return False


def _is_layer(node: ast.expr, module: ModuleInfo) -> bool:
    """Whether an expression makes a module with parameters: one of torch, or by a class or a function of the file."""
    return _is_of_torch(node, module) or made_by(node, module).removeprefix("self.") in _makers(module)


def _is_of_torch(node: ast.expr | None, module: ModuleInfo) -> bool:
    package, _, name = made_by(node, module).rpartition(".")
    return package == "torch.nn" and name[:1].isupper() and not name.endswith(_BARE)


@lru_cache(maxsize=1)
def _makers(module: ModuleInfo) -> frozenset[str]:
    """The classes of a file that hold layers of torch, and its functions and methods that return one."""
    classes = {
        info.name for info in module.sights.classes if any(_is_of_torch(n, module) for n in calls_below(info))
    }
    functions = functions_below(module.source.tree)
    returning = {
        f.name for f in functions if any(_is_of_torch(n.value, module) for n in nodes_in(f, ast.Return))
    }
    return frozenset(classes | returning)


def _is_registered(names: set[str], info: ast.ClassDef) -> bool:
    """Whether the class hands the list on to a container, or registers its elements one by one."""
    if calls_below(info, "add_module", "register_module", "setattr"):
        return True
    return any(mentions(node, *names) for node in calls_below(info, *_CONTAINERS))


@observes()
def load_without_map_location(review: Review, rule: Rule) -> Sites:
    """`model.load_state_dict(torch.load(f))` that names no device, in a file that runs with and without a GPU."""
    if not review.of_body or not review.module.mentions("is_available"):
        return
    module = review.module
    calls = module.sights.calls()
    written = {_given(c, 1) for c in calls if made_by(c, module) == "torch.save"}
    named = {_given(c, 0) for c in calls if called(c) == "load" and is_given(c, "map_location")}
    known = (written | named) - {""}
    for root in functions_naming(review, "load_state_dict"):
        restoring = calls_in(root, "load_state_dict")
        plain = {n.args[0] for n in restoring if n.args and _has_no_tensors(n, restoring, root, module)}
        loads = [n for n in calls_in(root) if n not in plain and _is_load(n, module)]
        for node in sorted(loads if restoring else (), key=start):
            # What this run has saved lies where it runs, and so does what never left the memory.
            source = node.args[0]
            if known & {_given(node, 0), getattr(source, "attr", "")} or called(source) == "BytesIO":
                continue
            if not _is_of_run(source, calls, module):
                yield site_at(review, rule, node)


def _has_no_tensors(restoring: ast.Call, others: list[ast.Call], root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a state is restored into a scaler, or into what was made over an optimizer: a scheduler."""
    made = bound_to(subject(restoring), restoring, root)
    if not isinstance(made, ast.Call):
        return False
    name = made_by(made, module)
    if name.endswith("GradScaler") or ".lr_scheduler." in name:
        return True
    over = set(map(ast.unparse, arguments(made)))
    return any(subject(n) in over for n in others if n is not restoring)


def _is_of_run(path: ast.expr, calls: list[ast.Call], module: ModuleInfo) -> bool:
    """Whether a path is an attribute of what the run makes itself and hands on: `callback.best_model_path`."""
    if not isinstance(path, ast.Attribute) or not isinstance(path.value, ast.Name):
        return False
    name = path.value.id
    handed = any(name == getattr(a, "id", "") for call in calls for a in arguments(call))
    made = [n.value for n in nodes_below(module.source.tree, ast.Assign) if name in assigned(n)[0]]
    return handed and any(called(m)[:1].isupper() for m in made)


def _given(call: ast.Call, place: int) -> str:
    """The text of an argument; empty where it is not given by its place."""
    return ast.unparse(call.args[place]) if len(call.args) > place else ""


def _is_load(call: ast.Call, module: ModuleInfo) -> bool:
    one = len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)
    return one and not is_given(call, "map_location", None) and made_by(call, module) == "torch.load"


@observes()
def optimizer_state_before_move(review: Review, rule: Rule) -> Sites:
    """`optimizer.load_state_dict(…)` and then `model.cuda()`, of a model whose state is restored before that."""
    for root in functions_naming(review, "load_state_dict"):
        restoring = sorted(calls_in(root, "load_state_dict"), key=start)
        moves = (
            [n for n in calls_in(root, "cuda", "to") if not exclusive(n, restoring[-1], root)]
            if restoring
            else []
        )
        for call in (n for n in restoring if _is_optimizer(n, root, review.module)):
            models = {subject(n) for n in restoring if start(n) < start(call)} - {subject(call)}
            late = [n for n in moves if subject(n) in models and start(n) > start(call)]
            if late and not any(subject(n) == subject(late[0]) for n in moves if start(n) < start(call)):
                yield site_at(review, rule, min(late, key=start), shown=False)


def _is_optimizer(call: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a state is restored into an optimizer, by what the text binds to its name, or by the name."""
    made = [n.value for tree in (root, module.source.tree) for n in assigned_in(subject(call), tree)]
    if any(isinstance(n, ast.Call) for n in made):
        return any(
            made_by(n, module).startswith("torch.optim.") and "lr_scheduler" not in made_by(n, module)
            for n in made
        )
    return subject(call).rpartition(".")[2].lower().startswith("optim")


@observes()
def state_kept_by_reference(review: Review, rule: Rule) -> Sites:
    """`best = model.state_dict()` in a loop, which trains on, and `model.load_state_dict(best)` after it."""
    for root in functions_naming(review, "load_state_dict"):
        restored = calls_in(root, "load_state_dict")
        for statement in nodes_in(root, ast.Assign) if restored else ():
            loop = loop_around(statement, root)
            for name, kept in _bound(statement) if loop is not None else ():
                state = _without_copy(kept)
                of_it = [n for n in restored if _given(n, 0) == name and subject(n) == subject(state)]
                after = [n for n in of_it if start(n) > start(loop)]
                if called(state) == "state_dict" and after and all(start(n) > end(loop) for n in after):
                    yield site_at(review, rule, kept, {"state": kept})


def _bound(statement: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """What an assignment binds, and to what: each part of a tuple by itself."""
    value = statement.value
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(map(ast.unparse, target.elts), value.elts, strict=False)
        else:
            yield ast.unparse(target), value


def _without_copy(kept: ast.expr) -> ast.expr:
    """What a copy is made of that shares the tensors: `dict(state)`, `copy.copy(state)`, `state.copy()`."""
    if isinstance(kept, ast.Call) and called(kept) in ("dict", "OrderedDict", "copy"):
        return (kept.args[0] if len(kept.args) == 1 else receiver(kept)) or kept
    return kept
