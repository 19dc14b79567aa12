"""What is said of an alarm: the event behind a root that was found, behind none, or behind an update."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from stablelint.runtime.guard.explaining import origin as naming
from stablelint.runtime.guard.replay.blame import Root
from stablelint.runtime.guard.replay.replay import Outcome, Target, same_number
from stablelint.runtime.guard.reporting.event import Event, Kind, Mechanism, Origin, Phase
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching.step_state import Alarm
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.program.frames import resolve, site_of
from stablelint.runtime.tensors.measure import badness_of, dtype_name, fused_norms, statistics_of, total_norm

_MOVED = 0.1  # of their norm, from which on the steps have made parameters what they are


def seen(alarm: Alarm) -> Event:
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


def located(watch: Watch, alarm: Alarm, outcome: Outcome, target: Target) -> Event:
    """The event of a replay that found a root."""
    root = outcome.root
    assert root is not None
    fault = root.fault
    known = {**outcome.tensors, **target.parameters}
    mechanism = naming.mechanism_of(root, _is_exploding(watch, alarm))
    locations = tuple(resolve(site) for site in fault.place.sites)
    location = locations[0] if locations else None
    is_growth = mechanism is Mechanism.GROWTH
    return replace(
        seen(alarm),
        kind=naming.kind_of(root, mechanism),
        phase=Phase.BACKWARD if fault.in_backward else Phase.FORWARD,
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
        growth=watch.history.growth(_rates(watch, alarm)) if is_growth else None,
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


def unlocated(watch: Watch, alarm: Alarm, outcome: Outcome | None, damaged: str | None) -> Event:
    """The event of an alarm whose root no replay found; `damaged` is a parameter that was not finite before."""
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
        seen(alarm),
        origin=Origin.PARAMETERS if damaged else Origin.UNKNOWN,
        parameter=damaged or next((name for name, gradient in gradients if badness_of(gradient)), None),
        replayed_loss=outcome.loss if outcome else None,
        exact=bool(outcome and outcome.exact),
        note=note,
    )


def of_update(watch: Watch, alarm: Alarm, name: str, parameter: torch.Tensor) -> Event:
    """The event of a step of an optimizer that made a parameter non-finite."""
    site = watch.state.site_of_step()
    damage = statistics_of(parameter, name)
    mechanism, caution = _optimizer_note(watch, name, parameter)
    return replace(
        seen(alarm),
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
    groups = [(type(one).__name__, group) for one in watch.optimizers for group in one.param_groups]
    holding = [(kind, group) for kind, group in groups if any(one is parameter for one in group["params"])]
    for kind, group in holding:
        rate, eps = float(group.get("lr", 0.0)), group.get("eps")
        if not math.isfinite(rate):
            return Mechanism.DOMAIN, f"The learning rate of {kind} is {rate}."
        if eps is not None and not torch.tensor(eps, dtype=parameter.dtype):
            dtype = dtype_name(parameter.dtype)
            return Mechanism.ABSORBED, f"The eps of {kind}, {eps}, is 0 in {dtype}, the type of {name}."
    by = next((f" by {kind}" for kind, _ in holding or groups), "")
    return Mechanism.DOMAIN, f"Loss and gradients were finite; the update{by} made {name} non-finite."


def _optimizer(watch: Watch, alarm: Alarm) -> torch.optim.Optimizer | None:
    return alarm.optimizer or next(iter(watch.optimizers), None)


def _is_exploding(watch: Watch, alarm: Alarm) -> bool:
    """Whether the steps grew, and were long enough to have moved the parameters: else it was the data that grew."""
    parameters = [one.detach() for one in watch.parameters().values()]
    # a step may be of a size that is not its gradient's
    least = sum(one.numel() for one in parameters) ** 0.5
    way = max(_rates(watch, alarm), default=math.inf) * watch.history.way(least)
    norm = total_norm(fused_norms(parameters))
    return watch.history.is_exploding() and (way > _MOVED * norm or not math.isfinite(norm))


def _rates(watch: Watch, alarm: Alarm) -> tuple[float, ...]:
    optimizer = _optimizer(watch, alarm)
    groups = optimizer.param_groups if optimizer is not None else ()
    return tuple(float(group["lr"]) for group in groups if "lr" in group)


def with_what_changed(event: Event, names: list[str]) -> Event:
    """The event, and a word on what other threads use as well and the replay may have written to."""
    if not names:
        return event
    many = ", ".join(f"`{name}`" for name in names)
    caution = f"The replay may have written to {many}, which other threads use too: it was left as it is."
    return replace(event, note=f"{event.note} {caution}" if event.note else caution)
