"""Run the command again with fixes applied in memory, and find the fix that makes it worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stablelint.runtime.verify.outcome import RerunReport, RunShown, counted
from stablelint.runtime.verify.probe.plan import Plan
from stablelint.runtime.verify.probe.series import Series
from stablelint.runtime.verify.request import Compose
from stablelint.runtime.verify.runs.collect import read_records
from stablelint.runtime.verify.runs.command import Ending, run_command

_SUSPECT_RUNS = 8


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command and what was watched."""

    ending: Ending
    losses: Series | None

    def shown(self) -> RunShown:
        """For the report."""
        stopped = "timed out" if self.ending.timed_out else "interrupted" if self.ending.interrupted else None
        losses = self.losses.to_json() if self.losses else None
        return RunShown(self.ending.status, round(self.ending.seconds, 3), stopped, losses)


@dataclass(slots=True)
class Rerunner:
    """Runs `command` with fixes; each run has a folder of its own below `folder`, and the `settled` fixes too."""

    command: Sequence[str]
    compose: Compose
    folder: Path
    directory: Path | None = None
    timeout: float | None = None
    output: int | None = None
    runs: int = 0
    settled: frozenset[str] = frozenset()

    def run(self, fixes: frozenset[str]) -> Run:
        """Run the command with these fixes and those that are settled, and no others."""
        self.runs += 1
        here = self.folder / f"rerun-{self.runs}"
        here.mkdir(parents=True)
        sources = {}
        for index, (path, text) in enumerate(sorted(self.compose(fixes | self.settled).items())):
            held = here / f"source-{index}.py"
            held.write_bytes(text)
            sources[path] = str(held)
        plan = Plan(str(here), sources=sources, capture=False)
        ending = run_command(
            self.command, plan, timeout=self.timeout, output=self.output, directory=self.directory
        )
        return Run(ending, read_records(here).losses)

    def guilty(self, before: Run, fixes: frozenset[str]) -> tuple[str, ...]:
        """The fixes that alone make the command worse: halves are tried, and halves of those."""
        suspects = sorted(fixes)
        found: list[str] = []
        waiting = [suspects]
        while waiting and self.runs <= _SUSPECT_RUNS:
            group = waiting.pop(0)
            if len(group) == 1:
                if len(suspects) == 1 or worse(before, self.run(frozenset(group))):
                    found += group
                continue
            middle = len(group) // 2
            halves = [group[:middle], group[middle:]]
            bad = [half for half in halves if worse(before, self.run(frozenset(half)))]
            waiting += [half for half in bad if len(half) > 1]
            found += [half[0] for half in bad if len(half) == 1]
        return tuple(sorted(found))


def worse(before: Run, after: Run) -> bool:
    """Whether the command fails where it did not, or goes non-finite where it did not."""
    if after.ending.failed and not before.ending.failed:
        return True
    clean_before = before.losses is None or not before.losses.bad
    return clean_before and after.losses is not None and after.losses.bad


def conclude(before: Run, after: Run | None, fixes: int, guilty: tuple[str, ...] = ()) -> RerunReport:
    """What the two runs say."""
    if after is None:
        return RerunReport(before.shown(), None, fixes, _without_fixes(before), None)
    if after.ending.interrupted:
        return RerunReport(before.shown(), after.shown(), fixes, "the rerun was interrupted", None)
    passed: bool | None = not worse(before, after) and not (after.losses is not None and after.losses.bad)
    if passed and after.ending.failed:
        passed = None  # it fails as it did: nothing is known of what would have come
    return RerunReport(before.shown(), after.shown(), fixes, _claim(before, after), passed, guilty)


def _without_fixes(before: Run) -> str:
    """What the one run showed, where there is no fix to run the command with."""
    sentence = "no fix to run the command with"
    if before.losses is None or not before.losses.backwards:
        return sentence
    state = "some not finite" if before.losses.bad else "all finite"
    return f"{sentence}; {counted(before.losses.backwards, 'step')} seen, {state}"


def _claim(before: Run, after: Run) -> str:
    if after.ending.timed_out:
        return "the command with the fixes was stopped by the time-out"
    if after.ending.status and not before.ending.status:
        return f"the command ended with status {after.ending.status}, and without the fixes with 0"
    steps = counted(after.losses.backwards if after.losses else 0, "step")
    if after.losses is None:
        if after.ending.failed:
            return f"the command ended with status {after.ending.status}, as it did without the fixes"
        if before.ending.failed:
            return (
                f"the command ends well with the fixes, and ended with status {before.ending.status} without"
            )
        return "the command made no training step that could be watched"
    if after.losses.bad:
        return f"still not finite, first at step {after.losses.first_bad}"
    if before.losses is not None and before.losses.bad:
        return f"{steps} without NaN, where step {before.losses.first_bad} was the first that was not finite"
    return f"{steps} without NaN, as before"
