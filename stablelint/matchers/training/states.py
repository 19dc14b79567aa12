"""States of models and optimizers: loaded anywhere, restored too early, kept by reference."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Sequence

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import held_by, modules_in
from stablelint.matchers.names import (
    assigned_in,
    bound_to,
    functions_naming,
    functions_reaching,
    made_by,
    parameters_of,
)
from stablelint.matchers.through import Through, made_through
from stablelint.matchers.training.events import is_optimizer
from stablelint.matchers.training.gathered import kept_in
from stablelint.matchers.tree import (
    ancestors,
    around,
    assigned,
    block_of,
    called,
    calls_below,
    calls_in,
    end,
    exclusive,
    is_given,
    loop_around,
    parents,
    receiver,
    start,
    subject,
)
from stablelint.syntax.beforehand import bindings
from stablelint.syntax.names import spelled
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import descendants, nodes_below, nodes_in

_PLACING = ("load_state_dict", "to", "cuda")
_NUMBERS = re.compile(r"GradScaler$|\.lr_scheduler\.")
_DIGEST = re.compile(r"-(?=\d*[a-f])[\da-f]{8,}\.pth?$")  # no date
_SAME_MODEL = "this is another name of the model that is trained on, and no copy of it: `copy.deepcopy({})`"


@observes()
def load_without_map_location(review: Review, rule: Rule) -> Sites:
    """`model.load_state_dict(torch.load(f))` that names no device, or `torch.load(f).to(device)`."""
    module = review.module
    calls = module.sights.calls
    if not review.of_body or (module.mentions("cuda") and not module.mentions("is_available")):
        return  # it needs a GPU
    placed = set(map(subject, calls("to", "cuda")))
    modules = modules_in(review) | placed if calls("load") else frozenset[str]()
    written = {_given(c, 1) for c in calls("save") if made_by(c, module) == "torch.save"}
    known = (written | {_given(c, 0) for c in calls("load") if is_given(c, "map_location")}) - {""}
    restored = {called(part) for n in calls("load_state_dict") for part in calls_below(n)}
    for root in functions_naming(review, "load"):
        makers = ((n, bound_to(subject(n), n, root)) for n in calls_in(root, "load_state_dict"))
        # Gradient scalers and schedulers hold no tensors.
        restoring = [n for n, made in makers if not _NUMBERS.search(made_by(made, module))]
        helps = bool(restoring) or getattr(root, "name", "") in restored
        loads = (n for n in calls_in(root, "load") if made_by(n, module) == "torch.load" and len(n.args) < 2)
        loads = (n for n in loads if arguments(n) and not is_given(n, "map_location", None))
        for node in sorted((n for n in loads if not isinstance(arguments(n)[0], ast.Starred)), key=start):
            above, source = parents(root).get(node), arguments(node)[0]
            moved = isinstance(above, ast.Attribute) and above.attr in ("to", "cuda")
            bound = assigned(above)[0] if above is not None else []
            # What this run has saved lies where it runs, and so does what never left the memory.
            own = known & {spelled(source), getattr(source, "attr", "")} or called(source) == "BytesIO"
            holder = (
                bound_to(spelled(source.value), node, root) if isinstance(source, ast.Attribute) else None
            )
            # `checkpoints = Checkpoints(…)`, `checkpoints.best_path`
            own = own or called(holder)[:1].isupper() or _is_published(source, node, root)
            if not own and (helps or moved or any(text in modules for text in bound)):
                # A model that is loaded as a whole runs where it lies, wherever another of its name was moved before.
                early = {subject(n) for n in calls_in(root, "to", "cuda") if start(n) < start(node)}
                is_run = any(text in modules - (placed - early) for text in bound)
                stays = is_run or _hands_on(bound, root)
                yield site_at(review, rule, node, {} if stays else {"states": node}, shown=False)


def _is_published(source: ast.expr, load: ast.Call, root: ast.AST) -> bool:
    """Whether a file bears its own digest, as `torch.hub` asks of what is published, which lies on the CPU."""
    written = (source, bound_to(spelled(source), load, root))
    texts = (
        n.value for one in written if one is not None for n in ast.walk(one) if isinstance(n, ast.Constant)
    )
    return any(isinstance(text, str) and _DIGEST.search(text) for text in texts)


def _hands_on(names: Sequence[str], root: ast.AST) -> bool:
    """Whether what a checkpoint holds is taken over where it lay: `restore(saved["buffer"])`, `x.data = state`."""
    adopted = (t for n in nodes_in(root, ast.Assign) for t in n.targets if isinstance(t, ast.Attribute))
    if any(target.attr == "data" for target in adopted):
        return True
    entries = [n for n in nodes_in(root, ast.Subscript) if spelled(n.value) in names]
    above = [parents(root).get(entry) for entry in entries]
    calls = [parents(root).get(n) if isinstance(n, ast.keyword) else n for n in above]
    return any(isinstance(n, ast.Call) and not _takes_numbers(called(n)) for n in calls)


def _takes_numbers(name: str) -> bool:
    """Whether a call of that name restores a state, makes an object of a class, or tells of a number."""
    return (
        name == "load_state_dict"
        or name[:1].isupper()
        or hasattr(builtins, name)
        or words.names_a_reader(name)
    )


def _given(call: ast.Call, place: int) -> str:
    """The text of an argument; empty where it is not given by its place."""
    return spelled(call.args[place]) if len(call.args) > place else ""


@observes()
def optimizer_state_before_move(review: Review, rule: Rule) -> Sites:
    """`optimizer.load_state_dict(…)` and then `model.cuda()`, of a model whose state is restored before that."""
    module = review.module
    told = set[ast.AST]()
    known = module.mentions("load_state_dict") or module.speaks_of("optim")
    for root in functions_reaching(review, *_PLACING) if known and module.mentions("to", "cuda") else ():
        models, held, restored, moved = set[str](), set[str](), list[Through](), set[str]()
        for made in made_through(root, module, review.project, lambda node: called(node) in _PLACING):
            if called(made.node) != "load_state_dict":
                trained = (held & models) or held | models  # by other names elsewhere
                late = restored and _moved(made) & trained - moved - _moved_when_made(root, module)
                if late and not all(
                    exclusive(n.at, made.at, root) or _is_renewed(n, made, module) for n in restored
                ):
                    yield from (
                        [site_at(review, rule, made.place(module), shown=False)]
                        if made.node not in told
                        else []
                    )
                    told.add(made.node)
                    break
                moved |= _moved(made)
            elif any(is_optimizer(name, module) for name in (subject(made.node), *made.subjects)):
                restored.append(made)
                held |= held_by((subject(made.node), *made.subjects), module)
            else:
                models |= made.subjects


def _moved_when_made(root: ast.AST, module: ModuleInfo) -> set[str]:
    """What of an object its constructor moves: `net` of `self.net.cuda()`, in the words of a function that is given one."""
    inits = [f for f in module.sights.functions if f.name == "__init__" and f is not root]
    moves = {subject(n) for init in inits for n in calls_in(init, "to", "cuda")}
    attributes = {text.removeprefix("self") for text in moves if text.startswith("self.")}
    names = {spelled(n) for n in nodes_in(root, ast.Attribute)} if attributes else set[str]()
    return {text for text in names if any(text.endswith(one) for one in attributes)}


def _moved(made: Through) -> set[str]:
    """What a call moves: `net` of `net.cuda()`, and of `nn.DataParallel(net).cuda()`."""
    of = receiver(made.node)
    wraps = isinstance(of, ast.Call) and called(of)[:1].isupper() and len(of.args) > 0
    return made.words(of.args[0] if wraps and isinstance(of, ast.Call) else of)


def _is_renewed(restored: Through, moved: Through, module: ModuleInfo) -> bool:
    """Whether the optimizer is made anew behind a move, or its state is moved by hand: `optimizer.state.values()`."""
    names = restored.subjects
    again = any(start(n) > start(moved.at) for one in names for n in assigned_in(one, moved.root))
    tree = module.source.tree
    return again or any(
        n.attr == "state" and spelled(n.value) in names for n in nodes_below(tree, ast.Attribute)
    )


@observes()
def state_kept_by_reference(review: Review, rule: Rule) -> Sites:
    """`best = model.state_dict()`, training, and `model.load_state_dict(best)`; or `best = model` in a loop that trains."""
    if not review.of_body or not review.module.mentions("state_dict", "load_state_dict", "backward", "step"):
        return
    tree, modules = review.module.source.tree, modules_in(review)
    for root in functions_naming(review, "state_dict"):
        yield from (site_at(review, rule, state, _bound(state)) for state in _gathered(root, review.module))
    names = (text.rpartition(".")[2] for text in modules)
    for root in functions_naming(review, "load_state_dict", "state_dict", *names):
        told = set[tuple[str, str]]()  # the names under which states of models are kept
        states = list[tuple[str, str, ast.expr]]()
        for statement in nodes_in(root, ast.Assign):
            for target, kept in (p for pair in bindings(statement) for p in _entries(*pair)):
                state = _without_copy(kept)
                model = receiver(state) if called(state) == "state_dict" else state
                best = model is not None and _is_taken_for_best(statement, target, model, root)
                if model is not None and model is not state:
                    states.append((target, spelled(model), kept))
                    told |= (
                        {(target, spelled(model))}
                        if best or _is_restored(target, state, root, tree)
                        else set()
                    )
                elif best and spelled(state) in modules and not _is_loaded(target, root):
                    message = _SAME_MODEL.format(spelled(state))
                    yield site_at(review, rule, kept, _bound(kept), shown=False, message=message)
        # One that is copied beside another that is not would be what is restored in its place.
        yield from (
            site_at(review, rule, kept, _bound(kept)) for *names, kept in states if tuple(names) in told
        )


def _bound(kept: ast.expr) -> dict[str, ast.expr]:
    """What is kept, and the state that is to be copied: what a call has made a copy of that shares the tensors."""
    shares = isinstance(kept, ast.Call) and len(kept.args) == 1
    return {"kept": kept, "state": _without_copy(kept) if shares else kept}


def _is_loaded(target: str, root: ast.AST) -> bool:
    """Whether a function loads a state into what a name stands for: whatever it held before."""
    given = (receiver(call) for call in calls_below(root, "load_state_dict"))
    return any(one is not None and spelled(one) == target for one in given)


def _gathered(root: ast.AST, module: ModuleInfo) -> Iterator[ast.expr]:
    """The states that a loop which trains puts into a list that is read behind it: each is the last one, in the end."""
    for states in kept_in(root, module):
        behind = (n for n in nodes_in(root, ast.Name, ast.Attribute) if start(n) > end(states.loop))
        read = any(spelled(n) == states.base for n in behind)
        for part in states.parts if read else ():
            state = _without_copy(part)
            if called(state) == "state_dict" and _trains(states.loop, subject(state)):
                yield part


def _entries(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """What an assignment binds to what, with the entries of a dict: `best["net"]` of `best = {"net": …}`."""
    text = spelled(target)
    named = zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
    return [(text, value), *((f"{text}[{spelled(key)}]", one) for key, one in named if key is not None)]


def _is_restored(kept: str, state: ast.expr, root: ast.AST, tree: ast.AST) -> bool:
    """Whether a state goes back into its model once that was trained on: behind the loop in which it is kept, in each turn
    of a later one, or by another method."""
    loop, model = loop_around(state, root), subject(state)
    of_it = _restores(kept, model, root)
    if not of_it and kept.startswith("self."):
        owner = next(ancestors(root, tree), None)
        methods = owner.body if isinstance(owner, ast.ClassDef) else []
        given = (n.args[0] for n in calls_below(tree, "load_state_dict") if n.args)
        watched = (
            n for n in given if isinstance(n, ast.Attribute) and f"self.{n.attr}" == kept != spelled(n)
        )
        if any(watched):
            return model in parameters_of(root)  # of an object that watches the training
        return any(_restores(kept, model, one) and not assigned_in(model, one) for one in methods)
    if loop is not None:
        steps = [n for n in calls_in(loop, "step") if start(n) > start(state)]
        between = any(start(step) < start(n) < end(loop) for n in of_it for step in steps)
        return between or (bool(of_it) and all(start(n) > end(loop) for n in of_it))
    again = [one for n in of_it if (one := loop_around(n, root)) is not None and start(state) < start(one)]
    return any(
        _trains(one, model) and not assigned_in(model, one) and not assigned_in(kept, one) for one in again
    )


def _restores(kept: str, model: str, root: ast.AST) -> list[ast.Call]:
    of_model = (n for n in calls_in(root, "load_state_dict") if n.args and subject(n) == model)
    return [n for n in of_model if kept in {_given(n, 0), *map(spelled, _mixed(n.args[0]))}]


def _mixed(state: ast.expr) -> list[ast.expr]:
    """What the entries of a state are taken from that is computed of others: `{k: a * old[k] + b * new[k] for k in old}`."""
    entry = state.value if isinstance(state, ast.DictComp) else None
    return [n.value for n in nodes_below(entry, ast.Subscript)] if isinstance(entry, ast.BinOp) else []


def _is_taken_for_best(statement: ast.Assign, best: str, model: ast.expr, root: ast.AST) -> bool:
    """Whether a comparison in a loop that trains a model binds it to another name, which is read behind the loop."""
    loop, text = loop_around(statement, root), spelled(model)
    tests = [n.test for n in around(statement, root, ast.If) if loop in around(n, root, ast.For, ast.While)]
    compared = any(isinstance(n, ast.Compare) for test in tests for n in descendants(test))
    leaves = isinstance(block_of(statement, root)[-1], ast.Break | ast.Return)
    if loop is None or not compared or leaves or assigned_in(text, loop):
        return False
    base, behind = best.partition("[")[0], end(loop)
    again = min((start(n) for n in assigned_in(base, root) if start(n) > behind), default=(sys.maxsize, 0))
    read = (n for n in nodes_in(root, ast.Name, ast.Attribute) if behind < start(n) < again)
    return _trains(loop, text) and any(spelled(n) in (best, base) for n in read)


def _trains(loop: ast.AST, model: str) -> bool:
    """Whether a loop goes backward, steps, or hands a model to what may train it."""
    calls = (n for n in calls_below(loop) if not hasattr(builtins, called(n)))
    return any(called(n) in ("backward", "step") or model in map(spelled, n.args) for n in calls)


def _without_copy(kept: ast.expr) -> ast.expr:
    """What a copy is made of that shares the tensors: `copy.copy(state)`, `{k: v for k, v in state.items()}`."""
    if isinstance(kept, ast.DictComp) and spelled(kept.value).removesuffix(".data") in map(
        spelled, getattr(kept.generators[0].target, "elts", ())
    ):
        return receiver(kept.generators[0].iter) or kept
    if isinstance(kept, ast.Call) and called(kept) in ("dict", "OrderedDict", "copy"):
        return (kept.args[0] if len(kept.args) == 1 else receiver(kept)) or kept
    return kept
