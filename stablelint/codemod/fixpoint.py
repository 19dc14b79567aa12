"""Applying fixes until none is left, each judged by a new check of the fixed text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from stablelint.codemod.propose import propose_all
from stablelint.codemod.text.edits import OverlappingEdits, apply_edits, select
from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.codemod.waiting import without_waiting
from stablelint.diagnostic import Applicability, Diagnostic, Edit, Span
from stablelint.records import dataclass, replace
from stablelint.syntax.names import shortened

MAX_ROUNDS = 10
_STILL_THERE = "the finding would still be there"

Diagnose = Callable[[bytes], Sequence[Diagnostic]]
Accept = Callable[[Diagnostic], bool]


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """The fixed source, the findings that were fixed, and those whose fix was withdrawn (`fix_withheld`).

    One of `applied` has no `fix` where another's fix has mended it as well; `uncovered` of them came to light behind
    other fixes. Positions of `applied` are those of the text in which the finding was made, which later rounds may have
    moved; those of `withheld` belong to the text in which the fix was tried last.
    """

    source: bytes
    applied: tuple[Diagnostic, ...]
    withheld: tuple[Diagnostic, ...]
    rounds: int
    uncovered: int = 0

    @property
    def changed(self) -> bool:
        """Whether anything was fixed."""
        return bool(self.applied)


def fix_source(
    source: bytes, diagnose: Diagnose, accept: Accept, unshown: Sequence[Diagnostic] = ()
) -> FixOutcome:
    """Apply the fixes that `accept` lets through, round by round, until a round changes nothing.

    `diagnose` finds what is wrong with a text; a finding it returns without `fix` is given one from its
    proposals. After a fix its finding must be gone and no new one may have come; otherwise the fix is
    withdrawn and the finding is among `withheld` with the reason. What was `unshown` before is not new.
    The result always parses.
    """
    applied: list[Diagnostic] = []
    refused: dict[_Site, str] = {}
    current = first = _proposed(source, diagnose)
    promised = [item for item in first if item.fix is not None and accept(item)]
    rounds = 0
    while rounds < MAX_ROUNDS:
        sites = _sites(source, current)
        wanted = [
            item
            for item, site in zip(current, sites, strict=True)
            if item.fix is not None and site not in refused and accept(item)
        ]
        if not wanted:
            break
        rounds += 1
        # Of two fixes that meet, the one that keeps all values is made, or that of the surer finding; the other
        # may then be needless.
        wanted.sort(
            key=lambda item: (
                item.fix is not None and item.fix.applicability is not Applicability.SAFE,
                -item.confidence,
            )
        )
        taken, _ = select([item.fix for item in wanted if item.fix is not None])
        trial = _Trial(source, current, diagnose, unshown)
        kept, failed = trial.largest(without_waiting(source, [wanted[index] for index in taken]))
        if kept:  # an equal one may have been another rule's until that was mended
            refused = {site: reason for site, reason in refused.items() if reason != _STILL_THERE}
        known = {id(item): site for item, site in zip(current, sites, strict=True)}
        refused |= {known[id(item)]: reason for item, reason in failed}
        source, current = trial.source, trial.after
        applied += kept
    left = tuple(_left(source, current, refused, accept))
    kept = [item for item, site in zip(current, _sites(source, current), strict=True) if site in refused]
    tried = Counter(item.code for item in (*applied, *kept))
    uncovered = (tried - Counter(item.code for item in promised)).total() if applied else 0
    applied += _mended_along(promised, applied, Counter(item.code for item in first), current)
    return FixOutcome(source, tuple(applied), left, rounds, uncovered)


def _mended_along(
    promised: list[Diagnostic], applied: list[Diagnostic], before: Counter[str], after: list[Diagnostic]
) -> Iterator[Diagnostic]:
    """The findings with a fix that are gone although theirs was not made: another's has mended them as well."""
    known = Counter(key(item) for item in (*applied, *after))
    gone = before - Counter(item.code for item in (*applied, *after))
    for item in promised:
        if known[key(item)]:
            known[key(item)] -= 1
        elif gone[item.code]:
            gone[item.code] -= 1
            yield replace(item, fix=None)


_Key = tuple[str, str]
_Site = tuple[str, str, str, int]


def key(diagnostic: Diagnostic) -> _Key:
    """What identifies a finding wherever it stands: rule and expression, white space aside."""
    return diagnostic.code, "".join(diagnostic.expression.split())


def _sites(source: bytes, diagnostics: Sequence[Diagnostic]) -> list[_Site]:
    """What each of all findings of a text is known by: its line as well, and which of several equal ones it is."""
    try:
        text = SourceText.decode(source)
    except SourceError:
        text = SourceText.of_text("")
    rows, seen = len(text.starts), Counter[tuple[str, str, str]]()
    sites: list[_Site] = []
    for item in diagnostics:
        line = text.line(item.span.start.row).strip() if item.span.start.row <= rows else ""
        sites.append((*key(item), line, seen[*key(item), line]))
        seen[*key(item), line] += 1
    return sites


def _proposed(source: bytes, diagnose: Diagnose) -> list[Diagnostic]:
    return propose_all(source, diagnose(source))


