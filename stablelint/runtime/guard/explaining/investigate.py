"""From an alarm to an event: replay the step, find the root, name it.

The step is repeated from its source (see `region`), starting with the innermost frame that holds a step and
going outwards until a replay gives the recorded loss bit for bit. What cannot be repeated is said so, with
what the parameters, the gradients and the history tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import torch

from stablelint.runtime.guard.explaining import origin as naming
from stablelint.runtime.guard.explaining.batch import distance, terms
from stablelint.runtime.guard.replay.attempt import Attempt
from stablelint.runtime.guard.replay.attempts import (
    attempts,
    fetched_again,
    run_attempt,
    run_exactly,
    slices,
    slices_of_earlier_cells,
    slices_of_generators,
    update_of,
)
from stablelint.runtime.guard.replay.blame import Root
from stablelint.runtime.guard.replay.likeness import moment_at
from stablelint.runtime.guard.replay.replay import Outcome, Target, same_number
from stablelint.runtime.guard.reporting.event import Element, Event, Kind, Mechanism, Origin, Phase
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching.checks import is_written_by_program
from stablelint.runtime.guard.watching.step_state import Alarm, buffers_in, modules_in
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.program.frames import resolve, site_of, step_frames
from stablelint.runtime.program.location import unsaved
from stablelint.runtime.tensors.measure import (
    OperandStats,
    badness_of,
    dtype_name,
    fused_norms,
    largest,
    statistics_of,
    total_norm,
)

_PARAMETERS_SHOWN = 64
_MOVED = 0.1  # of their norm, from which on the steps have made parameters what they are


@dataclass(frozen=True, slots=True)
class Finding:
    """What an investigation gives: the event, and the attempt that reproduced it."""

    event: Event
    attempt: Attempt | None
    target: Target


def investigate(watch: Watch, alarm: Alarm) -> Finding:
    """Name the expression behind an alarm; never raises for what the user's code does."""
    with replayable(alarm):
        found = _investigate(watch, alarm)
    place = found.event.location
    event = replace(
        found.event,
        history=watch.history.records(),
        unsaved=unsaved(place.filename) if place else None,
        element=_in_batch(watch, alarm, found.event.element),
        batch=distance(watch, alarm.frame),
        warned=tuple(watch.warned),
        parameters=_parameters(watch),
        activations=watch.activations.layers(watch.roots) if watch.activations else (),
    )
    return replace(found, event=event)


def _in_batch(watch: Watch, alarm: Alarm, element: Element | None) -> Element | None:
    if element is None:
        return None
    return replace(element, terms=terms(watch, alarm.frame, element.index, element.shape))


def _parameters(watch: Watch) -> tuple[OperandStats, ...]:
    """Norm, extremes and counts of the parameters, those with the largest elements first."""
    stats = [statistics_of(one, name, norm=True) for name, one in watch.parameters().items()]
    return tuple(sorted(stats, key=lambda one: (-one.nan - one.inf, -largest(one)))[:_PARAMETERS_SHOWN])


def replayable(alarm: Alarm) -> AbstractContextManager[None]:
    """While it is held, what is sharded is whole, and a rank replays without the others. All must enter and leave."""
    return ranks.gathered(modules_in(step_frames(alarm.frame)))


def _investigate(watch: Watch, alarm: Alarm) -> Finding:
    parameters = watch.parameters()
    target = Target(
        alarm,
        parameters,
        buffers_in(step_frames(alarm.frame)),
        known=frozenset(watch.optimizers),
        moment=moment_at(alarm.frame),
        skips=watch.skips,
    )
    damaged = next(
        (name for name, one in parameters.items() if not watch.skips(name) and badness_of(one)), None
    )
    if damaged is not None and watch.stepped:
        return _update_of_program(watch, target) or Finding(
            _optimizer_event(watch, alarm, damaged, parameters[damaged]), None, target
        )
    best: Outcome | None = None
    chosen: Attempt | None = None
    changed: dict[str, None] = {}
    for attempt in attempts(watch, alarm):
        outcome, attempt = run_exactly(watch, target, attempt)
        changed.update(dict.fromkeys(outcome.changed))
        if best is None or _rank(outcome) > _rank(best):
            best, chosen = outcome, attempt
        if alarm.shown is not None and (outcome.root is None or outcome.root.leaf is not None):
            continue
        if outcome.root is not None and (outcome.exact or not _is_too_narrow(outcome, target)):
            break
    if best is None or (alarm.in_loss and _is_short_of_the_cause(best, target)):
        best, chosen = _made_of_what_is_there(watch, target) or (best, chosen)
    if best is not None and best.root is not None and best.root.leaf is not None and chosen is not None:
        told = _update_by_hand(watch, target, best.root, chosen) or _made_elsewhere(
            watch, target, best.root.leaf
        )
        if told is not None:
            return told
    if best is not None:
        watch.learn(best.tensors)
    if best is None or best.root is None:
        event = _unlocated(watch, alarm, best, damaged)
    else:
        event = _located(watch, alarm, best, target)
    return Finding(_with_what_changed(event, list(changed)), chosen, target)


