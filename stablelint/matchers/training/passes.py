"""Backward passes through one graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Value
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import make_site
from stablelint.matchers.names import assigned_in, modules_in, receiver
from stablelint.matchers.training.steps import Step, steps_of
from stablelint.matchers.training.trained import trained_in
from stablelint.matchers.tree import block_of, loop_around, start
from stablelint.syntax.walk import nodes_in

_ENDS = frozenset("detach item size numpy tolist argmax parameter layer batch phi".split())
_KEEPING = frozenset("linear_module norm_module exp sigmoid tanh softmax log_softmax".split())


@observes("backward")
def second_backward(review: Review, rule: Rule) -> Iterator[Site]:
    """A second `backward` through a graph that the first has freed."""
    done: list[tuple[Step, list[Value]]] = []
    modules = modules_in(review) | trained_in(review.module)
    for step in steps_of(review):
        loss = step.value.operands.get("input")
        if step.kind != "backward" or loss is None or loss.is_constant:
            continue
        graph = list(_saving(loss, modules))
        first = next((f[0] for f in done if not f[0].excludes(step) and _meets(f, step, graph)), None)
        if first is not None and not _keeps_graph(first):
            message = "the first backward has freed the graph: a second one through it fails"
            yield make_site(review, rule, (step.value, step.frame), message=message)
        elif first is None and not _keeps_graph(step) and _is_made_before_loop(loss, step):
            message = "the graph is built once, before the loop: its second turn fails"
            yield make_site(review, rule, (step.value, step.frame), message=message)
        done.append((step, graph))


def _meets(freed: tuple[Step, list[Value]], step: Step, graph: list[Value]) -> bool:
    """Whether a graph holds what an earlier backward has freed: computed before that one, and not anew since."""
    first, held = freed
    gone = {id(v) for v in held}
    if first.subject == step.subject and graph[0] is held[0]:
        return not any(
            start(first.node) < start(n) < start(step.node) for n in assigned_in(step.subject, step.root)
        )
    here = set(nodes_in(first.root, ast.expr))
    return any(
        id(v) in gone and v.node in here and start(v.node) < start(first.node) for v in graph if v.node
    )


def _saving(loss: Value, modules: frozenset[str]) -> Iterator[Value]:
    """The loss, and the operations of its graph that keep tensors for the backward pass: those of layers."""
    yield loss
    pending, seen = [loss], set()
    while pending:
        value = pending.pop()
        if value.op in _ENDS or id(value) in seen:
            continue
        seen.add(id(value))
        called_module = isinstance(value.node, ast.Call) and ast.unparse(value.node.func) in modules
        if value.op in _KEEPING or (value.op.startswith("call.") and called_module):
            yield value
        pending.extend(v for name, v in value.operands.items() if name not in ("layer", "target"))


def _keeps_graph(step: Step) -> bool:
    node = step.node
    return isinstance(node, ast.Call) and any(
        k.arg in ("retain_graph", "create_graph", "retain_variables", None) for k in node.keywords
    )


def _is_made_before_loop(loss: Value, step: Step) -> bool:
    """A loss bound once in this function, before a loop that backs it on every turn."""
    loop, of = loop_around(step.node, step.root), receiver(step.node)
    if loop is None or not isinstance(of, ast.Name):
        return False
    block = block_of(step.node, step.root) or []
    if block is not getattr(loop, "body", None) or isinstance(block[-1], ast.Break | ast.Return):
        return False
    stores = [n for n in nodes_in(step.root, ast.Name) if n.id == of.id and isinstance(n.ctx, ast.Store)]
    made = assigned_in(of.id, step.root)
    return (
        len(stores) == len(made) == 1
        and isinstance(made[0].value, ast.Call | ast.BinOp)
        and start(made[0]) < start(loop)
    )
