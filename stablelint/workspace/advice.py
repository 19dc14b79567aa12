"""What the rules say of one expression that went wrong at run time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.catalog.catalog import Catalog
from stablelint.codemod.fixpoint import fix_source
from stablelint.codemod.propose import propose
from stablelint.codemod.text.diff import unified_diff
from stablelint.codemod.text.edits import apply_edits
from stablelint.diagnostic import Applicability, Diagnostic, Edit, Fix, Level, Position, Span, Status
from stablelint.records import dataclass, field, replace
from stablelint.runtime.guard.reporting.cause import Advice, Cause, Remedied, Rewrite
from stablelint.runtime.guard.reporting.event import Event
from stablelint.workspace.examine import Examiner, Scope


@dataclass(frozen=True, slots=True)
class Text:
    """The text that an expression stands in; of a notebook all cells up to its own, `ahead` rows before that."""

    filename: str
    source: bytes
    span: Span
    ahead: int = 0

    @classmethod
    def around(cls, event: Event) -> Text | None:
        """The text around an event's expression; None where it has no columns, or no text is left of it."""
        location, unsaved = event.location, event.unsaved
        if location is None or location.span is None:
            return None
        if unsaved is not None:
            ahead = unsaved.before.count("\n")
            source = (unsaved.before + unsaved.text).encode()
            return cls(location.filename, source, _moved(location.span, ahead), ahead)
        try:
            return cls(location.filename, Path(location.filename).read_bytes(), location.span)
        except OSError:
            return None

    def own(self, source: bytes) -> bytes | None:
        """What `source`, a rewrite of the whole, leaves of the file or cell; None where it changes what is ahead."""
        before, rows = self.source.splitlines(keepends=True)[: self.ahead], source.splitlines(keepends=True)
        return b"".join(rows[self.ahead :]) if rows[: self.ahead] == before else None


@dataclass
class RuleAdviser:
    """Finds the rule whose finding stands at an event's expression, and the fix it proposes."""

    rules: tuple[Path, ...] = field(default=())
    _given: dict[Text, Advice | None] = field(default_factory=dict, init=False)

    @cached_property
    def catalog(self) -> Catalog:
        """The rule pages, read at the first event."""
        return load_catalog(extra_folders=self.rules)

    def __call__(self, event: Event) -> Advice | None:
        """Advice on an event, or None where no rule speaks of its expression."""
        text = Text.around(event)
        if text is not None and text not in self._given:
            self._given[text] = self._on(text)
        return None if text is None else self._given[text]

    def _on(self, text: Text) -> Advice | None:
        found = self._finding(text, self.catalog)
        if found is None:
            return None
        if (found.fix is None or not found.fix.edits) and found.fix_withheld is not None:
            found = replace(
                found, fix=self._plainer(text, found, f"is withheld ({found.fix_withheld})") or found.fix
            )
        return _advice(text, found, lambda: self._remedied(text), lambda: self._guard(text, found))

    def _finding(self, text: Text, catalog: Catalog) -> Diagnostic | None:
        """What the rules say of the expression, with a fix or why there is none."""
        options = AnalysisOptions(root=Path(os.path.dirname(os.path.abspath(text.filename))))
        report = check_source(text.source, text.filename, catalog, options)
        found = closest(report.diagnostics, text.span)
        # Whatever its text told, it has gone wrong.
        return None if found is None else propose(text.source, replace(found, level=Level.LIKELY))

    def _guard(self, text: Text, found: Diagnostic) -> Rewrite | None:
        """What is left where the replay has refuted the finding's own rewrite."""
        fix = self._plainer(text, found, "does not help")
        return None if fix is None else _advice(text, replace(found, fix=fix)).rewrite

    def _plainer(self, text: Text, found: Diagnostic, why: str) -> Fix | None:
        """In place of the finding's rewrite, which `why` says, what the rule of the operation itself would write."""
        page = self.catalog.rules[found.code].path
        others = tuple(one for one in self.catalog.sources if one.path != page)
        plainer = self._finding(text, Catalog(others, f"{self.catalog.digest} without {found.code}"))
        if plainer is None or plainer.fix is None or not plainer.fix.edits:
            return None
        return plainer.fix._replace(message=f"a guard, for the better rewrite {why}: {plainer.fix.message}")

    def _remedied(self, text: Text) -> Remedied | None:
        """The file with what `fix --unsafe-fixes` makes of it; None where that is nothing."""
        root = os.path.dirname(os.path.abspath(text.filename))
        # likely or not, it has gone wrong
        examiner = Examiner(Scope(root, level=Level.POSSIBLE), self.catalog)

        def diagnose(source: bytes) -> list[Diagnostic]:
            found = examiner.findings(source, text.filename).shown
            return [item for item in found if self.catalog.rules[item.code].enabled]

        outcome = fix_source(text.source, diagnose, _is_made)
        own, fixed = text.own(text.source), text.own(outcome.source) if outcome.changed else None
        if own is None or fixed is None:
            return None
        message = f"the {len(outcome.applied)} fixes of this file together"
        fix = Fix(Applicability.UNSAFE, message, _between(own.decode(), fixed.decode()))
        return Remedied(len(outcome.applied), _written(text, own, fix, fixed))


