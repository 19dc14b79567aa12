"""What a verification reports: plain values, without torch, ready for text, JSON and HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stablelint.runtime.verify.site import Site, Verdict

FINITE, NAN, INF = "finite", "nan", "inf"


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 fix`, `2 fixes`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of finite, NaN and infinite elements."""

    finite: int = 0
    nan: int = 0
    inf: int = 0

    def to_json(self) -> dict[str, int]:
        """As in the output of `verify`."""
        return {FINITE: self.finite, NAN: self.nan, INF: self.inf}


@dataclass(frozen=True, slots=True)
class Side:
    """How one of the two expressions did, over all cases that count; `bits` is its least mean accuracy."""

    forward: Tally
    backward: Tally
    bits: float | None = None

    def to_json(self) -> dict[str, object]:
        """As in the output of `verify`."""
        return {"forward": self.forward.to_json(), "backward": self.backward.to_json(), "bits": self.bits}


@dataclass(frozen=True, slots=True)
class OperandShown:
    """An operand of a witness: shape, element type and a few values, or its text when it is no tensor."""

    name: str
    shape: tuple[int, ...] | None
    dtype: str | None
    values: tuple[float, ...]
    text: str

    def to_json(self) -> dict[str, object]:
        """Values that JSON cannot hold are strings."""
        plain = [value if value - value == 0 else str(value) for value in self.values]
        return {
            "name": self.name,
            "shape": None if self.shape is None else list(self.shape),
            "dtype": self.dtype,
            "values": plain,
            "text": self.text,
        }


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
    file: str | None = None
    failed: str | None = None
    fixed_failed: str | None = None
    line: str | None = None  # the call of the function that shows it, to be pasted

    def to_json(self) -> dict[str, object]:
        """As in the output of `verify`."""
        return {
            "origin": self.origin,
            "label": self.label,
            "operands": [operand.to_json() for operand in self.operands],
            "original": self.original,
            "fixed": self.fixed,
            "file": self.file,
            "line": self.line,
            "failed": self.failed,
            "fixed_failed": self.fixed_failed,
        }


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

    def to_json(self) -> dict[str, object]:
        """As in the output of `verify`; a change without bounds is a string."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {
            name: str(item) if item in (float("inf"), float("nan")) else item for name, item in plain.items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> FunctionShown:
        """What `to_json` wrote."""
        known = {name: data.get(name) for name in cls.__slots__}
        changes = {name: None if known[name] is None else float(str(known[name])) for name in _CHANGES}
        return cls(**{**known, **changes})  # type: ignore[arg-type]


_CHANGES = ("healthy_change", "witness_change")


@dataclass(frozen=True, slots=True)
class SiteReport:
    """Everything that is told of one site."""

    site: Site
    verdict: Verdict
    calls: int = 0
    extents: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    original: Side | None = None
    fixed: Side | None = None
    witness: WitnessShown | None = None
    notes: tuple[str, ...] = ()
    cases: int = 0
    seconds: float = 0.0
    curve: Curve | None = None
    fingerprint: str = ""
    known: bool = False  # the verdict is an earlier one, of the same text
    guilty: bool = False  # the command fails, or goes non-finite, with this fix alone
    function: FunctionShown | None = None

    def to_json(self) -> dict[str, object]:
        """As in the output of `verify`."""
        span = self.site.span
        return {
            "code": self.site.code,
            "name": self.site.name,
            "filename": self.site.filename,
            "location": {"row": span.start.row, "column": span.start.column},
            "end_location": {"row": span.end.row, "column": span.end.column},
            "expression": self.site.original,
            "fix": self.site.fixed,
            "verdict": str(self.verdict),
            "captured": {"calls": self.calls, "operands": {k: dict(v) for k, v in self.extents.items()}},
            "original": self.original.to_json() if self.original else None,
            "fixed": self.fixed.to_json() if self.fixed else None,
            "witness": self.witness.to_json() if self.witness else None,
            "function": self.function.to_json() if self.function else None,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class RunShown:
    """One run of the command."""

    status: int
    seconds: float
    stopped: str | None  # "timed out", "interrupted"
    losses: Mapping[str, object] | None

    def to_json(self) -> dict[str, object]:
        """As in the output of `verify`."""
        return {
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "losses": self.losses,
        }


@dataclass(frozen=True, slots=True)
class RerunReport:
    """The command before and after the fixes."""

    before: RunShown
    after: RunShown | None
    fixes: int
    claim: str
    passed: bool | None  # None: it was not run, or failed as it did before
    guilty: tuple[str, ...] = ()  # sites whose fix makes the command worse

    def to_json(self) -> dict[str, object]:
        """As in the output of `verify`."""
        return {
            "before": self.before.to_json(),
            "after": self.after.to_json() if self.after else None,
            "fixes": self.fixes,
            "claim": self.claim,
            "passed": self.passed,
            "guilty": list(self.guilty),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A whole verification."""

    sites: tuple[SiteReport, ...]
    rerun: RerunReport | None = None
    command: tuple[str, ...] = ()
    overhead: float | None = None
    problems: tuple[str, ...] = ()
    incomplete: bool = False  # the command did not run to its end
    files: int = 0  # that were read for sites

    def to_json(self) -> dict[str, object]:
        """The document that `verify --output-format json` prints."""
        return {
            "command": list(self.command),
            "sites": [site.to_json() for site in self.sites],
            "rerun": self.rerun.to_json() if self.rerun else None,
            "overhead": self.overhead,
            "problems": list(self.problems),
        }
