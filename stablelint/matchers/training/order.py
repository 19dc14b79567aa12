"""The order of calls in a training step: backward, clip, zero_grad, the optimizer's step and the scheduler's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Value
from stablelint.catalog.rule import Rule
from stablelint.matchers.common import make_site, site_at
from stablelint.matchers.names import Function, called, functions_of, modules_in, reached_from, receiver
from stablelint.matchers.training.steps import Step, steps_of
from stablelint.matchers.training.trained import backs_in
from stablelint.matchers.tree import ancestors, block_of, loop_around, mentions, statement_in
from stablelint.syntax.walk import functions_below, nodes_in

_KINDS = {"wrapped_backward": "backward", "scaler_step": "step"}
_CLEARING = ("zero_grad", "zero_grads", "grad")
_ORDERED = ("backward", "step", "clip", "zero_grad")


@observes("step")
def clip_out_of_order(review: Review, rule: Rule) -> Iterator[Site]:
    """A clip after the step it should have limited, or before the backward that fills the gradients."""
    steps = steps_of(review)
    for clip in (s for s in steps if s.kind == "clip"):
        near = _siblings(clip, steps)
        order = [kind for kind, _ in near if kind != "zero_grad"]
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


def _siblings(at: Step, steps: list[Step]) -> list[tuple[str, Step]]:
    """The calls in the statements of the block in which one of them stands, in order."""
    block = block_of(at.node, at.root)
    if block is None:
        return []
    found: list[tuple[int, str, Step]] = []
    for other in steps:
        kind = _KINDS.get(other.kind, other.kind)
        place = statement_in(other.node, block, other.root) if other.root is at.root else None
        if place is not None and kind in _ORDERED:
            found.append((place, kind, other))
    return [(kind, step) for _, kind, step in sorted(found, key=lambda item: item[0])]


def _disorder(order: list[str]) -> str | None:
    if order == ["backward", "step", "clip"]:
        return "the optimizer has stepped already: these gradients are clipped too late"
    if order == ["clip", "backward", "step"]:
        return "the gradients of this step do not exist yet: backward comes after"
    return None


@observes("zero_grad step")
def cleared_before_step(review: Review, rule: Rule) -> Iterator[Site]:
    """`loss.backward(); optimizer.zero_grad(); optimizer.step()`: the step finds no gradients."""
    steps, modules = steps_of(review), modules_in(review)
    for clear in (s for s in steps if s.kind == "zero_grad"):
        near = [step for kind, step in _siblings(clear, steps) if kind != "clip"]
        at = near.index(clear) if clear in near else 0
        before = next((s for s in reversed(near[:at]) if s.kind != "zero_grad"), None)
        after = next((s for s in near[at + 1 :] if s.kind != "zero_grad"), None)
        if before is None or after is None or not _clears_for(clear, after, modules):
            continue
        if _KINDS.get(before.kind, before.kind) == "backward" and not _reads_gradients(before, after):
            statement = review.collector.statements.get(id(before.value))
            pair, bindings = (clear.value, clear.frame), {"clear": clear.value}
            yield make_site(review, rule, pair, bindings, statement=statement)


def _clears_for(clear: Step, step: Step, modules: frozenset[str]) -> bool:
    """Whether `zero_grad` is called on the optimizer of a step, or on a module."""
    node = step.node
    if step.kind == "scaler_step" and isinstance(node, ast.Call) and node.args:
        return clear.subject == ast.unparse(node.args[0])
    return step.kind == "step" and (clear.subject == step.subject or clear.subject in modules)


def _reads_gradients(before: Step, after: Step) -> bool:
    """Whether the statements from a backward to a step look at gradients, or write them."""
    block = block_of(before.node, before.root) or []
    first, last = (statement_in(s.node, block, s.root) for s in (before, after))
    return first is None or last is None or any(mentions(s, "grad", "grads") for s in block[first + 1 : last])


@observes("step")
def missing_zero_grad(review: Review, rule: Rule) -> Iterator[Site]:
    """A loop, or a function, with backward and step that never clears a gradient, nor does what it calls."""
    steps = steps_of(review)
    for step in (s for s in steps if s.kind == "step"):
        loop = loop_around(step.node, step.root)
        node, optimizer = step.node, step.value.operands.get("input")
        if optimizer is None or not isinstance(node, ast.Call):
            continue
        if node.args or node.keywords:
            yield from _in_closure(node, review, rule)
            continue
        if loop is None and not _is_step_by_itself(step, optimizer, review.module):
            continue
        backward = [s for s in steps if _adds_gradients(s) and loop_around(s.node, s.root) is loop]
        first = next((s for s in backward if not s.excludes(step)), None)
        if loop is None and first is not None and _is_given(first.loss, step.root):
            continue  # who computes the loss may clear the gradients, too
        known = _is_plain(optimizer)
        if first is None or (_clears(step.root, review.module) if known else _may_clear(optimizer, review)):
            continue
        yield make_site(
            review, rule, (first.value, first.frame), {"optimizer": optimizer},
            shown=known and optimizer.op != "argument" and loop is not None, texts={"optimizer": step.subject},
            statement=review.collector.statements.get(id(first.value)),
        )  # fmt: skip
        return


def _adds_gradients(step: Step) -> bool:
    """Whether a backward adds to gradients and does no more: that of an unknown engine may clear them as well."""
    origin = step.value.operands.get("input")
    wrapped = step.value.op == "call.manual_backward" or (
        origin is not None and origin.op.endswith((".Accelerator", ".Fabric"))
    )
    return step.kind == "backward" or (step.kind == "wrapped_backward" and wrapped)


def _is_given(name: str, root: ast.AST) -> bool:
    """Whether a function takes a name as a parameter."""
    return isinstance(root, Function) and name in [a.arg for a in (*root.args.args, *root.args.kwonlyargs)]


def _in_closure(call: ast.Call, review: Review, rule: Rule) -> Iterator[Site]:
    """The backward of a closure that a step is given, and that clears nothing."""
    given = ast.unparse(call.args[0]) if call.args else ""
    for function in functions_below(review.module.source.tree):
        backs = backs_in(function) if function.name == given and not _clears(function, review.module) else []
        yield from (site_at(review, rule, back) for back in backs[:1])


def _is_step_by_itself(step: Step, optimizer: Value, module: ModuleInfo) -> bool:
    """Whether a function takes one step of an optimizer that it was not given, in a file where nothing clears."""
    given = optimizer.op == "argument"
    return isinstance(step.root, Function) and not given and not module.mentions(*_CLEARING)


def _clears(root: ast.AST, module: ModuleInfo) -> bool:
    """Whether a function, or one of the file that it calls, clears or sets gradients."""
    tree = module.source.tree
    return module.mentions(*_CLEARING) and any(mentions(n, *_CLEARING) for n in reached_from(root, tree))


def _is_plain(optimizer: Value) -> bool:
    """An optimizer of PyTorch or one that was passed in: no engine or wrapper that may clear gradients in `step`."""
    return optimizer.op.startswith("torch.optim.") or optimizer.op in ("argument", "call.optimizers")


def _may_clear(optimizer: Value, review: Review) -> bool:
    """Whether an optimizer of which nothing is known may clear gradients itself, or the file does so elsewhere."""
    return optimizer.op not in ("unknown", "attribute") or review.module.mentions(*_CLEARING)


@observes()
def scheduler_first(review: Review, rule: Rule) -> Iterator[Site]:
    """`scheduler.step()` and, further down in the same block or its loop, the only `optimizer.step()` of the function."""
    for root in functions_of(review, "sched", ".step()"):
        steps = [n for n in nodes_in(root, ast.Call) if called(n) == "step"]
        schedulers = [n for n in steps if "sched" in _subject(n) and not n.args and not n.keywords]
        optimizers = [n for n in steps if n not in schedulers and _is_optimizer(_subject(n))]
        if len(schedulers) != 1 or len(optimizers) != 1:
            continue
        block = _block_of_phase(schedulers[0], optimizers[0], root)
        first, last = (statement_in(n, block, root) for n in (schedulers[0], optimizers[0]))
        if first is None or last is None or first > last:
            continue
        if block_of(optimizers[0], root) is not block and not isinstance(block[last], ast.For):
            continue
        ready = any(mentions(statement, "backward", "manual_backward") for statement in block[:first])
        parts: dict[str, ast.expr] = {"step": optimizers[0]} if ready else {}
        yield site_at(review, rule, schedulers[0], parts, statement=block[first])


def _block_of_phase(scheduler: ast.Call, optimizer: ast.Call, root: ast.AST) -> list[ast.stmt]:
    """The block in which a scheduler steps, without an `if phase == "train"` that stands around both steps."""
    around = [n for n in ancestors(optimizer, root) if isinstance(n, ast.If)]
    tests = set(map(ast.dump, (n.test for n in around)))
    for outer in ancestors(scheduler, root):
        if isinstance(outer, ast.If) and outer not in around and ast.dump(outer.test) in tests:
            return block_of(outer, root) or []
    return block_of(scheduler, root) or []


def _subject(call: ast.AST) -> str:
    """The last name of the object whose method a call is, in small letters."""
    of = receiver(call)
    return ast.unparse(of).rpartition(".")[2].lower() if of is not None else ""


def _is_optimizer(subject: str) -> bool:
    return "optim" in subject or subject in ("opt", "adam", "sgd")