def _is_short_of_the_cause(outcome: Outcome, target: Target) -> bool:
    """Whether a replay found no fault, or a tensor that is no parameter and was not finite before."""
    root = outcome.root
    if root is None or root.leaf is None:
        return root is None
    return naming.parameter_name(root, {**outcome.tensors, **target.parameters}) is None


def _made_of_what_is_there(watch: Watch, target: Target) -> tuple[Outcome, Attempt] | None:
    """The replay of single statements that computed the bad values, of the finite ones that the frames hold.

    These may stand before the loop of the step; and what the step wrote before them, such as a memory from which it
    draws its samples, is as it was for them. None where no statement did.
    """
    for attempt in slices(target.alarm):
        outcome, attempt = run_exactly(watch, target, attempt)
        root = outcome.root
        if root is not None and root.leaf is None and not root.fault.written:
            return outcome, attempt
    return None


def _update_by_hand(watch: Watch, target: Target, root: Root, chosen: Attempt) -> Finding | None:
    """The statement by which a program without an optimizer has made a parameter what it is; None where that is none.

    The pass is repeated to its end with 0 in place of what is not finite in the parameter: its update, of gradients and
    of what the program keeps beside them, does the same again.
    """
    if watch.optimizers or root.leaf is None or not (root.leaf.is_leaf and root.leaf.requires_grad):
        return None
    sites = root.fault.place.sites
    operands = naming.named_operands(root, resolve(sites[0]) if sites else None)
    name = next((one.name for one in operands if one.nan or one.inf), "a parameter")
    return _updated_again(watch, replace(target, updated={name: root.leaf}), [chosen])


def _update_of_program(watch: Watch, target: Target) -> Finding | None:
    """The statement of an optimizer that the program has written; None where it is none, or does not do it again."""
    written = [one for one in watch.optimizers if is_written_by_program(one)]
    if not written:
        return None
    parameters = {name: one for name, one in target.parameters.items() if not watch.skips(name)}
    target = replace(target, updated={name: one for name, one in parameters.items() if badness_of(one)})
    return _updated_again(watch, target, [*map(update_of, written), *attempts(watch, target.alarm)])


def _updated_again(watch: Watch, target: Target, ways: Iterable[Attempt]) -> Finding | None:
    """The statement of an update, done again with 0 for what is not finite in the parameters."""
    found = _made_before(watch, target, ways)
    if found is None:
        return None
    name = next(iter(target.updated))
    note = f"The update repeated with 0 for what is not finite in {name}: other operands may differ."
    step = max(target.alarm.step - 1, 0)
    event = replace(
        found.event, phase=Phase.OPTIMIZER, origin=Origin.FUNCTION, step=step, parameter=name, note=note
    )
    return replace(found, event=event)


def _made_elsewhere(watch: Watch, target: Target, leaf: torch.Tensor) -> Finding | None:
    """The statement of a generator that has handed out a value, of an earlier cell, or of a dataset; None for none."""
    handed_out = replace(target, alarm=replace(target.alarm, shown=leaf))
    again = "its statements were run again, with what its names hold"
    makers = {
        f"A generator has made the value: {again}.": slices_of_generators(),
        f"An earlier cell has made the value: {again}.": slices_of_earlier_cells(target.alarm),
        "The samples of the batch were fetched again, by this process: random ones may differ.": fetched_again(
            watch
        ),
    }
    for note, ways in makers.items():
        if (found := _made_before(watch, handed_out, ways)) is not None:
            return replace(found, event=replace(found.event, note=note))
    return None


