"""One result with everything in it: chains, wide characters, other files, every kind of fix."""

from pathlib import Path

from stablelint.diagnostic import (
    Applicability,
    Diagnostic,
    Edit,
    Fix,
    Level,
    Position,
    Problem,
    Severity,
    Span,
    Status,
    Step,
)
from stablelint.workspace.result import CheckResult

FOLDER = Path(__file__).parent.parent / "golden" / "sample"
FILE = FOLDER / "train.py"
_LINES = FILE.read_text("utf-8").split("\n")


def span(row: int, column: int, end_row: int, end_column: int) -> Span:
    return Span(Position(row, column), Position(end_row, end_column))


def at(row: int, text: str) -> Span:
    column = _LINES[row - 1].index(text) + 1
    return span(row, column, row, column + len(text))


def diagnostic(code: str, name: str, place: Span, message: str, **more: object) -> Diagnostic:
    fields: dict[str, object] = {
        "severity": Severity.ERROR,
        "status": Status.VIOLATED,
        "level": Level.LIKELY,
        "expression": "expression",
        "url": f"https://example.org/{code}",
    }
    return Diagnostic(
        code=code,
        name=name,
        filename=str(FILE),
        span=place,
        message=message,
        **{**fields, **more},  # type: ignore[arg-type]
    )


ENTROPY = diagnostic(
    "SL210",
    "naive-entropy",
    at(21, "probabilities * torch.log(probabilities)"),
    "`p * log(p)` where p can be 0: log(0) = -inf and 0 * -inf = NaN",
    derivation=(
        Step(
            "softmax lies in [0, 1] and reaches 0 by underflow",
            at(16, "F.softmax(policy.head(batch), dim=-1)"),
        ),
        Step("log(0) = -inf", at(21, "torch.log(probabilities)")),
        Step("0 * -inf = NaN", at(21, "probabilities * torch.log(probabilities)")),
    ),
    fix=Fix(
        Applicability.SAFE,
        "take the logarithm from log_softmax, which stays finite",
        (Edit(at(21, "torch.log(probabilities)"), "F.log_softmax(policy.head(batch), dim=-1)"),),
    ),
)
LOG = diagnostic(
    "SL101",
    "unguarded-log",
    at(21, "torch.log(mixed.sum())"),
    "the operand can be 0 or negative",
    status=Status.UNGUARDED,
    derivation=(
        Step(
            "the weights come from the data, and nothing is known of their sign " * 2, at(19, "batch.mean(0)")
        ),
    ),
    fix_withheld="a comment would be lost",
)
ADVANTAGE = diagnostic(
    "SL106",
    "normalize-by-hand",
    span(25, 12, 27, 22),
    "std is 0 when all rewards are equal: 100% of them, or\ttwo\nlines",
    severity=Severity.WARNING,
    derivation=(
        Step("std of a constant is 0", at(27, "rewards.std()")),
        Step("the rewards of one episode", span(40, 1, 40, 9), str(FOLDER / "env.py")),
    ),
    fix=Fix(
        Applicability.UNSAFE,
        "add eps to the deviation",
        (Edit(span(27, 9, 27, 9), "("), Edit(span(27, 22, 27, 22), " + 1e-8)")),
    ),
)
SAFE = diagnostic(
    "SL103", "unguarded-sqrt", at(12, "F.softmax(self.head(x), dim=-1)"), "", discharged_by="clamp"
)

RESULT = CheckResult(
    diagnostics=(ENTROPY, LOG, ADVANTAGE),
    discharged=(SAFE,),
    problems=(Problem("invalid syntax", str(FOLDER / "bad.py"), Position(3, 7), hint="close the bracket"),),
    files=3,
    lines=120,
    silenced=2,
    baselined=1,
    discharge_counts={"clamp": 1},
)
