"""Models in the wrong mode: evaluated as in training, trained as in evaluation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ClassInfo, ModuleInfo
from stablelint.matchers.common import Kind, Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import (
    is_module_class,
    models_of,
    modules_in,
    runs_module,
    runs_part,
    trained_in,
)
from stablelint.matchers.names import (
    assigned_in,
    bound_anywhere,
    bound_to,
    functions_naming,
    functions_of,
    graph_is_off,
    made_by,
    operand_of,
    operation_of,
    parameters_of,
    qualified,
    run_by,
)
from stablelint.matchers.training.events import events_in, mode_of, turns
from stablelint.matchers.training.gathered import is_emptied, kept_in, known_collection
from stablelint.matchers.tree import (
    Function,
    ancestors,
    around,
    assigned,
    backs_below,
    backs_in,
    called,
    calls_below,
    calls_in,
    end,
    exclusive,
    is_given,
    is_test,
    loop_around,
    mentions,
    parents,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import last_name, spelled
from stablelint.syntax.operations import having
from stablelint.syntax.relevance import FRAMEWORKS
from stablelint.syntax.signatures import argument, arguments
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

_MODAL = tuple("Dropout BatchNorm SyncBatchNorm AlphaDropout FeatureAlphaDropout RReLU Transformer".split())

_WEIGHTS = ("pretrained", "weights")
_REPEATING = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.GeneratorExp)
_DIFFERENTIATING = frozenset(
    "detach grad requires_grad requires_grad_ register_hook set_grad_enabled create_graph".split()
)
_DIFFERENTIATES = ("grad", "backward", "enable_grad", "jacobian", "hessian")
_MADE_UP = having("draw", "create")  # no data
_RECORDED = "evaluation records a graph that nothing uses: no_grad is missing"
_NEVER = "the model is trained in evaluation mode: dropout and batch normalisation are off, and nothing calls train()"
_TOO_LATE = "this pass is run in evaluation mode and trained on: train() comes after it"


@observes()
def evaluated_in_training_mode(review: Review, rule: Rule) -> Sites:
    """A loop under `no_grad` that calls a trained model with dropout or batch norm, in a file without `eval()`; or a call of
    a model with weights that were loaded, in a file that trains nothing."""
    module = review.module
    if not review.of_body:
        return
    calls = module.sights.calls
    trains = bool(calls("backward", "manual_backward"))
    loaded = (
        frozenset() if trains else frozenset(map(subject, calls("load_state_dict"))) | _ready_made(module)
    )
    # `model.eval()`, `model.train(False)`, `model.train(mode)`: whoever has the word has thought of it.
    modes = [(mode_of(n), len(arguments(n))) for n in calls("eval", "train")]
    if any(mode == "eval" or (mode and given == 1) for mode, given in modes) or not (trains or loaded - {""}):
        return
    modal = _is_modal(module.sights.calls(), module)
    if modal is False or (trains and not calls("step")):
        return  # nothing that the file builds depends on the mode, or nothing is trained: passes are measured
    modules = modules_in(review) if trains else loaded - {""}
    for root in functions_of(review):
        owner = next(ancestors(root, module.source.tree), None)
        for call in sorted(calls_in(root), key=start):
            inner = next(iter(around(call, root, ast.ListComp, ast.GeneratorExp)), None)
            loop = loop_around(call, root) or inner
            # What a loop that trains computes without a graph is a look at the training.
            if spelled(call.func) not in modules or (
                backs_below(loop) if loop else trains and not (modal and _is_behind(call, root))
            ):
                continue
            if _is_handed_on(call, root, module):
                continue
            off = graph_is_off(call, root)
            if subject(call) == "self" and isinstance(owner, ast.ClassDef) and is_module_class(owner, module):
                continue  # how a module runs its own layers is no evaluation
            if any(subject(n) == spelled(call.func) for n in calls_in(root, "train")) and not backs_below(
                root
            ):
                continue  # dropout is wanted there
            if off or (isinstance(root, ast.Module) and not trains and not _is_tried_out(call, root, module)):
                depends = _depends_on_mode(call, review) if modal is None else modal
                if depends is not False:
                    yield site_at(review, rule, call, shown=off and bool(depends))
                break


def _depends_on_mode(call: ast.Call, review: Review) -> bool | None:
    """Whether a model does whose class other files define, by the layers that these build; None where they are not seen."""
    known = [_is_modal(_calls_of(one), one.module) for one in _classes_run(call, review)]
    return known[0] if known else None


def _differentiates(call: ast.Call, review: Review) -> bool:
    """Whether a model takes gradients in its own pass, as one that adapts itself to a task does."""
    return any(
        called(one) in _DIFFERENTIATES for info in _classes_run(call, review) for one in _calls_of(info)
    )


def _classes_run(call: ast.Call, review: Review) -> list[ClassInfo]:
    """The classes of the project of which the model is made that a call runs."""
    makers = bound_anywhere(spelled(call.func), review.module.source.tree)
    made = (
        one for maker in makers for one in (maker, *nodes_below(maker, ast.Call)) if isinstance(one, ast.Call)
    )
    found = (review.project.resolve(one.func, review.module) for one in made)
    return [one for one in found if isinstance(one, ClassInfo)]


def _calls_of(info: ClassInfo, depth: int = 3) -> list[ast.Call]:
    """The calls in a class, and in the classes of its file that it makes or derives from."""
    names = (
        {last_name(n) for n in nodes_below(info.node, ast.Name)} & info.module.classes.keys()
        if depth
        else set()
    )
    others = (info.module.classes[name] for name in sorted(names) if name != info.name)
    return [*calls_below(info.node), *(call for one in others for call in _calls_of(one, depth - 1))]


def _is_handed_on(call: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether an attribute takes a result to other functions, which may train on it."""
    held = {text for n in around(call, root, ast.Assign)[:1] for text in assigned(n)[0] if "." in text}
    others = (n for f in module.sights.functions if f is not root for n in nodes_in(f, ast.Attribute))
    return bool(held) and any(isinstance(n.ctx, ast.Load) and spelled(n) in held for n in others)