def _made_before(watch: Watch, target: Target, ways: Iterable[Attempt]) -> Finding | None:
    """What made a value before the step that met it, by the first of the attempts that computes it anew."""
    for attempt in ways:
        outcome = run_attempt(watch, target, attempt)
        root = outcome.root
        if root is not None and root.leaf is None and not root.fault.written:
            event = replace(_located(watch, target.alarm, outcome, target), exact=False, compared=())
            return Finding(event, attempt, target)
    return None


def _with_what_changed(event: Event, names: list[str]) -> Event:
    """The event, and a word on what other threads use as well and the replay may have written to."""
    if not names:
        return event
    many = ", ".join(f"`{name}`" for name in names)
    caution = f"The replay may have written to {many}, which other threads use too: it was left as it is."
    return replace(event, note=f"{event.note} {caution}" if event.note else caution)


def unexplained(alarm: Alarm, error: Exception) -> Finding:
    """The finding for an alarm whose investigation failed: what the alarm itself tells."""
    note = f"The step could not be examined ({type(error).__name__}: {error})."
    return Finding(replace(_seen(alarm), note=note), None, Target(alarm, {}, ()))


def _seen(alarm: Alarm) -> Event:
    """What an alarm tells before anything is replayed."""
    return Event(
        kind=Kind.INF if alarm.loss in (math.inf, -math.inf) else Kind.NAN,
        phase=Phase.FORWARD if alarm.in_loss else Phase.BACKWARD,
        origin=Origin.UNKNOWN,
        mechanism=None,
        step=alarm.step,
        location=resolve(site_of(alarm.frame)),
        operation=None,
        module=None,
        loss=alarm.loss,
        rank=ranks.own_rank(),
    )


def _is_too_narrow(outcome: Outcome, target: Target) -> bool:
    """Whether more of the program, run again, could come closer to the step: it started from other values."""
    found = outcome.likeness
    if not found.same_random and outcome.reached:
        return False
    recorded = target.alarm.loss
    return found.differing is not None or (recorded is not None and not same_number(outcome.loss, recorded))


def _rank(outcome: Outcome) -> tuple[bool, bool, bool]:
    return (outcome.root is not None, outcome.exact, outcome.reached)


def _located(watch: Watch, alarm: Alarm, outcome: Outcome, target: Target) -> Event:
    root = outcome.root
    assert root is not None
    fault = root.fault
    known = {**outcome.tensors, **target.parameters}
    mechanism = naming.mechanism_of(root, _is_exploding(watch, alarm))
    locations = tuple(resolve(site) for site in fault.place.sites)
    location = locations[0] if locations else None
    growth = None
    if mechanism is Mechanism.GROWTH:
        growth = watch.history.growth(_rates(watch, alarm))
    return replace(
        _seen(alarm),
        kind=naming.kind_of(root, mechanism),
        phase=naming.phase_of(root),
        origin=_origin(alarm, outcome, root, mechanism, naming.origin_of(root, known, outcome.outermost)),
        mechanism=mechanism,
        location=location,
        operation=fault.operation,
        module=fault.place.modules[-1] if fault.place.modules else None,
        operands=naming.named_operands(root, location),
        element=naming.element_of(root, location),
        parameter=naming.parameter_name(root, known) or outcome.parameter,
        replayed_loss=outcome.loss,
        exact=outcome.exact,
        compared=_compared(alarm, outcome),
        in_place=fault.in_place,
        stack=locations[1:],
        layers=tuple(watch.parameter_names(_optimizer(watch, alarm))),
        growth=growth,
        note=None if outcome.exact else _inexact(alarm, outcome),
    )


def _origin(alarm: Alarm, outcome: Outcome, root: Root, mechanism: Mechanism, origin: Origin) -> Origin:
    """The origin of a root, with what the alarm tells besides the operation."""
    if mechanism is Mechanism.GROWTH:
        return Origin.EXPLOSION
    behind = root.leaf is None and root.fault.index >= outcome.faults_before_backward_end
    if not alarm.in_loss and outcome.went_backward and behind:
        return Origin.GRADIENTS
    if origin is Origin.LOSS and (alarm.loss is None or alarm.shown is not None):
        return Origin.FUNCTION  # nothing that was computed here became a loss
    return origin


def _compared(alarm: Alarm, outcome: Outcome) -> tuple[str, ...]:
    """What the replay gave bit for bit as the step had, and is finite."""
    if not outcome.exact:
        return ()
    loss = ("loss",) if alarm.loss is not None and math.isfinite(alarm.loss) else ()
    drawn = ("the random numbers",) if outcome.likeness.drew and outcome.likeness.same_random else ()
    return (*dict.fromkeys((*loss, *outcome.likeness.compared)),) or drawn


