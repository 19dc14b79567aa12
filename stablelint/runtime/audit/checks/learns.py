"""Can the model learn, and are its own gradients right? Asked of copies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from stablelint.runtime.audit.gradients import wrong_gradient
from stablelint.runtime.audit.modules import NORMALISING
from stablelint.runtime.audit.outcome import Outcome, Status, check, failed, passed, warned
from stablelint.runtime.audit.record import Run
from stablelint.runtime.audit.replayed import copy_of, undisturbed
from stablelint.runtime.plain import plural

ORDER = 5
_STEPS = 60
_RATE = 1e-2
_FALLEN = 0.8  # of the first loss: the rest will follow
_SPAN, _RANGE = 100.0, 30  # the range test: from 1/100 of the rate to 100 times, in so many steps
_BRIEF = 0.1  # seconds of a forward pass
_SECONDS = 2.0  # for a trial, where the watched steps took no longer


@dataclass(frozen=True, slots=True)
class _Trial:
    """A copy of the model with its optimizer, and the loss of the first batch as the copy has it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[], torch.Tensor]
    seconds: float

    def steps(self, most: int) -> Iterator[int]:
        """Numbers of steps, while there is time."""
        end = time.perf_counter() + self.seconds
        yield from (step for step in range(most) if time.perf_counter() < end)


@contextmanager
def _trial(run: Run) -> Iterator[_Trial | None]:
    """A trial without dropout, and with the statistics of the batch; what was in evaluation mode stays there.

    None where no single optimizer learns the loss, or it is not finite.
    """
    loss = run.loss_on_batch if len(run.optimizers) == 1 and run.steps else None
    forked = copy_of((loss.model, run.optimizers[0])) if loss is not None else None
    if loss is None or forked is None:
        yield None
        return
    for one in forked[0].modules():
        one.training = one.training and isinstance(one, (*NORMALISING, nn.RNNBase))
    forked[1].state.clear()
    again, threads = partial(loss, forked[0]), torch.get_num_threads()
    with undisturbed():
        try:
            torch.set_num_threads(1)  # of brief work more wait for each other, where cores are taken
            start = time.perf_counter()
            finite = math.isfinite(float(again().detach()))
            torch.set_num_threads(threads if time.perf_counter() - start > _BRIEF else 1)
            yield _Trial(*forked, again, max(_SECONDS, run.seconds)) if finite else None
        finally:
            torch.set_num_threads(threads)


@check(needs="a finite loss of the model's output, one optimizer, a model that can be copied")
def overfits_one_batch(run: Run) -> Outcome | None:
    """One batch can be learned by heart."""
    with _trial(run) as trial:
        if trial is None or run.loss_on_batch is None:
            return None
        learned = {name: one for name, one in trial.model.named_parameters() if one.requires_grad}
        start = [one.detach().clone() for one in learned.values()]
        optimizer = torch.optim.Adam(learned.values(), lr=_RATE)
        chance, values = run.loss_on_batch.best_constant, []
        for _ in trial.steps(_STEPS + 1):
            value = trial.loss()
            values.append(float(value.detach()))
            enough = values[0] - _FALLEN * abs(values[0])
            if values[-1] < min(enough, 0.95 * chance if chance else math.inf):
                break
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
    first, last = values[0], min(values)
    text = f"{first:.3g} → {last:.3g} in {plural(len(values) - 1, 'step')} of Adam on the first batch"
    at_chance = chance is not None and first > 0.1 * chance and last > 0.95 * chance
    begun = run.backwards[0].value if run.backwards else first
    if first < begun - _FALLEN * abs(begun) or (last < first - 0.05 * abs(first) and not at_chance):
        return passed(text)  # or it is learned by now
    if len(values) <= _STEPS:
        return Outcome(Status.UNSEEN, f"{text}, for which it took {trial.seconds:.2g} s")
    if at_chance:
        text += f"; the best output that is the same for all samples gives {chance:.3g}"
        return warned(text, "see whether the inputs of a batch differ, and reach the output")
    still = [name for (name, one), old in zip(learned.items(), start, strict=True) if torch.equal(one, old)]
    text += f"; never moved: {', '.join(still[:4])}" if still else "; all parameters moved"
    remedy = "see whether output and loss fit, and what the batch's labels can be told from"
    return (failed if still and len(still) == len(learned) else warned)(text, remedy, *still)


@check(needs="a finite loss of the model's output, one optimizer, a model that can be copied")
def usable_rate(run: Run) -> Outcome | None:
    """The learning rate lies below the one at which the loss runs away."""
    with _trial(run) as trial:
        rate = max(run.steps[0].rates, default=0.0) if trial is not None else 0.0
        if trial is None or not rate or isinstance(trial.optimizer, torch.optim.LBFGS):
            return None  # that one searches for its rate
        lowest, factor, away = math.inf, 0.0, False
        for step in trial.steps(_RANGE + 1):
            factor = _SPAN ** (2 * step / _RANGE - 1)
            value = trial.loss()
            now = float(value.detach())
            lowest = min(lowest, now)
            if away := not math.isfinite(now) or now > 4 * abs(lowest) + 1:
                break
            trial.optimizer.zero_grad()
            value.backward()
            for group, own in zip(trial.optimizer.param_groups, run.steps[0].rates, strict=False):
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
            at = code.co_filename, code.co_firstlineno
            return failed(f"{name}.backward gives {found}", f"derive {name}.backward again", name, at=at)
        checked += [function.__name__] if found is not None else []
    return passed(f"differences in float64 of {', '.join(checked)}") if checked else None