class _Trial:
    """One round: which of the fixes can stand together."""

    def __init__(
        self, source: bytes, before: list[Diagnostic], diagnose: Diagnose, unshown: Sequence[Diagnostic]
    ) -> None:
        self.source = source
        self.after = before
        self._original = source
        self._findings = before
        self._before = Counter(key(item) for item in before)
        self._known = self._before + Counter(key(item) for item in unshown)
        self._diagnose = diagnose

    def largest(self, wanted: list[Diagnostic]) -> tuple[list[Diagnostic], list[tuple[Diagnostic, str]]]:
        """All of `wanted` where they pass together, else as many as pass; and the others with the reason."""
        kept: list[Diagnostic] = []
        failed: list[tuple[Diagnostic, str]] = []
        pending = [wanted]
        while pending:
            group = pending.pop()
            if not group:
                continue
            verdict = self._try([*kept, *group])
            if verdict is None:
                kept += group
            elif len(group) == 1:
                failed.append((group[0], verdict.reason))
            elif verdict.certain and (bad := [item for item in group if item in verdict.suspects]):
                failed += [(item, verdict.reason) for item in bad]
                pending.append([item for item in group if item not in bad])
            elif 0 < len(suspects := [item for item in group if item in verdict.suspects]) < len(group):
                # A suspect may be wronged, so each is tried once more on its own.
                pending += [[item] for item in suspects]
                pending.append([item for item in group if item not in suspects])
            else:
                middle = len(group) // 2
                pending += [group[middle:], group[:middle]]
        return kept, failed

    def _try(self, items: list[Diagnostic]) -> _Verdict | None:
        """Try fixes together; None and the new state when they pass, else why not."""
        edits: list[Edit] = [edit for item in items if item.fix is not None for edit in item.fix.edits]
        try:
            source = apply_edits(self._original, edits)
        except (OverlappingEdits, SourceError) as error:
            return _Verdict(str(error))
        reason = _unreadable(source)
        if reason is not None:
            return _Verdict(reason)
        after = _proposed(source, self._diagnose)
        verdict = self._judge(items, after)
        if verdict is None:
            self.source, self.after = source, after
        return verdict

    def _judge(self, items: list[Diagnostic], after: list[Diagnostic]) -> _Verdict | None:
        now = Counter(key(item) for item in after)
        wanted = Counter(key(item) for item in items)
        kept = [key for key, count in wanted.items() if now[key] > self._before[key] - count]
        if kept:
            suspects = tuple(item for item in items if key(item) in kept)
            # Where one of several equal findings is gone, it is not known which.
            certain = all(now[key] >= self._before[key] for key in kept)
            return _Verdict(_STILL_THERE, suspects, certain)
        # A finding around a fixed expression is the same finding, although its text has changed.
        edited = [edit.span for item in items if item.fix is not None for edit in item.fix.edits]
        left = (item for item in self._findings if item not in items)
        others = [one for one in left if any(one.span.contains(e) or one.span.overlaps(e) for e in edited)]
        renamed = Counter(item.code for item in others)
        reason = ""
        new: list[Span] = []
        for code, expression in (now - self._known).elements():
            renamed[code] -= 1
            spans = [item.span for item in after if key(item) == (code, expression)]
            if renamed[code] < 0 and not _was_there(items, code, spans):
                reason = (
                    reason or f"the fixed code would have another finding: {code}, `{shortened(expression)}`"
                )
                new += spans
        return _Verdict(reason, tuple(_at_rows(items, new))) if reason else None


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Why fixes do not pass together, and which of them may be the cause, where something tells."""

    reason: str
    suspects: tuple[Diagnostic, ...] = ()
    certain: bool = False


def _was_there(items: list[Diagnostic], code: str, found: list[Span]) -> bool:
    """Whether findings stand in what safe fixes of other rules wrote: such keep all values, so theirs had covered these."""
    writers = [item for item in _at_rows(items, found) if item.fix is not None]
    safe = [one for one in writers if one.fix is not None and one.fix.applicability is Applicability.SAFE]
    return bool(writers) and len(safe) == len(writers) and all(one.code != code for one in safe)


def _at_rows(items: list[Diagnostic], found: list[Span]) -> Iterator[Diagnostic]:
    """The fixes that have written the rows of what was found in the fixed text."""
    edits = sorted(
        {edit for item in items if item.fix is not None for edit in item.fix.edits},
        key=lambda edit: edit.span,
    )
    moved = 0
    written: dict[Edit, range] = {}
    for edit in edits:
        first = edit.span.start.row + moved
        lines = len(edit.content.splitlines()) if edit.content.endswith("\n") else edit.content.count("\n")
        written[edit] = range(first, first + lines + 1)
        moved += lines - (edit.span.end.row - edit.span.start.row)
    for item in items:
        rows = [written[edit] for edit in item.fix.edits] if item.fix is not None else []
        if any(one.start <= span.end.row and span.start.row < one.stop for one in rows for span in found):
            yield item


def _unreadable(source: bytes) -> str | None:
    """Why a text cannot be written, or None: it must parse."""
    try:
        parse(SourceText.decode(source).text)
    except SourceError as error:
        return f"the fixed text would not parse: {str(error).splitlines()[0]}"
    return None


def _left(
    source: bytes, current: list[Diagnostic], refused: dict[_Site, str], accept: Accept
) -> Iterator[Diagnostic]:
    """Findings of the final text whose fix was withdrawn or could not be made."""
    for item, site in zip(current, _sites(source, current), strict=True):
        if site in refused and item.fix is not None:
            yield replace(item, fix=None, fix_withheld=refused[site])
        elif item.fix is None and item.fix_withheld is not None:
            yield item
        elif item.fix is not None and accept(item):
            yield replace(item, fix=None, fix_withheld=f"not settled after {MAX_ROUNDS} rounds")
