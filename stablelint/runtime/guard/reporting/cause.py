"""Why it happened: the rule whose contract was broken, or a sentence from what the operands show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stablelint.diagnostic import Fix
from stablelint.runtime.guard.reporting.event import Event, Mechanism, Origin
from stablelint.runtime.plain import Json, plain
from stablelint.runtime.tensors.measure import OperandStats
from stablelint.runtime.tracing.operation import has


@dataclass(frozen=True, slots=True)
class Cause:
    """The root cause of an event; `code` and `name` are of the rule, where one speaks of the expression."""

    summary: str
    code: str | None = None
    name: str | None = None
    url: str = ""
    derivation: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A fix, and the whole file with it applied; `sha256` is of the file that the edits are for."""

    filename: str
    fix: Fix
    source: str
    diff: str = ""
    sha256: str = ""

    def as_json(self) -> dict[str, Json]:
        """The fix as ``run --output-format json`` prints it."""
        return {
            "applicability": self.fix.applicability.value,
            "message": self.fix.message,
            "edits": plain(self.fix.edits),
            "filename": self.filename,
            "diff": self.diff,
            "sha256": self.sha256,
        }


@dataclass(frozen=True, slots=True)
class Remedied:
    """A file with every fix that the rules have for it applied."""

    fixes: int
    rewrite: Rewrite


@dataclass(frozen=True, slots=True)
class Advice:
    """What the static rules say of the expression of an event: its cause, and the fix or why there is none."""

    cause: Cause
    rewrite: Rewrite | None = None
    withheld: str | None = None
    # Asked only where the fix alone does not help: all fixes of the file, and a plainer one.
    remedied: Callable[[], Remedied | None] = lambda: None
    guard: Callable[[], Rewrite | None] = lambda: None


@dataclass(frozen=True, slots=True)
class FurtherSteps:
    """Training continued with the fix in a forked copy of the process; `taken` steps of `asked` were finite."""

    asked: int
    taken: int
    finite: bool | None  # None where they could not be run
    loss: float | None  # of the last step taken
    note: str


@dataclass(frozen=True, slots=True)
class Together:
    """The step replayed with all fixes of the file, where the one fix alone did not help."""

    fixes: int
    finite: bool
    note: str
    rewrite: Rewrite

    def as_json(self) -> dict[str, Json]:
        """The outcome of the replay."""
        return {"fixes": self.fixes, "finite": self.finite, "note": self.note, "diff": self.rewrite.diff}


@dataclass(frozen=True, slots=True)
class Verification:
    """The step replayed with the fix applied in memory, and the steps after it where they were asked for."""

    finite: bool
    loss: float | None
    note: str
    further_steps: FurtherSteps | None = None
    with_all_fixes: Together | None = None

    @property
    def helps(self) -> bool:
        """Whether the step is finite with the fix, or with all fixes of the file."""
        return self.finite or (self.with_all_fixes is not None and self.with_all_fixes.finite)


class Adviser(Protocol):
    """Finds the rule and the fix for an event's expression; None where no rule speaks of it."""

    def __call__(self, event: Event) -> Advice | None:
        """Advice on an event; must not raise for what the user's file holds."""


def explain(event: Event) -> Cause:
    """The cause in one sentence, from origin, mechanism and operands alone."""
    text = _BY_ORIGIN.get(event.origin)
    if text is not None and event.mechanism is not Mechanism.ABSORBED:
        return Cause(text.format(parameter=event.parameter or "a parameter", operation=event.operation))
    if event.mechanism is Mechanism.ABSORBED:
        return Cause(f"{event.note} A moment of 0 is then divided by 0.", "SL413", "half-optimizer")
    if (known := cause_of_operands(event)) is not None:
        return known
    what = f"`{event.operation}`" if event.operation else "the step"
    if event.mechanism is Mechanism.LITERAL:
        return Cause("The program itself writes the non-finite number.")
    if event.mechanism is Mechanism.UNINITIALISED:
        return Cause("Memory from `torch.empty` is read before it is written.")
    if event.mechanism is Mechanism.OVERFLOW:
        return Cause(f"{what} passes the largest number of its type: {_extent(event.operands)}.")
    if event.mechanism is Mechanism.DOMAIN:
        return Cause(f"{what} got an operand outside its domain: {_extent(event.operands)}.")
    return Cause(f"{what} gave the first non-finite value.")


def cause_of_operands(event: Event) -> Cause | None:
    """What infinite operands make of a NaN, with the page that explains it."""
    values = [value for _, value in event.element.operands] if event.element is not None else []
    infinite = [value for value in values if math.isinf(value)]
    if event.operation == "mul" and infinite and 0.0 in values:
        return Cause("0 * inf is NaN: a zero meets an infinite element.", "SL504", "infinity-times-zero")
    if event.operation in ("add", "sub", "rsub") and len(infinite) > 1:
        page = ("SL223", "unguarded-shift") if all(value < 0 for value in infinite) else (None, None)
        return Cause("inf - inf is NaN: both elements are infinite.", *page)
    if event.operation and has(event.operation, "row") and values == [-math.inf]:
        return Cause(
            "Every element of the row is -inf: its softmax is 0 / 0.", "SL501", "fully-masked-softmax"
        )
    products = [one for one in event.operands if one.inf or one.zero]
    contracts = event.operation == "linear" or has(event.operation or "", "product", "fused")
    if contracts and len(products) > 1 and any(one.inf for one in products):
        return Cause(
            "Products of infinite elements with zeros are NaN, and so is their sum.",
            "SL504",
            "infinity-times-zero",
        )
    return None


_BY_ORIGIN = {
    Origin.BATCH: "The batch already holds a non-finite value when it reaches `{operation}`.",
    Origin.PARAMETERS: "{parameter} is not finite before this step: the checkpoint, the initialisation or an update is bad.",
    Origin.OPTIMIZER: "The gradients were finite; the optimizer's update made {parameter} non-finite.",
    Origin.EXPLOSION: (
        "Gradients grew from step to step until the numbers overflowed; no single operation is at fault. "
        "Lower the learning rate or clip the gradient norm."
    ),
}


# Data, a checkpoint or growth brought the value: a rule about the expression would blame the wrong thing.
NO_REWRITE = {
    Origin.BATCH: "the data hold the value: mend what loads them, or leave the batch out",
    Origin.PARAMETERS: "the parameters held the value before this step: load an earlier checkpoint",
    Origin.EXPLOSION: "no expression is at fault: lower the learning rate, or clip the gradient norm",
    Origin.OPTIMIZER: "no expression is at fault: change what the optimizer is given (eps, learning rate, precision)",
    Origin.UNKNOWN: "the expression is not known",
}


def _extent(operands: tuple[OperandStats, ...]) -> str:
    parts = []
    for operand in operands:
        if operand.minimum is None or operand.maximum is None:
            continue
        zeros = f", {operand.zero} zeros" if operand.zero else ""
        bounds = f"[{operand.minimum:.4g}, {operand.maximum:.4g}]"
        parts.append(f"{operand.name or 'operand'} in {bounds} ({operand.dtype}{zeros})")
    return "; ".join(parts) or "its operands are gone"
