"""The order of calls in a training loop, and what a loop keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Value
from stablelint.matchers.common import make_site, observed, scope_of
from stablelint.matchers.names import assigned_in, called, modules_in
from stablelint.matchers.training.steps import Step, steps_of
from stablelint.matchers.tree import (
    block_of,
    exclusive,
    loop_around,
    mentions,
    nodes_in,
    parents,
    start,
    statement_in,
)
from stablelint.syntax.walk import descendants

if TYPE_CHECKING:
    from stablelint.analysis.files.modules import ModuleInfo
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_TO_NUMBER = ("item", "detach", "data", "float", "reduce_value", "gather", "reduce")
_ENDS = frozenset("detach item numpy tolist argmax parameter layer batch phi".split())
_KEEPING = frozenset("linear_module norm_module exp sigmoid tanh softmax log_softmax".split())
_RECURRENT = ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell", "Transformer", "TransformerEncoder")


@observes("clip_grad_norm_|clip_grad_value_ backward")
def clip_out_of_order(review: Review, rule: Rule) -> Iterator[Site]:
    """A clip after the step it should have limited, or before the backward that fills the gradients."""
    steps = steps_of(review)
    for clip in (s for s in steps if s.kind == "clip"):
        near = _siblings(clip, steps)
        order = [kind for kind, _ in near]
        if order.count("backward") != 1 or order.count("step") != 1 or order.count("clip") != 1:
            continue
        message = _disorder(order)
        step = next(s for kind, s in near if kind == "step")
        if message is not None:
            statement = review.collector.statements.get(id(step.value))
            bindings = {"clip": clip.value}
            yield make_site(
                review, rule, (clip.value, clip.frame), bindings, message=message, statement=statement
            )


def _siblings(clip: Step, steps: list[Step]) -> list[tuple[str, Step]]:
    """The calls that stand as statements of their own in the clip's block, in order."""
    block = block_of(clip.node, clip.root)
    if block is None:
        return []
    found: list[tuple[int, str, Step]] = []
    for other in steps:
        kind = {"wrapped_backward": "backward", "scaler_step": "step"}.get(other.kind, other.kind)
        at = statement_in(other.node, block, other.root) if other.root is clip.root else None
        if at is not None and kind in ("backward", "step", "clip"):
            found.append((at, kind, other))
    return [(kind, step) for _, kind, step in sorted(found, key=lambda item: item[0])]


def _disorder(order: list[str]) -> str | None:
    if order == ["backward", "step", "clip"]:
        return "the optimizer has stepped already: these gradients are clipped too late"
    if order == ["clip", "backward", "step"]:
        return "the gradients of this step do not exist yet: backward comes after"
    return None


@observes("backward step")
def missing_zero_grad(review: Review, rule: Rule) -> Iterator[Site]:
    """A loop with backward and step that never clears a gradient, nor does what it calls."""
    steps = steps_of(review)
    for step in (s for s in steps if s.kind == "step"):
        loop = loop_around(step.node, step.root)
        node, optimizer = step.node, step.value.operands.get("input")
        if loop is None or optimizer is None or (isinstance(node, ast.Call) and (node.args or node.keywords)):
            continue
        backward = [s for s in steps if s.kind == "backward" and loop_around(s.node, s.root) is loop]
        first = next((s for s in backward if not s.excludes(step)), None)
        if first is None or not _is_plain(optimizer) or _clears(step.root, review.module):
            continue
        yield make_site(
            review, rule, (first.value, first.frame), {"optimizer": optimizer},
            shown=optimizer.op != "argument", texts={"optimizer": step.subject},
            statement=review.collector.statements.get(id(first.value)),
        )  # fmt: skip
        return


