"""What a verification reports: plain values, without torch, ready for text, JSON and HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stablelint.runtime.plain import plain
from stablelint.runtime.verify.probe.series import Series
from stablelint.runtime.verify.site import Site, Verdict


@dataclass(frozen=True, slots=True)
class Counts:
    """How many elements are finite, NaN and infinite."""

    finite: int = 0
    nan: int = 0
    inf: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.finite + other.finite, self.nan + other.nan, self.inf + other.inf)

    @property
    def bad(self) -> bool:
        """Whether anything is not finite."""
        return bool(self.nan or self.inf)


@dataclass(frozen=True, slots=True)
class Side:
    """How one of the two expressions did, over all cases that count; `bits` is its least mean accuracy."""

    forward: Counts
    backward: Counts
    bits: float | None = None


@dataclass(frozen=True, slots=True)
class OperandShown:
    """An operand of a witness: shape, element type and a few values, or its text when it is no tensor."""

    name: str
    shape: tuple[int, ...] | None
    dtype: str | None
    values: tuple[float, ...]
    text: str


@dataclass(frozen=True, slots=True)
class WitnessShown:
    """The operands that decided a verdict, and what both expressions gave on them.

    `failed` and `fixed_failed` say how they failed: "forward", "backward", "accuracy", "wrong", "refused" by
    torch, or "error".
    """

    origin: str
    label: str
    operands: tuple[OperandShown, ...]
    original: str
    fixed: str | None
    failed: str | None = None
    fixed_failed: str | None = None
    line: str | None = None  # the call of the function that shows it, to be pasted


@dataclass(frozen=True, slots=True)
class Curve:
    """Both expressions along one operand: accuracy in bits at each point.

    A point that is not finite (or whose gradient is not) has None. `captured` holds counts of captured
    elements in the bins between `edges`.
    """

    operand: str
    dtype: str
    points: tuple[float, ...]
    original_bits: tuple[float | None, ...]
    fixed_bits: tuple[float | None, ...]
    failing: tuple[bool, ...]
    edges: tuple[float, ...] = ()
    captured: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionShown:
    """What the enclosing function gave, before the fix and after it.

    `original` and `fixed` are words for the failing call: "finite", "gradient" (not finite there), "inf", "nan",
    "raised". `healthy_change` and `witness_change` are the largest changes of what it returns and writes, over
    `healthy` calls and on the failing one, 1 being what is allowed. `line` is the failing call as it can be
    pasted, where it was made; `why` says why there was no call.
    """

    original: str | None = None
    fixed: str | None = None
    healthy: int = 0
    healthy_change: float | None = None
    witness_change: float | None = None
    original_text: str | None = None
    fixed_text: str | None = None
    line: str | None = None
    healthy_line: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class SiteReport:
    """Everything that is told of one site."""

    site: Site
    verdict: Verdict
    calls: int = 0
    extents: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    original: Side | None = None
    fixed: Side | None = None
    witness: WitnessShown | None = None
    notes: tuple[str, ...] = ()
    cases: int = 0
    curve: Curve | None = None
    fingerprint: str = ""
    known: bool = False  # the verdict is an earlier one, of the same text
    guilty: bool = False  # the command fails, or goes non-finite, with this fix alone
    function: FunctionShown | None = None

    def as_json(self) -> dict[str, object]:
        """As in the output of `verify`."""
        return {
            "code": self.site.code,
            "name": self.site.name,
            "filename": self.site.filename,
            **self.site.span.as_json(),
            "expression": self.site.original,
            "fix": self.site.fixed,
            "verdict": str(self.verdict),
            "captured": {"calls": self.calls, "operands": plain(self.extents)},
            "original": plain(self.original),
            "fixed": plain(self.fixed),
            "witness": plain(self.witness),
            "function": plain(self.function),
            "notes": plain(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command: its exit status (negative: the signal that killed it), and what was watched."""

    status: int
    seconds: float
    stopped: str | None = None  # "timed out", "interrupted"
    losses: Series | None = None
    failed_tests: frozenset[str] | None = None  # None: it is no test-suite

    @property
    def failed(self) -> bool:
        """Whether it did not come to its own good end."""
        return self.status != 0 or self.stopped is not None

    @property
    def bad(self) -> bool:
        """Whether a loss or a gradient was not finite."""
        return self.losses is not None and self.losses.bad


@dataclass(frozen=True, slots=True)
class Rerun:
    """The command before and after the fixes."""

    before: Run
    after: Run | None
    fixes: int
    claim: str
    passed: bool | None  # None: it was not run, or failed as it did before
    guilty: tuple[str, ...] = ()  # sites whose fix makes the command worse

    @property
    def cures(self) -> bool:
        """Whether the command came to a bad end of its own before the fixes, and comes to a good one with them."""
        failed = self.before.status != 0 and self.before.stopped is None
        return failed and bool(self.passed) and self.after is not None and self.after.status == 0

    @property
    def verdict(self) -> str:
        """What it says of the fixes, in a word."""
        if self.after is None:
            return "not run"
        return {True: "passed", False: "failed", None: "undecided"}[self.passed]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole verification."""

    sites: tuple[SiteReport, ...]
    rerun: Rerun | None = None
    command: tuple[str, ...] = ()
    overhead: float | None = None
    problems: tuple[str, ...] = ()
    incomplete: bool = False  # the command did not run to its end
    files: int = 0  # that were read for sites

    def as_json(self) -> dict[str, object]:
        """The document that `verify --output-format json` prints."""
        return {
            "command": list(self.command),
            "sites": plain(self.sites),
            "rerun": plain(self.rerun),
            "overhead": self.overhead,
            "problems": list(self.problems),
        }
