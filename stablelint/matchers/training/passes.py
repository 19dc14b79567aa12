"""Backward passes through one graph."""

from __future__ import annotations

import ast
from itertools import pairwise

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, Value, made_from, make_site, observes, site_at
from stablelint.matchers.models import calls_behind, modules_in, runs_module
from stablelint.matchers.names import assigned_in, bound_to, graph_is_off, made_by, operation_of
from stablelint.matchers.training.events import Event, backward_seen, differentiated, events_in
from stablelint.matchers.training.gathered import (
    is_begun_anew,
    is_emptied,
    kept_in,
    known_collection,
    totals_in,
)
from stablelint.matchers.tree import (
    Loop,
    around,
    block_of,
    called,
    end,
    exclusive,
    is_given,
    loop_around,
    mentions,
    start,
    subject,
)
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

_LOSSES = having("loss")


@observes()
def second_backward(review: Review, rule: Rule) -> Sites:
    """A second `backward` through a graph that the first has freed."""
    done: list[tuple[Event, list[Value]]] = []
    for back, seen in backward_seen(review):
        loss = differentiated(seen[0])
        if loss is None or loss.is_constant:
            continue
        modules = modules_in(review)
        graph = [v for v in made_from([loss], stops=_ENDS) if v is not loss]
        graph = [v for v in graph if v.op in _KEEPING or runs_module(v.node, modules)]  # they keep tensors
        graph = [v for v in graph if v.node is None or not graph_is_off(v.node, back.root)]
        reached = (f for f in done if not exclusive(f[0].at, back.at, f[0].root))
        first = next((f[0] for f in reached if _meets(f, back, [loss, *graph])), None)
        if not is_given(first.at if first else back.at, *_KEEPS):
            if first is not None:
                yield make_site(review, rule, seen)
            elif _is_made_before_loop(loss, graph, back, review.module):
                yield make_site(review, rule, seen, message=_ONCE)
            elif (carried := _carried(back, review)) is not None:
                yield make_site(review, rule, seen, message=_CARRIED.format(carried[0]), shown=carried[1])
        done.append((back, [loss, *graph]))
    for root, events in events_in(review).items():
        backs = [e for e in events if e.kind == "backward"]
        for before, behind in pairwise(backs):
            if isinstance(behind.at, ast.expr) and _repeats(before, behind, root):
                yield site_at(review, rule, behind.at)


def _repeats(first: Event, second: Event, root: ast.AST) -> bool:
    """Whether two backward passes, of which a helper runs one, go from the loss that it is given, and that is the same."""
    if (first.is_own and second.is_own) or not all(one.is_own or one.is_of_first for one in (first, second)):
        return False
    names = first.made.words(first.loss) & second.made.words(second.loss)
    anew = [
        n for name in names for n in assigned_in(name, root) if start(first.at) < start(n) < start(second.at)
    ]
    keeps = is_given(first.made.node, *_KEEPS) or exclusive(first.at, second.at, root)
    return bool(names) and first.at is not second.at and not anew and not keeps


def _meets(freed: tuple[Event, list[Value]], back: Event, graph: list[Value]) -> bool:
    """Whether a graph holds what an earlier backward has freed: computed before that one, and not anew since."""
    first, held = freed
    gone = {id(v) for v in held}
    if first.text == back.text and graph[0] is held[0]:
        # Sums of leaves keep no tensors, and go backward any number of times.
        saves = any(value.op not in _KEEPING_NOTHING for value in made_from([graph[0]]))
        return saves and not any(
            start(first.at) < start(n) < start(back.at) for n in assigned_in(back.text, back.root)
        )
    shared = [v.node for v in graph if id(v) in gone and start(v.node) < start(first.at)]
    if not shared:
        return False
    here = set(nodes_in(first.root, ast.expr))
    # What is computed again is an equal value, with a graph of its own.
    between = (n for n in nodes_in(back.root, ast.Call) if start(first.at) < start(n) < start(back.at))
    anew = set(map(ast.dump, between))
    return any(node in here and ast.dump(node) not in anew for node in shared)


def _carried(back: Event, review: Review) -> tuple[str, bool] | None:
    """What hands the graph of a turn of a loop on to the next, and whether it is sure to: the state of a recurrent layer, a
    list that the loss is made of, a running total."""
    loop = loop_around(back.at, back.root)
    return None if loop is None else _state(loop, back, review) or _gathered(loop, back, review)


def _state(loop: Loop, back: Event, review: Review) -> tuple[str, bool] | None:
    """The state that a model is given as the turn before left it: a model that is not made here may cut it off itself."""
    modules, tree = modules_in(review), review.module.source.tree
    for node in nodes_in(loop, ast.Assign):
        call = node.value
        if not isinstance(call, ast.Call) or start(node) > start(back.at) or not runs_module(call, modules):
            continue
        layers = assigned_in(spelled(call.func), tree)
        taken = [n.id for n in nodes_in(node.targets[0], ast.Name)]
        names = [n.id for n in nodes_in(loop, ast.Name)]
        # What is read anywhere else may be detached there.
        parts = (n for part in call.args[1:] for n in (part, *getattr(part, "elts", ())))
        given = [n.id for n in parts if isinstance(n, ast.Name)]
        kept = next((name for name in given if name in taken and names.count(name) == 2), None)
        if kept is not None and len(taken) > 1:
            return kept, any(made_by(n.value, review.module) in _RECURRENT for n in layers)
    return None


def _gathered(loop: Loop, back: Event, review: Review) -> tuple[str, bool] | None:
    """The list of losses, or the total, of all turns so far that a loss is made of."""
    made = bound_to(back.text, back.at, back.root)
    of = [n for n in (back.at, made) if n is not None]
    totals = totals_in(back.root, review.module)
    for kept in (*kept_in(back.root, review.module), *totals):
        outer = loop in (kept.loop, *around(kept.loop, back.root, ast.For, ast.While))
        named = outer and any(mentions(n, kept.base) for n in of)
        if named and (kept in totals or known_collection(kept, back.root, review)):
            anew = is_begun_anew(kept, *kept.turns, loop) or is_emptied(kept)
            if not anew and any(_carries_graph(part, kept.at, back, review) for part in kept.parts):
                return kept.base, True
    return None


def _carries_graph(part: ast.expr, at: ast.AST, back: Event, review: Review) -> bool:
    """Whether what is kept is computed by a model or a loss function, with its graph."""
    calls, modules = list(calls_behind(part, at, back.root, review.module)), modules_in(review)
    cut = any(called(n) in ("detach", "item") for n in calls) or graph_is_off(at, back.root)
    return not cut and any(
        runs_module(n, modules) or operation_of(n, review.module) in _LOSSES for n in calls
    )


def _is_made_before_loop(loss: Value, graph: list[Value], back: Event, module: ModuleInfo) -> bool:
    """Whether a loss that a loop backs on every turn is computed before it, or made of what a trained model gave there."""
    loop = loop_around(back.at, back.root)
    if loop is None or block_of(back.at, back.root) is not loop.body:
        return False
    if isinstance(loop.body[-1], ast.Break | ast.Return):
        return False
    before = {v.node for v in (loss, *graph) if v.node is not None and end(v.node) < start(loop)}
    before = before.intersection(nodes_in(back.root, ast.Call, ast.BinOp)) if before else before
    if loss.node in before:
        return len(assigned_in(back.text, back.root)) == 1
    trained = frozenset(map(subject, module.sights.calls("parameters"))) - {""}
    frozen = module.speaks_of("requires_grad") or is_given(back.at, *_KEEPS)
    return not frozen and any(v.node in before and runs_module(v.node, trained) for v in graph)
