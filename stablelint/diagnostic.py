"""What every layer speaks of: positions, findings, rewrites and fixes.

Rows and columns count from 1; columns count characters, and the end of a span is exclusive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

from stablelint.records import dataclass, field


class Applicability(StrEnum):
    """How far a fix may be trusted without a reader."""

    SAFE = "safe"  # same value on the whole domain, only better computed
    UNSAFE = "unsafe"  # values or gradients change for some operands; the page says which
    DISPLAY = "display"  # a choice the user must make; shown, never applied


class Status(StrEnum):
    """What the analysis knows about an obligation."""

    VIOLATED = "violated"  # known operations lead to a bad operand
    UNGUARDED = "unguarded"  # nothing guards an operand that may be bad
    ASSUMED = "assumed"  # safe as long as something that can be set otherwise keeps its value
    DISCHARGED = "discharged"  # proved safe

    @property
    def is_open(self) -> bool:
        """Whether there is something to report."""
        return self in (Status.VIOLATED, Status.UNGUARDED)


class Level(StrEnum):
    """Which findings are shown in full unasked: a threshold on their confidence."""

    LIKELY = "likely"
    POSSIBLE = "possible"


LIKELY_FROM = 0.14
"""The confidence from which a finding is likely; `benchmarks/calibrate.py fit` tells what others would show."""


class Severity(StrEnum):
    """How a finding is presented; every severity fails the run."""

    ERROR = "error"
    WARNING = "warning"


class Position(NamedTuple):
    """A place in a text file."""

    row: int
    column: int

    def as_json(self) -> dict[str, int]:
        """The place as the reports print it."""
        return {"row": self.row, "column": self.column}


class Span(NamedTuple):
    """A half-open range of text."""

    start: Position
    end: Position

    def contains(self, other: Span) -> bool:
        """Whether `other` lies within this span."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Whether the two share at least one character."""
        return self.start < other.end and other.start < self.end

    @property
    def extent(self) -> tuple[int, int]:
        """How many rows and columns it covers, by which the shorter of two is told."""
        return self.end.row - self.start.row, self.end.column - self.start.column

    def as_json(self) -> dict[str, dict[str, int]]:
        """Both ends as the reports print them."""
        return {"location": self.start.as_json(), "end_location": self.end.as_json()}


class Step(NamedTuple):
    """One link of the chain that leads to a finding."""

    text: str
    span: Span
    filename: str | None = None  # None: the file of the finding


RULE = "rule"  # the reason that stands for what is known of a rule's findings


class Reason(NamedTuple):
    """A fact that holds of a finding, and what it adds to the log-odds of its confidence."""

    fact: str
    sentence: str
    weight: float


class Edit(NamedTuple):
    """Replace the text of `span` by `content`."""

    span: Span
    content: str
    filename: str | None = None  # None: the file of the finding

    def as_json(self) -> dict[str, object]:
        """The edit as the reports print it."""
        other = {} if self.filename is None else {"filename": self.filename}
        return {"content": self.content, **self.span.as_json(), **other}


def edited(lines: Sequence[str], edits: Iterable[Edit], first: int = 1) -> str:
    """The text of `lines`, which begin at row `first`, with the edits made; what lies behind it counts as its end."""
    text = "\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def offset(place: Position) -> int:
        row = place.row - first
        return starts[row] + place.column - 1 if row < len(starts) else starts[-1]

    ordered = sorted(edits, key=lambda edit: edit.span)
    for edit in reversed(ordered):
        text = text[: offset(edit.span.start)] + edit.content + text[offset(edit.span.end) :]
    return text


UNMET = "nothing shows that this occurs: `stablelint verify` can"
"""The caution of a fix that is only shown for want of evidence."""


