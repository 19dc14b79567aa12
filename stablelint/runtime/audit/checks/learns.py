"""Can the model learn, and are its own gradients right? Asked of copies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import nn

from stablelint.runtime.audit.gradients import wrong_gradient
from stablelint.runtime.audit.modules import NORMALISING
from stablelint.runtime.audit.outcome import Outcome, Status, check, failed, passed, warned
from stablelint.runtime.audit.record import Backward, Run, Step, place
from stablelint.runtime.audit.replayed import copy_of, undisturbed
from stablelint.runtime.plain import plural
from stablelint.runtime.tensors.names import parameters_of

ORDER = 6
_NEEDS = (
    "a finite loss, as models and functions of torch give it, for each optimizer, models that can be copied"
)
_STEPS = 60
_RATE = 1e-2
_FALLEN = 0.8  # of the first loss: the rest will follow
_SPAN, _RANGE = 100.0, 30  # the range test: from 1/100 of the rate to 100 times, in so many steps
_BRIEF = 0.1  # seconds of a forward pass
_SECONDS = 2.0  # for a trial, where the watched steps took no longer


@dataclass(frozen=True, slots=True)
class _Trial:
    """Copies of the models with an optimizer of theirs as they were at first, and its first loss as the copies have it."""

    parameters: dict[str, torch.Tensor]
    optimizer: torch.optim.Optimizer
    loss: Callable[[], torch.Tensor]
    seconds: float
    rates: tuple[float, ...]
    backward: Backward

    def steps(self, most: int) -> Iterator[int]:
        """Numbers of steps, while there is time: of this process, whatever else the machine does."""
        end = time.process_time() + self.seconds
        yield from (step for step in range(most) if time.process_time() < end)


def _tried(run: Run, attempt: Callable[[Run, _Trial], Outcome]) -> Outcome | None:
    """What is found where each optimizer learns its own loss alone: what is wrong first, and all where nothing is."""
    taught, found = list(run.taught()), list[Outcome]()
    for optimizer, step, backward in taught:
        with _trial(run, optimizer, step, backward) as trial:
            at = place(backward.site) if len(taught) > 1 else None
            if trial is not None and trial.parameters:
                one = attempt(run, trial)
                of = f"the loss of line {at.row}: " if at is not None else ""
                found.append(replace(one, evidence=of + one.evidence))
    wrong = [one for kind in (Status.FAILED, Status.WARNED) for one in found if one.status is kind]
    if wrong or len(found) < len(run.optimizers):
        return wrong[0] if wrong else _untried(run)
    unseen = next((one.status for one in found if one.status is Status.UNSEEN), Status.PASSED)
    return Outcome(unseen, "; ".join(one.evidence for one in found)) if found else None


@contextmanager
def _trial(run: Run, own: torch.optim.Optimizer, step: Step, backward: Backward) -> Iterator[_Trial | None]:
    """A trial without dropout, and with the statistics of the batch; what was in evaluation mode stays there.

    None where it is not known how the loss came about, or it is not finite.
    """
    tape, number = backward.taped or (None, 0)
    copies = dict[int, Any]()
    forked = copy_of((tape.models, own), copies) if tape is not None and run.initial else None
    if tape is None or forked is None:
        yield None
        return
    models, optimizer = forked
    for one in chain.from_iterable(model.modules() for model in models):
        one.training = one.training and isinstance(one, (*NORMALISING, nn.RNNBase))
    optimizer.state.clear()
    for key, value in run.initial.items():
        if key in copies:
            copies[key].data.copy_(value)
    named = (
        (run.parameters[key].name, copies[key])
        for key in map(id, parameters_of(own))
        if key in run.parameters
    )
    learned = {name: one for name, one in named if one.requires_grad}
    again, threads = partial(tape, number, copies), torch.get_num_threads()
    seconds = max(_SECONDS, run.seconds) / len(run.optimizers)
    with undisturbed():
        try:
            torch.set_num_threads(1)  # of brief work more wait for each other, where cores are taken
            start = time.perf_counter()
            finite = math.isfinite(float(again().detach()))
            torch.set_num_threads(threads if time.perf_counter() - start > _BRIEF else 1)
            yield _Trial(learned, optimizer, again, seconds, step.rates, backward) if finite else None
        finally:
            torch.set_num_threads(threads)


def _untried(run: Run) -> Outcome | None:
    """Why there is no trial, where more is to be said than what one needs."""
    cut = run.backwards and run.optimizers and not run.backwards[0].reaches(run.held())
    text = "the loss that goes backward reaches no parameter of the optimizer"
    return Outcome(Status.UNSEEN, text) if cut else None


@check(needs=_NEEDS)
def overfits_one_batch(run: Run) -> Outcome | None:
    """One batch can be learned by heart."""
    return _tried(run, _overfit)


def _overfit(run: Run, trial: _Trial) -> Outcome:
    start = [one.detach().clone() for one in trial.parameters.values()]
    optimizer = torch.optim.Adam(trial.parameters.values(), lr=_RATE)
    chance, values = _best_constant(run, trial.backward), []
    for _ in trial.steps(_STEPS + 1):
        value = trial.loss()
        values.append(float(value.detach()))
        enough = values[0] - _FALLEN * abs(values[0])
        if values[-1] < min(enough, 0.95 * chance if chance else math.inf):
            break
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    first, last = values[0], min(values) if math.isfinite(values[-1]) else values[-1]
    text = f"{first:.3g} → {last:.3g} in {plural(len(values) - 1, 'step')} of Adam on the first batch"
    at_chance = chance is not None and first > 0.1 * chance and last > 0.95 * chance
    if last < first - 0.05 * abs(first) and not at_chance:
        return passed(text) if last >= 0 else Outcome(Status.UNSEEN, f"{text}, and without an end")
    if len(values) <= _STEPS:
        return Outcome(Status.UNSEEN, f"{text}, for which it took {trial.seconds:.2g} s")
    at = trial.backward.site
    if at_chance:
        text += f"; the best output that is the same for all samples gives {chance:.3g}"
        return warned(text, "see whether the inputs of a batch differ, and reach the output", at=at)
    pairs = zip(trial.parameters.items(), start, strict=True)
    still = [name for (name, one), old in pairs if torch.equal(one, old)]
    text += f"; never moved: {', '.join(still[:4])}" if still else "; all parameters moved"
    remedy = "see whether output and loss fit, and what the batch's labels can be told from"
    return (failed if len(still) == len(start) else warned)(text, remedy, *still, at=at)


def _best_constant(run: Run, backward: Backward) -> float | None:
    """The least first loss that an output gives which is the same for all samples, where a loss function alone made it."""
    values = ((one, one.value or math.nan) for one in run.losses if one.grad)
    alone = (one for one, value in values if math.isclose(value, backward.value, rel_tol=1e-5))
    return next((one.best_constant for one in alone), None)


@check(needs=_NEEDS)
def usable_rate(run: Run) -> Outcome | None:
    """The learning rate lies below the one at which the loss runs away."""
    searches = any(isinstance(one, torch.optim.LBFGS) for one in run.optimizers)  # for its rate
    return None if searches else _tried(run, _range_test)


def _range_test(run: Run, trial: _Trial) -> Outcome:
    rate, lowest, factor, away = max(trial.rates, default=0.0), math.inf, 0.0, False
    if not rate:
        return Outcome(Status.UNSEEN, "the rate is 0")
    for step in trial.steps(_RANGE + 1):
        factor = _SPAN ** (2 * step / _RANGE - 1)
        value = trial.loss()
        now = float(value.detach())
        lowest = min(lowest, now)
        if away := not math.isfinite(now) or now > 4 * abs(lowest) + 1:
            break
        trial.optimizer.zero_grad()
        value.backward()
        for group, own in zip(trial.optimizer.param_groups, trial.rates, strict=False):
            group["lr"] = own * factor
        trial.optimizer.step()
    if away:
        text = f"a range test on one batch runs away at {factor * rate:.2g}; the loop starts at {rate:.3g}"
        return warned(text, "lower the rate, or warm it up") if factor < 1 else passed(text)
    text = f"on one batch the loss does not run away up to {factor:.3g} times the rate {rate:.3g}"
    return passed(text) if factor >= 1 else Outcome(Status.UNSEEN, text)


@check(needs="a torch.autograd.Function that is applied")
def custom_gradients(run: Run) -> Outcome | None:
    """Custom functions have the gradients of what they compute."""
    checked = []
    for function, arguments in run.functions.items():
        found = wrong_gradient(function.apply, arguments)
        if found:
            code, name = function.backward.__code__, function.__name__
            lines = {line for *_, line in code.co_lines() if line and line > code.co_firstlineno}
            at = code.co_filename, min(lines, default=code.co_firstlineno)  # behind decorators
            return failed(f"{name}.backward gives {found}", f"derive {name}.backward again", name, at=at)
        checked += [function.__name__] if found is not None else []
    return passed(f"differences in float64 of {', '.join(checked)}") if checked else None
