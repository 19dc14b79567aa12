"""What a training loop is given and never looks at, and what a module holds and never trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.names import (
    functions_naming,
    functions_of,
    is_without_graph,
    made_by,
    operation_of,
    parameters_of,
    run_by,
)
from stablelint.matchers.through import given_to
from stablelint.matchers.training.structure import constructors, is_read_outside
from stablelint.matchers.tree import (
    Function,
    ancestors,
    around,
    assigned,
    backs_below,
    backs_in,
    called,
    calls_in,
    loss_of,
    parents,
    receiver,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.signatures import argument, arguments
from stablelint.syntax.walk import descendants, functions_below, nodes_below, nodes_in

_NO_VALUE = frozenset(
    "shape dtype device size dim numel ndim requires_grad requires_grad_ grad is_cuda stride".split()
)
_CUTTING = frozenset("data detach item tolist numpy".split())
_MOVING = having("device", "cast")
_TAKING = ("to", "items", "values", "pop", "Variable")
_NO_BATCHES = ("range", "trange", "count", "items", "product", "named_parameters")


@observes()
def batch_never_read(review: Review, rule: Rule) -> Sites:
    """`for inputs, labels in loader: loss(model(x), y).backward()`: nothing but moves and unpacking reads the batch."""
    if not review.of_body or not review.module.mentions("backward", "manual_backward", "LightningModule"):
        return
    assigns = nodes_below(review.module.source.tree, ast.Assign)
    loaders = {text for n in assigns if called(n.value) == "DataLoader" for text in assigned(n)[0]}
    stepping = {
        f.name for f in functions_naming(review, "backward") if isinstance(f, Function) and backs_in(f)
    }
    for root in functions_naming(review, "backward", "manual_backward", *stepping):
        handing = (n for n in calls_in(root, *stepping) if len(arguments(n)) > 1) if stepping else ()
        inner = {
            loop
            for back in backs_below(root)
            for loop in around(back, root, ast.For)[:1]
            if _is_made_in(loop, back)
        } | {loop for call in handing for loop in around(call, root, ast.For)[:1]}
        within = map(_loads, functions_below(root))
        read, spared = set[str]().union(*within), _given_for_nothing(root, review)
        for loop in (n for n in nodes_in(root, ast.For) if n in inner):
            for batch, sure in _batches_of(loop, loaders):
                names = {n.id for n in (batch, *nodes_below(batch, ast.Name)) if isinstance(n, ast.Name)}
                if not any(name.startswith("_") for name in names) and _is_passed_on(
                    names, loop, sure, read, spared
                ):
                    yield site_at(review, rule, batch)
    yield from _unread_by_hook(review, rule)


def _unread_by_hook(review: Review, rule: Rule) -> Sites:
    """The loss that a `training_step` of Lightning returns, and computes without its batch."""
    for root in functions_of(review, "LightningModule"):
        if getattr(root, "name", "") == "training_step":
            batch = {name for name in [*parameters_of(root)][1:2] if not name.startswith("_")}
            losses = [
                loss
                for n in (*nodes_in(root, ast.Return), *backs_in(root))
                if (loss := loss_of(n)) is not None
            ]
            if (
                losses
                and nodes_in(root, ast.Call)
                and batch
                and _is_passed_on(batch, root, True, set(), set())
            ):
                yield site_at(review, rule, losses[0])


def _given_for_nothing(root: ast.AST, review: Review) -> set[ast.AST]:
    """What a function passes to others that never read the parameter."""
    found = set[ast.AST]()
    for call in calls_in(root):
        for helper, _ in run_by(call, review.module, review.project) if call.args else ():
            if all(isinstance(n, ast.Expr | ast.Pass | ast.Raise) for n in helper.body):
                continue  # subclasses say what it does
            read = {n.id for n in nodes_below(helper, ast.Name)}
            unread = {text for name, text in given_to(call, helper).items() if name not in read}
            found |= {one for one in arguments(call) if spelled(one) in unread}
    return found


def _is_made_in(loop: ast.For, back: ast.Call) -> bool:
    """Whether a loop computes the loss that a call goes backward from."""
    loss = back.args[0] if back.args else receiver(back)
    names = [loss.id] if isinstance(loss, ast.Name) else []
    return not names or any(names[0] in assigned(n)[0] for n in nodes_below(loop, ast.Assign))


def _batches_of(loop: ast.For, loaders: set[str]) -> Iterator[tuple[ast.expr, bool]]:
    """What each turn of a loop binds to a batch, without the count of `enumerate`, and whether it is sure to be one."""
    target, source = loop.target, loop.iter
    names = {called(n) for n in (source, *nodes_below(source, ast.Call))}
    sure = any(spelled(n) in loaders for n in (source, *nodes_below(source, ast.Name)))
    if "enumerate" in names and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target, sure = target.elts[1], True
    nested = isinstance(target, ast.Tuple) and any(isinstance(n, ast.Tuple) for n in target.elts)
    if names.isdisjoint(_NO_BATCHES) and (nested or "zip" not in names):
        yield (
            target,
            sure or (isinstance(target, ast.Tuple | ast.List) and len(nodes_below(target, ast.Name)) > 1),
        )
    for taken in nodes_in(loop, ast.Assign):
        if called(taken.value) == "next" and len(nodes_below(taken.targets[0], ast.Name)) > 1:
            yield taken.targets[0], True


def _is_passed_on(names: set[str], loop: ast.AST, sure: bool, read: set[str], spared: set[ast.AST]) -> bool:
    """Whether the names of a batch are moved and unpacked in a loop, which makes them sure to be one, and nothing more but
    that they are given where nothing reads them."""
    passing = [n for n in nodes_in(loop, ast.Assign) if _passes_on(n.value)]
    taken: set[ast.AST] = set()
    while more := [n for n in passing if n not in taken and names & _loads(n.value)]:
        taken.update(more)
        names |= {
            n.id for one in more for t in one.targets for n in descendants(t) if isinstance(n, ast.Name)
        }
    within = {n for one in taken for n in nodes_below(one, ast.Name)} | spared
    loads = {n.id for n in nodes_below(loop, ast.Name) if isinstance(n.ctx, ast.Load) and n not in within}
    return (sure or bool(taken)) and names.isdisjoint(loads | read)


def _passes_on(made: ast.expr) -> bool:
    """Whether an expression takes something apart, or moves it: `batch[0].to(device), batch[1]`."""
    calls = [made, *nodes_below(made, ast.Call)]
    moves = all(operation_of(n) in _MOVING or called(n) in _TAKING for n in calls if isinstance(n, ast.Call))
    return moves and not nodes_below(made, ast.BinOp) and not isinstance(made, ast.BinOp)


def _loads(tree: ast.AST) -> set[str]:
    """The names that an expression or a function reads, without the function's own parameters."""
    names = (n for n in (tree, *nodes_below(tree, ast.Name)) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Load)} - parameters_of(tree).keys()


