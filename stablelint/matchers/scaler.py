"""The protocol of the gradient scaler: scale, unscale_, step, update."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.values.value import Value
from stablelint.matchers.common import make_site, observed
from stablelint.matchers.training.steps import Step, steps_of
from stablelint.matchers.tree import ancestors
from stablelint.syntax import precision
from stablelint.syntax.walk import descendants

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.catalog.rule import Rule

_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})
_IN_ORDER = frozenset({"backward", "scale", "step", "scaler_step", "unscale"})


@observes("backward", "step", "clip_grad_norm_|clip_grad_value_")
def protocol(review: Review, rule: Rule) -> Iterator[Site]:
    """Departures from scale, backward, step, update within one function."""
    steps = steps_of(review)
    yield from _clip_apart(steps, review, rule)
    if not any(s.kind in ("backward", "step", "scaler_step", "scale") for s in steps):
        return
    yield from _plain_steps(steps, review, rule)
    yield from _unscaled_backward(steps, review, rule)
    yield from _missing_update(steps, review, rule)
    yield from _no_scaler(steps, review, rule)


def _clip_apart(steps: list[Step], review: Review, rule: Rule) -> Iterator[Site]:
    """A clip in a hook or helper of a project that scales its losses, and unscales no gradients."""
    if any(s.kind in _IN_ORDER for s in steps):
        return  # what it is given is seen here
    for clip in (s for s in steps if s.value.op in _CLIPS):
        project = clip.frame.session.project
        scaling = project.shows(precision.SCALED)
        if scaling is not None and project.shows(precision.UNSCALED) is None:
            where = f"in {scaling}" if scaling else "here"
            message = (
                f"the loss is scaled {where}, and nothing in the project unscales the gradients before this"
            )
            yield make_site(review, rule, (clip.value, clip.frame), shown=False, message=message)


def _plain_steps(steps: list[Step], review: Review, rule: Rule) -> Iterator[Site]:
    """`optimizer.step()` on gradients that carry the scale."""
    scaled = [s for s in steps if s.kind == "backward" and _is_scaled(s.value)]
    for step in (s for s in steps if s.kind == "step"):
        before = [s for s in scaled if not s.excludes(step)]
        unscaled = any(s.kind == "unscale" and not s.excludes(step) for s in steps)
        if not before or unscaled:
            continue
        if any(s.kind == "step" and s is not step and s.subject == step.subject for s in steps):
            continue
        if _has_no_scaler(step) or _is_other_arm(step, steps):
            continue
        twice = [
            s for s in steps if s.kind == "scaler_step" and _steps_same(s, step) and not s.excludes(step)
        ]
        others = [s for s in steps if s.kind == "scaler_step" and not _steps_same(s, step)]
        if others and not twice:
            continue  # another optimizer than the scaled one
        message = (
            f"the scaler has stepped {step.subject} already: this steps a second time"
            if twice
            else f"these gradients carry the loss scale: step with the scaler, not with {step.subject}"
        )
        yield make_site(review, rule, (step.value, step.frame), message=message)


def _unscaled_backward(steps: list[Step], review: Review, rule: Rule) -> Iterator[Site]:
    """A plain backward whose gradients `scaler.step` divides by the scale."""
    if any(s.kind in ("scale", "wrapped_backward") for s in steps):
        return
    for backward in (s for s in steps if s.kind == "backward"):
        after = [s for s in steps if s.kind == "scaler_step" and not s.excludes(backward)]
        if after and not _is_scaled(backward.value) and not _has_no_scaler(backward):
            message = "this loss is not scaled, but scaler.step divides its gradients by the scale"
            yield make_site(review, rule, (backward.value, backward.frame), message=message)


def _has_no_scaler(step: Step) -> bool:
    """Whether a call stands in the arm of a test in which there is no scaler: `if scaler is not None: … else: …`."""
    inner: ast.AST = step.node
    for node in ancestors(step.node, step.root):
        if isinstance(node, ast.If) and "scaler" in ast.unparse(node.test).lower():
            denied = isinstance(node.test, ast.UnaryOp) or any(
                isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Is) for n in descendants(node.test)
            )
            if any(inner is statement for statement in (node.body if denied else node.orelse)):
                return True
        inner = node
    return False


def _is_other_arm(step: Step, steps: list[Step]) -> bool:
    """Whether the scaler steps the same optimizer in the other arm of a test, which asks whether there is one."""
    return any(s.kind == "scaler_step" and _steps_same(s, step) and s.excludes(step) for s in steps)


def _missing_update(steps: list[Step], review: Review, rule: Rule) -> Iterator[Site]:
    """`scaler.step` in a file without `update`; a scaler that a helper is handed to step is its caller's to update."""
    scales = any(s.kind == "scale" for s in steps)
    for step in (s for s in steps if s.kind == "scaler_step" and (scales or not _is_handed_over(s))):
        if not review.module.mentions("update"):
            message = (
                "without scaler.update() the scale never falls: after one overflow all steps are skipped"
            )
            yield make_site(review, rule, (step.value, step.frame), message=message)
            return


def _no_scaler(steps: list[Step], review: Review, rule: Rule) -> Iterator[Site]:
    """A float16 autocast around a plain training step, in a file that knows no scaler."""
    if "scaler" in review.module.source.text.lower():
        return
    plain = [s for s in steps if s.kind == "backward"]
    optimizers = [s for s in steps if s.kind == "step"]
    if not plain or not optimizers:
        return
    for context, frame in observed(review, "torch.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast"):
        if _is_float16(context) and any(s.root is plain[0].root for s in optimizers):
            message = "under float16 autocast small gradients become 0: the loss needs a GradScaler"
            yield make_site(review, rule, (context, frame), message=message)


def _is_float16(context: Value) -> bool:
    """Whether an autocast is known to run, in float16: named, or by default on CUDA."""
    enabled = context.operands.get("enabled")
    if enabled is not None and enabled.constant() is not True:
        return False
    named = context.operands.get("dtype")
    if named is not None:
        return named.dtype == "float16"
    device = context.operands.get("argument0") or context.operands.get("device_type")
    if context.op == "torch.cuda.amp.autocast":
        return device is None
    return device is not None and device.constant() == "cuda"


def _is_scaled(backward: Value) -> bool:
    loss = backward.operands.get("input")
    return loss is not None and loss.op == "method.scale"


def _is_handed_over(step: Step) -> bool:
    """Whether the scaler that a call is made on is a parameter of the function, or belongs to another object."""
    if step.subject.count(".") > 1:  # self.trainer.scaler
        return True
    arguments = getattr(step.root, "args", None)
    if not isinstance(arguments, ast.arguments):
        return False
    given = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return any(a.arg == step.subject for a in given)


def _steps_same(scaler_step: Step, step: Step) -> bool:
    node = scaler_step.node
    return isinstance(node, ast.Call) and bool(node.args) and ast.unparse(node.args[0]) == step.subject


@observes("backward")
def backward_under_autocast(review: Review, rule: Rule) -> Iterator[Site]:
    """`backward` within `with autocast(…)`."""
    for step in steps_of(review):
        if step.kind != "backward":
            continue
        around = (n for n in ancestors(step.node, step.root) if isinstance(n, ast.With | ast.AsyncWith))
        if any(_is_autocast(item.context_expr) for node in around for item in node.items):
            yield make_site(review, rule, (step.value, step.frame))


def _is_autocast(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    enabled = next((k.value for k in node.keywords if k.arg == "enabled"), None)
    off = isinstance(enabled, ast.Constant) and enabled.value is False
    return name == "autocast" and not off
