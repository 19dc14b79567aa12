"""`stablelint.guard`: the watch as a context manager and as a plain object."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal, Self, TypeVar

import torch

from stablelint.runtime.guard.explaining.further import further_steps
from stablelint.runtime.guard.explaining.investigate import Finding, investigate, replayable, unexplained
from stablelint.runtime.guard.explaining.proof import prove
from stablelint.runtime.guard.replay.confined import BusyError, one_at_a_time
from stablelint.runtime.guard.reporting.cause import (
    NO_REWRITE,
    Advice,
    Adviser,
    Cause,
    Rewrite,
    Verification,
    cause_of_operands,
    explain,
)
from stablelint.runtime.guard.reporting.event import (
    Event,
    Mechanism,
    NonFiniteError,
    Origin,
    Phase,
    Records,
    Warned,
    Writer,
)
from stablelint.runtime.guard.tensors import ranks
from stablelint.runtime.guard.watching import sight
from stablelint.runtime.guard.watching.activations import Activations
from stablelint.runtime.guard.watching.step_state import Alarm
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.plain import Json, plain
from stablelint.runtime.program.location import keep_command_line
from stablelint.runtime.tensors.measure import all_finite
from stablelint.runtime.tracing import hooks

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Report:
    """An event, why it happened, and the fix with its proof where there is one."""

    event: Event
    cause: Cause
    advice: Advice | None = None
    verification: Verification | None = None

    @property
    def fix(self) -> Rewrite | None:
        """The rewrite that the replay did not refute: the expression's own, or else all fixes of the file."""
        proof = self.verification
        if proof is None or proof.finite:
            return self.advice.rewrite if self.advice else None
        return proof.with_all_fixes.rewrite if proof.with_all_fixes is not None and proof.helps else None

    @property
    def withheld(self) -> str | None:
        """Why there is no fix; None where there is one."""
        if self.fix is not None:
            return None
        if self.advice is None:
            return NO_REWRITE.get(self.event.origin, "no rule speaks of this expression")
        if self.advice.rewrite is None:
            return self.advice.withheld
        note = self.verification.note if self.verification else ""
        return f"one was tried ({self.advice.rewrite.fix.message}) and refuted: {note}"

    def as_json(self) -> dict[str, Json]:
        """The report as ``run --output-format json`` prints it."""
        return {
            "event": self.event.as_json(),
            "cause": plain(self.cause),
            "fix": plain(self.fix),
            "fix_withheld": self.withheld,
            "verification": plain(self.verification),
        }


_MEANT = frozenset({Mechanism.LITERAL})  # what a program writes itself, it may well show
_SHOWN_EXAMINED, _SHOWN_REPORTED = 8, 3

Reaction = Literal["raise", "warn", "skip"] | Callable[[Event], object]


