"""From an alarm to an event: replay the step, find the root, name it.

The step is repeated from its source (see `region`), starting with the innermost frame that holds a step and
going outwards until a replay gives the recorded loss bit for bit. What cannot be repeated is said so, with
what the parameters, the gradients and the history tell.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CodeType, FrameType
from typing import Any

import torch

from stablelint.runtime.guard import origin as naming
from stablelint.runtime.guard.event import Event, Kind, Mechanism, Origin, Phase
from stablelint.runtime.guard.frames import resolve, site_of, step_frames
from stablelint.runtime.guard.measure import badness_of, statistics_of
from stablelint.runtime.guard.region import Region, bind, bind_target, place_of, region_at, replacement_tree
from stablelint.runtime.guard.replay import Outcome, Replay, Target
from stablelint.runtime.guard.state import RandomState
from stablelint.runtime.guard.watch import Alarm, Boundary, Watch, buffers_in_sight

_FRAMES = 12
_ATTEMPTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One way to run the step again."""

    run: Callable[[], object]
    random: RandomState | None
    region: Region | None = None
    frame: FrameType | None = None
    until: tuple[CodeType, int] | None = None  # code and row at which the replay has passed the alarm
    values: tuple[tuple[str, Any], ...] = ()  # what names start from, other than the frame's own values
    renewals: tuple[ast.stmt, ...] = ()

    @property
    def globals(self) -> dict[str, Any] | None:
        """The module's names that the replayed code sees."""
        return self.frame.f_globals if self.frame is not None else None


@dataclass(frozen=True, slots=True)
class Finding:
    """What an investigation gives: the event, and the attempt that reproduced it."""

    event: Event
    attempt: Attempt | None
    target: Target


def investigate(watch: Watch, alarm: Alarm) -> Finding:
    """Name the expression behind an alarm; never raises for what the user's code does."""
    parameters = watch.parameters()
    target = Target(
        loss=alarm.loss,
        loss_object=alarm.loss_object,
        backward_only=not alarm.in_loss,
        optimizer=alarm.optimizer,
        parameters=parameters,
        buffers=buffers_in_sight(alarm.frame),
        known=frozenset(watch.optimizers),
        stop_after_backward=alarm.after_backward,
    )
    damaged = next((name for name, tensor in parameters.items() if badness_of(tensor)), None)
    if damaged is not None and watch.stepped:
        return Finding(_optimizer_event(watch, alarm, damaged, parameters[damaged]), None, target)
    best: Outcome | None = None
    chosen: Attempt | None = None
    for attempt in attempts(watch, alarm):
        outcome = run_attempt(watch, target, attempt)
        if best is None or _rank(outcome) > _rank(best):
            best, chosen = outcome, attempt
        if outcome.exact and outcome.root is not None:
            break
    if best is not None:
        watch.learn(best.tensors)
    if best is None or best.root is None:
        return Finding(_unlocated(watch, alarm, best, damaged), chosen, target)
    return Finding(_located(watch, alarm, best, target), chosen, target)


def unexplained(alarm: Alarm, error: Exception) -> Finding:
    """The finding for an alarm whose investigation failed: what the alarm itself tells."""
    event = Event(
        kind=_kind_of_number(alarm.loss),
        phase=Phase.FORWARD if alarm.in_loss else Phase.BACKWARD,
        origin=Origin.UNKNOWN,
        mechanism=None,
        step=alarm.step,
        location=resolve(site_of(alarm.frame)),
        operation=None,
        module=None,
        loss=alarm.loss,
        rank=_process_rank(),
        note=f"The step could not be examined ({type(error).__name__}: {error}).",
    )
    return Finding(event, None, Target(alarm.loss, None, False, None, {}, ()))


def attempts(watch: Watch, alarm: Alarm) -> Iterator[Attempt]:
    """Ways to run the step again, the likeliest first."""
    if alarm.closure is not None:
        yield Attempt(alarm.closure, watch.state.boundaries[-1].random)
    later: list[Attempt] = []
    count = 0
    for frame in step_frames(alarm.frame, _FRAMES):
        region = region_at(frame.f_code, frame.f_lasti)
        if region is None:
            continue
        attempt, complete = _attempt(watch, frame, region)
        if not complete:
            later.append(attempt)
            continue
        count += 1
        yield attempt
        if count >= _ATTEMPTS:
            return
    yield from later[: _ATTEMPTS - count]


def run_attempt(watch: Watch, target: Target, attempt: Attempt) -> Outcome:
    """Replay once; the watch stands aside meanwhile."""
    replay = Replay(target, attempt.until, watch.buffers)
    watch.replaying = replay
    try:
        with _steps_skipped(watch, replay), _scalers_reset(watch):
            return replay.run(attempt.run, attempt.random)
    finally:
        watch.replaying = None


