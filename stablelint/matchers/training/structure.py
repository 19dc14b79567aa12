"""Flaws in how models are built and stored: modules in plain lists, states kept by reference or loaded anywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo, statements_of
from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import bound_to, called, functions_of, receiver
from stablelint.matchers.tree import loop_around, start
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

_MODULES = ("torch.nn.Module", "torch.nn.modules.Module")
_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict")


@observes()
def unregistered_modules(review: Review, rule: Rule) -> Iterator[Site]:
    """`self.layers = [nn.Linear(…), …]` in the `__init__` of a module."""
    classes, module = classes_of(review), review.module
    kinds = {info.name: info for info in classes}
    for info in classes:
        init = next((s for s in info.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
        if init is None or not _is_module(info, kinds, module):
            continue
        for statement in statements_of(init.body):
            if not isinstance(statement, ast.Assign):
                continue
            target, value = statement.targets[0], statement.value
            made = bound_to(value.id, statement, init) if isinstance(value, ast.Name) else value
            if not isinstance(target, ast.Attribute) or made is None:
                continue
            if not _holds_modules(made, module) and not _is_filled(made, target.attr, init, module):
                continue
            if not _is_registered({target.attr, _name(value)}, info):
                name = "named" if isinstance(made, ast.Dict | ast.DictComp) else "layers"
                yield site_at(review, rule, value, {name: value}, statement=statement)


def _is_module(info: ast.ClassDef, kinds: dict[str, ast.ClassDef], module: ModuleInfo) -> bool:
    """Whether a class derives from `torch.nn.Module`, or Lightning's, itself or by another class of the file."""
    for base in info.bases:
        name = qualified(base, module)
        if name in _MODULES or name.endswith(".LightningModule"):
            return True
        above = kinds.get(name)
        if above is not None and above is not info and _is_module(above, kinds, module):
            return True
    return False


def _is_filled(made: ast.expr, attr: str, init: ast.FunctionDef, module: ModuleInfo) -> bool:
    """Whether an attribute begins as an empty list to which the same function appends layers."""
    appended = (n for n in nodes_in(init, ast.Call) if called(n) == "append" and len(n.args) == 1)
    return (
        isinstance(made, ast.List)
        and not made.elts
        and any(
            ast.unparse(receiver(n) or n) == f"self.{attr}" and _is_layer(n.args[0], module) for n in appended
        )
    )


def _holds_modules(node: ast.expr, module: ModuleInfo) -> bool:
    """A list, a tuple, a comprehension or a dict of layers that have parameters."""
    if called(node) in ("list", "tuple") and isinstance(node, ast.Call) and len(node.args) == 1:
        return _holds_modules(node.args[0], module)
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and any(_is_layer(e, module) for e in node.elts)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return _is_layer(node.elt, module)
    if isinstance(node, ast.Dict):
        return any(_is_layer(v, module) for v in node.values)
    return isinstance(node, ast.DictComp) and _is_layer(node.value, module)


def _is_layer(node: ast.expr, module: ModuleInfo) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = qualified(node.func, module)
    plain = name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()
    return (
        plain
        and name.count(".") == 2
        and not name.endswith(("Loss", "ReLU", "Parameter", "Pool2d", "Tanh", "Sigmoid"))
    )


def _is_registered(names: set[str], info: ast.ClassDef) -> bool:
    """Whether the class hands the list on to a container, or registers its elements one by one."""
    for node in descendants(info):
        if called(node) in ("add_module", "register_module", "setattr"):
            return True
        if called(node) in _CONTAINERS:
            parts = descendants(node)
            if any(getattr(n, "attr", getattr(n, "id", "")) in names - {""} for n in parts):
                return True
    return False


