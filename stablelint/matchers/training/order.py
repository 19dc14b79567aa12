"""The order of calls in a training step: backward, clip, zero_grad, the optimizer's step and the scheduler's."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, Value, make_site, observes, site_at
from stablelint.matchers.models import modules_in
from stablelint.matchers.names import (
    bound_anywhere,
    functions_naming,
    made_by,
    parameters_of,
    reached_from,
    run_by,
    turns_of,
)
from stablelint.matchers.through import Through, calls_through
from stablelint.matchers.training.steps import Step, is_optimizer, maker_of, names_optimizer, steps_of
from stablelint.matchers.tree import (
    Function,
    arguments,
    around,
    assigned,
    backs_in,
    block_of,
    blocks_of,
    called,
    calls_below,
    calls_in,
    loop_around,
    mentions,
    start,
    statement_in,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.walk import functions_below, nodes_below, nodes_in

_KINDS = {"wrapped_backward": "backward", "scaler_step": "step"}
_CLEARING = ("zero_grad", "zero_grads", "grad")
_ORDERED = ("backward", "step", "clip", "zero_grad")
_DISORDERS = {
    "backward step clip": "the optimizer has stepped already: these gradients are clipped too late",
    "clip backward step": "the gradients of this step do not exist yet: backward comes after",
}


@observes("step")
def clip_out_of_order(review: Review, rule: Rule) -> Sites:
    """A clip after the step it should have limited, or before the backward that fills the gradients."""
    steps = steps_of(review)
    for clip in (s for s in steps if s.kind == "clip"):
        near = [(kind, s) for kind, s in _siblings(clip, steps) if kind != "zero_grad"]
        message = _DISORDERS.get(" ".join(kind for kind, _ in near))
        if message is not None:
            step = next(s for kind, s in near if kind == "step")
            statement = review.statements.get(id(step.value))
            yield make_site(review, rule, clip.at, {"clip": clip.value}, message=message, statement=statement)


def _siblings(at: Step, steps: list[Step]) -> list[tuple[str, Step]]:
    """The calls in the statements of the block in which one of them stands, or its `if` where it stands alone, in order."""
    found = [(_KINDS.get(s.kind, s.kind), s) for s in steps if s.root is at.root]
    near: list[tuple[int, str, Step]] = []
    for block in blocks_of(at.node, at.root):
        placed = [(statement_in(s.node, block, s.root), kind, s) for kind, s in found if kind in _ORDERED]
        near = [(place, kind, s) for place, kind, s in placed if place is not None]
        if len(near) > 1:
            break
    return [(kind, s) for _, kind, s in sorted(near, key=lambda item: item[0])]


@observes("zero_grad step", "backward zero_grad|zero_|grad|step")
def cleared_before_step(review: Review, rule: Rule) -> Sites:
    """`loss.backward(); optimizer.zero_grad(); optimizer.step()`: the step finds no gradients."""
    steps = steps_of(review)
    for clear in (s for s in steps if s.kind == "zero_grad"):
        near = [step for kind, step in _siblings(clear, steps) if kind != "clip"]
        at = near.index(clear) if clear in near else 0
        before = next((s for s in reversed(near[:at]) if s.kind != "zero_grad"), None)
        after = next((s for s in near[at + 1 :] if s.kind != "zero_grad"), None)
        if before is None or after is None or not _clears_for(clear, after, review):
            continue
        if _KINDS.get(before.kind, before.kind) == "backward" and not _reads_gradients(before, after):
            statement = review.statements.get(id(before.value))
            yield make_site(review, rule, clear.at, {"clear": clear.value}, statement=statement)
    yield from _cleared_at_once(steps, review, rule)


def _cleared_at_once(steps: list[Step], review: Review, rule: Rule) -> Sites:
    """The gradients that the statement behind a backward clears by hand."""
    for back in (s for s in steps if s.differentiated is not None):
        block = block_of(back.node, back.root)
        place = statement_in(back.node, block, back.root)
        behind = block[place + 1 :] if place is not None else []
        if not behind or not _clears_alone(behind[0]):
            continue
        taken = any(map(_takes_gradients, behind))
        if taken and calls_in(behind[0], "zero_grad") and not isinstance(behind[0], ast.For):
            continue  # of this or another optimizer: seen above
        if taken:
            yield make_site(review, rule, back.at, anchor=behind[0])


def _clears_alone(statement: ast.stmt) -> bool:
    """Whether a statement clears gradients and does nothing else: `optimizer.zero_grad()`, `for p in ps: p.grad = None`."""
    match statement:
        case ast.For(body=body) | ast.If(body=body, orelse=[]) | ast.With(body=body):
            return all(map(_clears_alone, body))
        case ast.Expr(value=call):
            cleared = subject(call).removesuffix(".data").endswith(".grad")
            return called(call) == "zero_grad" or (called(call) == "zero_" and cleared)
        case ast.Assign(targets=[ast.Attribute(attr="grad")], value=ast.Constant(value=None)):
            return True
    return False


def _takes_gradients(statement: ast.stmt) -> bool:
    """Whether a statement steps an optimizer, or writes what it computes from gradients."""
    steps = (n for n in calls_below(statement, "step") if names_optimizer(subject(n)))
    by_hand = (n for n in nodes_below(statement, ast.AugAssign) if mentions(n.value, "grad"))
    return (
        any(steps)
        or any(by_hand)
        or (isinstance(statement, ast.AugAssign) and mentions(statement.value, "grad"))
    )


def _clears_for(clear: Step, step: Step, review: Review) -> bool:
    """Whether `zero_grad` is called on the optimizer of a step, or on a module."""
    steps = step.kind in ("step", "scaler_step")
    return steps and (
        clear.subject == step.optimizer or (step.kind == "step" and clear.subject in modules_in(review))
    )


def _reads_gradients(before: Step, after: Step) -> bool:
    """Whether the statements from a backward to a step look at gradients, or write them."""
    block = block_of(before.node, before.root)
    first, last = (statement_in(s.node, block, s.root) for s in (before, after))
    return first is None or last is None or any(mentions(s, "grad", "grads") for s in block[first + 1 : last])


@observes("step", "backward op=")
def missing_zero_grad(review: Review, rule: Rule) -> Sites:
    """A loop, or a function, with backward and step that never clears a gradient, nor does what it calls."""
    steps, module = steps_of(review), review.module
    yield from _by_hand(steps, review, rule)
    for step in (s for s in steps if s.kind in ("step", "scaler_step")):
        scaled = step.kind == "scaler_step"
        loop = loop_around(step.node, step.root)
        optimizer = step.value.operands.get("argument0" if scaled else "input")
        if arguments(step.node) and not scaled:
            yield from _in_closure(step.node, review, rule)
            continue
        if optimizer is None:
            continue
        of_file = optimizer.op != "argument" or bool(turns_of(step.node, step.root, module))
        if loop is None and (
            module.mentions(*_CLEARING) or not of_file or not isinstance(step.root, Function)
        ):
            continue
        backward = [s for s in steps if s.differentiated is not None and loop_around(s.node, s.root) is loop]
        first = next((s for s in backward if not s.excludes(step)), None)
        if first is None or (loop is None and first.loss in parameters_of(step.root)):
            continue  # who computes the loss may clear the gradients, too
        known = _is_plain(optimizer)
        if _clears(loop or step.root, review) if known else _may_clear(optimizer, module):
            continue
        yield make_site(
            review, rule, first.at, {"optimizer": optimizer}, texts={"optimizer": step.optimizer},
            shown=known and optimizer.op != "argument" and loop is not None,
            statement=review.statements.get(id(first.value)),
        )  # fmt: skip
        return


def _by_hand(steps: list[Step], review: Review, rule: Rule) -> Sites:
    """The backward in a loop that steps by itself, `w -= rate * w.grad`, where nothing in the file clears a gradient."""
    tree = review.module.source.tree
    cleared = review.module.mentions("zero_", "zero_grad") or any(
        text.endswith(".grad") for n in nodes_below(tree, ast.Assign) for text in assigned(n)[0]
    )
    for back in (s for s in steps if s.kind == "backward" and not cleared):
        loop = loop_around(back.node, back.root)
        for step in nodes_in(loop, ast.AugAssign) if loop is not None else ():
            of = spelled(step.target).removesuffix(".data")
            if any(spelled(n) == f"{of}.grad" for n in nodes_below(step.value, ast.Attribute)):
                yield make_site(review, rule, back.at)
                return


def _in_closure(call: ast.Call, review: Review, rule: Rule) -> Sites:
    """The backward of a closure that a step is given, and that clears nothing."""
    given = spelled(call.args[0]) if call.args else ""
    for function in functions_below(review.module.source.tree):
        backs = backs_in(function) if function.name == given and not _clears(function, review) else []
        yield from (site_at(review, rule, back) for back in backs[:1])


def _clears(root: ast.AST, review: Review) -> bool:
    """Whether a function, or one that it calls, clears or sets gradients."""
    module = review.module
    own = reached_from(root, module.source.tree) if module.mentions(*_CLEARING) else []
    others = [(call, helper) for call in calls_below(root) for helper, _ in run_by(call, review, module)]
    # Of another file's functions, only those that return something are kept.
    unseen = (one for call, helper in others if not helper.body for one in arguments(call))
    told = any(mentions(n, *_CLEARING) for n in (*own, *(helper for _, helper in others)))
    return told or any(is_optimizer(spelled(one), module) for one in unseen)


def _is_plain(optimizer: Value) -> bool:
    """An optimizer of PyTorch or one that was passed in: no engine or wrapper that may clear gradients in `step`."""
    made = maker_of(optimizer)
    return made.startswith("torch.optim.") or made in ("argument", "call.optimizers")


def _may_clear(optimizer: Value, module: ModuleInfo) -> bool:
    """Whether an optimizer of which nothing is known may clear gradients itself, or the file does so elsewhere."""
    return optimizer.op not in ("unknown", "attribute") or module.mentions(*_CLEARING)


@observes()
def scheduler_first(review: Review, rule: Rule) -> Sites:
    """`scheduler.step()` and, further down in the same block or its loop, the first step of an optimizer in the function,
    or in one that it calls."""
    module = review.module
    for root in functions_naming(review, "step"):
        steps = list(calls_through(root, review, module, "step"))
        schedulers = [
            s.at for s in steps if not arguments(s.node) and any(_is_scheduler(n, module) for n in s.subjects)
        ]
        optimizers = [s.at for s in steps if schedulers and _steps_optimizer(s, module)]
        for scheduler in schedulers if optimizers else ():
            if start(optimizers[0]) > start(scheduler):
                yield from _late(scheduler, optimizers[0], root, review, rule)


def _late(scheduler: ast.Call, optimizer: ast.Call, root: ast.AST, review: Review, rule: Rule) -> Sites:
    """A scheduler's step, where that of the optimizer stands behind it in its block, or in a loop there."""
    block = _block_of_phase(scheduler, optimizer, root)
    first, last = (statement_in(n, block, root) for n in (scheduler, optimizer))
    if first is None or last is None or first > last:
        return
    if block_of(optimizer, root) is block or isinstance(block[last], ast.For):
        ready = any(mentions(statement, "backward", "manual_backward") for statement in block[:first])
        parts: dict[str, ast.expr] = {"step": optimizer} if ready and called(optimizer) == "step" else {}
        yield site_at(review, rule, scheduler, parts, statement=block[first])


def _steps_optimizer(step: Through, module: ModuleInfo) -> bool:
    """Whether a step is one of an optimizer, be it through a gradient scaler."""
    scaled = "scaler" in subject(step.node).lower() and step.node.args
    names = step.words(step.node.args[0]) if scaled else step.subjects
    return any(is_optimizer(name, module) for name in names)


def _is_scheduler(text: str, module: ModuleInfo) -> bool:
    made = (made_by(value, module).lower() for value in bound_anywhere(text, module.source.tree))
    return any("sched" in name for name in (*made, text.rpartition(".")[2].lower()))


def _block_of_phase(scheduler: ast.Call, optimizer: ast.Call, root: ast.AST) -> list[ast.stmt]:
    """The block in which a scheduler steps, without an `if phase == "train"` around both steps or an `if scheduler`."""
    phases, name = around(optimizer, root, ast.If), subject(scheduler).rpartition(".")[2]
    tests = {ast.dump(n.test) for n in phases}
    others = (n for n in around(scheduler, root, ast.If) if n not in phases)
    whole = (n for n in others if ast.dump(n.test) in tests or mentions(n.test, name))
    return block_of(next(whole, scheduler), root)
