"""The order of what a training step does: backward, clip, zero_grad, the optimizer's step and the scheduler's."""

from __future__ import annotations

import ast

from stablelint.analysis.files.modules import ClassInfo
from stablelint.matchers.common import Review, Rule, Sites, observes, site_at
from stablelint.matchers.models import held_by, modules_in
from stablelint.matchers.names import (
    assigned_in,
    bound_anywhere,
    makers_of,
    parameters_of,
    reached_from,
    run_by,
    turns_of,
)
from stablelint.matchers.training.events import ENGINES, Event, events_in, is_optimizer, turns
from stablelint.matchers.tree import (
    Function,
    around,
    assigned,
    backs_in,
    block_of,
    called,
    calls_below,
    end,
    is_test,
    mentions,
    start,
    statement_in,
    statement_of,
    subject,
)
from stablelint.syntax.names import spelled
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import functions_below, nodes_below

_CLEARING = ("zero_grad", "zero_grads", "grad")
_LATE = "the optimizer has stepped already: these gradients are clipped too late"
_EARLY = "the gradients of this step do not exist yet: backward comes after"


def _parts(name: str, event: Event) -> dict[str, ast.expr]:
    """What a fix moves: a call that the function looked at makes itself."""
    node = event.made.node
    return {name: node} if event.is_own and isinstance(node, ast.expr) else {}


@observes()
def clip_out_of_order(review: Review, rule: Rule) -> Sites:
    """A clip behind a step, be it that of the turn before, and before a backward pass: no step uses what it has limited."""
    for root, clip, _, events in turns(review, "clip", "backward", "step"):
        turn = [e for e in events if e is clip or e.kind in ("backward", "step")]
        place = turn.index(clip)
        before, behind = turn[place - 1], (turn[place + 1 :] or turn)[0]
        if (before.kind, behind.kind) == ("step", "backward") and not clip.is_within(turn):
            step = next(e for e in (*turn[place + 1 :], before) if e.kind == "step")
            message = _LATE if behind is turn[0] else _EARLY
            yield site_at(
                review, rule, clip.made.place(review.module), _parts("clip", clip),
                message=message, statement=statement_of(step.at, root),
            )  # fmt: skip


@observes()
def cleared_before_step(review: Review, rule: Rule) -> Sites:
    """`loss.backward(); optimizer.zero_grad(); optimizer.step()`: the step finds no gradients."""
    for root, clear, _, events in turns(review, "clear", "backward", "step"):
        turn = [e for e in events if e is clear or e.kind in ("backward", "step")]
        place = turn.index(clear)
        before, behind = turn[:place][-1:], turn[place + 1 :][:1]
        if [e.kind for e in (*before, *behind)] != ["backward", "step"] or clear.is_within(turn):
            continue
        if _clears_for(clear, behind[0], review) and not _reads_gradients(before[0], clear, behind[0], root):
            yield site_at(
                review, rule, clear.made.place(review.module), _parts("clear", clear),
                statement=statement_of(before[0].at, root),
            )  # fmt: skip


def _clears_for(clear: Event, step: Event, review: Review) -> bool:
    """Whether `zero_grad` is called on the optimizer of a step or on a module, or all gradients are cleared by hand."""
    if called(clear.made.node) == "zero_grad":
        return bool(clear.of & (step.of | modules_in(review)))
    return not around(clear.made.node, clear.made.root, ast.If)


def _reads_gradients(backward: Event, clear: Event, step: Event, root: ast.AST) -> bool:
    """Whether what stands between a backward pass and a step, or a helper that does one of them, looks at gradients."""
    if any(not one.is_own and mentions(one.made.root, "grad", "grads") for one in (backward, clear, step)):
        return True
    block = block_of(backward.at, root)
    first, own, last = (statement_in(e.at, block, root) for e in (backward, clear, step))
    if first is None or last is None:
        return True
    return any(mentions(block[i], "grad", "grads") for i in range(first + 1, last) if i != own)