def _attempt(watch: Watch, frame: FrameType, region: Region) -> tuple[Attempt, bool]:
    """The attempt for a region, and whether every value it starts from is known."""
    state = watch.state
    values: dict[str, Any] = {}
    renewals: tuple[ast.stmt, ...] = ()
    complete = True
    if region.rebound:
        bound: dict[str, Any] = {}
        fits = region.target is not None and state.fetched is not None
        if fits and region.target is not None and bind_target(region.target, state.fetched, bound):
            values.update({name: bound[name] for name in region.rebound if name in bound})
        complete = region.rebound <= set(values)
    boundary = _start_of(watch, frame, region)
    carried = boundary.carried.get((region.code, region.row)) if boundary is not None else None
    if carried is not None:
        values.update(carried.values)
        renewals = tuple(_renewals(carried.region))
    run = bind(region, [*renewals, *replacement_tree(region)], frame, values)
    random_state = boundary.random if boundary is not None else None
    until = run.code, place_of(frame.f_code, frame.f_lasti)[0]
    return Attempt(run, random_state, region, frame, until, tuple(values.items()), renewals), complete


def attempt_with(watch: Watch, attempt: Attempt, filename: str, fixed: ast.Module) -> Attempt:
    """The same attempt with the text of `filename` replaced; as it is where the region is of another."""
    region, frame = attempt.region, attempt.frame
    if region is None or frame is None or region.code.co_filename != filename:
        return attempt
    body = replacement_tree(region, fixed)
    run = bind(region, [*copy.deepcopy(list(attempt.renewals)), *body], frame, dict(attempt.values))
    row = attempt.until[1] if attempt.until is not None else 0
    # Statements that a fix inserts stand before the alarm: count from the end.
    later = sum(1 for statement in region.body if statement.lineno > row)
    alarm = body[-1 - later] if later < len(body) else body[-1]
    return replace(attempt, run=run, until=(run.code, alarm.lineno))


def _start_of(watch: Watch, frame: FrameType, region: Region) -> Boundary | None:
    """Where the pass under way began: the last boundary not behind the present place in the same pass."""
    here = place_of(frame.f_code, frame.f_lasti)
    for boundary in reversed(watch.state.boundaries):
        place = boundary.places.get(region.code)
        if place is None or place >= here or region.loop is None:
            return boundary
    return None


