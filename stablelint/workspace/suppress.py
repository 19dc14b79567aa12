"""Comments that silence findings, and those of them that silence nothing.

`# noqa`, `# noqa: SL101, SL102`, `# stablelint: ignore[SL101] reason` on the first or last line of a finding;
`# stablelint: ignore-file` and `# stablelint: ignore-file[SL101]` anywhere. Rules may be called by code or by
name.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence

from stablelint.diagnostic import (
    Applicability,
    Diagnostic,
    Edit,
    Fix,
    Level,
    Position,
    Severity,
    Span,
    Status,
)
from stablelint.records import dataclass, field
from stablelint.syntax.comments import Comments, comments_of
from stablelint.syntax.source import SourceError, decode

UNUSED_CODE = "SL001"
UNUSED_NAME = "unused-suppression"

_NOQA = re.compile(
    r"#\s*noqa(?![\w-])(?:\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE
)
_OURS = re.compile(r"#\s*stablelint:\s*ignore(?P<file>-file)?(?![\w-])\s*(?:\[(?P<codes>[^\]]*)\])?")
_CODE = re.compile(r"[A-Za-z][\w-]*")
_OWN_CODES = re.compile(rb"noqa\s*:[^\n]*\bSL\d", re.IGNORECASE)


@dataclass(slots=True)
class Suppression:
    """One comment. `codes` is None where it silences every rule."""

    span: Span
    codes: tuple[str, ...] | None
    places: tuple[Span, ...]  # of each of the codes
    removal: Span  # the comment and the spaces before it
    foreign: bool  # `noqa`, which other linters read too
    used: set[str] = field(default_factory=set)

    def covers(self, diagnostic: Diagnostic) -> bool:
        """Whether the comment names the diagnostic's rule."""
        return self.codes is None or any(_names(code, diagnostic) for code in self.codes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is left after suppression: findings kept, findings silenced, comments that silence nothing."""

    kept: tuple[Diagnostic, ...]
    silenced: tuple[Diagnostic, ...]
    unused: tuple[Diagnostic, ...]


def mentions(data: bytes) -> bool:
    """Whether the file may hold a comment that is ours to check, even if nothing is found in it."""
    return b"stablelint:" in data or (b"SL" in data and _OWN_CODES.search(data) is not None)


def suppress(data: bytes, filename: str, diagnostics: Sequence[Diagnostic]) -> Outcome:
    """Splits `diagnostics` by the comments of the file. A file that cannot be tokenised silences nothing."""
    if not _may_silence(data, diagnostics):
        return Outcome(tuple(diagnostics), (), ())
    try:
        comments = _Suppressions(comments_of(decode(data, filename)))
    except (tokenize.TokenError, SyntaxError, SourceError):
        return Outcome(tuple(diagnostics), (), ())
    kept: list[Diagnostic] = []
    silenced: list[Diagnostic] = []
    for diagnostic in diagnostics:
        hits = [item for item in comments.for_span(diagnostic.span) if item.covers(diagnostic)]
        for item in hits:
            item.used.update(code for code in item.codes or ("",) if not code or _names(code, diagnostic))
        (silenced if hits else kept).append(diagnostic)
    unused = tuple(_report_unused(comments.all, filename))
    return Outcome(tuple(kept), tuple(silenced), unused)


def _may_silence(data: bytes, diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether a comment can concern a finding, or is ours: most name the codes of other linters."""
    if b"stablelint:" in data:
        return True
    if b"noqa" not in data.lower():
        return False
    codes = {diagnostic.code for diagnostic in diagnostics}
    for comment in _NOQA.finditer(data.decode("latin-1")):
        named = _CODE.findall((comment["codes"] or "").upper())
        if any(code in codes or code.startswith("SL") for code in named) or (codes and not named):
            return True
    return False


def _names(code: str, diagnostic: Diagnostic) -> bool:
    return code.upper() == diagnostic.code or code == diagnostic.name


class _Suppressions:
    """The suppressions of one file, by line."""

    def __init__(self, comments: Comments) -> None:
        self.all: list[Suppression] = []
        self._by_row: dict[int, Suppression] = {}
        self._whole_file: list[Suppression] = []
        self._last = comments.last
        for token in comments.by_row.values():
            self._add(token)

    def for_span(self, span: Span) -> Iterator[Suppression]:
        """The comments that reach a finding at `span`."""
        yield from self._whole_file
        rows = {span.start.row, self._last(span.start.row), span.end.row, self._last(span.end.row)}
        yield from (self._by_row[row] for row in sorted(rows) if row in self._by_row)

    def _add(self, token: tokenize.TokenInfo) -> None:
        found = _OURS.search(token.string) or _NOQA.search(token.string)
        if found is None:
            return
        row, column = token.start[0], token.start[1] + 1
        codes = None if found["codes"] is None else list(_CODE.finditer(found["codes"]))
        base = column + (found.start("codes") if codes is not None else 0)
        places = [_on_row(row, base + code.start(), base + code.end()) for code in codes or ()]
        foreign = found.re is _NOQA
        start, end = column + found.start(), column + len(token.string)
        before = len(token.line[: start - 1].rstrip()) + 1
        item = Suppression(
            span=_on_row(row, start, end),
            removal=_on_row(row, before, end),
            codes=None if codes is None else tuple(code[0] for code in codes),
            places=tuple(places),
            foreign=foreign,
        )
        self.all.append(item)
        if not foreign and found["file"] is not None:
            self._whole_file.append(item)
        else:
            self._by_row[row] = item


def _on_row(row: int, start: int, end: int) -> Span:
    return Span(Position(row, start), Position(row, end))


def _report_unused(suppressions: Iterable[Suppression], filename: str) -> Iterator[Diagnostic]:
    for item in suppressions:
        if item.codes is None:
            # A bare `noqa` may be meant for another linter.
            if not item.foreign and not item.used:
                yield _unused(item, filename, "", item.span)
            continue
        for code, place in zip(item.codes, item.places, strict=True):
            if code not in item.used and not (item.foreign and not re.fullmatch(r"(?i)SL\d+", code)):
                yield _unused(item, filename, code, place)


def _unused(item: Suppression, filename: str, code: str, place: Span) -> Diagnostic:
    what = f"no `{code}`" if code else "nothing"
    alone = item.codes is None or len(item.codes) == 1
    fix = Fix(Applicability.SAFE, "remove the comment", (Edit(item.removal, ""),)) if alone else None
    return Diagnostic(
        code=UNUSED_CODE,
        name=UNUSED_NAME,
        filename=filename,
        span=item.span if alone else place,
        message=f"{what} is reported here: the suppression silences nothing",
        severity=Severity.WARNING,
        status=Status.VIOLATED,
        level=Level.LIKELY,
        expression=code,
        fix=fix,
    )