@observes()
def load_without_map_location(review: Review, rule: Rule) -> Iterator[Site]:
    """`model.load_state_dict(torch.load(f))` that names no device, in a file that runs with and without a GPU."""
    if not review.of_body or not review.module.mentions("is_available"):
        return
    calls = nodes_below(review.module.source.tree, ast.Call)
    written = {_subject(c, 1) for c in calls if qualified(c.func, review.module) == "torch.save"}
    named = (c for c in calls if called(c) == "load" and any(k.arg == "map_location" for k in c.keywords))
    known = (written | {_subject(c, 0) for c in named}) - {""}
    loads = {c for c in calls if _is_load(c, review.module)}
    for root in functions_of(review, "load_state_dict"):
        restoring = [n for n in nodes_in(root, ast.Call) if called(n) == "load_state_dict"]
        plain = {
            n.args[0] for n in restoring if n.args and _has_no_tensors(n, restoring, root, review.module)
        }
        for node in sorted(loads & set(nodes_in(root, ast.Call)) - plain if restoring else (), key=start):
            # What this run has saved lies where it runs, and so does what never left the memory.
            source = node.args[0]
            if known & {_subject(node, 0), getattr(source, "attr", "")} or called(source) == "BytesIO":
                continue
            if not _is_of_run(source, calls, review.module):
                yield site_at(review, rule, node)


def _has_no_tensors(restoring: ast.Call, others: list[ast.Call], root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a state is restored into a scaler, or into what was made over an optimizer: a scheduler."""
    of = receiver(restoring)
    made = bound_to(ast.unparse(of), restoring, root) if of is not None else None
    if not isinstance(made, ast.Call):
        return False
    if qualified(made.func, module).endswith("GradScaler") or ".lr_scheduler." in qualified(
        made.func, module
    ):
        return True
    over = {ast.unparse(given) for given in (*made.args, *(k.value for k in made.keywords))}
    return any(
        ast.unparse(o) in over for n in others if n is not restoring and (o := receiver(n)) is not None
    )


def _is_of_run(path: ast.expr, calls: list[ast.Call], module: ModuleInfo) -> bool:
    """Whether a path is an attribute of what the run makes itself and hands on: `callback.best_model_path`."""
    if not isinstance(path, ast.Attribute) or not isinstance(path.value, ast.Name):
        return False
    name = path.value.id
    handed = any(name in map(_name, (*call.args, *(k.value for k in call.keywords))) for call in calls)
    made = [n.value for n in nodes_below(module.source.tree, ast.Assign) if name in map(_name, n.targets)]
    return handed and any(isinstance(m, ast.Call) and called(m)[:1].isupper() for m in made)


def _name(node: ast.expr) -> str:
    """A name; empty for any other expression."""
    return node.id if isinstance(node, ast.Name) else ""


def _subject(call: ast.Call, place: int) -> str:
    """The text of an argument; empty where it is not given by its place."""
    return ast.unparse(call.args[place]) if len(call.args) > place else ""


def classes_of(review: Review) -> list[ast.ClassDef]:
    """The classes of the file; none unless the module body is reviewed, so that each is seen once."""
    return nodes_below(review.module.source.tree, ast.ClassDef) if review.of_body else []


def _is_load(call: ast.Call, module: ModuleInfo) -> bool:
    told = {k.arg for k in call.keywords} & {"map_location", None}
    one = len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)
    return one and not told and qualified(call.func, module) == "torch.load"


@observes()
def state_kept_by_reference(review: Review, rule: Rule) -> Iterator[Site]:
    """`best = model.state_dict()` in a loop, which trains on, and `model.load_state_dict(best)` after it."""
    for root in functions_of(review, ".state_dict()", "load_state_dict"):
        restored = [n for n in nodes_in(root, ast.Call) if called(n) == "load_state_dict"]
        for statement in nodes_in(root, ast.Assign) if restored else ():
            loop = loop_around(statement, root)
            after = [n for n in restored if loop is not None and start(n) > start(loop)]
            for name, kept in _bound(statement):
                state = _without_copy(kept)
                if loop is None or called(state) != "state_dict":
                    continue
                if _is_restored(name, state, after, loop):
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
        inner = kept.args[0] if len(kept.args) == 1 else receiver(kept)
        return inner if inner is not None else kept
    return kept


def _is_restored(name: str, state: ast.expr, loads: list[ast.Call], loop: ast.AST) -> bool:
    """Whether one of the loads puts a kept state back behind the loop, and none does so in its turns."""
    owner = ast.unparse(receiver(state) or state)
    of_it = [n for n in loads if n.args and ast.unparse(n.args[0]) == name]
    of_it = [n for n in of_it if ast.unparse(receiver(n) or n) == owner]
    return bool(of_it) and not set(of_it) & set(descendants(loop))
