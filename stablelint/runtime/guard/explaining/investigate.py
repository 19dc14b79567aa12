"""From an alarm to an event: replay the step, find the root, name it.

The step is repeated from its source (see `region`), starting with the innermost frame that holds a step and
going outwards until a replay gives the recorded loss bit for bit. What cannot be repeated is said so, with
what the parameters, the gradients and the history tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import torch

from stablelint.runtime.guard.explaining import origin as naming
from stablelint.runtime.guard.explaining.batch import distance, terms
from stablelint.runtime.guard.explaining.events import located, of_update, seen, unlocated, with_what_changed
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
from stablelint.runtime.guard.reporting.event import Element, Event, Origin, Phase
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching.checks import is_written_by_program
from stablelint.runtime.guard.watching.step_state import Alarm, buffers_in, modules_in
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.program.frames import resolve, step_frames
from stablelint.runtime.program.location import unsaved
from stablelint.runtime.tensors.measure import OperandStats, badness_of, largest, statistics_of
from stablelint.runtime.tracing.bound import Attempt

_PARAMETERS_SHOWN = 64


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
            of_update(watch, alarm, damaged, parameters[damaged]), None, target
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
        event = unlocated(watch, alarm, best, damaged)
    else:
        event = located(watch, alarm, best, target)
    return Finding(with_what_changed(event, list(changed)), chosen, target)


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
            event = replace(located(watch, target.alarm, outcome, target), exact=False, compared=())
            return Finding(event, attempt, target)
    return None


def unexplained(alarm: Alarm, error: Exception) -> Finding:
    """The finding for an alarm whose investigation failed: what the alarm itself tells."""
    note = f"The step could not be examined ({type(error).__name__}: {error})."
    return Finding(replace(seen(alarm), note=note), None, Target(alarm, {}, ()))


def _is_too_narrow(outcome: Outcome, target: Target) -> bool:
    """Whether more of the program, run again, could come closer to the step: it started from other values."""
    found = outcome.likeness
    if not found.same_random and outcome.reached:
        return False
    recorded = target.alarm.loss
    return found.differing is not None or (recorded is not None and not same_number(outcome.loss, recorded))


def _rank(outcome: Outcome) -> tuple[bool, bool, bool]:
    return (outcome.root is not None, outcome.exact, outcome.reached)