@observes()
def missing_zero_grad(review: Review, rule: Rule) -> Sites:
    """A loop, or a function, with backward and step that never clears a gradient, nor does what it calls."""
    told = set[ast.AST]()
    for root, step, turn, events in turns(review, "step", "backward"):
        backs = [e for e in events if e.kind == "backward"]
        others = [e for e in events if e.kind == "clear" and _is_of_another(e, step, review)]
        before = [e for e in backs if end(e.at) <= start(step.at)] if others else []
        first = before[-1] if before else backs[0]
        if is_test(root) or _is_of_fresh(step, turn):
            continue
        alone = turn is root and not _is_repeated(first, step, root, review)
        if (
            alone
            or first.made.node in told
            or _is_of_engine(first, review)
            or _clears(step, turn, root, [e for e in events if e not in others], review, bool(others))
        ):
            continue
        told.add(first.made.node)
        shown = turn is not root and _makers(step, root, review) not in ("", "argument")
        parts = {"optimizer": step.object} if step.is_own and first.is_own and step.object else {}
        yield site_at(
            review, rule, first.made.place(review.module), parts, shown=shown,
            statement=statement_of(first.at, root), texts={name: spelled(part) for name, part in parts.items()},
        )  # fmt: skip
    yield from _in_closures(review, rule)


def _is_of_fresh(step: Event, turn: ast.AST) -> bool:
    """Whether each turn makes the optimizer anew, over tensors that it makes too: they have no gradient from before."""
    makers = [n.value for name in step.of for n in assigned_in(name, turn)]
    given = [one for n in makers if isinstance(n, ast.Call) for one in arguments(n)[:1]]
    held = [part for one in given if isinstance(one, ast.List | ast.Tuple) for part in one.elts]
    return bool(held) and all(assigned_in(spelled(part), turn) for part in held)


def _is_of_engine(backward: Event, review: Review) -> bool:
    """Whether an object goes backward that may clear gradients itself: `engine.backward(loss)`, and none that is known."""
    node, module = backward.made.node, review.module
    if not isinstance(node, ast.Call) or called(node) != "backward" or not node.args:
        return False
    made = any(name.endswith(ENGINES) for name in makers_of(subject(node), module))
    return subject(node) != "torch.autograd" and not made


def _is_repeated(backward: Event, step: Event, root: ast.AST, review: Review) -> bool:
    """Whether a function without a loop is one that others call again and again, and that has its gradients to itself."""
    given, loss = step.of & parameters_of(root).keys(), backward.loss
    if not isinstance(root, Function) or review.module.mentions(*_CLEARING):
        return False
    # Who computes the loss may clear the gradients, too.
    handed = loss is not None and backward.is_own and spelled(loss) in parameters_of(root)
    return not handed and (not given or bool(turns_of(step.at, root, review.module)))


def _makers(step: Event, root: ast.AST, review: Review) -> str:
    """What makes an optimizer: an `argument` of the function, torch, or what is not known, under the empty name."""
    if step.of & parameters_of(root).keys():
        return "argument"
    names = [maker for name in step.of for maker in makers_of(name, review.module)]
    plain = all(name.startswith("torch.optim.") or name.endswith(".optimizers") for name in names)
    return names[0] if names and plain else ""


def _is_of_another(clear: Event, step: Event, review: Review) -> bool:
    """Whether the gradients that an optimizer clears are those of other models than the ones that a step is of."""
    own, others = (held_by(one.of, review.module) for one in (step, clear))
    overlap = any(f"{a}.".startswith(f"{b}.") or f"{b}.".startswith(f"{a}.") for a in own for b in others)
    return bool(own and others) and not overlap


def _clears(
    step: Event, turn: ast.AST, root: ast.AST, events: list[Event], review: Review, known: bool
) -> bool:
    """Whether a turn, or what it calls, clears or sets gradients; or may do so, where little is known of the optimizer.

    It is known where what the turn clears for others is told from it."""
    module, tree = review.module, review.module.source.tree
    if any(one.kind == "clear" for one in events):
        return True
    if called(step.made.node) != "step":  # by hand
        written = (text for n in nodes_below(tree, ast.Assign) for text in assigned(n)[0])
        return module.mentions("zero_", "zero_grad") or any(text.endswith(".grad") for text in written)
    if not _makers(step, root, review):  # a wrapper, that may clear gradients in `step`
        return any(bound_anywhere(name, tree) for name in step.of) or module.mentions(*_CLEARING)
    return not known and _mentions_clearing(turn, review)


