"""Run the command again with fixes applied in memory, and find the fix that makes it worse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from stablelint.runtime.verify.outcome import Rerun, Run, counted
from stablelint.runtime.verify.probe.plan import Plan
from stablelint.runtime.verify.runs.command import run_command
from stablelint.runtime.verify.site import Request

_RUNS = 12
_NAMED = 3  # tests that are told by their names


class Rerunner:
    """Runs the command of a request with fixes; each run has a folder of its own below `folder`."""

    def __init__(self, request: Request, folder: Path) -> None:
        self._request, self._folder = request, folder
        self._runs = 0
        self._known: dict[frozenset[str], Run] = {}

    def run(self, fixes: Collection[str]) -> Run:
        """What the command gives with these fixes and those that are settled, and no others; it is run once for them."""
        chosen = frozenset(fixes)
        if chosen not in self._known:
            self._known[chosen] = self._anew(chosen)
        return self._known[chosen]

    def _anew(self, fixes: frozenset[str]) -> Run:
        request = self._request
        self._runs += 1
        here = self._folder / f"rerun-{self._runs}"
        here.mkdir(parents=True)
        sources = {}
        texts = request.compose(fixes | request.settled) if request.compose else {}
        for index, (path, text) in enumerate(sorted(texts.items())):
            held = here / f"source-{index}.py"
            held.write_bytes(text)
            sources[path] = str(held)
        plan = Plan(str(here), sources=sources)
        return run_command(
            request.command,
            plan,
            timeout=request.timeout,
            output=request.output,
            directory=request.directory,
        )

    def guilty(self, before: Run, groups: Iterable[Collection[str]]) -> dict[str, Run]:
        """The fixes that alone make the command worse, and the runs that show it; one group is tried after the other."""
        found: dict[str, Run] = {}
        for group in groups:
            left = sorted(group)
            while left and self._runs < _RUNS and (one := self._one_of(before, left)) is not None:
                found |= one
                left = [fix for fix in left if fix not in found]
        return found

    def _one_of(self, before: Run, fixes: Sequence[str]) -> dict[str, Run] | None:
        """One of the fixes that makes the command worse: halves are tried, and halves of those."""
        group = fixes
        if not worse(before, self.run(group)):
            return None
        while len(group) > 1 and self._runs < _RUNS:
            half = group[: len(group) // 2]
            group = half if worse(before, self.run(half)) else group[len(half) :]
        alone = self.run(group)
        if alone.failed_tests is not None and worse(before, alone):  # a test that fails by chance fails once
            again = self._anew(frozenset(group))
            both = alone.failed_tests & (again.failed_tests or frozenset())
            alone = replace(alone, failed_tests=both)
        return {group[0]: alone} if len(group) == 1 and worse(before, alone) else None

    def steadied(self, before: Run) -> Run:
        """The run before the fixes, with the tests that fail in another one as well: some do by chance."""
        if before.failed_tests is None:
            return before
        again = self._anew(frozenset())
        return replace(before, failed_tests=before.failed_tests | (again.failed_tests or frozenset()))


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


def conclude(before: Run, after: Run | None, fixes: int, guilty: Collection[str] = ()) -> Rerun:
    """What the two runs say."""
    if after is None:
        return Rerun(before, None, fixes, _without_fixes(before), None)
    if after.stopped == "interrupted":
        return Rerun(before, after, fixes, "the rerun was interrupted", None)
    passed: bool | None = not worse(before, after) and not after.bad
    if passed and after.failed and not after.failed_tests:
        passed = None  # it fails as it did: nothing is known of what would have come
    return Rerun(before, after, fixes, _claim(before, after), passed, tuple(guilty))


def _without_fixes(before: Run) -> str:
    """What the one run showed, where there is no fix to run the command with."""
    sentence = "no fix to run the command with"
    if before.losses is None or not before.losses.backwards:
        return sentence
    state = "some not finite" if before.bad else "all finite"
    return f"{sentence}; {counted(before.losses.backwards, 'step')} seen, {state}"


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
    steps = counted(after.losses.backwards, "step")
    if before.bad and before.losses is not None:
        return f"{steps} without NaN, where step {before.losses.first_bad} was the first that was not finite"
    return f"{steps} without NaN, as before"