def _is_behind(call: ast.Call, root: ast.AST) -> bool:
    """Whether a call stands behind the training loop of its function, or in one that trains nothing, on data of the file."""
    loops = [n for n in nodes_in(root, ast.For, ast.While) if backs_below(n)]
    given = {n.id for one in arguments(call) for n in descendants(one) if isinstance(n, ast.Name)}
    of_file = isinstance(root, Function) and not backs_below(root) and given.isdisjoint(parameters_of(root))
    return of_file or any(end(loop) < start(call) for loop in loops)


def _ready_made(module: ModuleInfo) -> frozenset[str]:
    """What a file binds to models of torchvision with their weights."""
    found = set[str]()
    for node in nodes_below(module.source.tree, ast.Assign):
        call = node.value
        if isinstance(call, ast.Call) and made_by(call, module).startswith("torchvision.models."):
            weights = (argument(call, name) for name in _WEIGHTS)
            if any(one is not None and spelled(one) not in ("None", "False") for one in weights):
                found |= set(assigned(node)[0])
    return frozenset(found)


def _is_modal(calls: list[ast.Call], module: ModuleInfo) -> bool | None:
    """Whether a layer that these calls build, losses aside, depends on the mode; None where they build none."""
    if any(
        called(c) in ("dropout", "batch_norm", "instance_norm") and is_given(c, "training") for c in calls
    ):
        return True
    made = [(c, made_by(c, module).rpartition(".")) for c in calls]
    layers = [
        (c, name) for c, (package, _, name) in made if package == "torch.nn" and not name.endswith("Loss")
    ]
    return any(name.startswith(_MODAL) or is_given(c, "dropout") for c, name in layers) if layers else None


@observes()
def trained_in_evaluation_mode(review: Review, rule: Rule) -> Sites:
    """A loop that trains a model and evaluates it by turns, and never goes back to `train()`."""
    module = review.module
    if not review.of_body or not events_in(review):
        return
    yield from _switched_too_late(review, rule)
    if _is_modal(module.sights.calls(), module) is False:
        return
    if not any(
        mode_of(call) != "eval" for call in module.sights.calls("train") if receiver(call) is not None
    ):
        if never := list(_never_in_training_mode(review, rule)):
            yield from never
            return
    trained = {*map(subject, module.sights.calls("parameters")), *trained_in(module)}
    for root, back, turn, events in turns(review, "backward", "eval"):
        backs = [one.made for one in events if one.kind == "backward"]
        run = {name for b in backs for n in models_of(b.node, b.root, b.module) for name in b.words(n.func)}
        # A function that sets the mode and trains on means the mode; a part of a model may be what another one trains.
        left = [one for one in events if one.kind == "eval" and (one.is_own or one.at is not back.at)]
        left = [e for e in left if e.of & (run & trained or trained)]
        # Of a model that each turn makes anew nothing is left, nor of one that a helper makes for itself.
        anew = {
            name
            for e in left
            for name in e.of
            for n in (*assigned_in(name, turn), *([] if e.is_own else assigned_in(name, e.root)))
            if n.value and not mentions(n.value, name)
        }
        left = [e for e in left if not e.of & anew and not _is_run_without_graph(e.of, turn, root)]
        if turn is not root and left and not any(one.kind == "train" for one in events):
            yield site_at(review, rule, min((one.made.place(module) for one in left), key=start))
            return


