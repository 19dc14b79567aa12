"""Fixes for the files of a project: what would be written, and what is left."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from stablelint.diagnostic import NOTHING, Applicability, Diagnostic, Level, Passes, Problem
from stablelint.records import dataclass, replace
from stablelint.syntax.relevance import is_checked
from stablelint.syntax.source import SourceError
from stablelint.workspace import pool
from stablelint.workspace.across import Joint, files_of, fix_across, others
from stablelint.workspace.baseline import unknown
from stablelint.workspace.examine import NOTHING_RECEIVED, Examiner, Scope, setup
from stablelint.workspace.files.discover import Candidate
from stablelint.workspace.notebooks import python_at
from stablelint.workspace.selection import Selection
from stablelint.workspace.session import Request
from stablelint.workspace.suppress import UNUSED_CODE, mentions

if TYPE_CHECKING:
    from stablelint.codemod.fixpoint import Diagnose

_PLACE = attrgetter("sort_key")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which fixes are asked for.

    Safe ones; with `unsafe` those that change values as well; with `verified` those that a verification has
    passed, and no others. Findings whose fingerprints are `known` stay as they are.
    """

    selection: Selection
    unsafe: bool = False
    verified: bool = False
    known: frozenset[str] = frozenset()

    def accepts(self, item: Diagnostic) -> bool:
        """Whether the applicability of the finding's fix is asked for."""
        if item.fix is None or item.fix.is_choice:
            return False
        given = item.fix.applicability
        is_unread = given is Applicability.SAFE or (self.unsafe and given is Applicability.UNSAFE)
        return self.verified or is_unread


@dataclass(frozen=True, slots=True)
class FileFix:
    """One file before and after.

    `applied` has positions of the text in which each finding was made, `uncovered` of them behind the fix of another;
    `withheld` findings say in `fix_withheld` why they stay; `left` is all that a check of `after` finds and that was not
    known before. The fixes of `joint` findings, which may be of other files, change several files.
    """

    filename: str
    before: bytes
    after: bytes
    applied: tuple[Diagnostic, ...] = ()
    withheld: tuple[Diagnostic, ...] = ()
    left: tuple[Diagnostic, ...] = ()
    joint: tuple[Diagnostic, ...] = ()
    uncovered: int = 0

    @property
    def files(self) -> frozenset[str]:
        """The files that are written with it, or not at all."""
        return frozenset({self.filename}).union(*map(files_of, self.joint))


def fix_files(
    found: Iterable[Diagnostic],
    request: Request,
    wanted: Wanted,
    received: Mapping[str, Passes] = NOTHING_RECEIVED,
) -> list[FileFix | Problem]:
    """Works out the fixes of the files with findings, in order; writes nothing.

    `received` holds, by file, what others pass to it.
    """
    found = list(found)
    joint = fix_across(_accepted_across(found, wanted, request.scope), request.scope, received)
    joint.withheld += (item for item in found if item.fix_withheld)  # as the sight of all files has it
    names = {item.filename for item in found} | joint.texts.keys()
    files = [Candidate(name, 0, _size(name)) for name in sorted(names)]
    answers: list[FileFix | Problem] = []
    setting = partial(_setup, request.scope, wanted, received, joint)
    for _, outcome in pool.run(setting, files, request.workers):
        answers.append(outcome)
        if request.progress is not None:
            request.progress(len(answers), len(files))
    return sorted(answers, key=lambda answer: answer.filename or "")


def _accepted_across(found: Sequence[Diagnostic], wanted: Wanted, scope: Scope) -> Iterator[Diagnostic]:
    """The findings whose fixes are of several files, and asked for."""
    for item in found:
        if item.fix is not None and item.fix.is_across and wanted.accepts(item):
            if not wanted.verified or _is_proved(item, scope):
                yield item


def _is_proved(item: Diagnostic, scope: Scope) -> bool:
    from stablelint.workspace.runs.evidence import proof_of, proved

    try:
        source = python_at(item.filename)
    except (OSError, SourceError):
        return False
    return proof_of(item) in proved(source, [item], Path(scope.root), setup(scope).catalog)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0  # it has gone since it was checked, which its own answer will say


def _setup(scope: Scope, wanted: Wanted, received: Mapping[str, Passes], joint: Joint) -> pool.Task:
    # With proposals for what is merely possible: it may have been likely before a fix of its file.
    examiner = setup(replace(scope, observed=True), received, joint.texts)
    return partial(_fix_file, examiner, scope, wanted, joint)


