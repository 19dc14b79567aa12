"""Run the command again with fixes applied in memory, and find the fix that makes it worse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from stablelint.runtime.plain import plural
from stablelint.runtime.verify.outcome import Rerun, Run
from stablelint.runtime.verify.probe.plan import Plan
from stablelint.runtime.verify.runs.command import run_command
from stablelint.runtime.verify.site import Request

_RUNS = 12  # of the whole command, or as much time, in search of the fixes that make it worse
_CHANCES = 3  # that a test has to fail without the fixes
_NAMED = 3  # tests that are told by their names
Guilty = dict[str, Run | None]
"""Fixes that make the command worse, each with a run that shows it; None: this one, or others that have none."""


class Rerunner:
    """Runs the command of a request with fixes; each run has a folder of its own below `folder`.

    `before` is a run without fixes.
    """

    def __init__(self, request: Request, folder: Path, before: Run) -> None:
        self.before = before
        self._request, self._folder = request, folder
        self._runs, self._seconds = 0, 0.0

    def run(self, fixes: Sequence[str]) -> Run:
        """What the command gives with these fixes; of what is worse with them, what is so a second time.

        Tests that fail by chance without fixes are added to those that failed in `before`.
        """
        after = self._once(fixes)
        if not worse(self.before, after):
            return after
        again = self._once(fixes)
        if self.before.failed_tests is None or after.failed_tests is None or again.failed_tests is None:
            return again
        again = replace(again, failed_tests=again.failed_tests & after.failed_tests)
        if speaking := new_failures(self.before, again):
            chance = self._by_chance(speaking)
            self.before = replace(self.before, failed_tests=self.before.failed_tests | chance)
        return again

    def _by_chance(self, tests: Collection[str]) -> frozenset[str]:
        """Those of the tests that fail without fixes: in all of the command, or now and then where they run alone."""
        alone = [self._once((), tests).failed_tests or frozenset() for _ in range(_CHANCES)]
        never_passing = frozenset.intersection(*alone)  # they need the tests before them
        return (self._once(()).failed_tests or frozenset()) | (frozenset().union(*alone) - never_passing)

    def guilty(self, after: Run, fixes: Sequence[str]) -> Guilty:
        """The fixes without which the command is no worse, `after` being a run with all of them.

        Each is the first with which it is worse, behind those that come before it.
        """
        speaking = frozenset(new_failures(self.before, after))
        found: Guilty = {}
        left, good = list(fixes), 0
        try:
            alone = speaking if worse(self.before, self._once(fixes, speaking)) else frozenset()
            while left and worse(self.before, shown := self._run(left, speaking, alone)):
                good, bad = 0, len(left)
                while bad - good > 1:
                    middle = (good + bad) // 2
                    if worse(self.before, run := self._run(left[:middle], speaking, alone)):
                        bad, shown = middle, run
                    else:
                        good = middle
                found[left.pop(good)], good = shown, 0
        except KeyboardInterrupt:
            found |= dict.fromkeys(left[good:])
        return found

    def _run(self, fixes: Sequence[str], speaking: frozenset[str], alone: frozenset[str]) -> Run:
        """A run, with what the tests that are in question say; `alone`: those that are run, if not all.

        Raises KeyboardInterrupt where the search has taken its share of runs and of time.
        """
        if self._runs >= _RUNS and self._seconds > _RUNS * self.before.seconds:
            raise KeyboardInterrupt
        run = self._once(fixes, alone)
        return run if run.failed_tests is None else replace(run, failed_tests=run.failed_tests & speaking)

    def _once(self, fixes: Sequence[str], tests: Collection[str] = ()) -> Run:
        """The command with these fixes; with these of its tests alone, where there are any. Raises KeyboardInterrupt."""
        request = self._request
        self._runs += 1
        here = self._folder / f"rerun-{self._runs}"
        here.mkdir(parents=True)
        sources = {}
        texts = request.compose(frozenset(fixes)) if fixes else {}
        for index, (path, text) in enumerate(sorted(texts.items())):
            held = here / f"source-{index}.py"
            held.write_bytes(text)
            sources[path] = str(held)
        run = run_command(request, Plan(str(here), sources=sources, tests=tuple(sorted(tests))))
        self._seconds += run.seconds
        if run.stopped == "interrupted":
            raise KeyboardInterrupt
        return run


def new_failures(before: Run, after: Run) -> tuple[str, ...]:
    """The tests that fail after and did not before."""
    if before.failed_tests is None or after.failed_tests is None:
        return ()
    return tuple(sorted(after.failed_tests - before.failed_tests))


def worse(before: Run, after: Run) -> bool:
    """Whether the command, or a test of it, fails where it did not, or goes non-finite where it did not."""
    of_tests = None not in (before.failed_tests, after.failed_tests) and after.stopped is None
    failed = bool(new_failures(before, after)) if of_tests else after.failed and not before.failed
    return failed or (after.bad and not before.bad)


def not_run(before: Run, fixes: int) -> Rerun:
    """What the one run says, where it was not to be run again, or there was nothing to run it with."""
    return Rerun(before, None, fixes, _without_fixes(before), None)


def conclude(before: Run, after: Run, fixes: int, guilty: Guilty) -> Rerun:
    """What the two runs say."""
    passed: bool | None = not worse(before, after) and not after.bad
    if passed and after.failed and not after.failed_tests:
        passed = None  # it fails as it did: nothing is known of what would have come
    claim, kept = _claim(before, after), fixes - len(guilty)
    if guilty and kept:
        claim += f"; with the other {'fix' if kept == 1 else f'{kept} fixes'} it is no worse"
    return Rerun(before, after, fixes, claim, passed, tuple(guilty))


def _without_fixes(before: Run) -> str:
    """What the one run showed, where there is no fix to run the command with."""
    sentence = "no fix to run the command with"
    if before.losses is None or not before.losses.backwards:
        return sentence
    state = "some not finite" if before.bad else "all finite"
    return f"{sentence}; {plural(before.losses.backwards, 'step')} seen, {state}"


def _claim(before: Run, after: Run) -> str:
    if after.stopped is not None:
        return "the command with the fixes was stopped by the time-out"
    if named := new_failures(before, after):
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        return f"{', '.join(named[:_NAMED])}{more} failed with the fixes, and not without them"
    if after.status and not before.status:
        return f"the command ended with status {after.status}, and without the fixes with 0"
    if after.failed_tests:
        return f"no test failed that passed without the fixes ({len(after.failed_tests)} fail in both)"
    if after.bad and after.losses is not None:
        return f"still not finite, first at step {after.losses.first_bad}"
    if after.status:
        return f"the command ended with status {after.status}, as it did without the fixes"
    if before.status and not before.bad:
        return f"the command ends well with the fixes, and ended with status {before.status} without"
    if after.losses is None:
        return "the command made no training step that could be watched"
    steps = plural(after.losses.backwards, "step")
    if before.bad and before.losses is not None:
        return f"{steps} without NaN, where step {before.losses.first_bad} was the first that was not finite"
    return f"{steps} without NaN, as before"
