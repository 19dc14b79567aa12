"""Training continued for some steps with the fix, in a forked copy of the process.

The copy goes on from the step that went wrong: the loop around it is compiled with the fix and runs over what
its loader or its source still holds. Nothing of it reaches this process but a few numbers. What the loop writes
to disk it writes, as it would in training; what it prints is dropped.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any, NoReturn

import torch

from stablelint.runtime.guard.explaining.investigate import Finding
from stablelint.runtime.guard.explaining.proof import Fixed
from stablelint.runtime.guard.replay.attempts import endless, scalers_reset
from stablelint.runtime.guard.replay.replay import ReplayDone
from stablelint.runtime.guard.reporting.cause import Advice, FurtherSteps
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching.step_state import Follower
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.process.copies import said_by_copy
from stablelint.runtime.tensors.measure import badness_of, sum_of, tensors_in
from stablelint.runtime.tensors.names import parameters_of
from stablelint.runtime.tracing import hooks
from stablelint.runtime.tracing.eager import eager

_SECONDS_AT_LEAST = 30.0
_SLOWER = 20.0  # a step may take this many times what its replay took


def further_steps(
    watch: Watch, finding: Finding, advice: Advice, count: int, replay_seconds: float
) -> FurtherSteps:
    """Take `count` steps more with the fix; `replay_seconds` is what the replay of one step took."""
    obstacle = _obstacle()
    if obstacle is not None:
        return FurtherSteps(count, 0, None, None, f"No further steps were run: {obstacle}.")
    limit = _SECONDS_AT_LEAST + _SLOWER * replay_seconds * count
    said = said_by_copy(lambda: _run_in_copy(watch, finding, advice, count), limit)
    if not said:
        return FurtherSteps(count, 0, None, None, "The further steps did not end in time, or the copy died.")
    return _result(count, json.loads(said))


def _obstacle() -> str | None:
    if not hasattr(os, "fork"):
        return "this system cannot fork a process"
    if torch.cuda.is_initialized():
        return "a process that uses CUDA cannot be forked"
    if ranks.are_several():
        return "a copy of one rank cannot train without the others"
    return None


def _result(count: int, report: dict[str, Any]) -> FurtherSteps:
    taken, bad, error, loss = report["taken"], report["bad"], report["error"], report["loss"]
    number = float(loss) if loss is not None else None
    same = " on the same batch" if report["same_batch"] else ""
    if bad is not None:
        note = f"With the fix {taken} more steps were finite{same}, then the {bad} was not."
        return FurtherSteps(count, taken, False, number, note)
    if taken >= count:
        return FurtherSteps(
            count, taken, True, number, f"{taken} more steps{same} with the fix stayed finite."
        )
    why = f"the copy stopped with {error}" if error is not None else "the loop ended"
    note = f"{taken} more steps{same} with the fix stayed finite; then {why}."
    return FurtherSteps(count, taken, True if taken else None, number, note)


def _run_in_copy(watch: Watch, finding: Finding, advice: Advice, count: int) -> bytes:
    """In the forked copy: what came of the steps, whatever happens in them."""
    counter = _Counter(finding.target.alarm.optimizer, count)
    report: dict[str, Any] = {"error": None, "same_batch": False}
    try:
        torch.set_num_threads(1)  # the threads of the original are not in the copy
        _continue(watch, finding, advice, counter, report)
    except ReplayDone:
        pass
    except BaseException as error:
        report["error"] = f"{type(error).__name__}: {error}"
    report.update(taken=max(counter.steps - 1, 0), bad=counter.bad, loss=counter.last)
    return json.dumps(report).encode()


def _continue(
    watch: Watch, finding: Finding, advice: Advice, counter: _Counter, report: dict[str, Any]
) -> None:
    """Run the loop with the fix until the counter ends it, or it ends itself."""
    assert finding.attempt is not None
    assert advice.rewrite is not None
    fixed = Fixed.of(advice.rewrite)
    run, repeats = endless(watch, finding.attempt, fixed.filename, fixed.tree)
    report["same_batch"] = repeats
    watch.state.buffers.restore()
    if finding.attempt.random is not None:
        finding.attempt.random.restore()
    for parameter in finding.target.parameters.values():
        parameter.grad = None
    with hooks.alone(counter), scalers_reset(watch), fixed.applied(finding.attempt), eager():
        taken = -1
        while counter.steps > taken:
            taken = counter.steps
            run()
            if not repeats:
                return
            counter.begin_again()


class _Counter(Follower):
    """Counts the steps whose loss and gradients are finite, and ends the run at the first that is not."""

    def __init__(self, optimizer: torch.optim.Optimizer | None, count: int) -> None:
        self._optimizer = optimizer
        self._count = count
        self._scaled = False
        self.steps = 0  # the one that went wrong included
        self.bad: str | None = None
        self.last: float | None = None

    def begin_again(self) -> None:
        """The same code runs anew, and may make its optimizer anew."""
        self._optimizer = None

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Check the loss, unless it was before it was scaled."""
        if not self._scaled:
            self._check(losses)

    def on_scale(self, scaler: object, outputs: object) -> None:
        """Check the loss; its multiple may overflow."""
        self._scaled = True
        self._check(tuple(tensors_in(outputs)))

    def on_step(self, optimizer: torch.optim.Optimizer | None) -> None:
        """Check the gradients and count the step."""
        if optimizer is not None and self._optimizer is None:
            self._optimizer = optimizer
        if optimizer is not self._optimizer:
            return
        if optimizer is not None and getattr(optimizer, "found_inf", None) is None:
            gradients = [one.grad for one in parameters_of(optimizer) if one.grad is not None]
            if any(badness_of(gradient) for gradient in gradients):
                self._stop("gradient")
        self.steps += 1
        if self.steps > self._count:
            raise ReplayDone

    def _check(self, losses: tuple[torch.Tensor, ...]) -> None:
        value = sum_of(losses)
        if not math.isfinite(value):
            self._stop("loss")
        self.last = value

    def _stop(self, what: str) -> NoReturn:
        self.bad = what
        raise ReplayDone