@observes()
def parameter_cut_off(review: Review, rule: Rule) -> Sites:
    """`self.scale = nn.Parameter(…)`, of which the class reads `.data` alone, or `(x * self.scale).detach()`."""
    module = review.module
    for info, init in constructors(review) if module.mentions("Parameter") else ():
        for attr, made in _parameters(init, module):
            if set(_uses(attr, info)) == {"cut"} and not is_read_outside(attr, info, module):
                yield site_at(review, rule, made)


def _parameters(init: ast.AST, module: ModuleInfo) -> Iterator[tuple[str, ast.Call]]:
    """The parameters that a constructor makes and that ask for a gradient, by name."""
    named = [
        (n.args[0].value, n.args[1])
        for n in calls_in(init, "register_parameter")
        if len(n.args) == 2 and isinstance(n.args[0], ast.Constant)
    ]
    for node in nodes_in(init, ast.Assign, ast.AnnAssign):
        texts, value = assigned(node)
        named += [(text.removeprefix("self."), value) for text in texts if value is not None]
    for name, made in named:
        if isinstance(made, ast.Call) and made_by(made, module).endswith("nn.Parameter"):
            if spelled(argument(made, "requires_grad") or made) != "False":
                yield str(name), made


def _uses(attr: str, info: ast.ClassDef) -> Iterator[str]:
    """How the methods use a parameter: `cut` off its graph, `live`, `written`, or `asked` for its gradients alone."""
    for method in (s for s in info.body if isinstance(s, Function)):
        for node in nodes_below(method, ast.Attribute):
            if node.attr == attr and spelled(node.value) == "self":
                use = _use_of(node, method)
                if use == "asked" or (use and method.name != "__init__"):
                    yield use


def _use_of(node: ast.Attribute, method: ast.AST) -> str:
    """One of these words; empty for a look at the shape."""
    above = parents(method)[node]
    if isinstance(above, ast.Attribute) and above.attr in _NO_VALUE:
        return "asked" if above.attr.startswith("requires_grad") else ""
    if any(_writes(n, node) for n in ancestors(node, method)) or not isinstance(node.ctx, ast.Load):
        return "written"
    outer = around(node, method, ast.expr)
    if around(node, method, ast.Assert):
        return "live"  # it says what the parameter has to be
    cut = any(isinstance(n, ast.Compare) or _cuts(n) for n in outer)
    return "cut" if cut or is_without_graph(node, method) else "live"


def _cuts(node: ast.expr) -> bool:
    """Whether an expression takes numbers out of what stands in it, or a copy: `x.data`, `float(x)`, `torch.tensor(x)`."""
    if isinstance(node, ast.Attribute):
        return node.attr in _CUTTING
    made = spelled(node.func) if isinstance(node, ast.Call) else ""
    return made in ("float", "int", "bool", "torch.tensor")


def _writes(statement: ast.AST, node: ast.AST) -> bool:
    """Whether a statement puts something into what a node names: `self.p.data = …`, `nn.init.ones_(self.p.data)`."""
    if isinstance(statement, ast.Call):
        into = (statement.func, *statement.args[:1])
        return called(statement).endswith("_") and any(node in descendants(part) for part in into)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AugAssign) else targets
    return bool(assigned(statement)[0]) and any(node in nodes_below(t, ast.Attribute) for t in targets)
