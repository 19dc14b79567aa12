"""From results that hold tensors to the plain values of a report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import torch

from stablelint.runtime.plain import shape_text
from stablelint.runtime.tensors.measure import dtype_name
from stablelint.runtime.verify.outcome import Counts, FunctionShown, OperandShown, Side, WitnessShown
from stablelint.runtime.verify.replay.accuracy import mantissa_bits
from stablelint.runtime.verify.replay.compare import INVENTED, Replayer, Result, Role
from stablelint.runtime.verify.replay.evaluate import Outcome
from stablelint.runtime.verify.replay.values import Opaque, Value
from stablelint.runtime.verify.verdict import Examination

_SHOWN = 6
_PARTS = 3  # of a container that are told
_TEXT = 80  # characters of any other value


def sides(examination: Examination) -> tuple[Side | None, Side | None]:
    """Sums over the cases that decide: original and fixed."""
    decisive = [result for result in examination.results if result.case.decisive]
    speaking = (Role.CAPTURED, Role.SEARCH, Role.BOUNDARY, Role.HEALTHY)
    shown = [result for result in decisive if result.role in speaking] or decisive
    if not shown:
        return None, None
    original = _side([r.original for r in shown], [r.original_bits for r in shown])
    fixed = [r.fixed for r in shown if r.fixed is not None]
    return original, _side(fixed, [r.fixed_bits for r in shown]) if fixed else None


def _side(outcomes: Sequence[Outcome], bits: Sequence[float | None]) -> Side:
    known = [value for value in bits if value is not None]
    return Side(
        sum((outcome.forward for outcome in outcomes), Counts()),
        sum((outcome.backward for outcome in outcomes), Counts()),
        min(known) if known else None,
    )


def _notable(tensor: torch.Tensor) -> tuple[float, ...]:
    """A few values that show what is special: the smallest and largest magnitudes and what is not finite."""
    flat = tensor.detach().flatten().double()
    if flat.numel() <= _SHOWN:
        return tuple(flat.tolist())
    order = torch.argsort(torch.nan_to_num(flat.abs(), nan=math.inf))
    chosen = torch.cat([order[: _SHOWN // 2], order[-_SHOWN // 2 :]])
    return tuple(flat[chosen].tolist())


def operand_shown(name: str, value: Value) -> OperandShown:
    """An operand for a reader."""
    if isinstance(value, torch.Tensor):
        dtype = dtype_name(value.dtype)
        shape = tuple(value.shape)
        return OperandShown(name, shape, dtype, _notable(value), f"{dtype} {shape_text(shape)}")
    if isinstance(value, Opaque):
        return OperandShown(name, None, None, (), f"a {value.type_name}")
    values = (float(value),) if isinstance(value, int | float) and not isinstance(value, bool) else ()
    return OperandShown(name, None, None, values, _summary(value))


def _summary(value: Value, inner: bool = False) -> str:
    """A value in a few words: what a container holds, and not all of it."""
    match value:
        case torch.Tensor():
            return operand_shown("", value).text
        case tuple() | list() | dict():
            parts = list(value.values()) if isinstance(value, dict) else list(value)
            kind, plain = type(value).__name__, all(isinstance(item, int | float | str) for item in parts)
            if inner or (plain and len(parts) <= _SHOWN):
                return repr(value) if plain and len(parts) <= _SHOWN else f"{kind} of {len(parts)}"
            named = ", ".join(_summary(item, inner=True) for item in parts[:_PARTS])
            return f"{kind} of {len(parts)}: {named}{', …' if len(parts) > _PARTS else ''}"
        case torch.nn.Module():
            return f"a {type(value).__name__}"
    return textwrap.shorten(repr(value), _TEXT, placeholder=" …")


def outcome_text(outcome: Outcome | None, failed: str | None, bits: float | None = None) -> str | None:
    """In words, what an expression gave; `bits` are those that are right, where digits are the matter."""
    if outcome is None:
        return None
    if outcome.error:
        return outcome.error
    parts = [f"{_numbers(outcome.forward)} forward"]
    if outcome.gradients:
        parts.append(f"{_numbers(outcome.backward)} backward")
    if bits is not None and outcome.values:
        parts.append(f"{bits:.1f} of {mantissa_bits(outcome.values[0].dtype)} bits right")
    elif failed == "accuracy":
        parts.append("most digits lost")
    return ", ".join(parts)


def _numbers(counts: Counts) -> str:
    if not counts.bad:
        return "finite"
    named = [f"{number} {name}" for number, name in ((counts.nan, "NaN"), (counts.inf, "Inf")) if number]
    total = counts.finite + counts.nan + counts.inf
    return f"{' and '.join(named)} of {total}"


def witness_shown(result: Result, replayer: Replayer, function: FunctionShown | None = None) -> WitnessShown:
    """The case that decided a verdict, and the call of its function, if that was made."""
    digits = result.original_failed == "accuracy"
    line = function.line if function is not None and result.role in INVENTED else None
    if line is not None and function is not None and function.original_text:  # a constructor returns nothing
        line = f"{line}  # {function.original_text}"
    call = result.case.call
    used = {name: value for name, value in call.operands.items() if name in replayer.operands.values()}
    operands = call.inputs if call.origin == "search" and call.inputs else used
    return WitnessShown(
        str(result.role),
        result.case.label,
        tuple(operand_shown(name, value) for name, value in operands.items()),
        outcome_text(result.original, result.original_failed, result.original_bits if digits else None) or "",
        outcome_text(result.fixed, result.fixed_failed, result.fixed_bits if digits else None),
        failed=result.original_failed,
        fixed_failed=result.fixed_failed,
        line=line,
    )
