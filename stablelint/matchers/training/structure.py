"""Flaws in how models are built: layers and parameters that the module does not know of."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import lru_cache

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.value import Kind
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import is_module_class
from stablelint.matchers.names import bound_to, classes_of, defined, made_by
from stablelint.matchers.training.gathered import additions
from stablelint.matchers.tree import (
    assigned,
    called,
    calls_below,
    calls_in,
    exclusive,
    is_given,
    mentions,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import module as operation_applied
from stablelint.syntax.signatures import argument, arguments
from stablelint.syntax.walk import descendants, functions_below, nodes_below, nodes_in

# Without parameters, or one themselves, beside what applies a function of none.
_BARE = ("Loss", "Parameter", "Pool1d", "Pool2d", "Pool3d", "Upsample", "ReLU")
_HELD = ("linear_module", "norm_module", "layer_output", "dropout")  # parameters, or a mode
_METHODS = {
    "layers": ("append", "extend", "insert", "pop"),
    "named": ("clear", "items", "keys", "pop", "update", "values"),
}  # that the modules for them have
_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict", "Parameter")
_PARAMETERS = (
    "parameters in a plain container are not registered: they are neither trained nor moved nor saved"
)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
_STATES = ("state_dict", "load_state_dict", "save", "load")
_COMPUTED = "this is computed from a parameter once, and the parameter is held by nothing: no step changes it"
_MOVED = "where this moves the parameter, it is a tensor of its own, which the module does not know of"


@observes()
def unregistered_modules(review: Review, rule: Rule) -> Sites:
    """`self.layers = [nn.Linear(…), …]` in the `__init__` of a module, or parameters in a list or dict."""
    module = review.module
    for info, init in constructors(review):
        for statement in nodes_in(init, ast.Assign):
            target, value = statement.targets[0], statement.value
            made = bound_to(value.id, statement, init) if isinstance(value, ast.Name) else value
            if not isinstance(target, ast.Attribute) or made is None:
                continue
            names = {target.attr, getattr(value, "id", "")} - {""}
            parts = [
                bound_to(part.id, statement, init) or part if isinstance(part, ast.Name) else part
                for part in _elements(made) or _filled_with(made, names, init)
            ]
            if not parts:
                continue
            # One of torch, or by a class or a function of the file.
            own = _makers(module)
            layers = any(
                _is_of_torch(n, module) or made_by(n, module).removeprefix("self.") in own for n in parts
            )
            count = len(parts) if isinstance(made, ast.List | ast.Tuple | ast.Dict) else None
            if (layers or any(_is_parameter(part, module) for part in parts)) and not _is_registered(
                names, info, count
            ):
                name = "named" if isinstance(made, ast.Dict | ast.DictComp) else "layers"
                against = _against(names, statement, _METHODS[name], info, module)
                held = {name if layers else f"{name}_parameters": value} if against is None else {}
                message = None if layers else _PARAMETERS
                yield site_at(
                    review, rule, value, held, statement=statement, message=message, withheld=against
                )


def constructors(review: Review) -> Iterator[tuple[ast.ClassDef, ast.AST]]:
    """The modules that a file defines, each with its `__init__`, and with the methods that build parts of it for that."""
    for info in classes_of(review):
        init = next((s for s in info.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
        if init is not None and is_module_class(info, review.module):
            building = {called(n) for n in calls_in(init) if subject(n) == "self"}
            yield from ((info, s) for s in info.body if s is init or getattr(s, "name", "") in building)


@observes()
def unregistered_parameters(review: Review, rule: Rule) -> Sites:
    """`self.scale = torch.ones(1, requires_grad=True)` or `nn.Parameter(…).to(device)` in the `__init__` of a module."""
    held = review.module.mentions("Parameter") or "requires_grad" in review.module.source.text
    for info, init in constructors(review) if held else ():
        for statement in nodes_in(init, ast.Assign):
            target, value = statement.targets[0], statement.value
            moved = _moved_parameter(value, review.module)
            made = bound_to(value.id, statement, init) if isinstance(value, ast.Name) else value
            if isinstance(made, ast.Call) and isinstance(made.func, ast.Name):
                returns = [n for f in defined(made, review.module) for n in nodes_in(f, ast.Return)]
                made = (returns[0].value if len(returns) == 1 else None) or made
            maker = made_by(made, review.module)
            # What `torch.nn` makes is a module, which registers its own.
            of_torch = maker.startswith("torch.") and not maker.startswith("torch.nn.")
            is_asked = of_torch and _is_asked({spelled(target), spelled(value)}, init)
            leaf = made is not None and _is_leaf(made, review.module, is_asked=is_asked)
            if not isinstance(target, ast.Attribute) or (moved is None and not leaf):
                continue
            listed = (part for n in nodes_below(info, ast.List, ast.Tuple, ast.Dict) for part in _elements(n))
            if is_read_outside(target.attr, info, review.module) or spelled(target) in map(spelled, listed):
                continue  # who reads it elsewhere, or is handed a list of such, may train it
            stores = [n for n in nodes_below(info, ast.Assign) if spelled(target) in assigned(n)[0]]
            if len(stores) > 1:
                continue  # a place for what comes later
            if moved is not None:
                message = _COMPUTED if isinstance(value, ast.BinOp) else _MOVED
                yield site_at(review, rule, value, moved, message=message, kind=Kind.TENSOR)
            elif not _is_registered({target.attr}, info):
                yield site_at(review, rule, value, {"leaf": value})


def is_read_outside(attr: str, info: ast.ClassDef, module: ModuleInfo) -> bool:
    """Whether an attribute of that name stands in the file outside of a class."""
    anywhere, inside = (
        sum(n.attr == attr for n in nodes_below(tree, ast.Attribute)) for tree in (module.source.tree, info)
    )
    return anywhere > inside


def _moved_parameter(node: ast.expr, module: ModuleInfo) -> dict[str, ast.expr] | None:
    """The operands of an expression that moves, casts or computes with a parameter; None for any other."""
    if isinstance(node, ast.BinOp):
        return {} if any(_is_parameter(part, module) for part in (node.left, node.right)) else None
    inner = receiver(node) if called(node) in ("to", "cuda", "half", "double", "bfloat16") else None
    if not isinstance(inner, ast.Call) or not made_by(inner, module).endswith("nn.Parameter"):
        return None
    given = arguments(node) if isinstance(node, ast.Call) else []
    if len(inner.args) != 1 or inner.keywords or len(given) > 1:
        return {}
    if given:
        return {"data": inner.args[0], "place": given[0]} if called(node) == "to" else {}
    return {"raw": inner.args[0]} if called(node) == "cuda" else {}


def _is_asked(names: set[str], init: ast.AST) -> bool:
    """Whether a constructor asks one of the names for gradients in a statement of its own: `w.requires_grad = True`."""
    written = {
        text for n in nodes_in(init, ast.Assign) if spelled(n.value) == "True" for text in assigned(n)[0]
    }
    asking = {subject(n) for n in calls_below(init, "requires_grad_") if not spelled(n).endswith("(False)")}
    return any(f"{name}.requires_grad" in written or name in asking for name in names)


def _is_leaf(node: ast.expr, module: ModuleInfo, *, is_asked: bool) -> bool:
    """Whether an expression makes a tensor that asks for gradients: `torch.ones(1, requires_grad=True)`."""
    given = argument(node, "requires_grad") if isinstance(node, ast.Call) else None
    asks = is_asked or (isinstance(given, ast.Constant) and given.value is True)
    made: ast.expr | None = node
    if called(node) == "requires_grad_" and not spelled(node).endswith("(False)"):
        made, asks = receiver(node), True
    maker = made_by(made, module) if asks else ""
    return maker.startswith("torch.") and not maker.endswith("Parameter")


def _filled_with(made: ast.expr, names: set[str], init: ast.AST) -> list[ast.expr]:
    """What a list or dict, by its name or as an attribute, that begins empty is given in the same function."""
    if spelled(made) not in ("[]", "{}", "list()", "dict()", "OrderedDict()"):
        return []
    texts, found = names | {f"self.{name}" for name in names}, list[ast.expr]()
    for node in nodes_in(init, ast.Call, ast.AugAssign, ast.Assign):
        pairs = list(additions(node))
        if isinstance(node, ast.Assign):
            pairs += [(t.value, node.value) for t in node.targets if isinstance(t, ast.Subscript)]
        for held in (held for kept, held in pairs if spelled(kept) in texts):
            named = bound_to(held.id, node, init) if isinstance(held, ast.Name) else None
            found += _elements(held) or [named or held]
    return found


def _elements(node: ast.expr) -> list[ast.expr]:
    """The elements of a list, a tuple, a comprehension or a dict."""
    match node:
        case ast.Call(args=[ast.Lambda(body=part), *_]) if called(node) == "map":
            return [part]
        case ast.Call(args=[inner]) if called(node) in ("list", "tuple"):
            return _elements(inner)
        case ast.Call(args=[ast.List(elts=pairs)]) if called(node) in ("dict", "OrderedDict"):
            return [pair.elts[1] for pair in pairs if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return parts
        case ast.BinOp(left=inner, op=ast.Mult()):
            return _elements(inner)
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.DictComp(value=part):
            return [part]
    return []


def _is_parameter(node: ast.expr, module: ModuleInfo) -> bool:
    while called(node) in ("to", "cuda"):
        node = receiver(node) or node
    return made_by(node, module).endswith("nn.Parameter") and not is_given(node, "requires_grad")


def _is_of_torch(node: ast.expr | None, module: ModuleInfo) -> bool:
    package, _, name = made_by(node, module).rpartition(".")
    off = (
        {k.arg for k in node.keywords if spelled(k.value) == "False"} if isinstance(node, ast.Call) else set()
    )
    applied = operation_applied(f"{package}.{name}")
    bare = name.endswith(_BARE) or (applied is not None and applied.name not in _HELD)
    asked = node is not None and is_given(node, "affine", "track_running_stats")
    bare = bare or (name.startswith("InstanceNorm") and not asked)  # which asks for neither by itself
    bare = bare or "elementwise_affine" in off or {"affine", "track_running_stats"} <= off
    return package == "torch.nn" and name[:1].isupper() and not bare


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


def _against(
    names: set[str], statement: ast.Assign, methods: Collection[str], info: ast.ClassDef, module: ModuleInfo
) -> str | None:
    """Why what an attribute holds stays in its list: what else is done with it would fail, or be done twice."""
    target = statement.targets[0]
    asked = (n.func for n in nodes_below(info, ast.Call) if isinstance(n.func, ast.Attribute))
    for method in (n for n in asked if spelled(n.value).rpartition(".")[2] in names):
        if method.attr not in methods:
            return f"no container of modules has `{method.attr}`, which line {method.lineno} calls"
    for given in nodes_below(info, ast.Assign):
        is_later = start(given) > start(statement) and not exclusive(given, statement, info)
        if is_later and spelled(target) in assigned(given)[0] and spelled(given.value) != "None":
            return f"line {given.lineno} binds `{spelled(target)}` anew, which a container of modules refuses"
    within = set(descendants(info))
    for one in nodes_below(module.source.tree, *_SIMPLE, ast.For):
        of = one.iter if isinstance(one, ast.For) else one
        if not mentions(of, *(names if one in within else names - {getattr(statement.value, "id", "")})):
            continue
        if mentions(one, *_STATES):
            return f"line {one.lineno} saves or loads it by itself: its states would be asked for twice"
        if one not in within and mentions(one, "parameters"):
            return f"line {one.lineno} takes its parameters by itself: they would be given twice"
    return None


def _is_registered(names: set[str], info: ast.ClassDef, count: int | None = None) -> bool:
    """Whether the class hands the list on to a container, or registers its elements one by one: `self.a = self.all[0]`."""
    given = [n for n in nodes_below(info, ast.Assign) if isinstance(n.targets[0], ast.Attribute)]
    picked = [n for n in given if isinstance(n.value, ast.Subscript) and mentions(n.value.value, *names)]
    if (count and len(picked) >= count) or calls_below(info, "add_module", "register_module", "setattr"):
        return True
    return any(mentions(node, *names) for node in calls_below(info, *_CONTAINERS))
