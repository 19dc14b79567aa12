"""Switches of a run that contradict each other, or were left on; limits that were left out."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, make_site, observed, observes, scope_of, site_at
from stablelint.matchers.names import functions_of, made_by, parameters_of, qualified, reached_from
from stablelint.matchers.training.steps import steps_of
from stablelint.matchers.tree import (
    Function,
    around,
    backs_below,
    backs_in,
    called,
    calls_below,
    calls_in,
    exclusive,
    loop_around,
    start,
)
from stablelint.syntax.walk import descendants, functions_below, nodes_in

_SEEDS = (
    "torch.manual_seed",
    "torch.cuda.manual_seed",
    "torch.cuda.manual_seed_all",
    "torch.random.manual_seed",
)
_RECURRENT = ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell", "Transformer", "TransformerEncoder")


@observes("backward step")
def unclipped_recurrent_training(review: Review, rule: Rule) -> Sites:
    """A training step in a file with a recurrent model and no clip."""
    steps = steps_of(review)
    step = next((s for s in steps if s.kind == "step"), None)
    backward = next((s for s in steps if s.kind == "backward"), None)
    if step is None or backward is None or not review.module.mentions(*_RECURRENT):
        return
    if not review.module.mentions("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"):
        yield make_site(review, rule, (step.value, step.frame))


@observes("set_detect_anomaly")
def anomaly_detection(review: Review, rule: Rule) -> Sites:
    """`set_detect_anomaly(True)` or `with detect_anomaly()` that no test switches, and not for one pass alone."""
    for value, frame in observed(review, "set_detect_anomaly"):
        node, root = value.node, scope_of(frame)
        mode = value.operands.get("mode") or value.operands.get("check_nan")
        switched_on = mode is not None and mode.constant() is True
        begun = mode is None and called(node) != "set_detect_anomaly"  # `with detect_anomaly()`
        if (begun or switched_on) and not around(node, root, ast.If, ast.IfExp):
            if not any(_is_one_pass(block, root) for block in around(node, root, ast.With)):
                yield make_site(review, rule, (value, frame))


def _is_one_pass(block: ast.With, root: ast.AST) -> bool:
    """Whether a block goes backward, and neither a loop nor an optimizer's step beside it says that it does so often."""
    loops = loop_around(block, root) is not None or nodes_in(block, ast.For, ast.While)
    return bool(backs_below(block)) and not loops and not calls_in(root, "step")


@observes()
def benchmark_beside_deterministic(review: Review, rule: Rule) -> Sites:
    """`cudnn.deterministic = True` and `cudnn.benchmark = True` in one function."""
    for root in functions_of(review, "benchmark", "deterministic"):
        # What each is set to last.
        switched = {
            qualified(target, review.module): (target, node.value.value)
            for node in sorted(nodes_in(root, ast.Assign), key=start)
            if isinstance(node.value, ast.Constant)
            for target in node.targets
        }
        fastest, on = switched.get("torch.backends.cudnn.benchmark", (root, False))
        steady, wanted = switched.get("torch.backends.cudnn.deterministic", (root, False))
        if on is wanted is True and isinstance(fastest, ast.expr) and not exclusive(fastest, steady, root):
            yield site_at(review, rule, fastest)


@observes()
def reseeded_in_loop(review: Review, rule: Rule) -> Sites:
    """`torch.manual_seed(0)` in a loop that trains: every turn draws the same random numbers."""
    tree = review.module.source.tree
    roots = list(functions_of(review, "manual_seed", "backward"))
    functions = functions_below(tree) if roots else []
    helpers = {f.name for f in functions if _seeds_what_it_is_given(f, review.module)}
    for root in roots:
        found = [n for n in calls_in(root) if made_by(n, review.module) in _SEEDS or called(n) in helpers]
        places = [(ast.dump(n), loop_around(n, root)) for n in found]
        for call, place in zip(found, places, strict=True):
            loop = (
                place[1] if len(call.args) == 1 and places.count(place) == 1 else None
            )  # two: passes compared
            if loop is not None and _is_invariant(call.args[0], loop) and _trains(loop, call, tree):
                yield site_at(review, rule, call)


def _seeds_what_it_is_given(function: Function, module: ModuleInfo) -> bool:
    """Whether a function hands its first parameter on as a seed: `set_seed(seed)`."""
    first = next(iter(parameters_of(function)), "")
    seeding = (n for n in calls_in(function) if made_by(n, module) in _SEEDS and n.args)
    return any(ast.unparse(n.args[0]) == first for n in seeding)


def _is_invariant(seed: ast.expr, loop: ast.AST) -> bool:
    """Whether no turn of a loop gives a seed another value: it calls nothing, and nothing in it is bound there."""
    names = [n for n in descendants(loop) if isinstance(n, ast.Name | ast.Attribute)]
    bound = {ast.unparse(n) for n in names if isinstance(n.ctx, ast.Store)}
    return not calls_below(seed) and not any(ast.unparse(n) in bound for n in descendants(seed))


def _trains(loop: ast.AST, seeding: ast.Call, tree: ast.AST) -> bool:
    """Whether a loop goes backward behind a seeding, itself or in what it calls, with one model all the time."""
    own, *others = reached_from(loop, tree)
    if any(calls_below(node, "parameters") for node in (own, *others)):
        return False  # a run of its own
    if not any(calls_below(node, "step") for node in (own, *others)):
        return False  # one pass that is compared with another
    return any(map(backs_in, others)) or any(start(n) > start(seeding) for n in backs_in(own))
