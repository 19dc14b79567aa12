"""Models in the wrong mode: evaluated as in training, trained as in evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.matchers.common import qualified, site_at
from stablelint.matchers.names import Function, called, functions_of, graph_is_off, modules_in, receiver
from stablelint.matchers.tree import loop_around, nodes_in, start
from stablelint.syntax.walk import descendants

if TYPE_CHECKING:
    from stablelint.analysis.files.modules import ModuleInfo
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_MODAL = (
    "Dropout",
    "BatchNorm",
    "SyncBatchNorm",
    "InstanceNorm",
    "AlphaDropout",
    "FeatureAlphaDropout",
    "RReLU",
)


@observes()
def evaluated_in_training_mode(review: Review, rule: Rule) -> Iterator[Site]:
    """A loop under `no_grad` that calls a trained model with dropout or batch norm, in a file without `eval()`."""
    module = review.module
    if not review.of_body or (
        "no_grad" not in module.source.text and "inference_mode" not in module.source.text
    ):
        return
    calls = [n for n in descendants(module.source.tree) if isinstance(n, ast.Call)]
    if (
        any(_sets_evaluation(c) for c in calls)
        or not any(map(_is_backward, calls))
        or not _has_modes(calls, module)
    ):
        return
    modules = modules_in(review)
    for root in functions_of(review):
        for call in sorted(nodes_in(root, ast.Call), key=start):
            loop = loop_around(call, root)
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call.func) in modules
                and loop
                and not _trains(loop)
            ):
                if graph_is_off(call, root):
                    yield site_at(review, rule, call)
                    break


def _trains(loop: ast.AST) -> bool:
    """Whether a loop trains: what it computes without a graph is a look at the training."""
    return any(map(_is_backward, descendants(loop)))


def _is_backward(call: ast.AST) -> bool:
    return called(call) in ("backward", "manual_backward")


def _sets_evaluation(call: ast.Call) -> bool:
    """`model.eval()`, `model.train(False)`, `model.train(mode)`: whoever has the word has thought of it."""
    return called(call) == "eval" or (called(call) == "train" and bool(call.args or call.keywords))


def _has_modes(calls: list[ast.Call], module: ModuleInfo) -> bool:
    """Whether the file builds layers that behave otherwise in training."""
    names = (qualified(c.func, module).rpartition(".") for c in calls)
    return any(package == "torch.nn" and name.startswith(_MODAL) for package, _, name in names)


@observes()
def trained_in_evaluation_mode(review: Review, rule: Rule) -> Iterator[Site]:
    """A loop that trains a model and evaluates it by turns, in a file that never goes back to `train()`."""
    tree = review.module.source.tree
    if not review.of_body or ".eval()" not in review.module.source.text:
        return
    calls = [n for n in descendants(tree) if isinstance(n, ast.Call)]
    if any(called(c) == "train" and receiver(c) is not None for c in calls):
        return
    evals = [c for c in calls if called(c) == "eval" and receiver(c) is not None and not c.args]
    trained = {
        ast.unparse(of) for c in calls if called(c) == "parameters" and (of := receiver(c)) is not None
    }
    functions = {n.name: n for n in descendants(tree) if isinstance(n, Function)}
    for root in functions_of(review):
        for loop in nodes_in(root, ast.For, ast.While):
            reached = _reached(loop, functions)
            inside = [c for c in evals if any(c in nodes for nodes in reached)]
            after = [c for c in inside if ast.unparse(receiver(c) or c) in trained or not _is_own(c, loop)]
            if after and any(_is_backward(n) for nodes in reached for n in nodes):
                yield site_at(review, rule, min(after, key=start))
                return


def _is_own(call: ast.Call, loop: ast.AST) -> bool:
    return call in descendants(loop)


def _reached(
    loop: ast.AST, functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef]
) -> list[list[ast.AST]]:
    """What a loop runs: its own nodes, and those of the file's functions that it calls by name, each once."""
    found: list[list[ast.AST]] = []
    pending, seen = [loop], set[str]()
    while pending:
        nodes = descendants(pending.pop())
        found.append(nodes)
        names = {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        pending.extend(functions[name] for name in names & functions.keys() - seen)
        seen |= names
    return found
