"""Applying fixes until none is left, each judged by a new check of the fixed text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from stablelint.codemod.edits import OverlappingEdits, apply_edits, select
from stablelint.codemod.propose import propose_all
from stablelint.codemod.source import SourceError, SourceText
from stablelint.diagnostic import Diagnostic, Edit, Fix

MAX_ROUNDS = 10

Diagnose = Callable[[bytes], Sequence[Diagnostic]]
Accept = Callable[[Diagnostic], bool]


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """The fixed source, the findings that were fixed, and those whose fix was withdrawn (`fix_withheld`).

    Positions of `applied` are those of the text in which the finding was made, which later rounds may have
    moved; those of `withheld` belong to the text in which the fix was tried last.
    """

    source: bytes
    applied: tuple[Diagnostic, ...]
    withheld: tuple[Diagnostic, ...]
    rounds: int

    @property
    def changed(self) -> bool:
        """Whether anything was fixed."""
        return bool(self.applied)


def fix_source(source: bytes, diagnose: Diagnose, accept: Accept) -> FixOutcome:
    """Apply the fixes that `accept` lets through, round by round, until a round changes nothing.

    `diagnose` finds what is wrong with a text; a finding it returns without `fix` is given one from its
    proposals. After a fix its finding must be gone and no new one may have come; otherwise the fix is
    withdrawn and the finding is among `withheld` with the reason. The result always parses.
    """
    applied: list[Diagnostic] = []
    refused: dict[_Key, Diagnostic] = {}
    current = _proposed(source, diagnose)
    rounds = 0
    while rounds < MAX_ROUNDS:
        wanted = [
            item for item in current if item.fix is not None and _key(item) not in refused and accept(item)
        ]
        if not wanted:
            break
        rounds += 1
        taken, deferred = select([item.fix for item in wanted if item.fix is not None])
        trial = _Trial(source, current, diagnose)
        kept = trial.largest([wanted[index] for index in taken], refused)
        if not kept:
            if not deferred:
                break
            continue
        source, current = trial.source, trial.after
        applied += kept
    return FixOutcome(source, tuple(applied), tuple(_withheld(current, refused, accept)), rounds)


_Key = tuple[str, str]


def _key(diagnostic: Diagnostic) -> _Key:
    """What identifies a finding wherever it stands: rule and expression, white space aside."""
    return diagnostic.code, "".join(diagnostic.expression.split())


def _proposed(source: bytes, diagnose: Diagnose) -> list[Diagnostic]:
    return propose_all(source, diagnose(source))


class _Trial:
    """One round: which of the fixes can stand together."""

    def __init__(self, source: bytes, before: list[Diagnostic], diagnose: Diagnose) -> None:
        self.source = source
        self.after = before
        self._original = source
        self._before = Counter(_key(item) for item in before)
        self._diagnose = diagnose

    def largest(self, wanted: list[Diagnostic], refused: dict[_Key, Diagnostic]) -> list[Diagnostic]:
        """All of `wanted` where they pass together, else those that pass one added to the other.

        What does not pass is put into `refused` with the reason.
        """
        if self._accepts(wanted) is None:
            return wanted
        kept: list[Diagnostic] = []
        for item in wanted:
            reason = self._accepts([*kept, item])
            if reason is None:
                kept.append(item)
            else:
                refused[_key(item)] = replace(item, fix=None, fix_withheld=reason)
        return kept

    def _accepts(self, items: list[Diagnostic]) -> str | None:
        """Try fixes together; None and the new state when they pass, else why not."""
        edits: list[Edit] = [edit for item in items if item.fix is not None for edit in item.fix.edits]
        try:
            source = apply_edits(self._original, edits)
        except (OverlappingEdits, SourceError) as error:
            return str(error)
        reason = _unreadable(source)
        if reason is not None:
            return reason
        after = _proposed(source, self._diagnose)
        reason = self._judge(items, Counter(_key(item) for item in after))
        if reason is None:
            self.source, self.after = source, after
        return reason

    def _judge(self, items: list[Diagnostic], after: Counter[_Key]) -> str | None:
        fixed = Counter(_key(item) for item in items)
        for key, count in fixed.items():
            if after[key] > self._before[key] - count:
                return "the finding would still be there"
        for code, expression in after - self._before:
            return f"the fixed code would have another finding, {code} ({expression[:60]})"
        return None


def _unreadable(source: bytes) -> str | None:
    """Why a text cannot be written: it must parse, with LibCST too, and LibCST must give it back unchanged."""
    import libcst as cst

    from stablelint.codemod.locate import parse

    try:
        text = SourceText.decode(source).text
        parse(text)
        if cst.parse_module(text).code != text:
            return "the fixed text would not survive another rewrite"
    except (SourceError, cst.ParserSyntaxError) as error:
        return f"the fixed text would not parse: {str(error).splitlines()[0]}"
    return None


def _withheld(current: list[Diagnostic], refused: dict[_Key, Diagnostic], accept: Accept) -> list[Diagnostic]:
    """Findings of the final text whose fix was withdrawn or could not be made."""
    result: list[Diagnostic] = []
    for item in current:
        withdrawn = refused.get(_key(item))
        if withdrawn is not None:
            result.append(replace(item, fix=None, fix_withheld=withdrawn.fix_withheld))
        elif item.fix is None and item.fix_withheld is not None:
            result.append(item)
        elif item.fix is not None and accept(item):
            result.append(replace(item, fix=None, fix_withheld=f"not settled after {MAX_ROUNDS} rounds"))
    return result


def conflicts(fixes: Sequence[Fix]) -> bool:
    """Whether some of the fixes touch the same text and need more than one round."""
    return bool(select(fixes)[1])
