"""Fixes that change several files: a model loses its last step in one, a loss takes the logits in another.

They are made before the fixes of single files, on what the files hold, and judged by a check of all files that they
change: the finding must be gone, and no other may have come.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from stablelint.config import Settings
from stablelint.diagnostic import Diagnostic, Edit, Passes, Texts
from stablelint.records import dataclass, field, replace
from stablelint.syntax.source import SourceError
from stablelint.workspace.examine import Scope, setup
from stablelint.workspace.files.discover import discover
from stablelint.workspace.notebooks import python_at

T = TypeVar("T")
_Edits = dict[str, list[Edit]]


@dataclass(slots=True)
class Joint:
    """What the fixes of several files have made: the new texts of the files, and what they held `before`."""

    before: dict[str, bytes] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    applied: list[Diagnostic] = field(default_factory=list)
    withheld: list[Diagnostic] = field(default_factory=list)


def files_of(item: Diagnostic) -> frozenset[str]:
    """The files that the fix of a finding changes."""
    return frozenset(() if item.fix is None else item.fix.by_file(item.filename))


def fix_across(found: Iterable[Diagnostic], scope: Scope, received: Mapping[str, Passes]) -> Joint:
    """Makes the fixes of several files among those of the findings, as far as they can stand together."""
    joint = Joint()
    before = joint.before
    made: _Edits = {}
    several = [item for item in found if item.fix is not None and item.fix.is_across]
    for group in together(several, _places):  # what shares an edit cannot be made alone
        try:
            for path in set().union(*map(files_of, group)) - before.keys():
                before[path] = python_at(path)
            edits = _joined(made, group)
            texts = {path: _edited(before[path], edits[path]) for path in edits}
            reason = _objection(group, before | joint.texts, texts, scope, received)
        except (OSError, SourceError, ValueError) as error:
            reason = str(error)
        if reason is None:
            made, joint.texts = edits, texts
            joint.applied += [_naming_takers(item, group, before, scope.root) for item in group]
        else:
            joint.withheld += [replace(item, fix=None, fix_withheld=reason) for item in group]
    return joint


def _naming_takers(item: Diagnostic, group: Sequence[Diagnostic], texts: Texts, root: str) -> Diagnostic:
    """The finding, whose fix says which files that have none of the group take what it changes in others."""
    from stablelint.codemod.text.unread import is_taken_from

    assert item.fix is not None
    files = item.fix.by_file(item.filename)
    names = {
        path: _defined_around(texts[path], edits) for path, edits in files.items() if path != item.filename
    }
    known = {one.filename for one in group}.union(files)
    takers = [
        os.path.relpath(one, root)
        for one, data in others(root, known)
        if any(is_taken_from(path, of, [data]) for path, of in names.items() if of)
    ]
    if not takers:
        return item
    what = " and ".join(f"`{name}`" for name in sorted(frozenset().union(*names.values())))
    said = f"{', '.join(sorted(takers))}, too, {'takes' if len(takers) == 1 else 'take'} {what}"
    caution = f"{item.fix.caution}; {said}" if item.fix.caution else said
    return replace(item, fix=item.fix._replace(caution=caution))


def others(root: str, known: Container[str]) -> Iterator[tuple[str, bytes]]:
    """The other files of a project, and what they hold."""
    for one in discover([root], Settings(root=Path(root))).files:
        with suppress(OSError):
            if one.path not in known:
                yield one.path, Path(one.path).read_bytes()


def _defined_around(text: bytes, edits: Iterable[Edit]) -> frozenset[str]:
    """The names of the outermost functions and classes that edits change."""
    rows = {edit.span.start.row for edit in edits}
    defined = (one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef | ast.ClassDef))
    return frozenset(
        one.name for one in defined if rows & set(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    )


def together(items: Iterable[T], parts: Callable[[T], frozenset[Hashable]]) -> Iterator[list[T]]:
    """The items in groups: those that share a part, with each other or through more of them, are in one."""
    pending = list(items)
    while pending:
        group = [pending.pop(0)]
        for item in group:
            near = [one for one in pending if parts(one) & parts(item)]
            group += near
            pending = [one for one in pending if one not in near]
        yield group


def _places(item: Diagnostic) -> frozenset[tuple[str, Edit]]:
    files = item.fix.by_file(item.filename) if item.fix is not None else {}
    return frozenset((path, edit) for path, edits in files.items() for edit in edits)


def _joined(made: _Edits, group: Sequence[Diagnostic]) -> _Edits:
    """The edits that were made, and those of the group, each once."""
    edits = {path: list(known) for path, known in made.items()}
    for item in group:
        for path, edit in sorted(_places(item), key=lambda place: (place[0], place[1].span)):
            known = edits.setdefault(path, [])
            known += [] if edit in known else [edit]
    return edits


def _edited(before: bytes, edits: Sequence[Edit]) -> bytes:
    """The text with the edits made; ValueError where two of them touch the same code, or it is no Python then."""
    from stablelint.codemod.text.edits import OverlappingEdits, apply_edits
    from stablelint.codemod.text.locate import parse
    from stablelint.codemod.text.source import SourceError as UnreadableError
    from stablelint.codemod.text.source import SourceText

    try:
        after = apply_edits(before, edits)
        parse(SourceText.decode(after).text)
    except (OverlappingEdits, UnreadableError) as error:
        raise ValueError(str(error)) from error
    return after


def _objection(
    group: Sequence[Diagnostic], before: Texts, after: Texts, scope: Scope, received: Mapping[str, Passes]
) -> str | None:
    """Why the fixes of a group are not made, or None where a check of what they write finds nothing against them."""
    paths = {item.filename for item in group}.union(*map(files_of, group))
    now = _found(paths, after, scope, received)
    known = _found(paths, before, scope, received)
    for item in group:
        known[_key(item)] -= 1
        if now[_key(item)] > known[_key(item)]:
            return "the finding would still be there"
    new = next(iter((now - known).elements()), None)
    return None if new is None else f"the fixed code would have another finding: {new[1]}"


def _found(paths: Iterable[str], texts: Texts, scope: Scope, received: Mapping[str, Passes]) -> Counter[_Key]:
    examiner = setup(scope, received, texts)
    read = ((path, texts[path] if path in texts else python_at(path)) for path in paths)
    return Counter(_key(item) for path, data in read for item in examiner.findings(data, path).shown)


_Key = tuple[str, str, str]


def _key(item: Diagnostic) -> _Key:
    """What identifies a finding in its file, wherever it stands: rule and expression."""
    return item.filename, item.code, "".join(item.expression.split())
