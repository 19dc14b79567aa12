"""What the rules say of one expression that went wrong at run time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.catalog.catalog import Catalog
from stablelint.codemod.fixpoint import fix_source
from stablelint.codemod.propose import propose
from stablelint.codemod.text.diff import unified_diff
from stablelint.codemod.text.edits import apply_edits
from stablelint.diagnostic import Applicability, Diagnostic, Level, Span, Status, Step
from stablelint.runtime.guard.reporting.cause import Advice, Cause, Remedied
from stablelint.runtime.guard.reporting.event import Event, Location
from stablelint.workspace.examine import Examiner, Scope


@dataclass
class RuleAdviser:
    """Finds the rule whose finding stands at an event's expression, and the fix it proposes."""

    rules: tuple[Path, ...] = field(default=())

    @cached_property
    def catalog(self) -> Catalog:
        """The rule pages, read at the first event."""
        return load_catalog(extra_folders=self.rules)

    def __call__(self, event: Event) -> Advice | None:
        """Advice on an event, or None where no rule speaks of its expression."""
        location = event.location
        if location is None or location.span is None:
            return None
        try:
            source = Path(location.filename).read_bytes()
        except OSError:
            return None
        options = AnalysisOptions(root=Path(os.path.dirname(os.path.abspath(location.filename))))
        report = check_source(source, location.filename, self.catalog, options)
        found = closest(report.diagnostics, location.span)
        if found is None:
            return None
        return _advice(source, propose(source, found), location, lambda: self._remedied(source, location))

    def _remedied(self, source: bytes, location: Location) -> Remedied | None:
        """The file with what `fix --unsafe-fixes` makes of it; None where that is nothing."""

        root = os.path.dirname(os.path.abspath(location.filename))
        examiner = Examiner(
            Scope(root, level=Level.POSSIBLE), self.catalog
        )  # likely or not, it has gone wrong

        def diagnose(text: bytes) -> list[Diagnostic]:
            found, _ = examiner.findings(text, location.filename)
            return [item for item in found if self.catalog.rules[item.code].enabled]

        outcome = fix_source(source, diagnose, _is_made)
        if not outcome.changed:
            return None
        diff = unified_diff(source, outcome.source, location.filename)
        return Remedied(len(outcome.applied), outcome.source.decode("utf-8", errors="replace"), diff)


def closest(diagnostics: tuple[Diagnostic, ...], span: Span) -> Diagnostic | None:
    """The finding about the expression: the same span, else the smallest around it, one within, or one led there."""
    around = [item for item in diagnostics if item.span.contains(span)]
    within = [item for item in diagnostics if span.contains(item.span)]
    same = [item for item in around if item.span == span]
    around = [item for item in around if item.span.end.row - item.span.start.row <= 6]
    led = [item for item in diagnostics if any(_is_at(step, span) for step in item.derivation[-1:])]
    for group in (same, around, within, led):
        if group:
            return min(group, key=lambda item: (_length(item.span), item.status is not Status.VIOLATED))
    return None


def _is_at(step: Step, span: Span) -> bool:
    return step.filename is None and step.span.contains(span)


def _is_made(diagnostic: Diagnostic) -> bool:
    return diagnostic.fix is not None and diagnostic.fix.applicability is not Applicability.DISPLAY


def _advice(
    source: bytes, diagnostic: Diagnostic, location: Location, remedied: Callable[[], Remedied | None]
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
        return Advice(cause, location.filename, fix, diagnostic.fix_withheld)
    fixed = apply_edits(source, fix.edits)
    return Advice(
        cause,
        location.filename,
        fix,
        None,
        fixed.decode("utf-8", errors="replace"),
        unified_diff(source, fixed, location.filename),
        hashlib.sha256(source).hexdigest(),
        remedied,
    )


def _length(span: Span) -> tuple[int, int]:
    return (span.end.row - span.start.row, span.end.column - span.start.column)
