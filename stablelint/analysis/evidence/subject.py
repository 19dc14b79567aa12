"""What a fact may ask: an open obligation, where it stands, and what else was seen in the function around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.proof.replacement import Replacement, is_replaced
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.diagnostic import Status
from stablelint.records import dataclass, field

# Operations whose result is 0 where one operand is.
_SCALES = frozenset("mul div pow square sqrt abs neg item index part gather mean sum clamp add".split())
_DEPTH = 8


@dataclass
class Surroundings:
    """What was seen in one function: the operations in order, and what was put in the place of others."""

    module: ModuleInfo
    observed: list[Value]
    replacements: list[Replacement]
    _shown: dict[Callable[[Iterable[Value]], frozenset[int]], frozenset[int]] = field(default_factory=dict)

    def keys(self, shows: Callable[[Iterable[Value]], frozenset[int]]) -> frozenset[int]:
        """The keys of those of the operations in which all of them together show a form."""
        if shows not in self._shown:
            self._shown[shows] = shows(self.observed)
        return self._shown[shows]


@dataclass
class Subject:
    """One open obligation and its surroundings."""

    site: Site
    around: Surroundings

    @property
    def function(self) -> FunctionInfo | None:
        """The function in which it stands; None in the body of a file."""
        return self.site.frame.function

    @property
    def module(self) -> ModuleInfo:
        """The file in which it stands."""
        return self.site.frame.module

    @cached_property
    def operand(self) -> Value | None:
        """The operand that may be bad, of the rule or of one that it replaces; None for a form that is a flaw by itself."""
        replaced = self.site.replaced
        if replaced is not None and self.site.judgement.status is Status.UNGUARDED:
            return self.site.operand or replaced.operand
        return self.site.operand

    @property
    def is_flaw(self) -> bool:
        """Whether there is no operand to ask about: the text alone shows what is wrong."""
        return self.operand is None

    @cached_property
    def origin(self) -> Value | None:
        """What the operand owes its zeros to, behind factors, powers and rearrangements."""
        return self.chain[-1] if self.chain else None

    @cached_property
    def chain(self) -> list[Value]:
        """The operand and, step by step, what it owes its zeros to."""
        found = [] if self.operand is None else [stripped(self.operand)]
        while found and len(found) < _DEPTH and (following := _step(found[-1])) is not None:
            found.append(following)
        return found

    @cached_property
    def behind_operand(self) -> list[Value]:
        """What the operand is made of, nearest first."""
        return [] if self.operand is None else list(behind(self.operand))

    @cached_property
    def behind_dividend(self) -> list[Value]:
        """What a quotient's dividend is made of, nearest first."""
        divided = self.site.value.operands.get("input")
        return [] if divided is None else list(behind(divided))

    @cached_property
    def is_replaced(self) -> bool:
        """Whether something is put in the place of what is made of the result, whatever decides on it."""
        return any(is_replaced(self.site.obligation, later) for later in self.around.replacements)


def _step(value: Value) -> Value | None:
    """The one operand that a value owes its zeros to, where there is one."""
    if value.op not in _SCALES:
        return None
    if value.op in ("mul", "add"):
        parts = [v for v in value.operands.values() if not v.is_constant and v.kind is not Kind.NONE]
        return stripped(parts[0]) if len(parts) == 1 else None
    return stripped(value.first) if value.first is not None else None
