"""What a run found: the answers of its files, as far as they are selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from stablelint.diagnostic import Diagnostic, Level, Passes, Problem
from stablelint.records import dataclass, field
from stablelint.workspace.examine import NOTHING_RECEIVED
from stablelint.workspace.kept.codec import Answer
from stablelint.workspace.notebooks import problem_in_cell
from stablelint.workspace.runs.evidence import informed
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request
from stablelint.workspace.suppress import UNUSED_CODE


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a run found: selected findings in order of file and place, and the totals."""

    diagnostics: tuple[Diagnostic, ...] = ()
    discharged: tuple[Diagnostic, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: int = 0  # that were read
    lines: int = 0
    silenced: int = 0
    baselined: int = 0
    unsure: int = 0  # left out for their confidence
    discharge_counts: Mapping[str, int] = field(default_factory=dict)
    assumed: int = 0  # obligations that hold as long as settings keep their values
    sources: Mapping[str, bytes] = field(default_factory=dict)  # of files that are not on disk
    level: Level = Level.LIKELY  # from which on findings are shown in full
    received: Mapping[str, Passes] = field(default_factory=dict)  # by file, what other files pass to it

    def at(self, level: Level) -> tuple[Diagnostic, ...]:
        """The findings of a level and above, in order of file and place."""
        if level is Level.POSSIBLE:
            return self.diagnostics
        return tuple(item for item in self.diagnostics if item.level is Level.LIKELY)

    @property
    def shown(self) -> tuple[Diagnostic, ...]:
        """The findings that are shown in full."""
        return self.at(self.level)

    @property
    def rest(self) -> tuple[Diagnostic, ...]:
        """The others, most likely first."""
        rest = (item for item in self.diagnostics if item.level is not Level.LIKELY)
        if self.level is Level.POSSIBLE:
            return ()
        return tuple(sorted(rest, key=lambda item: (-item.confidence, item.sort_key)))


def collect(
    answers: Mapping[str, Answer],
    request: Request,
    problems: Sequence[Problem],
    sources: Mapping[str, bytes] | None = None,
    received: Mapping[str, Passes] = NOTHING_RECEIVED,
) -> CheckResult:
    """The selected of what the files' answers hold; `sources` are texts that are not on disk."""
    findings: list[Diagnostic] = []
    discharged: list[Diagnostic] = []
    counts = Counter[str]()
    selection = request.selection
    for path, answer in answers.items():
        findings += [item for item in answer.findings if selection.enabled(item.code, path)]
        findings += [item for item in answer.unused if _counts_as_unused(item, selection)]
        discharged += [item for item in answer.discharged if selection.enabled(item.code, path)]
        counts.update(answer.counts)
    least = request.settings.min_confidence
    informed_of = list(informed(findings, request.settings.root, sources))
    findings = [item for item in informed_of if item.confidence >= least]
    return CheckResult(
        diagnostics=tuple(sorted(findings, key=lambda item: item.sort_key)),
        discharged=tuple(sorted(discharged, key=lambda item: item.sort_key)),
        problems=(
            *problems,
            *(problem_in_cell(p) for path in sorted(answers) for p in answers[path].problems),
        ),
        files=sum(not answer.problems for answer in answers.values()),
        lines=sum(answer.lines for answer in answers.values()),
        silenced=sum(answer.silenced for answer in answers.values()),
        unsure=len(informed_of) - len(findings),
        discharge_counts=counts,
        assumed=sum(answer.assumed for answer in answers.values()),
        sources=sources or {},
        received=received,
        level=request.settings.level,
    )


def _counts_as_unused(item: Diagnostic, selection: Selection) -> bool:
    """A comment for a rule that is switched off may be needed when it is on again."""
    if not selection.enabled(UNUSED_CODE, item.filename):
        return False
    return not selection.disabled(item.expression, item.filename)
