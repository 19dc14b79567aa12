"""Models in the wrong mode: evaluated as in training, trained as in evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Kind
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import (
    CARRYING,
    bound_to,
    called,
    functions_of,
    graph_is_off,
    is_namespace,
    modules_in,
    reached_from,
    receiver,
)
from stablelint.matchers.training.gathered import Kept, is_emptied, kept_in, known_collection
from stablelint.matchers.training.trained import backs_in, models_of, trained_in
from stablelint.matchers.tree import ancestors, block_of, loop_around, mentions, start, statement_in
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

_MODAL = tuple("Dropout BatchNorm SyncBatchNorm InstanceNorm AlphaDropout FeatureAlphaDropout RReLU".split())

_SWITCHES = (".eval()", ".train(False)")
_TOO_LATE = "this pass is run in evaluation mode and trained on: train() comes after it"


@observes()
def evaluated_in_training_mode(review: Review, rule: Rule) -> Iterator[Site]:
    """A loop under `no_grad` that calls a trained model with dropout or batch norm, in a file without `eval()`."""
    module = review.module
    if not review.of_body or (
        "no_grad" not in module.source.text and "inference_mode" not in module.source.text
    ):
        return
    calls = nodes_below(module.source.tree, ast.Call)
    trains = any(map(_is_backward, calls))
    loaded = {ast.unparse(of) for c in calls if called(c) == "load_state_dict" and (of := receiver(c))}
    if any(_sets_evaluation(c) for c in calls) or not (trains or loaded):
        return
    layers = _layers_made(calls, module)
    modal = any(name.startswith(_MODAL) for name in layers)
    if not modal and (layers or (trains and not any(called(c) == "step" for c in calls))):
        return  # nothing that the file builds depends on the mode, or nothing is trained: passes are measured
    modules = modules_in(review) | trained_in(module) if trains else frozenset(loaded)
    for root in functions_of(review):
        for call in sorted(nodes_in(root, ast.Call), key=start):
            loop = _turns(call, root)
            if not (loop or not trains) or ast.unparse(call.func) not in modules or (loop and _trains(loop)):
                continue
            if graph_is_off(call, root):
                yield site_at(review, rule, call, shown=modal)
                break


def _turns(node: ast.AST, root: ast.AST) -> ast.AST | None:
    """The loop or the comprehension around a node that runs it once in each turn."""
    around = (n for n in ancestors(node, root) if isinstance(n, ast.ListComp | ast.GeneratorExp))
    return loop_around(node, root) or next(around, None)


def _trains(loop: ast.AST) -> bool:
    """Whether a loop trains: what it computes without a graph is a look at the training."""
    return any(map(_is_backward, descendants(loop)))


def _is_backward(call: ast.AST) -> bool:
    return called(call) in ("backward", "manual_backward")


def _sets_evaluation(call: ast.Call) -> bool:
    """`model.eval()`, `model.train(False)`, `model.train(mode)`: whoever has the word has thought of it."""
    return called(call) == "eval" or (called(call) == "train" and bool(call.args or call.keywords))


def _mode(call: ast.AST) -> str:
    """The mode that a call puts its receiver into: `model.train(False)` is `eval`; empty for any other call."""
    if receiver(call) is None or not isinstance(call, ast.Call):
        return ""
    given = [ast.unparse(a) for a in (*call.args, *(k.value for k in call.keywords))]
    modes = {("train", ()): "train", ("train", ("True",)): "train", ("train", ("False",)): "eval"}
    return "eval" if called(call) == "eval" and not given else modes.get((called(call), tuple(given)), "")


def _layers_made(calls: list[ast.Call], module: ModuleInfo) -> list[str]:
    """The layers that the file builds, losses aside."""
    names = (qualified(c.func, module).rpartition(".") for c in calls)
    return [name for package, _, name in names if package == "torch.nn" and not name.endswith("Loss")]


@observes()
def trained_in_evaluation_mode(review: Review, rule: Rule) -> Iterator[Site]:
    """A loop that trains a model and evaluates it by turns, in a file that never goes back to `train()`."""
    tree = review.module.source.tree
    if not review.of_body or not any(text in review.module.source.text for text in _SWITCHES):
        return
    yield from _switched_too_late(review, rule)
    calls = nodes_below(tree, ast.Call)
    if any(called(c) == "train" and receiver(c) is not None and _mode(c) != "eval" for c in calls):
        return
    evals = [c for c in calls if _mode(c) == "eval"]
    trained = {
        ast.unparse(of) for c in calls if called(c) == "parameters" and (of := receiver(c)) is not None
    }
    for root in functions_of(review):
        for loop in nodes_in(root, ast.For, ast.While):
            own, *called_there = (descendants(node) for node in reached_from(loop, tree))
            training = [nodes for nodes in called_there if any(map(_is_backward, nodes))]
            # A function that sets the mode and trains on means the mode.
            evaluating = [nodes for nodes in called_there if nodes not in training]
            set_here = [c for c in evals if c in own and ast.unparse(receiver(c) or c) in trained]
            after = [*set_here, *(c for c in evals if any(c in nodes for nodes in evaluating))]
            if after and (training or any(map(_is_backward, own))):
                yield site_at(review, rule, min(after, key=start))
                return


def _switched_too_late(review: Review, rule: Rule) -> Iterator[Site]:
    """`model.eval()`, `y = model(x)`, `model.train()`, `loss(y).backward()`: the pass that is trained on came before."""
    for root in functions_of(review, ".train()"):
        for back in backs_in(root):
            for call in models_of(back, root, review.module):
                block = block_of(call, root) or []
                at, end = (statement_in(node, block, root) for node in (call, back))
                modes = {
                    i: mode for i, s in enumerate(block) if (mode := _mode_set(s, ast.unparse(call.func)))
                }
                before = [mode for i, mode in modes.items() if i < (at or 0)]
                if at is None or end is None or before[-1:] != ["eval"]:
                    continue
                if "train" in [mode for i, mode in modes.items() if at < i < end]:
                    yield site_at(review, rule, call, message=_TOO_LATE)


def _mode_set(statement: ast.stmt, model: str) -> str:
    """The mode that a statement by itself puts a model into: `model.eval()`; empty for any other statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    of = receiver(call) if call is not None else None
    return _mode(call) if call is not None and of is not None and ast.unparse(of) == model else ""