class Fix(NamedTuple):
    """Edits that remove a finding, ready to be applied to the file it was found in, and to those that they name."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]
    caution: str | None = None  # why a rewrite that is safe elsewhere is not proved to be so here

    def by_file(self, own: str) -> dict[str, list[Edit]]:
        """The edits by the file that they change, as edits of that file; `own` is the file of the finding."""
        files: dict[str, list[Edit]] = {}
        for edit in self.edits:
            files.setdefault(edit.filename or own, []).append(Edit(edit.span, edit.content))
        return files

    @property
    def is_choice(self) -> bool:
        """Whether its author has to choose it: it is only shown, and not for want of evidence."""
        return self.applicability is Applicability.DISPLAY and self.caution != UNMET

    @property
    def is_across(self) -> bool:
        """Whether it changes another file than that of the finding."""
        return any(edit.filename is not None for edit in self.edits)


NOT_HALF = "not half"  # its program trains, and speaks nowhere of half precision
INTEGERS = "integers"  # it may hold integers, or does
MAYBE_HALF = "maybe half"  # its program casts to float16, and nothing that it is made of was cast back


class Binding(NamedTuple):
    """What a metavariable of a rule's pattern stands for at a site.

    `text` is Python that yields the value when it is evaluated at the site, or None where no such expression
    exists any more (a name was rebound, the value came from another function). `span` is where that text
    stands, when it stands within the finding itself; `origin`, where there is no text, where the value was computed in
    the same function. `dtype` is the element type where known ("float16"), or `INTEGERS`, `NOT_HALF` or `MAYBE_HALF`;
    `is_tensor` tells that something shows it to be a tensor, and no number of Python's.
    """

    text: str | None
    span: Span | None = None
    dtype: str | None = None
    origin: Span | None = None
    is_tensor: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fix as the rule states it: a template over the site's bindings, not yet text.

    `span` is the expression (or statement) that the template replaces. The proposal's places are in the file
    `filename`, or where that is None in the file of the finding.

    `program` holds the places of the operations that the pattern has matched, the outermost last, and `literals` those
    of the numbers that it asks for (None: in another file): what a proof that the rewrite is safe begins with. `caveats`
    are what is not shown of the types of its operands, `takers` the operations of other findings that the rewrite is for.
    """

    template: str
    applicability: Applicability
    span: Span
    bindings: Mapping[str, Binding]
    message: str
    # Or "insert-before", "insert-after", "delete", "move-before", "set-keywords", "wrap".
    kind: str = "replace"
    # The statement beside which an insertion is made, or that is wrapped; the operation that takes an object.
    anchor: Span | None = None
    also: tuple[Proposal, ...] = ()  # rewrites at other places without which this one would be wrong
    program: tuple[Span | None, ...] = ()
    literals: tuple[Span | None, ...] = ()
    caveats: tuple[str, ...] = ()
    takers: tuple[Span, ...] = ()
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding, or one obligation that holds."""

    code: str
    name: str
    filename: str
    span: Span
    message: str
    severity: Severity
    status: Status
    level: Level
    expression: str
    confidence: float = 1.0  # the chance that a maintainer would repair it
    because: tuple[Reason, ...] = ()  # the facts that the confidence is made of, the heaviest first
    derivation: tuple[Step, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    fix: Fix | None = None
    fix_withheld: str | None = None  # why there is no fix although the rule has one
    discharged_by: str | None = None  # "clamp", "eps", "branch" ... when the status is DISCHARGED or ASSUMED
    assumes: tuple[str, ...] = ()  # settings on which the status rests: "temperature=1.0"
    url: str = ""
    of_gradient: bool = False  # the value itself is finite

    @property
    def sort_key(self) -> tuple[str, Span, str]:
        """Order of output: by file, place, code."""
        return (self.filename, self.span, self.code)

    @property
    def elsewhere(self) -> frozenset[str]:
        """The other files in which it names places, or proposes to change something."""
        rewritten = [part.filename for one in self.proposals for part in (one, *one.also)]
        return frozenset(filter(None, [*rewritten, *(step.filename for step in self.derivation)]))


class Problem(NamedTuple):
    """Something the tool could not do, with its place; it makes the exit code 2."""

    message: str
    filename: str | None = None
    position: Position | None = None
    hint: str | None = None


class Passed(NamedTuple):
    """What a file passes to a place in another one: its text, and where it stands."""

    path: str
    row: int
    text: str


Place = tuple[str, str]
"""What may be set from another file: a function, class or table (see `passing.target_of`), and a name in it."""
WHOLE = ""
"""In a place, the project as a whole: what is passed to it are facts, by name (see `syntax.precision`)."""
CALLED = "()"
"""What is passed to a private function that another file calls, whatever its arguments, and, behind its name, to a method
that a class of another file overrides."""
OF_SOME_OBJECT = ":"
"""Before the name of a method in a place: that of an object of which its caller does not tell the class."""
Passes = Mapping[Place, Sequence[Passed]]
"""What files pass, by place."""
NOTHING: Passes = MappingProxyType({})
Texts = Mapping[str, bytes]
"""What files hold, or are to hold, by path."""
UNEDITED: Texts = MappingProxyType({})


def counting(place: Place, passed: Sequence[Passed], path: str) -> Sequence[Passed]:
    """What counts for a file of what is passed to a place: of some object's method only that another file calls it."""
    if not place[0].startswith(OF_SOME_OBJECT):
        return passed
    return (Passed("", 0, ""),) if any(one.path != path for one in passed) else ()


@dataclass(frozen=True, slots=True)
class FileReport:
    """Everything that was learned about one file."""

    filename: str
    diagnostics: tuple[Diagnostic, ...] = ()
    discharged: tuple[Diagnostic, ...] = ()  # what was proved safe, and what is assumed to be
    problems: tuple[Problem, ...] = ()
    lines: int = 0
    discharge_counts: Mapping[str, int] = field(default_factory=dict)
    assumed: int = 0  # obligations that hold as long as settings keep their values
    # Other files read, and how each must look for all this to hold: see `Project.consulted`.
    consulted: Mapping[str, str] = field(default_factory=dict)
    passes: Passes = field(default_factory=dict)  # to places in other files
    asks: frozenset[Place] = frozenset()  # places of which it matters what other files pass