def _mentions_clearing(turn: ast.AST, review: Review) -> bool:
    """Whether a node, or a function that it calls, speaks of gradients; one of another file may that is not seen."""
    module = review.module
    own = reached_from(turn, module.source.tree) if module.mentions(*_CLEARING) else []
    others = [
        (call, helper) for call in calls_below(turn) for helper, _ in run_by(call, module, review.project)
    ]
    makers = (
        made for call in calls_below(turn) for made in bound_anywhere(spelled(call.func), module.source.tree)
    )
    classes = (review.project.resolve(made.func, module) for made in makers if isinstance(made, ast.Call))
    if any(isinstance(one, ClassInfo) and mentions(one.node, *_CLEARING) for one in classes):
        return True  # as it computes its loss
    # Of another file's functions, only those that return something are kept.
    unseen = (one for call, helper in others if not helper.body for one in arguments(call))
    told = any(mentions(n, *_CLEARING) for n in (*own, *(helper for _, helper in others)))
    return told or any(is_optimizer(spelled(one), module) for one in unseen)


def _in_closures(review: Review, rule: Rule) -> Sites:
    """The backward passes of closures that a step is given, and that clear nothing."""
    steps = (step.made.node for _, step, *_ in turns(review, "step"))
    given = {spelled(n.args[0]) for n in steps if isinstance(n, ast.Call) and called(n) == "step" and n.args}
    for function in functions_below(review.module.source.tree) if given else ():
        if function.name in given and backs_in(function) and not _mentions_clearing(function, review):
            yield site_at(review, rule, backs_in(function)[0])


@observes()
def scheduler_first(review: Review, rule: Rule) -> Sites:
    """`scheduler.step()` and, further down in the same block or its loop, the first step of an optimizer in the function,
    or in one that it calls."""
    for root, scheduler, *_ in turns(review, "schedule"):
        first = next((e.at for e in events_in(review)[root] if e.kind == "step"), None)
        if first is not None and start(first) > start(scheduler.at) and not _is_by_hand(scheduler, review):
            yield from _late(scheduler, first, root, review, rule)


def _is_by_hand(scheduler: Event, review: Review) -> bool:
    """Whether a class of the project that derives from nothing makes a scheduler: its first rate may be that of its first
    step, where one of torch sets it when it is made."""
    made = (one for name in scheduler.of for one in bound_anywhere(name, review.module.source.tree))
    found = (review.project.resolve(n.func, review.module) for n in made if isinstance(n, ast.Call))
    return any(isinstance(one, ClassInfo) and not one.node.bases for one in found)


def _late(scheduler: Event, optimizer: ast.AST, root: ast.AST, review: Review, rule: Rule) -> Sites:
    """A scheduler's step, where that of the optimizer stands behind it in its block, or in a loop there."""
    block = _block_of_phase(scheduler.at, optimizer, root)
    first, last = (statement_in(n, block, root) for n in (scheduler.at, optimizer))
    if first is None or last is None or first > last:
        return
    if block_of(optimizer, root) is block or isinstance(block[last], ast.For):
        ready = any(mentions(statement, "backward", "manual_backward") for statement in block[:first])
        moves = ready and isinstance(optimizer, ast.expr) and called(optimizer) == "step"
        parts = {"step": optimizer} if moves and isinstance(optimizer, ast.expr) else {}
        yield site_at(review, rule, scheduler.made.place(review.module), parts, statement=block[first])


def _block_of_phase(scheduler: ast.AST, optimizer: ast.AST, root: ast.AST) -> list[ast.stmt]:
    """The block in which a scheduler steps, without an `if phase == "train"` around both steps or an `if scheduler`."""
    phases, name = around(optimizer, root, ast.If), subject(scheduler).rpartition(".")[2]
    tests = {ast.dump(n.test) for n in phases}
    others = (n for n in around(scheduler, root, ast.If) if n not in phases)
    whole = (n for n in others if ast.dump(n.test) in tests or mentions(n.test, name))
    return block_of(next(whole, scheduler), root)