def _inexact(alarm: Alarm, outcome: Outcome) -> str:
    """Why the replay is no proof of what the step did."""
    found = outcome.likeness
    if not found.same_random:
        return "The replay drew other random numbers than the step: its operands are not those of the step."
    if found.differing is not None:
        return f"The replay gave another `{found.differing}` than the step: its operands may differ."
    if alarm.loss is not None and not same_number(outcome.loss, alarm.loss):
        return "The replay did not give the recorded loss bit for bit."
    return "The replay ended as the step did; there was no finite value to compare."


def _unlocated(watch: Watch, alarm: Alarm, outcome: Outcome | None, damaged: str | None) -> Event:
    if outcome is None:
        note = "The source of the step is not at hand, so it could not be replayed."
    elif outcome.error is not None:
        note = f"The step could not be replayed ({outcome.error})."
    elif ranks.own_rank() is not None:
        note = "This rank's own step is finite: the value came from another rank through the reduction."
    else:
        note = "The replayed step stayed finite: it depends on something that differs from run to run."
    gradients = ((name, one.grad) for name, one in watch.parameters().items() if one.grad is not None)
    return replace(
        _seen(alarm),
        origin=Origin.PARAMETERS if damaged else Origin.UNKNOWN,
        parameter=damaged or next((name for name, gradient in gradients if badness_of(gradient)), None),
        replayed_loss=outcome.loss if outcome else None,
        exact=bool(outcome and outcome.exact),
        note=note,
    )


def _optimizer_event(watch: Watch, alarm: Alarm, name: str, parameter: torch.Tensor) -> Event:
    site = watch.state.site_of_step()
    damage = statistics_of(parameter, name)
    mechanism, caution = _optimizer_note(watch, name, parameter)
    return replace(
        _seen(alarm),
        kind=Kind.NAN if damage.nan else Kind.INF,
        phase=Phase.OPTIMIZER,
        origin=Origin.OPTIMIZER,
        mechanism=mechanism,
        step=max(alarm.step - 1, 0),
        location=resolve(site) if site is not None else None,
        operation="step",
        operands=(damage,),
        parameter=name,
        note=caution,
    )


def _optimizer_note(watch: Watch, name: str, parameter: torch.Tensor) -> tuple[Mechanism, str]:
    """How the update made a parameter non-finite, as far as the optimizer's settings tell."""
    for optimizer in watch.optimizers:
        kind = type(optimizer).__name__
        for group in optimizer.param_groups:
            if all(one is not parameter for one in group["params"]):
                continue
            rate, eps = float(group.get("lr", 0.0)), group.get("eps")
            if not math.isfinite(rate):
                return Mechanism.DOMAIN, f"The learning rate of {kind} is {rate}."
            if eps is not None and not torch.tensor(eps, dtype=parameter.dtype):
                dtype = dtype_name(parameter.dtype)
                return Mechanism.ABSORBED, f"The eps of {kind}, {eps}, is 0 in {dtype}, the type of {name}."
        return (
            Mechanism.DOMAIN,
            f"Loss and gradients were finite; the update by {kind} made {name} non-finite.",
        )
    return Mechanism.DOMAIN, f"Loss and gradients were finite; the update made {name} non-finite."


def _optimizer(watch: Watch, alarm: Alarm) -> torch.optim.Optimizer | None:
    return alarm.optimizer or next(iter(watch.optimizers), None)


def _is_exploding(watch: Watch, alarm: Alarm) -> bool:
    """Whether the steps grew, and were long enough to have moved the parameters: else it was the data that grew."""
    parameters = [one.detach() for one in watch.parameters().values()]
    least = (
        sum(one.numel() for one in parameters) ** 0.5
    )  # a step may be of a size that is not its gradient's
    way = max(_rates(watch, alarm), default=math.inf) * watch.history.way(least)
    norm = total_norm(fused_norms(parameters))
    return watch.history.is_exploding() and (way > _MOVED * norm or not math.isfinite(norm))


def _rates(watch: Watch, alarm: Alarm) -> tuple[float, ...]:
    optimizer = _optimizer(watch, alarm)
    groups = optimizer.param_groups if optimizer is not None else ()
    return tuple(float(group["lr"]) for group in groups if "lr" in group)