def _is_run_without_graph(names: frozenset[str], turn: ast.AST, root: ast.AST) -> bool:
    """Whether a turn that trains runs a model without a graph alone, so that it is another one that is trained."""
    runs = [n for n in calls_below(turn) if runs_module(n, names)]
    return bool(runs) and all(graph_is_off(n, root) for n in runs)


def _never_in_training_mode(review: Review, rule: Rule) -> Sites:
    """`model.eval()` before the loop that trains the model, whose parameters an optimizer holds."""
    makers = (n for n in review.module.sights.calls() if made_by(n, review.module).startswith("torch.optim."))
    held = {subject(n) for maker in makers for n in calls_below(maker, "parameters")}
    for root, _, turn, _ in turns(review, "backward", "step"):
        for one in events_in(review)[root] if turn is not root else ():
            before = one.kind == "eval" and one.is_own and start(one.at) < start(turn) and one.of & held
            if before and any(runs_module(n, one.of) for n in calls_below(turn)):
                yield site_at(review, rule, one.made.place(review.module), shown=False, message=_NEVER)
                return


def _switched_too_late(review: Review, rule: Rule) -> Sites:
    """`model.eval()`, `y = model(x)`, `model.train()`, `loss(y).backward()`: the pass that is trained on came before."""
    for root, back, _, events in turns(review, "backward", "eval", "train"):
        sure = [e for e in events if set(e.tests(root)) <= set(back.tests(root))]
        for call in models_of(back.made.node, root, review.module) if back.is_own else ():
            modes = [e for e in sure if spelled(call.func) in e.of and e.kind in ("eval", "train")]
            before = [e.kind for e in modes if start(e.at) < start(call)]
            between = [e.kind for e in modes if start(call) < start(e.at) < start(back.at)]
            if before[-1:] == ["eval"] and "train" in between:
                yield site_at(review, rule, call, message=_TOO_LATE)


@observes()
def evaluation_keeps_graph(review: Review, rule: Rule) -> Sites:
    """`outputs.append(model(x))`, or `model(x)` alone, in an evaluation that records the graph of each batch."""
    for root in functions_naming(review, "eval", "train"):
        if getattr(root, "name", "") == "forward" or _is_of_another_framework(root, review.module):
            continue  # its caller says whether a graph is recorded
        evaluated = [n for n in calls_in(root) if mode_of(n) == "eval"]
        asks = mentions(root, "requires_grad", "requires_grad_")  # it says itself of what it records a graph
        if not evaluated or asks or _is_called_without_graph(root, review):
            continue
        models = frozenset(name for n in evaluated for name in _models_set(n, root))
        gathered = list(_gathered(models, root, review))
        for part, output, joined in gathered:
            kind = Kind.TENSOR if joined else Kind.UNKNOWN
            statement = next(iter(around(output, root, ast.stmt)))
            yield site_at(review, rule, part, {"kept": part}, shown=False, kind=kind, statement=statement)
        calls = [n for n in calls_in(root) if runs_module(n, models)] if not gathered else []
        # Where a method takes something of the result at once, `model(x).argmax(1)`, nothing is kept.
        whole = (n for n in calls if not isinstance(next(ancestors(n, root), None), ast.Attribute))
        recorded = [n for n in whole if _is_recorded(n, root, review)]
        if recorded or any(graph_is_off(n, root) for n in calls):  # what else of the model is run there, too
            parts = (n for n in calls_in(root) if runs_part(n, models))
            recorded += [n for n in parts if _is_recorded(n, root, review)]
        # Each statement alone: what else a loop does may need its gradients, as an attack does.
        first = {next(iter(around(n, root, ast.stmt))): n for n in sorted(recorded, key=start, reverse=True)}
        decorated = (
            root if len(first) > 1 and _only_evaluates(root, models, start(recorded[-1]), review) else None
        )
        for statement, call in first.items():
            at = decorated if isinstance(decorated, ast.FunctionDef) else statement
            yield site_at(review, rule, call, shown=False, message=_RECORDED, statement=at)