def closest(diagnostics: tuple[Diagnostic, ...], span: Span) -> Diagnostic | None:
    """The finding about the expression: the same span, else the smallest around it, one within, or one that speaks of it."""
    around = [item for item in diagnostics if item.span.contains(span)]
    within = [item for item in diagnostics if span.contains(item.span)]
    same = [item for item in around if item.span == span]
    around = [item for item in around if item.span.end.row - item.span.start.row <= 6]
    steps = [(item, step) for item in diagnostics for step in item.derivation if step.filename is None]
    led = [item for item, step in steps if step.span.contains(span) and step.span.end.row == span.end.row]
    for group in (same, around, within, led):
        if group:
            return min(group, key=lambda item: (item.span.extent, item.status is not Status.VIOLATED))
    return None


def _is_made(diagnostic: Diagnostic) -> bool:
    return diagnostic.fix is not None and not diagnostic.fix.is_choice


def _advice(
    text: Text,
    diagnostic: Diagnostic,
    remedied: Callable[[], Remedied | None] = lambda: None,
    guard: Callable[[], Rewrite | None] = lambda: None,
) -> Advice:
    cause = Cause(
        summary=diagnostic.message,
        code=diagnostic.code,
        name=diagnostic.name,
        url=diagnostic.url,
        derivation=tuple(step.text for step in diagnostic.derivation),
    )
    fix = diagnostic.fix
    if fix is None or not fix.edits:
        why = diagnostic.fix_withheld or (fix.message if fix else "the page of the rule has no rewrite")
        return Advice(cause, None, why)
    own, fixed = text.own(text.source), text.own(apply_edits(text.source, fix.edits))
    if own is None or fixed is None:
        return Advice(cause, None, "it would change an earlier cell")
    edits = tuple(edit._replace(span=_moved(edit.span, -text.ahead)) for edit in fix.edits)
    return Advice(cause, _written(text, own, fix._replace(edits=edits), fixed), None, remedied, guard)


def _written(text: Text, own: bytes, fix: Fix, fixed: bytes) -> Rewrite:
    return Rewrite(
        text.filename,
        fix,
        fixed.decode("utf-8", errors="replace"),
        unified_diff(own, fixed, text.filename),
        hashlib.sha256(own).hexdigest(),
    )


def _between(before: str, after: str) -> tuple[Edit, ...]:
    """Edits of whole lines that make `after` of `before`."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        Edit(Span(Position(start + 1, 1), Position(end + 1, 1)), "".join(new[first:last]))
        for tag, start, end, first, last in changes
        if tag != "equal"
    )


def _moved(span: Span, rows: int) -> Span:
    return Span(
        Position(span.start.row + rows, span.start.column), Position(span.end.row + rows, span.end.column)
    )