def fix_text(
    before: bytes, filename: str, request: Request, wanted: Wanted, received: Passes = NOTHING
) -> FileFix | Problem:
    """Works out the fixes of text that need not be on disk, as if it stood in `filename`; `received` as others pass it."""
    path = os.path.abspath(filename)
    if not is_checked(before) and not mentions(before):
        return FileFix(path, before, before)
    examiner = setup(replace(request.scope, observed=True), {path: received})
    return _fixed(examiner, request.scope, wanted, path, before)


def _fix_file(examiner: Examiner, scope: Scope, wanted: Wanted, joint: Joint, path: str) -> FileFix | Problem:
    try:
        before = joint.before[path] if path in joint.before else python_at(path)
    except OSError as error:
        return Problem(f"cannot read this file: {error.strerror}", path)
    except SourceError as error:
        return error.problem
    fixed = _fixed(examiner, scope, wanted, path, joint.texts.get(path, before))
    if isinstance(fixed, Problem):
        return fixed
    refused = {item.expression: item for item in joint.withheld if item.filename == path}
    withheld = (
        replace(item, fix_withheld=refused.get(item.expression, item).fix_withheld) for item in fixed.withheld
    )
    after = _without_unread(path, before, fixed.after, scope)
    return replace(
        fixed,
        before=before,
        after=after,
        withheld=tuple(withheld),
        joint=tuple(item for item in joint.applied if path in files_of(item)),
    )


def _without_unread(path: str, before: bytes, after: bytes, scope: Scope) -> bytes:
    """The fixed file without the imports that nothing reads any more; what a package imports, others read."""
    from stablelint.codemod.text.unread import is_taken_from, without_unread

    if after == before or not path.endswith(".py") or os.path.basename(path) == "__init__.py":
        return after
    return without_unread(
        before,
        after,
        lambda names: is_taken_from(path, names, (data for _, data in others(scope.root, {path}))),
    )


def _fixed(examiner: Examiner, scope: Scope, wanted: Wanted, path: str, before: bytes) -> FileFix | Problem:
    from stablelint.codemod.fixpoint import fix_source, key
    from stablelint.codemod.text.source import SourceError as UnreadableError

    examined, enabled = cache(partial(examiner.findings, path=path)), wanted.selection.enabled

    likely = {key(item) for item in examined(before).shown if item.level is Level.LIKELY}

    def found(data: bytes) -> list[Diagnostic]:
        # What was likely stays so, though another's fix may make its file look as if it guarded what it has to.
        seen = (*examined(data).shown, *examined(data).unshown)
        fallen = [item for item in seen if item.level is not Level.LIKELY and key(item) in likely]
        kept = [item for item in examined(data).shown if item not in fallen]
        raised = (replace(item, level=Level.LIKELY, fix=None) for item in fallen)
        return [item for item in (*kept, *raised) if enabled(item.code, path)]

    def idle(data: bytes) -> list[Diagnostic]:
        return examined(data).idle if enabled(UNUSED_CODE, path) else []

    try:
        accept = _acceptance(examiner, scope, wanted, before, found(before))
        first = fix_source(before, _sparing(found, wanted, scope), accept, examined(before).unshown)
        # Comments that fixes have made idle go last: to the rewriting they would be new findings.
        second = fix_source(first.source, _sparing(idle, wanted, scope), accept)
    except UnreadableError as error:
        return Problem(str(error), path)
    after = second.source
    left = unknown(wanted.known, sorted((*found(after), *idle(after)), key=_PLACE), scope.root)
    return FileFix(
        filename=path,
        before=before,
        after=after,
        applied=(*first.applied, *second.applied),
        withheld=tuple(item for item in first.withheld if item.fix_withheld),
        left=tuple(left),
        uncovered=first.uncovered,
    )


def _sparing(diagnose: Diagnose, wanted: Wanted, scope: Scope) -> Diagnose:
    """`diagnose`, with the known findings stripped of their fixes: they are seen, and stay as they are."""

    def diagnosed(source: bytes) -> list[Diagnostic]:
        found = sorted(diagnose(source), key=_PLACE)
        new = unknown(wanted.known, found, scope.root)
        kept = {id(item) for item in new}
        spared = (replace(item, fix=None, fix_withheld=None, proposals=()) for item in found)
        return [item if id(item) in kept else bare for item, bare in zip(found, spared, strict=True)]

    return diagnosed if wanted.known else diagnose


def _acceptance(
    examiner: Examiner, scope: Scope, wanted: Wanted, before: bytes, found: Sequence[Diagnostic]
) -> Callable[[Diagnostic], bool]:
    """Decides on single fixes; the evidence is read against the file as it was when it was gathered."""
    if not wanted.verified:
        return wanted.accepts
    from stablelint.workspace.runs.evidence import proof_of, proved

    passed = proved(before, found, Path(scope.root), examiner.catalog)
    return lambda item: wanted.accepts(item) and proof_of(item) in passed