def _is_of_another_framework(root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a function computes with another framework that the file imports, and names nothing of torch."""
    named = {qualified(n, module).partition(".")[0] for n in nodes_in(root, ast.Name)}
    return not named.isdisjoint(FRAMEWORKS) and "torch" not in named


def _only_evaluates(root: ast.AST, models: frozenset[str], last: tuple[int, int], review: Review) -> bool:
    """Whether nothing that a function does until its last pass needs a gradient: itself, or what it calls."""
    asks = _DIFFERENTIATING - {"detach"}
    decorators = set(map(spelled, getattr(root, "decorator_list", ())))
    if decorators - {"staticmethod", "classmethod"} or nodes_in(root, ast.Yield, ast.YieldFrom):
        return False
    for call in calls_in(root):
        run = [function for function, _ in run_by(call, review.module, review.project)]
        if any(backs_below(one) or mentions(one, *asks) for one in (root, *run)):
            return False
        if mode_of(call) == "train" and start(call) < last:
            return False
        given = {spelled(one) for one in arguments(call)} & models
        is_held = spelled(call.func) in models or bound_anywhere(
            spelled(call.func), review.module.source.tree
        )
        if not run and (given or (subject(call) == "self" and not is_held)):
            return False  # it may train what it is given, or what its object has
    return True


def _gathered(
    models: frozenset[str], root: ast.AST, review: Review
) -> Iterator[tuple[ast.expr, ast.Call, bool]]:
    """Outputs that loops put into collections, the calls of the models, and whether those are joined to one tensor."""
    for kept in kept_in(root, review.module):
        sources = ((part, _output_of(part, models, kept.at, root)) for part in kept.parts)
        parts = [(p, s) for p, s in sources if s and _is_recorded(s, root, review, "detach")]
        off = not parts or graph_is_off(kept.at, root)
        if off or known_collection(kept, root, review) is None or is_emptied(kept):
            continue
        for part, output in parts:
            joins = calls_in(root, "cat", "stack", "concat", "vstack", "hstack")
            given = [n.args[0] for n in joins if n.args]
            joined = [p for one in given if isinstance(one, ast.List | ast.Tuple) for p in one.elts]
            yield part, output, part in joined or any(kept.base == spelled(one) for one in given)


def _models_set(call: ast.Call, root: ast.AST) -> set[str]:
    """The expressions of the model whose mode a call sets: `model` and `net` of `net = model.eval()`."""
    above = parents(root).get(call)
    return {subject(call), *(assigned(above)[0] if above is not None else ())}


def _is_recorded(call: ast.Call, root: ast.AST, review: Review, *allowed: str) -> bool:
    """Whether a pass in evaluation mode records a graph that nobody differentiates: in loops, or in a script itself."""
    loops = [n for n in around(call, root, *_REPEATING) if not backs_below(n)]
    alone = isinstance(root, ast.Module) and not _is_tried_out(call, root, review.module)
    tried = around(call, root, ast.Assert) or is_test(root)
    if graph_is_off(call, root) or tried or not (loops or alone):
        return False
    asks = mentions(loops[-1] if loops else root, *_DIFFERENTIATING - set(allowed))
    trains = not loops and any(start(n) > start(call) for n in backs_in(root))
    run = {spelled(call.func), subject(call)}
    set_before = (n for n in calls_in(root, "eval", "train") if start(n) < start(call))
    modes = [n for n in set_before if run & _models_set(n, root)]
    modes.sort(key=start)
    return (
        not (asks or trains or _differentiates(call, review))
        and [mode_of(n) for n in modes][-1:] == ["eval"]
        and not any(exclusive(n, modes[-1], root) for n in modes)
    )


def _is_tried_out(call: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a model is given numbers alone that are drawn or written out, which nobody has saved."""
    given = (bound_to(spelled(one), call, root) or one for one in arguments(call))
    return bool(arguments(call)) and all(
        any(operation_of(made, module) in _MADE_UP for made in calls_below(one)) for one in given
    )


def _is_called_without_graph(root: ast.AST, review: Review) -> bool:
    """Whether the file calls the function under `no_grad`, or switches recording off for good."""
    source, name = review.module.source, getattr(root, "name", "")
    wrappers = set(map(spelled, getattr(root, "decorator_list", ())))
    own = (f for f in review.module.sights.functions if f.name in wrappers)
    if "set_grad_enabled(False)" in source.text or any(mentions(f, "no_grad", "inference_mode") for f in own):
        return True
    return bool(name) and any(graph_is_off(n, source.tree) for n in review.module.sights.calls(name))


def _output_of(part: ast.expr, models: frozenset[str], at: ast.AST, root: ast.AST) -> ast.Call | None:
    """The call of an evaluated model whose graph a part carries."""
    node: ast.expr | None = part
    while node is not None:
        if isinstance(node, ast.Call) and runs_module(node, models):
            return node
        if isinstance(node, ast.Name):
            node = bound_to(node.id, at, root)
            at = at if node is None else node  # `out = out.cpu()` was another before
        else:
            node = node.value if isinstance(node, ast.Subscript) else operand_of(node)
    return None
