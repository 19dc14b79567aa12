"""What a verification is asked to do: flagged expressions, their fixes, and the command that speaks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from stablelint.diagnostic import Span

Compose = Callable[[frozenset[str]], Mapping[str, bytes]]  # ids of sites -> texts of files with their fixes


class Verdict(StrEnum):
    """What running a site and its fix has shown."""

    CONFIRMED = "confirmed"  # captured operands fail, the fix cures them
    REACHABLE = "reachable"  # a search found inputs that fail, the fix cures them
    HANDLED = "handled"  # the value goes wrong, and the function deals with it: nothing to fix
    LATENT = "latent"  # only boundary operands fail, the fix cures them
    INEFFECTIVE = "ineffective"  # the fix still fails
    DIVERGES = "diverges"  # the fix changes healthy values beyond tolerance
    NOT_REPRODUCED = "not-reproduced"  # nothing that was tried fails
    NOT_REACHED = "not-reached"  # the command never came here

    @property
    def passing(self) -> bool:
        """Whether a fix with this verdict may be applied on its strength."""
        return self in (Verdict.CONFIRMED, Verdict.REACHABLE, Verdict.LATENT)

    @property
    def refuses(self) -> bool:
        """Whether it speaks against the fix."""
        return self in (Verdict.INEFFECTIVE, Verdict.DIVERGES)

    @property
    def settles(self) -> bool:
        """Whether it stands for as long as the code does: other operands would not change it."""
        return self.refuses or self in (Verdict.CONFIRMED, Verdict.REACHABLE, Verdict.HANDLED)


class Kind(StrEnum):
    """In which way a fix is verified."""

    EXPRESSION = "expression"  # by replaying both expressions
    INTERFACE = "interface"  # the value is meant to change: replayed, and not compared with the original
    SEQUENCE = "sequence"  # by the order of the calls, and by the rerun


@dataclass(frozen=True, slots=True)
class Site:
    """One finding to verify.

    `original` and `fixed` are whole expressions over the texts in `operands` (metavariable name to text that
    yields it at the site). Where the fix goes back to an operand from an earlier statement, `model` spells
    that statement out: captured operands are replayed with `original`, boundary operands with `model`.
    `forward` and `backward` are contracts in the language of the rule pages. `dtypes` names element types
    known by analysis.
    """

    code: str
    filename: str
    span: Span
    expression: str
    original: str
    fixed: str | None
    operands: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    message: str = ""
    forward: str | None = None
    backward: str | None = None
    dtypes: tuple[str, ...] = ()
    safe: bool = False
    bad_operands: tuple[Mapping[str, object], ...] = ()  # `[[operands]]` of the rule page
    sample: Mapping[str, object] = field(default_factory=dict)  # `[sample]` of the rule page
    page_dtypes: tuple[str, ...] = ()
    kind: Kind = Kind.EXPRESSION
    expect: str | None = None
    redefines: bool = False  # the page says that the fix changes healthy values as well
    has_fix: bool = True  # the fix may be no rewrite of one expression: `fixed` is None then
    across: bool = False  # the fix changes other files as well: the rerun has them all
    target: Span | None = None  # the expression that is replayed, where it is more than the finding's own
    model: str | None = None  # the original with earlier statements spelled out, over the operands of the fix
    hidden: str | None = None  # where the result is dropped anyway: 1.0 there, 0.0 where it is taken
    facts: tuple[str, ...] = ()  # what the analysis showed of the operands: "integral(b)", "python(b)"
    guards_hidden: bool = False  # the fix is about what is dropped, and about nothing else

    @property
    def id(self) -> str:
        """Names the site within one verification."""
        start, end = self.span.start, self.span.end
        return f"{self.code}:{self.filename}:{start.row}:{start.column}-{end.row}:{end.column}"

    @property
    def probe_span(self) -> Span:
        """Where the probe stands."""
        return self.target or self.span


@dataclass(frozen=True, slots=True)
class Request:
    """What to verify. `sources` holds the text of each site's file, `fingerprints` its name by content."""

    sites: Sequence[Site]
    sources: Mapping[str, bytes]
    command: Sequence[str] = ()
    compose: Compose = lambda _: {}
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    timeout: float | None = None
    search_seconds: float = 5.0
    rerun: bool = True
    curves: bool = False
    files: int = 0  # that were read for sites
    # File descriptor for the command's output and errors; None: those of this process.
    output: int | None = None
