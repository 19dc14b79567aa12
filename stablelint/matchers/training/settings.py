"""Switches of a run that contradict each other, or were left on; limits that were left out."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, make_site, observed, observes, scope_of, site_at
from stablelint.matchers.names import (
    assigned_in,
    functions_of,
    made_by,
    parameters_of,
    qualified,
    reached_from,
    turns_of,
)
from stablelint.matchers.training.events import turns
from stablelint.matchers.tree import (
    around,
    backs_below,
    backs_in,
    called,
    calls_below,
    calls_in,
    exclusive,
    loop_around,
    mentions,
    start,
    subject,
)
from stablelint.syntax.beforehand import bindings
from stablelint.syntax.names import spelled
from stablelint.syntax.signatures import argument
from stablelint.syntax.walk import descendants, functions_below, nodes_in

SEEDS = tuple(
    "torch.manual_seed torch.cuda.manual_seed torch.cuda.manual_seed_all torch.random.manual_seed numpy.random.seed "
    "random.seed accelerate.utils.set_seed transformers.set_seed pytorch_lightning.seed_everything "
    "lightning.seed_everything lightning.pytorch.seed_everything".split()
)
_BENCHMARK = "torch.backends.cudnn.benchmark"
_DETERMINISTIC = "torch.backends.cudnn.deterministic"
_RECURRENT = ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell", "Transformer", "TransformerEncoder")


@observes()
def unclipped_recurrent_training(review: Review, rule: Rule) -> Sites:
    """A training step in a file with a recurrent model and no clip."""
    clips = review.module.mentions("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")
    if not clips and review.module.mentions(*_RECURRENT):
        first = {root: step for root, step, *_ in reversed(list(turns(review, "step", "backward")))}
        yield from (site_at(review, rule, step.made.place(review.module)) for step in first.values())


@observes("set_detect_anomaly", "Trainer")
def anomaly_detection(review: Review, rule: Rule) -> Sites:
    """`set_detect_anomaly(True)` or `with detect_anomaly()` that no test switches, and not for one pass alone."""
    for call in review.module.sights.calls("Trainer") if review.of_body else ():
        if (asked := argument(call, "detect_anomaly")) is not None and spelled(asked) == "True":
            yield site_at(review, rule, asked)
    for value, frame in observed(review, "set_detect_anomaly"):
        node, root = value.node, scope_of(frame)
        mode = value.operands.get("mode") or value.operands.get("check_nan")
        switched_on = mode is not None and mode.constant() is True
        begun = mode is None and called(node) != "set_detect_anomaly"  # `with detect_anomaly()`
        tests = [n.test for n in around(node, root, ast.If)] + [n.test for n in around(node, root, ast.IfExp)]
        if (begun or switched_on) and all(mentions(test, "__name__") for test in tests):
            blocks = [block for block in around(node, root, ast.With) if backs_below(block)]
            looped = [b for b in blocks if loop_around(b, root) or nodes_in(b, ast.For, ast.While)]
            # Of a block that goes backward, neither a loop nor a step beside it says that it does so often.
            if len(looped) == len(blocks) or calls_in(root, "step"):
                yield make_site(review, rule, (value, frame))


@observes()
def benchmark_beside_deterministic(review: Review, rule: Rule) -> Sites:
    """`cudnn.deterministic = True` and `cudnn.benchmark = True` in one function, or in one that it calls."""
    for call in review.module.sights.calls("Trainer") if review.of_body else ():
        asked = [argument(call, name) for name in ("benchmark", "deterministic")]
        if asked[0] is not None and [one and spelled(one) for one in asked] == ["True", "True"]:
            yield site_at(review, rule, asked[0])
    for root in functions_of(review, "benchmark", "determinis"):
        own = _switched(root, review.module)
        fastest, on = own.get(_BENCHMARK, (root, False))
        if not on or not isinstance(fastest, ast.expr):
            continue
        others = [_switched(n, review.module) for n in reached_from(root, review.module.source.tree)[1:]]
        steady, wanted = own.get(_DETERMINISTIC, (root, False))
        elsewhere = any(one.get(_DETERMINISTIC, (root, False))[1] for one in others)
        if wanted and not exclusive(fastest, steady, root):
            # Who runs it without a seed may ask for neither: `if args.seed is not None:`.
            always = set(around(steady, root, ast.If)) <= set(around(fastest, root, ast.If))
            yield site_at(review, rule, fastest, shown=always)
        elif _DETERMINISTIC not in own and elsewhere and not any(_BENCHMARK in one for one in others):
            yield site_at(review, rule, fastest)


def _switched(root: ast.AST, module: ModuleInfo) -> dict[str, tuple[ast.expr, object]]:
    """What a function sets to constants last, by its dotted name: where, and the constant; determinism by a call, too."""
    asked = [n for n in calls_in(root, "use_deterministic_algorithms") if n.args]
    pairs = [(_DETERMINISTIC, (n, n.args[0].value)) for n in asked if isinstance(n.args[0], ast.Constant)]
    return dict(pairs) | {
        qualified(target, module): (target, value.value)
        for node in sorted(nodes_in(root, ast.Assign), key=start)
        for target, value in bindings(node)
        if isinstance(value, ast.Constant)
    }


@observes()
def reseeded_in_loop(review: Review, rule: Rule) -> Sites:
    """`torch.manual_seed(0)` in a loop that trains: every turn draws the same random numbers."""
    tree = review.module.source.tree
    roots = list(functions_of(review, "backward")) if "seed" in review.module.source.text else []
    functions = functions_below(tree) if roots else []
    seeding = [
        (f, n) for f in functions for n in calls_in(f) if made_by(n, review.module) in SEEDS and n.args
    ]
    # Those that hand their first parameter on as a seed: `set_seed(seed)`.
    helpers = {f.name for f, n in seeding if [spelled(n.args[0])] == [*parameters_of(f)][:1]}
    for root in roots:
        found = [n for n in calls_in(root) if _seeds(n, review.module) or called(n) in helpers]
        places = [(ast.dump(n), loop_around(n, root)) for n in found]
        for call, place in zip(found, places, strict=True):
            if len(call.args) != 1 or places.count(place) > 1:
                continue  # two: passes compared
            loop = place[1]
            turns = [loop] if loop is not None else turns_of(call, root, review.module)
            if loop is None and not isinstance(call.args[0], ast.Constant):
                continue  # each call may pass another
            if any(_is_invariant(call.args[0], turn) and _trains(turn, call, tree) for turn in turns):
                yield site_at(review, rule, call)


def _seeds(call: ast.Call, module: ModuleInfo) -> bool:
    """Whether a call seeds a global generator, or one that the file makes."""
    made = (
        (n.value for n in assigned_in(subject(call), module.source.tree))
        if called(call) == "manual_seed"
        else ()
    )
    return made_by(call, module) in SEEDS or any(made_by(n, module) == "torch.Generator" for n in made)


def _is_invariant(seed: ast.expr, loop: ast.AST) -> bool:
    """Whether no turn of a loop gives a seed another value: it calls nothing, and nothing in it is bound there."""
    names = [n for n in descendants(loop) if isinstance(n, ast.Name | ast.Attribute)]
    bound = {spelled(n) for n in names if isinstance(n.ctx, ast.Store)}
    return not calls_below(seed) and not any(spelled(n) in bound for n in descendants(seed))


def _trains(loop: ast.AST, seeding: ast.Call, tree: ast.AST) -> bool:
    """Whether a loop goes backward behind a seeding, itself or in what it calls, with one model all the time."""
    own, *others = reached_from(loop, tree)
    if any(calls_below(node, "parameters") for node in (own, *others)):
        return False  # a run of its own
    if not any(calls_below(node, "step") for node in (own, *others)):
        return False  # one pass that is compared with another
    return any(map(backs_in, others)) or any(start(n) > start(seeding) for n in backs_in(own))
