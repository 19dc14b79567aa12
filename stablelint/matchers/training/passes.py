"""Backward passes through one graph."""

from __future__ import annotations

import ast

from stablelint.matchers.common import Review, Rule, Sites, Value, made_from, make_site, observes
from stablelint.matchers.names import assigned_in, graph_is_off, made_by, modules_in, runs_module, trained_in
from stablelint.matchers.training.steps import Step, steps_of
from stablelint.matchers.tree import block_of, is_given, loop_around, receiver, start
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.walk import nodes_in

_ONCE = "the graph is built once, before the loop: its second turn fails"
_CARRIED = "`{}` carries the graph of the turn before, which its backward has freed: detach it"
_RECURRENT = tuple(f"torch.nn.{name}" for name in ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"))
_KEEPS = ("retain_graph", "create_graph", "retain_variables", None)
_ENDS = frozenset("detach item size numpy tolist argmax parameter layer batch phi unknown".split())
_KEEPING_NOTHING = having("create", "layout", "copy", "total") | {"add", "sub", "neg", "const", "parameter"}
_KEEPING = having("saves-result", "saves-operand") | {"linear_module", "norm_module"}


@observes("backward")
def second_backward(review: Review, rule: Rule) -> Sites:
    """A second `backward` through a graph that the first has freed."""
    done: list[tuple[Step, list[Value]]] = []
    modules = modules_in(review) | trained_in(review.module)
    for step in steps_of(review):
        loss = step.value.operands.get("input")
        if step.kind != "backward" or loss is None or loss.is_constant:
            continue
        graph = [v for v in made_from([loss], stops=_ENDS) if v is not loss and _saves(v, modules)]
        graph = [v for v in graph if v.node is None or not graph_is_off(v.node, step.root)]
        first = next(
            (f[0] for f in done if not f[0].excludes(step) and _meets(f, step, [loss, *graph])), None
        )
        if not is_given(first.node if first else step.node, *_KEEPS):
            if first is not None:
                yield make_site(review, rule, step.at)
            elif _is_made_before_loop(loss, step):
                yield make_site(review, rule, step.at, message=_ONCE)
            elif (carried := _carried(step, review)) is not None:
                yield make_site(review, rule, step.at, message=_CARRIED.format(carried))
        done.append((step, [loss, *graph]))


def _meets(freed: tuple[Step, list[Value]], step: Step, graph: list[Value]) -> bool:
    """Whether a graph holds what an earlier backward has freed: computed before that one, and not anew since."""
    first, held = freed
    gone = {id(v) for v in held}
    if first.subject == step.subject and graph[0] is held[0]:
        return _may_save(graph[0]) and not any(
            start(first.node) < start(n) < start(step.node) for n in assigned_in(step.subject, step.root)
        )
    here = set(nodes_in(first.root, ast.expr))
    # What is computed again is an equal value, with a graph of its own.
    between = (n for n in nodes_in(step.root, ast.Call) if start(first.node) < start(n) < start(step.node))
    anew = set(map(ast.dump, between))
    shared = [v for v in graph if id(v) in gone and v.node in here and ast.dump(v.node) not in anew]
    return any(start(v.node) < start(first.node) for v in shared)


def _may_save(loss: Value) -> bool:
    """Whether an operation behind a loss may keep tensors: sums of leaves keep none, and go backward any number of times."""
    return any(value.op not in _KEEPING_NOTHING for value in made_from([loss]))


def _saves(value: Value, modules: frozenset[str]) -> bool:
    """Whether an operation keeps tensors for the backward pass: those of layers do."""
    return value.op in _KEEPING or (value.op.startswith("call.") and runs_module(value.node, modules))


def _carried(step: Step, review: Review) -> str | None:
    """The state that a recurrent layer is given in each turn of a loop as the turn before left it, with its graph."""
    loop, tree = loop_around(step.node, step.root), review.module.source.tree
    if loop is None:
        return None
    for node in nodes_in(loop, ast.Assign):
        call = node.value
        if not isinstance(call, ast.Call) or start(node) > start(step.node):
            continue
        layers = assigned_in(spelled(call.func), tree)
        if any(made_by(n.value, review.module) in _RECURRENT for n in layers):
            taken = [n.id for n in nodes_in(node.targets[0], ast.Name)]
            names = [n.id for n in nodes_in(loop, ast.Name)]
            # What is read anywhere else may be detached there.
            parts = (n for part in call.args[1:] for n in (part, *getattr(part, "elts", ())))
            given = [n.id for n in parts if isinstance(n, ast.Name)]
            return next((name for name in given if name in taken and names.count(name) == 2), None)
    return None


def _is_made_before_loop(loss: Value, step: Step) -> bool:
    """A loss bound once in this function, before a loop that backs it on every turn."""
    loop, of = loop_around(step.node, step.root), receiver(step.node)
    if loop is None or not isinstance(of, ast.Name) or block_of(step.node, step.root) is not loop.body:
        return False
    stores = [n for n in nodes_in(step.root, ast.Name) if n.id == of.id and isinstance(n.ctx, ast.Store)]
    made = assigned_in(of.id, step.root)
    if len(stores) != 1 or len(made) != 1 or isinstance(loop.body[-1], ast.Break | ast.Return):
        return False
    return isinstance(made[0].value, ast.Call | ast.BinOp) and start(made[0]) < start(loop)
