"""The whole verification: capture, replay, rerun, verdicts."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stablelint.numerics.formats import FORMATS
from stablelint.runtime.plain import plain, plural
from stablelint.runtime.verify.outcome import Counts, Report, Rerun, Run, SiteReport
from stablelint.runtime.verify.output.curve import curve_of
from stablelint.runtime.verify.output.show import sides, witness_shown
from stablelint.runtime.verify.probe.series import FAULTS, faults
from stablelint.runtime.verify.replay.compare import Replayer, prepare
from stablelint.runtime.verify.replay.expression import NotReplayableError
from stablelint.runtime.verify.runs.command import Captured, Records, capture, cut_short, failed_early, make
from stablelint.runtime.verify.runs.rerun import Guilty, Rerunner, conclude, new_failures, not_run, worse
from stablelint.runtime.verify.site import Kind, Request, Site, Verdict
from stablelint.runtime.verify.verdict import Decision, Examination, consumes, examine, with_function

_TELL_SECONDS = 5.0  # between two words on the progress of the replays
Progress = Callable[[str], None]


@dataclass(slots=True)
class Verification:
    """A report, and the examinations it was made from (for tests and plots)."""

    report: Report
    examinations: dict[str, Examination]


def verify(
    request: Request, progress: Progress = lambda _: None, known: Sequence[SiteReport] = ()
) -> Verification:
    """Verify all sites of the request; Ctrl-C keeps what was found. Raises `CommandNotFoundError`.

    `known` are reports of an earlier run: their fixes take part in the rerun, and what it says goes for them too.
    """
    folder = Path(tempfile.mkdtemp(prefix="stablelint-verify-"))
    try:
        return _verify(request, folder, progress, known)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _verify(request: Request, folder: Path, progress: Progress, known: Sequence[SiteReport]) -> Verification:
    problems: list[str] = []
    prepared = {site.id: _prepared(site, request) for site in request.sites}
    sites = plural(len(request.sites), "site")
    before: Run | None = None
    records = Records()
    if request.command:
        progress(f"running the command with probes at {sites}")
        before, records = capture(request, folder, prepared, problems)
    elif request.sites:
        progress(f"calling the functions around {sites}")
        records = make(request, folder, prepared, problems)
    if request.sites:
        progress(f"replaying {sites}")
    examiner = _Examiner(request, records, before is not None, prepared, problems)
    interrupted = not examiner.examine_all(progress) or (
        before is not None and before.stopped == "interrupted"
    )
    rerun: Rerun | None = None
    reports = [*known, *examiner.reports]
    if before is not None and request.rerun and not failed_early(before, records):
        rerun = not_run(before, sum(report.site.has_fix for report in reports))
        if not interrupted:
            rerun, reports = _rerun(request, folder, before, reports, progress)
    cut = before is not None and before.failed and not (rerun is not None and rerun.cures)
    if before is not None and cut:
        problems = [*cut_short(before, records, request), *problems]
    report = Report(
        tuple(reports),
        rerun,
        tuple(request.command),
        overhead=round(records.overhead, 4) if request.command and records.overhead is not None else None,
        problems=tuple(problems),
        incomplete=interrupted or cut,
        files=request.files,
    )
    return Verification(report, examiner.examinations)


@dataclass(slots=True)
class _Examiner:
    """Examines one site after the other; what goes wrong is among the `problems`."""

    request: Request
    records: Records
    ran: bool
    prepared: Mapping[str, Replayer | None]
    problems: list[str]
    examinations: dict[str, Examination] = field(default_factory=dict)
    reports: list[SiteReport] = field(default_factory=list)

    def examine_all(self, progress: Progress) -> bool:
        """Whether nobody interrupted it."""
        sites = self.request.sites
        announced = time.perf_counter()
        for number, site in enumerate(sites):
            if time.perf_counter() - announced > _TELL_SECONDS:
                announced = time.perf_counter()
                progress(f"replaying site {number + 1} of {len(sites)}")
            try:
                self.reports.append(self._examine(site))
            except KeyboardInterrupt:
                self.problems.append(f"interrupted: {plural(len(sites) - number, 'site')} not replayed")
                return False
            except Exception as error:  # one site that cannot be examined must not cost the others
                place = f"{site.filename}:{site.span.start.row}"
                self.problems.append(f"{place}: internal error: {type(error).__name__}: {error}")
        return True

    def _examine(self, site: Site) -> SiteReport:
        captured = self.records.sites.get(site.id, Captured())
        source = self.request.sources[site.filename]
        if self.ran and captured.dtypes and not site.dtypes:
            site = replace(site, dtypes=tuple(sorted(captured.dtypes & FORMATS.keys())))
        reached = bool(captured.calls or captured.raised or captured.compiled)
        examination = examine(
            site, source, captured.kept, ran=self.ran, reached=reached, prepared=self.prepared[site.id]
        )
        original, fixed = sides(examination)
        decision = with_function(
            site, examination.decision, captured.function, consumes(source, site.span.start.row)
        )
        examination = replace(examination, decision=decision)
        curve = None
        if self.request.curves and examination.replayer is not None:
            well = sorted(examination.results, key=lambda result: result.original_failed is not None)
            calls = captured.kept or [result.case.call for result in well]
            curve = curve_of(examination.replayer, calls)
        notes = (*decision.notes, *_circumstances(captured, self.ran, decision))
        self.examinations[site.id] = examination
        return SiteReport(
            site,
            decision.verdict,
            captured.calls or captured.raised,
            extents=plain(captured.extents),
            original=original,
            fixed=fixed,
            witness=witness_shown(decision.witness, examination.replayer, captured.function)
            if decision.witness and examination.replayer
            else None,
            notes=notes,
            cases=len(examination.results),
            curve=curve,
            fingerprint=self.request.fingerprints.get(site.id, ""),
            function=captured.function,
        )


def _prepared(site: Site, request: Request) -> Replayer | None:
    try:
        return prepare(site, request.sources[site.filename])
    except NotReplayableError:
        return None


def _circumstances(captured: Captured, ran: bool, decision: Decision) -> Iterator[str]:
    """What a reader should know about how the site was observed."""
    if not ran and not captured.calls:
        why = captured.function.why if captured.function is not None else None
        yield f"tried on boundary operands only: {why or 'no command was run'}"
    witness = decision.witness
    if captured.calls and not captured.grad_calls and witness and witness.original_failed == "backward":
        yield "its gradient fails, and this command asked for none here"
    if captured.compiled and not captured.calls:
        yield "runs inside torch.compile or a trace, where probes step aside: replayed eagerly"
    elif captured.compiled:
        yield "runs inside torch.compile or a trace as well, where probes step aside"


def _rerun(
    request: Request, folder: Path, before: Run, reports: list[SiteReport], progress: Progress
) -> tuple[Rerun, list[SiteReport]]:
    """What the command says of the fixes that are not refused, and the reports in its light."""
    kept = [
        report
        for report in reports
        if report.site.has_fix and report.verdict is not Verdict.HANDLED and not report.verdict.refuses
    ]
    if all(report.known for report in kept):
        return not_run(before, len(kept)), reports
    # of fixes that are worse together, the one that is proved less is refused
    kept.sort(key=lambda report: (not report.known, report.verdict is not Verdict.CONFIRMED, report.site.id))
    fixes = [report.site.id for report in kept]
    progress(f"running the command again with {plural(len(fixes), 'fix')}")
    rerunner = Rerunner(request, folder, before)
    try:
        after = rerunner.run(fixes)
    except KeyboardInterrupt:
        return Rerun(before, None, len(fixes), "the rerun was interrupted", None), reports
    guilty: Guilty = {}
    if worse(rerunner.before, after):
        progress("the rerun is worse: looking for the guilty fix")
        guilty = rerunner.guilty(after, fixes)
    before = rerunner.before
    rerun = conclude(before, after, len(fixes), guilty)
    return rerun, [_informed(report, before, after, guilty, fixes) for report in reports]


def _refused(report: SiteReport, before: Run, shown: Run | None) -> SiteReport:
    """The report of a site whose fix, or one of several with it, makes the command worse."""
    if shown is None:
        note = f"{report.verdict} by its replay; the command is worse with this fix or with another one"
        return replace(report, verdict=Verdict.NOT_REPRODUCED, notes=(*report.notes, note), known=False)
    tests = new_failures(before, shown)
    how = f"{tests[0]} fails" if tests else "the command is worse"
    note = f"{report.verdict} by its replay; {how} with this fix, and not without it"
    return replace(report, verdict=Verdict.DIVERGES, notes=(*report.notes, note), known=False, guilty=True)


def _informed(
    report: SiteReport, before: Run, after: Run, guilty: Guilty, candidates: Collection[str]
) -> SiteReport:
    """The report of a site in the light of the rerun."""
    site = report.site
    if site.id in guilty:
        return _refused(report, before, guilty[site.id])
    replayed = report.fixed is not None and report.fixed.forward != Counts()  # a constructor gives no numbers
    if report.known or site.id not in candidates or (replayed and site.kind is not Kind.SEQUENCE):
        return report
    if before.losses is None or after.losses is None or after.failed:
        return report
    cured = (faults(before.losses.events) - faults(after.losses.events)) & FAULTS.get(site.name, frozenset())
    if site.kind is Kind.SEQUENCE and cured:
        note = f"order of calls before: {', '.join(sorted(cured))}; after: in order"
        return replace(
            report, verdict=Verdict.CONFIRMED, calls=max(report.calls, 1), notes=(*report.notes, note)
        )
    seen = report.witness is not None and report.witness.origin == "captured"
    if before.bad and not after.bad and (seen or len(candidates) == 1):
        note = "the rerun is finite with this fix, and was not without it"
        return replace(report, verdict=Verdict.CONFIRMED, notes=(*report.notes, note))
    return report
