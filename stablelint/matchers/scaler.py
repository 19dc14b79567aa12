"""The protocol of the gradient scaler: scale, unscale_, step, update."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.matchers.common import Review, Rule, Sites, is_autocast, observes, site_at
from stablelint.matchers.names import bound_to, made_by, parameters_of, qualified
from stablelint.matchers.training.events import Event, events_in
from stablelint.matchers.tree import ancestors, called, calls_in, contexts, receiver, subject
from stablelint.syntax import precision
from stablelint.syntax.names import spelled
from stablelint.syntax.signatures import argument
from stablelint.syntax.walk import descendants

_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})
_IN_ORDER = frozenset({"backward", "scale", "step", "unscale"})

_FLOAT16 = ("torch.float16", "torch.half")
_APART = "the loss is scaled {}, and nothing in the project unscales the gradients before this"
_TWICE = "the scaler has stepped {} already: this steps a second time"
_PLAIN = "these gradients carry the loss scale: step with the scaler, not with {}"
_UNSCALED = "this loss is not scaled, but scaler.step divides its gradients by the scale"
_NOT_UPDATED = "without scaler.update() the scale never falls: after one overflow all steps are skipped"
_NO_SCALER = "under float16 autocast small gradients become 0: the loss needs a GradScaler"


@observes()
def protocol(review: Review, rule: Rule) -> Sites:
    """Departures from scale, backward, step, update within one function, and what it calls."""
    for root, events in events_in(review).items():
        if not any(e.kind in _IN_ORDER for e in events):
            yield from _clip_apart(events, review, rule)
        for told, message in (
            *_plain_steps(events, root),
            *_unscaled_backward(events, root),
            *_missing_update(events),
        ):
            yield site_at(review, rule, told.made.place(review.module), message=message)
        yield from _no_scaler(events, root, review, rule)


def _clip_apart(events: Sequence[Event], review: Review, rule: Rule) -> Sites:
    """A clip in a hook or helper of a project that scales its losses, and unscales no gradients."""
    for clip in (e for e in events if called(e.made.node) in _CLIPS):
        scaling = review.project.shows(precision.SCALED)
        if scaling is not None and review.project.shows(precision.UNSCALED) is None:
            message = _APART.format(f"in {scaling}" if scaling else "here")
            yield site_at(review, rule, clip.made.place(review.module), shown=False, message=message)


def _plain_steps(events: Sequence[Event], root: ast.AST) -> Iterator[tuple[Event, str]]:
    """`optimizer.step()` on gradients that carry the scale."""
    steps = [e for e in events if e.kind == "step"]
    scaled = [e for e in events if e.kind == "backward" and _is_scaled(e)]
    for step in (e for e in steps if not e.by_scaler and scaled):
        beside = [e for e in events if e is not step and not e.excludes(step, root)]
        same = [e for e in steps if e is not step and e.of & step.of]
        others = [e for e in steps if e.by_scaler and e not in same]
        if (
            not any(e in beside for e in scaled)
            or any(e.kind == "unscale" for e in beside)
            or _has_no_scaler(step)
        ):
            continue
        # Another optimizer than the scaled one, or the other arm of a test, which asks whether there is a scaler.
        if all(e.by_scaler and e in beside for e in same) and (same or not others):
            yield step, (_TWICE if same else _PLAIN).format(step.text)


def _unscaled_backward(events: Sequence[Event], root: ast.AST) -> Iterator[tuple[Event, str]]:
    """A plain backward whose gradients `scaler.step` divides by the scale."""
    backs = [e for e in events if e.kind == "backward"]
    if any(e.kind == "scale" for e in events) or any(back.is_wrapped for back in backs):
        return
    for back in (e for e in backs if not _is_scaled(e)):
        after = any(e.kind == "step" and e.by_scaler and not e.excludes(back, root) for e in events)
        if after and not _has_no_scaler(back):
            yield back, _UNSCALED


def _has_no_scaler(event: Event) -> bool:
    """Whether a call stands in the arm of a test in which there is no scaler: `if scaler is not None: … else: …`."""
    path = [event.made.node, *ancestors(event.made.node, event.root)]
    for test in (n for n in path if isinstance(n, ast.If) and "scaler" in spelled(n.test).lower()):
        compared = (n for n in descendants(test.test) if isinstance(n, ast.Compare))
        denied = isinstance(test.test, ast.UnaryOp) or any(isinstance(n.ops[0], ast.Is) for n in compared)
        if any(n in (test.body if denied else test.orelse) for n in path):
            return True
    return False


def _missing_update(events: Sequence[Event]) -> Iterator[tuple[Event, str]]:
    """`scaler.step` in a file without `update`; a scaler that a helper is handed to step is its caller's to update."""
    scales = any(e.kind == "scale" for e in events)
    for step in (e for e in events if e.kind == "step" and e.by_scaler):
        scaler = subject(step.made.node)
        handed = scaler.count(".") > 1 or scaler in parameters_of(step.root)
        if (scales or not handed) and not step.made.module.mentions("update"):
            yield step, _NOT_UPDATED
            return


def _no_scaler(events: Sequence[Event], root: ast.AST, review: Review, rule: Rule) -> Sites:
    """A float16 autocast around a plain training step, in a file that knows no scaler."""
    plain = any(e.kind == "backward" and e.is_own and not e.is_wrapped for e in events)
    steps = any(e.kind == "step" and not e.by_scaler for e in events)
    if plain and steps and "scaler" not in review.module.source.text.lower():
        for region in filter(is_autocast, calls_in(root)):
            if _is_float16(region, root, review.module):
                yield site_at(review, rule, region, message=_NO_SCALER)


def _is_float16(region: ast.Call, root: ast.AST, module: ModuleInfo) -> bool:
    """Whether an autocast is known to run, in float16: named, or by default on CUDA."""
    named, enabled = argument(region, "dtype"), argument(region, "enabled")
    if enabled is not None and spelled(enabled) != "True":
        return False
    if named is not None:
        return qualified(bound_to(spelled(named), region, root) or named, module) in _FLOAT16
    device = argument(region, "device_type") or next(iter(region.args), None)
    if made_by(region, module) == "torch.cuda.amp.autocast":
        return device is None
    return device is not None and spelled(device) == repr("cuda")


def _is_scaled(back: Event) -> bool:
    """Whether a backward pass goes from what the scaler gives: `scaler.scale(loss).backward()`."""
    of = receiver(back.made.node)
    return "scale" in (called(of), called(bound_to(back.text, back.made.node, back.root)))


@observes()
def backward_under_autocast(review: Review, rule: Rule) -> Sites:
    """`backward` within `with autocast(…)`, itself or by a call."""
    for root, events in events_in(review).items():
        for back in (e for e in events if e.kind == "backward" and not e.is_wrapped):
            if any(map(is_autocast, (*contexts(back.at, root), *contexts(back.made.node, back.root)))):
                yield site_at(review, rule, back.made.place(review.module))
