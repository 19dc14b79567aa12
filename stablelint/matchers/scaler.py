"""The protocol of the gradient scaler: scale, unscale_, step, update."""

from __future__ import annotations

import ast

from stablelint.matchers.common import Review, Rule, Sites, Value, is_autocast, make_site, observed, observes
from stablelint.matchers.names import parameters_of
from stablelint.matchers.training.steps import Step, steps_of
from stablelint.matchers.tree import ancestors, contexts
from stablelint.syntax import precision
from stablelint.syntax.names import spelled
from stablelint.syntax.walk import descendants

_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})
_IN_ORDER = frozenset({"backward", "scale", "step", "scaler_step", "unscale"})

_AUTOCASTS = ("torch.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast")
_APART = "the loss is scaled {}, and nothing in the project unscales the gradients before this"
_TWICE = "the scaler has stepped {} already: this steps a second time"
_PLAIN = "these gradients carry the loss scale: step with the scaler, not with {}"
_UNSCALED = "this loss is not scaled, but scaler.step divides its gradients by the scale"
_NOT_UPDATED = "without scaler.update() the scale never falls: after one overflow all steps are skipped"
_NO_SCALER = "under float16 autocast small gradients become 0: the loss needs a GradScaler"


@observes("backward", "step", "clip_grad_norm_|clip_grad_value_")
def protocol(review: Review, rule: Rule) -> Sites:
    """Departures from scale, backward, step, update within one function."""
    steps = steps_of(review)
    yield from _clip_apart(steps, review, rule)
    if not any(s.kind in ("backward", "step", "scaler_step", "scale") for s in steps):
        return
    yield from _plain_steps(steps, review, rule)
    yield from _unscaled_backward(steps, review, rule)
    yield from _missing_update(steps, review, rule)
    yield from _no_scaler(steps, review, rule)


def _clip_apart(steps: list[Step], review: Review, rule: Rule) -> Sites:
    """A clip in a hook or helper of a project that scales its losses, and unscales no gradients."""
    if any(s.kind in _IN_ORDER for s in steps):
        return  # what it is given is seen here
    for clip in (s for s in steps if s.value.op in _CLIPS):
        shows = clip.frame.session.project.shows
        scaling = shows(precision.SCALED)
        if scaling is not None and shows(precision.UNSCALED) is None:
            message = _APART.format(f"in {scaling}" if scaling else "here")
            yield make_site(review, rule, clip.at, shown=False, message=message)


def _plain_steps(steps: list[Step], review: Review, rule: Rule) -> Sites:
    """`optimizer.step()` on gradients that carry the scale."""
    by_scaler = [s for s in steps if s.kind == "scaler_step"]
    for step in (s for s in steps if s.kind == "step"):
        beside = [s for s in steps if s is not step and not s.excludes(step)]
        same = [s for s in by_scaler if s.optimizer == step.subject]
        if not any(s.kind == "backward" and _is_scaled(s.value) for s in beside):
            continue
        if any(s.kind == "unscale" for s in beside) or _has_no_scaler(step):
            continue
        if any(s.kind == "step" and s.subject == step.subject for s in steps if s is not step):
            continue
        # Another optimizer than the scaled one, or the other arm of a test, which asks whether there is a scaler.
        if any(s not in beside for s in same) or (by_scaler and not same):
            continue
        yield make_site(review, rule, step.at, message=(_TWICE if same else _PLAIN).format(step.subject))


def _unscaled_backward(steps: list[Step], review: Review, rule: Rule) -> Sites:
    """A plain backward whose gradients `scaler.step` divides by the scale."""
    if any(s.kind in ("scale", "wrapped_backward") for s in steps):
        return
    for backward in (s for s in steps if s.kind == "backward" and not _is_scaled(s.value)):
        after = any(s.kind == "scaler_step" and not s.excludes(backward) for s in steps)
        if after and not _has_no_scaler(backward):
            yield make_site(review, rule, backward.at, message=_UNSCALED)


def _has_no_scaler(step: Step) -> bool:
    """Whether a call stands in the arm of a test in which there is no scaler: `if scaler is not None: … else: …`."""
    path = [step.node, *ancestors(step.node, step.root)]
    for test in (n for n in path if isinstance(n, ast.If) and "scaler" in spelled(n.test).lower()):
        compared = (n for n in descendants(test.test) if isinstance(n, ast.Compare))
        denied = isinstance(test.test, ast.UnaryOp) or any(isinstance(n.ops[0], ast.Is) for n in compared)
        if any(n in (test.body if denied else test.orelse) for n in path):
            return True
    return False


def _missing_update(steps: list[Step], review: Review, rule: Rule) -> Sites:
    """`scaler.step` in a file without `update`; a scaler that a helper is handed to step is its caller's to update."""
    scales = any(s.kind == "scale" for s in steps)
    own = (s for s in steps if scales or not (s.subject.count(".") > 1 or s.subject in parameters_of(s.root)))
    stepping = [s for s in own if s.kind == "scaler_step"]
    for step in stepping[:1] if not review.module.mentions("update") else ():
        yield make_site(review, rule, step.at, message=_NOT_UPDATED)


def _no_scaler(steps: list[Step], review: Review, rule: Rule) -> Sites:
    """A float16 autocast around a plain training step, in a file that knows no scaler."""
    plain = [s for s in steps if s.kind == "backward"]
    if "scaler" in review.module.source.text.lower() or not plain:
        return
    if any(s.kind == "step" and s.root is plain[0].root for s in steps):
        for pair in observed(review, *_AUTOCASTS):
            if _is_float16(pair[0]):
                yield make_site(review, rule, pair, message=_NO_SCALER)


def _is_float16(context: Value) -> bool:
    """Whether an autocast is known to run, in float16: named, or by default on CUDA."""
    enabled = context.operands.get("enabled")
    if enabled is not None and enabled.default() is not True:
        return False
    named = context.operands.get("dtype")
    if named is not None:
        return named.dtype == "float16"
    device = context.operands.get("argument0") or context.operands.get("device_type")
    if context.op == "torch.cuda.amp.autocast":
        return device is None
    return device is not None and device.default() == "cuda"


def _is_scaled(backward: Value) -> bool:
    loss = backward.operands.get("input")
    return loss is not None and loss.op == "method.scale"


@observes("backward")
def backward_under_autocast(review: Review, rule: Rule) -> Sites:
    """`backward` within `with autocast(…)`."""
    for step in steps_of(review):
        if step.kind == "backward" and any(map(is_autocast, contexts(step.node, step.root))):
            yield make_site(review, rule, step.at)