def _renewals(region: Region) -> list[ast.stmt]:
    """Plain assignments after the step that renew a carried name: they belong to the pass under way."""
    renewals: list[ast.stmt] = []
    for statement in region.tail:
        if not isinstance(statement, (ast.Assign, ast.AugAssign)):
            continue
        names = {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        plain = all(isinstance(call.func, ast.Attribute) and call.func.attr in _PLAIN for call in calls)
        if names and names <= region.carried and plain:
            renewals.append(statement)
    return renewals


_PLAIN = frozenset({"detach", "clone", "data", "item", "to", "float", "mean", "sum"})


def _rank(outcome: Outcome) -> tuple[bool, bool, bool]:
    return (outcome.root is not None, outcome.exact, outcome.reached)


def _located(watch: Watch, alarm: Alarm, outcome: Outcome, target: Target) -> Event:
    root = outcome.root
    assert root is not None
    fault = root.fault
    known = {**outcome.tensors, **target.parameters}
    exploding = watch.history.is_exploding()
    mechanism = naming.mechanism_of(root, exploding)
    origin = naming.origin_of(root, known, outcome.outermost)
    phase = naming.phase_of(root)
    if mechanism is Mechanism.GROWTH:
        origin = Origin.EXPLOSION
    elif (
        not alarm.in_loss
        and outcome.went_backward
        and root.leaf is None
        and fault.index >= outcome.faults_before_backward_end
    ):
        origin = Origin.GRADIENTS
    locations = tuple(resolve(site) for site in fault.sites)
    location = locations[0] if locations else None
    module = fault.modules[-1] if fault.modules else None
    growth = None
    if mechanism is Mechanism.GROWTH:
        growth = watch.history.growth(watch.parameter_names(_optimizer(watch, alarm)), _rates(watch, alarm))
    return Event(
        kind=naming.kind_of(root, mechanism),
        phase=phase,
        origin=origin,
        mechanism=mechanism,
        step=alarm.step,
        location=location,
        operation=fault.operation,
        module=module,
        operands=naming.named_operands(root, location),
        parameter=naming.parameter_name(root, known) or outcome.parameter,
        loss=alarm.loss,
        replayed_loss=outcome.loss,
        exact=outcome.exact,
        in_place=fault.in_place,
        stack=locations[1:],
        history=watch.history.records(),
        growth=growth,
        rank=_process_rank(),
        note=None if outcome.exact else "The replay did not give the recorded loss bit for bit.",
    )


def _unlocated(watch: Watch, alarm: Alarm, outcome: Outcome | None, damaged: str | None) -> Event:
    if outcome is None:
        note = "The source of the step is not at hand, so it could not be replayed."
    elif outcome.error is not None:
        note = f"The step could not be replayed ({outcome.error})."
    elif _process_rank() is not None:
        note = "This rank's own step is finite: the value came from another rank through the reduction."
    else:
        note = "The replayed step stayed finite: it depends on something that differs from run to run."
    gradient = next(
        (
            name
            for name, tensor in watch.parameters().items()
            if tensor.grad is not None and badness_of(tensor.grad)
        ),
        None,
    )
    location = resolve(site_of(alarm.frame))
    origin = Origin.PARAMETERS if damaged else Origin.UNKNOWN
    return Event(
        kind=_kind_of_number(alarm.loss),
        phase=Phase.FORWARD if alarm.in_loss else Phase.BACKWARD,
        origin=origin,
        mechanism=None,
        step=alarm.step,
        location=location,
        operation=None,
        module=None,
        parameter=damaged or gradient,
        loss=alarm.loss,
        replayed_loss=outcome.loss if outcome else None,
        exact=bool(outcome and outcome.exact),
        history=watch.history.records(),
        rank=_process_rank(),
        note=note,
    )


def _optimizer_event(watch: Watch, alarm: Alarm, name: str, parameter: torch.Tensor) -> Event:
    site = watch.state.step_site
    badness = statistics_of(parameter, name)
    return Event(
        kind=Kind.NAN if badness.nan else Kind.INF,
        phase=Phase.OPTIMIZER,
        origin=Origin.OPTIMIZER,
        mechanism=Mechanism.DOMAIN,
        step=max(alarm.step - 1, 0),
        location=resolve(site) if site is not None else None,
        operation="step",
        module=None,
        operands=(badness,),
        parameter=name,
        loss=alarm.loss,
        history=watch.history.records(),
        rank=_process_rank(),
        note=_optimizer_note(watch, name),
    )


def _optimizer_note(watch: Watch, name: str) -> str:
    for optimizer in watch.optimizers:
        group = next((group for group in optimizer.param_groups), {})
        kind = type(optimizer).__name__
        if group.get("eps") == 0:
            return f"{kind} divides by the root of its second moment plus eps, and eps is 0."
        return f"Loss and gradients were finite; the update by {kind} made {name} non-finite."
    return f"Loss and gradients were finite; the update made {name} non-finite."


@contextmanager
def _steps_skipped(watch: Watch, replay: Replay) -> Iterator[None]:
    """Optimizers do not write while a step is replayed; reaching the guilty one ends the replay."""
    held: list[tuple[torch.optim.Optimizer, Any]] = []
    for optimizer in list(watch.optimizers):
        held.append((optimizer, optimizer.__dict__.get("step", _ABSENT)))

        def step(closure: Callable[[], object] | None = None, *, _of: Any = optimizer, **_: object) -> object:
            replay.before_step(_of)
            return closure() if callable(closure) else None

        optimizer.__dict__["step"] = step
    try:
        yield
    finally:
        for optimizer, original in held:
            if original is _ABSENT:
                del optimizer.__dict__["step"]
            else:
                optimizer.__dict__["step"] = original


_ABSENT = object()


@contextmanager
def _scalers_reset(watch: Watch) -> Iterator[None]:
    """A scaler that has unscaled this step already may do so again in the replay."""
    held = [(scaler, getattr(scaler, "_per_optimizer_states", None)) for scaler in list(watch.scalers)]
    for scaler, states in held:
        if states is not None:
            fresh = type(states)(states.default_factory)
            scaler._per_optimizer_states = fresh
    try:
        yield
    finally:
        for scaler, states in held:
            if states is not None:
                scaler._per_optimizer_states = states


def _optimizer(watch: Watch, alarm: Alarm) -> torch.optim.Optimizer | None:
    return alarm.optimizer or next(iter(watch.optimizers), None)


def _rates(watch: Watch, alarm: Alarm) -> tuple[float, ...]:
    optimizer = _optimizer(watch, alarm)
    return (
        ()
        if optimizer is None
        else tuple(float(group["lr"]) for group in optimizer.param_groups if "lr" in group)
    )


def _process_rank() -> int | None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return None


def _kind_of_number(value: float | None) -> Kind:
    return Kind.INF if value in (float("inf"), float("-inf")) else Kind.NAN
