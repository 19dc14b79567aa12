"""Losses that are written wrongly: a module for its result, operands in the wrong order, a sum where a mean is meant."""

from __future__ import annotations

import ast
import builtins
from functools import partial

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import (
    Kind,
    Review,
    Rule,
    Sites,
    Value,
    computed,
    made_from,
    make_site,
    observes,
    scope_of,
    site_at,
)
from stablelint.matchers.models import modules_in, runs_module
from stablelint.matchers.names import (
    bound_anywhere,
    bound_to,
    defined,
    functions_naming,
    is_without_graph,
    made_by,
    makers_of,
    operand_of,
    operation_of,
    parameters_of,
    qualified,
    unpacked_from,
)
from stablelint.matchers.through import call_into
from stablelint.matchers.training.events import Event, losses_in, turns
from stablelint.matchers.tree import (
    ancestors,
    assigned,
    called,
    calls_in,
    end,
    loop_around,
    mentions,
    receiver,
    start,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.operations import having
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import nodes_below, nodes_in

# Losses of an output and a target, and modules that are built of nothing, or of numbers alone.
_PAIRING = tuple(f"{name}Loss" for name in "CrossEntropy NLL MSE L1 SmoothL1 BCE BCEWithLogits KLDiv".split())
_ACTIVATIONS = tuple(
    "Sigmoid Tanh LogSigmoid Softsign Softmax LogSoftmax ReLU LeakyReLU ReLU6 ELU SELU GELU SiLU Mish Dropout".split()
)
_READ = ("backward", "item", "detach", "mean", "sum")  # of a tensor, and of no module
_BUILT = "this builds the module, and computes nothing: `{0}()({1})`"
_ORDERED = ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
_MOVED = having("device", "cast", "layout", "copy")
_WRITTEN_OUT = having("filled") | {"tensor"}
_LABELS = _WRITTEN_OUT | {"one_hot", "argmax"}
_UNCOMPUTED = _WRITTEN_OUT | {"argument", "unknown", "index", "batch", "part"}
_MIXING = having("arithmetic")
_NO_TARGETS = ("linear_module", "log_softmax")  # scores of any size, of which no loss is taken
_SCORED = frozenset("linear_module layer_output sigmoid softmax log_softmax".split())
_ADDED = "the gradients of all these batches add up: divide the loss by `{}`"


@observes()
def built_on_tensors(review: Review, rule: Rule) -> Sites:
    """`nn.MSELoss(output, target)`, `nn.Sigmoid(self.fc(x))`: the module is built where its result is meant."""
    held = review.of_body and review.module.mentions(*_PAIRING, *_ACTIVATIONS)
    kept = _classes_kept(review.module) if held else {}
    names = (text.rpartition(".")[2] for text in kept)
    for root in functions_naming(review, *_PAIRING, *_ACTIVATIONS, *names) if held else ():
        if getattr(root, "name", "") == "__init__":
            continue
        bound = {n.id for n in nodes_in(root, ast.Name) if isinstance(n.ctx, ast.Store)} - kept.keys()
        for call in calls_in(root):
            if isinstance(call.func, ast.Name) and call.func.id in bound:
                continue  # an object under the name of its class: `MSELoss = nn.MSELoss()`
            made = kept.get(spelled(call.func)) or made_by(call, review.module)
            package, _, name = made.rpartition(".")
            if package not in ("torch.nn", "nn", "") or review.module.defines(made):
                continue
            pair = name in _PAIRING and _is_pair(call, root)
            result = name in _ACTIVATIONS and call.args and _is_computed(call.args[0], root)
            number = result and _may_be_number(call.args[0], root, review.module)
            if pair or (result and not number):
                alone = pair or len(arguments(call)) == 1
                parts = (
                    {"made": call.func} | dict(zip("xy" if pair else "z", call.args, strict=True))
                    if alone
                    else {}
                )
                message = _BUILT.format(spelled(call.func), ", ".join(map(spelled, call.args)))
                yield site_at(review, rule, call, parts, message=message)


def _may_be_number(made: ast.expr, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a method of `self` gives something: one that the file sets nowhere, and gives no result of a `forward`."""
    if not isinstance(made, ast.Call) or not (name := spelled(made.func)).startswith("self."):
        return False
    if bound_anywhere(name, module.source.tree):
        return False
    layer = getattr(root, "name", "") == "forward" and not defined(made, module)
    return not (layer and any(_is_computed(one, root) for one in arguments(made)))


def _classes_kept(module: ModuleInfo) -> dict[str, str]:
    """The names that a file binds once, and to a class of torch.nn that it does not call: `loss = nn.L1Loss`."""
    bound = [(text, n.value) for n in nodes_below(module.source.tree, ast.Assign) for text in assigned(n)[0]]
    texts = [text for text, _ in bound]
    classes = {text: qualified(value, module) for text, value in bound if isinstance(value, ast.Attribute)}
    return {
        text: name
        for text, name in classes.items()
        if name.startswith("torch.nn.") and texts.count(text) == 1
    }


def _is_computed(node: ast.expr, root: ast.AST) -> bool:
    """Whether an expression is a result, or what a `forward` is given."""
    given = getattr(root, "name", "") == "forward" and [*parameters_of(root)][1:2] == [spelled(node)]
    return given or _is_result(node, root)


def _is_pair(call: ast.Call, root: ast.AST) -> bool:
    """Whether a loss is built of what a call gave and of another name: its weight and a switch are neither."""
    if len(call.args) != 2 or call.keywords:
        return False
    output, target = call.args
    given = bound_to(spelled(target), call, root) or target
    result = _is_result(output, root) or _is_read(call, root)
    return result and not isinstance(given, ast.Constant | ast.Starred)


def _is_read(call: ast.Call, root: ast.AST) -> bool:
    """Whether what a call makes is asked for what tensors have: `loss = nn.L1Loss(out, y)`, `loss.backward()`."""
    reads = [n for n in nodes_in(root, ast.Attribute) if n.attr in _READ]
    return any(n.value is call or bound_to(spelled(n.value), n, root) is call for n in reads)


def _is_result(node: ast.expr, root: ast.AST) -> bool:
    """Whether an expression is what an object gave when it was called with something, or a name bound to that."""
    if isinstance(node, ast.Name):
        made = bound_to(node.id, node, root)
        return made is not None and not isinstance(made, ast.Name) and _is_result(made, root)
    of = receiver(node)
    if of is None and hasattr(builtins, called(node)):
        return False  # `nn.Dropout(float(p))`: a number
    if (carried := operand_of(node)) is not None and carried is of:
        return _is_result(of, root)
    own = isinstance(node, ast.Call) and (of is None or spelled(of) in ("self", "torch", "F"))
    return own and bool(getattr(node, "args", ())) and called(node).islower()


@observes("|".join(_ORDERED))
@observes("backward", anywhere="|".join(_ORDERED))
def swapped_operands(review: Review, rule: Rule) -> Sites:
    """`criterion(target, model(x))`, for a loss whose operands are no equals."""
    losses = [pair for pair in computed(review) if pair[0].op in _ORDERED]
    models = modules_in(review) if losses else frozenset[str]()
    backed = set(map(id, made_from(losses_in(review)))) if losses else set[int]()
    for value, frame in losses:
        given, target = value.operands.get("input"), value.operands.get("target")
        if given is None or target is None or given.op in _SCORED:
            continue
        root = scope_of(frame)
        is_label = _is_label(given, root, is_trained=id(value) in backed)
        parts = made_from([target], stops=("detach", "argmax", "one_hot"))  # of scores, these are labels
        # Whatever is called with something gives the output then.
        sure = stripped(given, _MOVED).op in _LABELS
        scored = any(
            v.op in _SCORED or runs_module(v.node, models) or (sure and v.op.startswith("call."))
            for v in parts
            if not _is_taught(v, value, root)
        )
        if (is_label and scored) or (stripped(target, _MOVED).op in _NO_TARGETS and given.op in _UNCOMPUTED):
            anchor = call_into(value.node, scope_of(review.frame), review)
            if anchor is not None or value.module is review.module:
                yield make_site(review, rule, (value, frame), {"x": given, "y": target}, anchor=anchor)


def _is_taught(value: Value, loss: Value, root: ast.AST) -> bool:
    """Whether a value is computed without a graph for a loss that has one: what a teacher gives is a target."""
    if value.node is None or loss.node is None or value.module is not loss.module:
        return False
    return is_without_graph(value.node, root) and not is_without_graph(loss.node, root)


def _is_label(value: Value, root: ast.AST, *, is_trained: bool) -> bool:
    """Whether a value is what a loop, a loader or a batch gave and nothing computed, or is written out as 0 to 1: or what a
    function is given that itself goes backward from the loss."""
    value = stripped(value, _MOVED)
    if value.op in _MIXING:  # `onehot * 0.9 + 0.1 / n`
        parts = [v for v in value.operands.values() if v.kind is not Kind.NUMBER]
        return bool(parts) and all(_is_label(v, root, is_trained=is_trained) for v in parts)
    if value.op in ("one_hot", "argmax"):
        return True
    if value.op in _WRITTEN_OUT:
        return value.interval.lo >= 0 and value.interval.hi <= 1
    if value.op == "argument":
        return is_trained
    of, name = value.node, value.name
    while isinstance(of, ast.Subscript):  # `batch["label"]`
        if not isinstance(of.slice, ast.Constant | ast.Name | ast.Attribute):
            return False  # a part of a tensor, which somebody computed
        of = of.value
        name = spelled(of)
    if value.op != "unknown" and of is value.node:
        return False
    taken = unpacked_from(name, value.node, root) if of is value.node and value.node is not None else None
    if taken is None and isinstance(of, ast.Tuple):
        taken = next(
            (t for n in nodes_in(root, ast.Assign) if n.targets[0] is of for t in [(0, n.value)]), None
        )
    if taken is not None:
        name = spelled(taken[1])
    elif is_trained and isinstance(of, ast.Name) and isinstance(root, ast.Module):
        return not bound_anywhere(name, root)  # of a notebook's other cells
    targets = [part for loop in nodes_in(root, ast.For) for part in ast.walk(loop.target)]
    return name in parameters_of(root) or any(getattr(part, "id", None) == name for part in targets)


@observes()
def undivided_accumulation(review: Review, rule: Rule) -> Sites:
    """`loss.backward()` on each turn, and `if (i + 1) % n == 0: optimizer.step()`, or on each part of a batch and then the
    step, of a loss that nothing divides."""
    for root, step, turn, events in turns(review, "step", "backward"):
        backs = [e for e in events if e.kind == "backward"]
        back = ([e for e in backs if events.index(e) < events.index(step)] or backs)[-1]
        # Adagrad and its kin divide by the gradient's own size, so that a factor changes nothing.
        if any("Ada" in m for one in step.of for m in makers_of(one, review.module)) or mentions(
            turn, "grad"
        ):
            continue
        gate, count = _counted(step, turn, root) or (None, _parts_of_batch(back.at, turn, root))
        if count and back.loss is not None and _is_whole(back.loss, back.made.node, back.root, review):
            clears = [e for e in events if e.kind == "clear"]
            if _is_late(gate, step, clears, back, root) if gate else _is_outside(back.at, clears, turn, root):
                yield site_at(review, rule, back.made.place(review.module), message=_ADDED.format(count))


def _is_outside(back: ast.AST, clears: list[Event], turn: ast.AST, root: ast.AST) -> bool:
    """Whether gradients add up in a loop within a turn, until all parts of a batch are through."""
    inner = loop_around(back, root)
    return inner not in (turn, None) and not any(inner in ancestors(e.at, root) for e in clears)


def _is_late(gate: ast.If, step: Event, clears: list[Event], back: Event, root: ast.AST) -> bool:
    """Whether gradients add up until the gate of a step opens."""
    outer = {*step.tests(root)} - {gate}
    late = all({*e.tests(root)} - outer or start(e.at) > start(step.at) for e in clears)
    return late and gate not in back.tests(root)


def _counted(step: Event, turn: ast.AST, root: ast.AST) -> tuple[ast.If, str] | None:
    """The `if` around a step, or before it and on to the next turn, and after how many turns the step is taken: `n` of
    `if (i + 1) % n == 0` and of `if count == n`."""
    skips = (
        n for n in nodes_in(turn, ast.If) if isinstance(n.body[-1], ast.Continue) and end(n) < start(step.at)
    )
    gate = next(iter((*step.tests(root), *skips)), None)
    if gate is None:
        return None
    test = gate.test
    if isinstance(test, ast.Name):
        test = bound_to(test.id, gate, root) or bound_to(test.id, gate, step.root) or test
    counts = [n.right for n in nodes_in(test, ast.BinOp) if isinstance(n.op, ast.Mod)]
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        counts.append(test.right)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.GtE):
        counters = [spelled(n.target) for n in nodes_in(turn, ast.AugAssign) if isinstance(n.op, ast.Add)]
        counts += test.comparators if spelled(test.left) in counters else []
    return (gate, spelled(counts[0])) if len(counts) == 1 else None


def _parts_of_batch(back: ast.AST, turn: ast.AST, root: ast.AST) -> str:
    """The number of parts of a batch that a loop within a turn goes backward from: `for part in batch.chunk(n)`."""
    inner = loop_around(back, root)
    made = inner.iter if inner is not turn and isinstance(inner, ast.For) else None
    while isinstance(made, ast.Call) and called(made) in ("enumerate", "zip") and made.args:
        made = made.args[0]
    split = called(made) in ("chunk", "split", "tensor_split", "range")
    return spelled(made.args[-1]) if split and isinstance(made, ast.Call) and made.args else ""


def _is_whole(loss: ast.expr, at: ast.AST, root: ast.AST, review: Review, depth: int = 4) -> bool:
    """Whether a loss is that of its batch, as a loss function gives it, and nothing scales it down."""
    text, module, modules = spelled(loss), review.module, modules_in(review)
    made = bound_to(text, at, root)
    operation = operation_of(made or loss, module)
    within = partial(_is_whole, review=review, depth=depth - 1)
    changed = (n for n in nodes_in(root, ast.AugAssign) if start(made) < start(n) < start(at))
    if depth == 0 or any(spelled(n.target) == text and not isinstance(n.op, ast.Add) for n in changed):
        return False
    match made or loss:
        case ast.UnaryOp(operand=of):
            return within(of, at, root)
        case ast.BinOp(op=ast.Add(), left=left, right=right):  # of several, or of one and what regularises it
            return within(left, at, root) or within(right, at, root)
        case ast.Attribute(value=of):  # `model(**batch).loss`, `model(batch).mean()`
            return runs_module(bound_to(spelled(of), at, root) or of, modules)
        case ast.Call(func=ast.Attribute(value=of)) if operation in ("mean", *_MOVED):
            likelihood = runs_module(of, modules) or subject(of) in modules  # `model.log_prob(x).mean()`
            return likelihood if operation == "mean" else within(of, at, root)
        case ast.Call(args=args) as call:
            returned = [
                (n.value, f) for f in defined(call, module) for n in nodes_in(f, ast.Return) if n.value
            ]
            of_name = not returned and "." not in made_by(call, module).removeprefix("self.")
            whole = any(within(value, value, helper) for value, helper in returned)
            return whole or operation in having("loss") or (of_name and len(args) == 2)
    return False