@observes()
def evaluation_keeps_graph(review: Review, rule: Rule) -> Iterator[Site]:
    """`outputs.append(model(x))`, or `model(x)` alone, in an evaluation that records the graph of each batch."""
    roots = [*functions_of(review, ".eval()"), *functions_of(review, ".train(False)")]
    for root in dict.fromkeys(roots):
        if getattr(root, "name", "") == "forward":
            continue  # its caller says whether a graph is recorded
        evaluated = [n for n in nodes_in(root, ast.Call) if _mode(n) == "eval"]
        if not evaluated or _records(root) or _is_called_without_graph(root, review):
            continue
        models = {ast.unparse(of) for n in evaluated if (of := receiver(n)) is not None}
        gathered = list(_gathered(models, root, review))
        for part, joined in gathered:
            kind = Kind.TENSOR if joined else Kind.UNKNOWN
            yield site_at(review, rule, part, {"kept": part}, shown=False, kind=kind)
        if not gathered and not mentions(root, "detach"):
            calls = (n for n in nodes_in(root, ast.Call) if isinstance(n, ast.Call) and _is_of(n, models))
            recorded = [
                n for n in calls if _turns(n, root) and not graph_is_off(n, root) and not _is_cut(n, root)
            ]
            for call in sorted(recorded, key=start)[:1]:
                message = "evaluation records a graph for each batch: no_grad is missing"
                yield site_at(review, rule, call, shown=False, message=message)


def _gathered(models: set[str], root: ast.AST, review: Review) -> Iterator[tuple[ast.expr, bool]]:
    """Outputs of the models that loops put into collections, and whether those are joined to one tensor."""
    for kept in kept_in(root):
        off = graph_is_off(kept.at, root)
        if off or known_collection(kept, root, review) is None or is_emptied(kept):
            continue
        for part in kept.parts:
            source = _output_of(part, models, kept.at, root)
            if source is not None and not graph_is_off(source, root):
                yield part, _is_joined(kept, root)


def _is_cut(call: ast.Call, root: ast.AST) -> bool:
    """Whether a method takes something of the result at once: `model(x).argmax(1)`."""
    return isinstance(next(ancestors(call, root), None), ast.Attribute)


def _is_of(call: ast.Call, models: set[str]) -> bool:
    return ast.unparse(call.func).removesuffix(".forward") in models


def _is_joined(kept: Kept, root: ast.AST) -> bool:
    """Whether the collection is joined to one tensor afterwards: its elements are tensors."""
    joins = (
        n for n in nodes_in(root, ast.Call) if called(n) in ("cat", "stack", "concat", "vstack", "hstack")
    )
    return any(kept.base == ast.unparse(n.args[0]) for n in joins if isinstance(n, ast.Call) and n.args)


def _records(root: ast.AST) -> bool:
    if any(called(n) == "train" and _mode(n) != "eval" for n in nodes_in(root, ast.Call)):
        return True
    return mentions(root, "backward", "grad", "requires_grad_", "requires_grad", "set_grad_enabled")


def _is_called_without_graph(root: ast.AST, review: Review) -> bool:
    """Whether the file calls the function under `no_grad`, or switches recording off for good."""
    tree = review.module.source.tree
    if "set_grad_enabled(False)" in review.module.source.text:
        return True
    name = getattr(root, "name", "")
    calls = nodes_below(tree, ast.Call) if name else ()
    return any(called(n) == name and graph_is_off(n, tree) for n in calls)


def _output_of(part: ast.expr, models: set[str], at: ast.AST, root: ast.AST) -> ast.expr | None:
    """The call of an evaluated model whose graph a part carries."""
    node: ast.expr | None = part
    while node is not None:
        if isinstance(node, ast.Name):
            node = bound_to(node.id, at, root)
            at = at if node is None else node  # `out = out.cpu()` was another before
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and _is_of(node, models):
            return node
        elif called(node) in CARRYING and isinstance(node, ast.Call):
            of = receiver(node)
            node = (node.args[0] if node.args else None) if is_namespace(of) else of
        else:
            return None
    return None