class Guard:
    """Watches training steps and names the expression behind the first non-finite loss or gradient.

    `on_event` is "raise" (a `NonFiniteError`, before the parameters are written), "warn", "skip" (the step's
    gradients are dropped) or a callable that takes the event. `verify_steps` more steps are taken with the fix
    in a forked copy of the process. Every report is appended to the file `log` as one line of JSON. A TensorBoard
    `writer` is given loss and gradient norm every ten steps, and every event as text. With `shown` values that are
    printed, read or handed out by modules are looked at until an optimizer steps; what is found `finish` reports.

    A gradient norm beyond `norm_limit` is warned of, with the layer that has most of it; "learned" takes ten times the
    median of the remembered steps, after a steady rise. Parameters whose names match a pattern of `skip` are not looked
    at. With `stats` the reports tell what each layer handed out in the forward pass that went wrong.
    """

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        on_event: Reaction = "raise",
        history: int = 64,
        max_events: int = 16,
        verify_steps: int = 0,
        log: str | os.PathLike[str] | None = None,
        writer: Writer | None = None,
        shown: bool = False,
        norm_limit: float | Literal["learned"] | None = None,
        skip: Sequence[str] = (),
        stats: bool = False,
        adviser: Adviser | None = None,
        on_report: Callable[[Report], object] | None = None,
        on_warned: Callable[[Warned], object] | None = None,
    ) -> None:
        self.reports: list[Report] = []
        self._adviser = adviser
        self._on_report = on_report
        self._on_warned = on_warned
        self._max_events = max_events
        self._on_event = on_event
        self._lock = threading.Lock()
        self._attached = False
        self._sight = ExitStack()
        self._shown = shown
        self._pending: dict[object, Report | None] = {}
        self._verify_steps = verify_steps
        self._records = Records(log, writer)
        on_step = self._records.on_step if writer is not None else None
        self._stats = stats
        self._norm_limit = norm_limit
        given = None if norm_limit == "learned" else norm_limit
        self.watch = Watch(
            self._alarm,
            model,
            optimizer,
            history,
            on_step=on_step,
            on_warned=self._warned,
            norm_limit=given,
            skip=skip,
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to watch; calling it again changes nothing."""
        if not self._attached:
            self._attached = True
            keep_command_line()
            hooks.attach(self.watch)
            if self._stats:
                self.watch.activations = Activations()
                self._sight.callback(self.watch.activations.close)
            if self._shown:
                self._sight.enter_context(sight.watching(self.watch.on_shown))

    def stop(self) -> None:
        """Stop watching."""
        if self._attached:
            self._attached = False
            hooks.detach(self.watch)
            self._sight.close()

    @property
    def warned(self) -> list[Warned]:
        """Steps whose gradient norms were beyond their limit, given or learned."""
        return list(self.watch.warned)

    def _warned(self, warned: Warned) -> None:
        if self._norm_limit is not None and self._on_warned is not None:
            self._on_warned(warned)
        elif self._norm_limit is not None:
            warnings.warn(warned.describe(), RuntimeWarning, stacklevel=6)

    def finish(self) -> None:
        """Report what a program without steps has shown; nothing where a step was taken or an event was reported."""
        if not self.watch.stepped and not self.reports:
            for report in [one for one in self._pending.values() if one is not None][:_SHOWN_REPORTED]:
                self.reports.append(report)
                self._publish(report)

    def step(self, loss: torch.Tensor | None = None) -> None:
        """Check a step that no optimizer takes: call it after `backward`, before parameters are written."""
        self.start()
        self.watch.step_by_hand(loss)

    def run(self, step: Callable[..., T], *args: object, **kwargs: object) -> T:
        """Call `step`; should it go wrong, the very call is what is replayed."""
        self.start()
        with self.watch.repeating(lambda: step(*args, **kwargs)):
            return step(*args, **kwargs)

    @property
    def events(self) -> list[Event]:
        """What was found so far, oldest first."""
        return [report.event for report in self.reports]

    def _on_shown(self, watch: Watch, alarm: Alarm) -> None:
        """Look at a place that shows a value but once, and keep what is found: the program may be about to train."""
        place = (alarm.frame.f_code, alarm.frame.f_lasti)
        if place in self._pending or len(self._pending) >= _SHOWN_EXAMINED:
            return
        self._pending[place] = None
        report = self._report(watch, alarm)
        event = report.event
        seen = [one.event.location for one in self._pending.values() if one is not None]
        if event.origin is Origin.BATCH and event.module is None:
            return  # data that a program looks at as they are
        if event.operation is not None and event.mechanism not in _MEANT and event.location not in seen:
            self._pending[place] = report

    def _alarm(self, watch: Watch, alarm: Alarm) -> None:
        if alarm.shown is not None:
            self._on_shown(watch, alarm)
            return
        if _is_consequence(watch, alarm):
            return
        if len(self.reports) >= self._max_events:
            return
        report = self._report(watch, alarm)
        if watch.state.let_pass is not None and self._is_written_with_it(report.event):
            return
        with self._lock:
            if len(self.reports) >= self._max_events:
                return
            self.reports.append(report)
        self._publish(report)
        self._react(report)
        if not watch.state.dropped:
            watch.state.let_pass = alarm.step

    def _is_written_with_it(self, event: Event) -> bool:
        """Whether an event comes of parameters that were written by hand with what was let pass."""
        told = {one.parameter for one in self.events if one.phase is Phase.OPTIMIZER}
        bad = {one.name for one in event.operands if one.nan or one.inf}
        return event.origin is Origin.PARAMETERS or bool(told & bad)

    def _publish(self, report: Report) -> None:
        self._records.on_report(report.event, report.as_json())
        if self._on_report is not None:
            self._on_report(report)

    def _report(self, watch: Watch, alarm: Alarm) -> Report:
        try:
            with one_at_a_time():
                return self._examined(watch, alarm)
        except BusyError as error:
            event = unexplained(alarm, error).event
            return Report(event, explain(event))

    def _examined(self, watch: Watch, alarm: Alarm) -> Report:
        try:
            finding = investigate(watch, alarm)
        except Exception as error:  # the alarm is true whatever goes wrong in explaining it
            finding = unexplained(alarm, error)
        event = ranks.agreed(finding.event)
        advice = self._advice(event) if event is finding.event else None
        with replayable(alarm):  # also where this rank has nothing to prove: another may
            if advice is None:
                return Report(event, explain(event))
            known = cause_of_operands(event)  # what met is known; a rule speaks of what might
            cause = advice.cause if known is None or known.code == advice.cause.code else known
            return Report(event, cause, *self._proved(watch, finding, advice))

    def _proved(self, watch: Watch, finding: Finding, advice: Advice) -> tuple[Advice, Verification | None]:
        """The advice with its proof; where its rewrite is refuted, a guard in its place that helps."""
        started = time.perf_counter()
        proof = prove(watch, finding, advice)
        if proof is not None and not proof.helps and (guard := advice.guard()) is not None:
            instead = replace(advice, rewrite=guard)
            other = prove(watch, finding, instead)
            advice, proof = (instead, other) if other is not None and other.helps else (advice, proof)
        if proof is None or not proof.finite or not self._verify_steps:
            return advice, proof
        taken = time.perf_counter() - started
        further = further_steps(watch, finding, advice, self._verify_steps, taken)
        return advice, replace(proof, further_steps=further)

    def _advice(self, event: Event) -> Advice | None:
        if self._adviser is None or event.origin in NO_REWRITE:
            return None
        try:
            return self._adviser(event)
        except Exception as error:  # an event without advice is worth more than none
            warnings.warn(f"no advice on this event: {type(error).__name__}: {error}", stacklevel=2)
            return None

    def _react(self, report: Report) -> None:
        event = report.event
        if callable(self._on_event):
            self._on_event(event)
        elif self._on_event == "raise":
            raise NonFiniteError(event, report.as_json())
        else:
            warnings.warn(event.describe(), RuntimeWarning, stacklevel=4)
            if self._on_event == "skip":
                self.watch.skip_step()


def _is_consequence(watch: Watch, alarm: Alarm) -> bool:
    """Whether the alarm only repeats one that was let pass: the gradients of that loss, or what they have written."""
    state = watch.state
    if state.let_pass is None:
        return False
    if alarm.step == state.let_pass and not alarm.in_loss:
        return True
    parameters = list(watch.parameters().values())
    return not ranks.all_well(all_finite(ranks.local([one.detach() for one in parameters])), parameters)