def _clears(root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a function, or one of the file that it calls, clears or sets gradients."""
    if mentions(root, "zero_grad", "grad"):
        return True
    if not module.mentions("zero_grad", "grad"):
        return False
    nodes = descendants(module.source.tree)
    functions = {n.name: n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    pending, seen = [root], {root}
    while pending:
        node = pending.pop()
        if mentions(node, "zero_grad", "grad"):
            return True
        names = {called(n) for n in descendants(node)} & functions.keys()
        pending.extend(new := [functions[name] for name in names if functions[name] not in seen])
        seen.update(new)
    return False


def _is_plain(optimizer: Value) -> bool:
    """An optimizer of PyTorch or one that was passed in: no engine or wrapper that may clear gradients in `step`."""
    return optimizer.op.startswith("torch.optim.") or optimizer.op == "argument"


@observes("backward add")
def graph_kept(review: Review, rule: Rule) -> Iterator[Site]:
    """`total += loss` in a loop, where `loss` has its own backward and `total` has none."""
    steps = [s for s in steps_of(review) if s.kind in ("backward", "wrapped_backward")]
    if not steps:
        return
    for value, frame in observed(review, "add"):
        root = scope_of(frame)
        total, loss = _accumulation(value.node, root)
        if total is None or loss is None or value.node is None:
            continue
        loop = loop_around(value.node, root)
        if loop is None or _is_differentiated(total, root) or _is_number(loss, loop, value.node):
            continue
        if _is_begun_anew(total, loop, root):
            continue
        back = [s for s in steps if _backed(s) == loss and loop_around(s.node, s.root) is loop]
        operand = value.operands.get("other")
        if back and operand is not None and not exclusive(value.node, back[0].node, root):
            yield make_site(review, rule, (value, frame), {"loss": operand}, texts={"loss": loss})


def _accumulation(node: ast.AST | None, root: ast.AST) -> tuple[str | None, str | None]:
    """The names in `total += loss` or `total = total + loss`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target: ast.expr = node.target
        added = node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        statement = parents(root).get(node)
        if not isinstance(statement, ast.Assign) or ast.unparse(statement.targets[0]) != ast.unparse(
            node.left
        ):
            return None, None
        target, added = statement.targets[0], node.right
    else:
        return None, None
    plain = isinstance(target, ast.Name | ast.Attribute) and isinstance(added, ast.Name)
    return (ast.unparse(target), ast.unparse(added)) if plain else (None, None)


def _backed(step: Step) -> str:
    """The name of the loss whose backward a call runs."""
    node = step.node
    if step.kind == "wrapped_backward" and isinstance(node, ast.Call):
        return ast.unparse(node.args[0])
    inner = step.subject
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
    ):
        arguments = node.func.value.args
        return ast.unparse(arguments[0]) if len(arguments) == 1 else inner
    return inner


def _is_differentiated(total: str, root: ast.AST) -> bool:
    """Whether the sum itself has a backward."""
    for node in nodes_in(root, ast.Call):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            texts = [ast.unparse(node.func.value), *(ast.unparse(a) for a in node.args)]
            if any(total == text or f"({total}" in text or text.startswith(f"{total} ") for text in texts):
                return True
    return False


def _is_begun_anew(total: str, loop: ast.AST, root: ast.AST) -> bool:
    """Whether each step of the optimizer sets the total to something else again: what it keeps goes then."""
    for node in nodes_in(loop, ast.Assign):
        assert isinstance(node, ast.Assign)
        if mentions(node.value, total.rpartition(".")[2]) or total not in map(ast.unparse, node.targets):
            continue
        if any(mentions(statement, "zero_grad") for statement in block_of(node, root) or ()):
            return True
    return False


def _is_number(name: str, loop: ast.AST, before: ast.AST) -> bool:
    """Whether the loop turns the loss into a number before it is added."""
    for node in nodes_in(loop, ast.Assign):
        assert isinstance(node, ast.Assign)
        rebinds = any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        if rebinds and start(node) < start(before) and mentions(node.value, *_TO_NUMBER):
            return True
    return False


@observes("backward")
def second_backward(review: Review, rule: Rule) -> Iterator[Site]:
    """A second `backward` through a graph that the first has freed."""
    done: list[tuple[Step, list[Value]]] = []
    modules = modules_in(review)
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
    loop = loop_around(step.node, step.root)
    node = step.node
    if loop is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if not isinstance(node.func.value, ast.Name):
        return False
    name = node.func.value.id
    block = block_of(node, step.root) or []
    if block is not getattr(loop, "body", None) or isinstance(block[-1], ast.Break | ast.Return):
        return False
    bound = [
        n
        for n in nodes_in(step.root, ast.Name)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    below = parents(step.root)
    made = [below.get(n) for n in bound]
    if (
        len(made) != 1
        or not isinstance(made[0], ast.Assign)
        or not isinstance(made[0].value, ast.Call | ast.BinOp)
    ):
        return False
    return start(made[0]) < start(loop)


@observes("backward step")
def unclipped_recurrent_training(review: Review, rule: Rule) -> Iterator[Site]:
    """A training step in a file with a recurrent model and no clip."""
    steps = steps_of(review)
    step = next((s for s in steps if s.kind == "step"), None)
    backward = next((s for s in steps if s.kind == "backward"), None)
    if step is None or backward is None or not review.module.mentions(*_RECURRENT):
        return
    if not review.module.mentions("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"):
        yield make_site(review, rule, (step.value, step.frame))


@observes("set_detect_anomaly")
def anomaly_detection(review: Review, rule: Rule) -> Iterator[Site]:
    """`set_detect_anomaly(True)` or `with detect_anomaly()` that no test switches."""
    for value, frame in observed(review, "set_detect_anomaly"):
        mode = value.operands.get("mode") or value.operands.get("check_nan")
        node, root = value.node, scope_of(frame)
        named = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("set_detect_anomaly")
        on = (mode is None and not named) or (
            mode is not None and mode.constant() is True and not mode.assumed
        )
        above = parents(root)
        around: list[ast.AST] = []
        while node in above:
            node = above[node]
            around.append(node)
        if on and not any(isinstance(n, ast.If | ast.IfExp) for n in around):
            yield make_site(review, rule, (value, frame))
