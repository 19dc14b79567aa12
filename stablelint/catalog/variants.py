"""The rewrites that one `[[fix]]` of a page stands for: of several operands, and of what is known of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stablelint.catalog.errors import RuleError
from stablelint.catalog.pattern import METAVARIABLE
from stablelint.catalog.rule import FixTemplate

_ASKED = re.compile(r"\$(\w+)\.dtype\b")


@dataclass(frozen=True, slots=True)
class Constant:
    """What a fix writes with a number in the place of a limit of the element type, and where that is right."""

    replace: str
    dtypes: tuple[str, ...]
    message: str


def variants(fix: FixTemplate, targets: Sequence[str], constant: Constant | None) -> Iterator[FixTemplate]:
    """The fix for each of its targets, the best first.

    With a constant: as it stands where the operand has a name; else with the number, where single precision is
    shown; else as it stands, with a new name. Raises RuleError.
    """
    for target in targets or ("",):
        one = _renamed(replace(fix, target=target or None), targets[0] if targets else "", target)
        if constant is None:
            yield one
            continue
        asked = _ASKED.search(one.replace)
        if asked is None:
            message = "`constant` stands for a limit of the element type, and `replace` asks for none"
            raise RuleError(message, key="constant")
        yield replace(one, inline=True, when=(*one.when, f"floating({asked[1]})"))
        numbered = replace(one, replace=constant.replace, when=(*one.when, f"dtype({asked[1]}) >= float32"),
                           dtypes=constant.dtypes, message=constant.message or one.message)  # fmt: skip
        yield _renamed(numbered, targets[0] if targets else "", target)
        yield one


def _renamed(fix: FixTemplate, old: str, new: str) -> FixTemplate:
    """The fix with another metavariable in the place of the one that it is written for."""
    if old == new:
        return fix

    def named(found: re.Match[str]) -> str:
        return f"${new}{found[2] or ''}" if found[1] == old else found[0]

    when = tuple(re.sub(rf"\b{old}\b(?!\()", new, text) for text in fix.when)
    return replace(fix, replace=METAVARIABLE.sub(named, fix.replace), when=when)
