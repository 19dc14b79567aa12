"""One application of an operation, as a transfer function sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stablelint.numerics.formats import FloatFormat
from stablelint.numerics.interval import TOP, Interval
from stablelint.records import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """The operands of an operation, its other arguments by name, and the format of its result.

    An operand that is missing is unknown: `TOP`. A parameter is a Python number or an `Interval`; any other
    value is taken as unknown.
    """

    operands: tuple[Interval, ...]
    params: Mapping[str, object]
    fmt: FloatFormat

    @property
    def x(self) -> Interval:
        """The first operand."""
        return self.operand(0, "input")

    def operand(self, index: int, name: str = "") -> Interval:
        """The operand at `index`, else the parameter `name`, else `TOP`."""
        found = self.optional(index, name)
        return TOP if found is None else found

    def optional(self, index: int, name: str) -> Interval | None:
        """The operand at `index`, else the parameter `name`, else None."""
        if index < len(self.operands):
            return self.operands[index]
        return self.named(name)

    def named(self, name: str) -> Interval | None:
        """The parameter `name` rounded to the format; None where absent or None, `TOP` if unreadable."""
        value = self.params.get(name)
        if value is None or isinstance(value, Interval):
            return value
        if isinstance(value, int | float):
            return Interval.point(value).rounded(self.fmt)
        return TOP

    def number(self, name: str, default: float) -> float | None:
        """The parameter `name`, `default` where it is not given, None where it may be any of several numbers."""
        known = self.named(name)
        if known is None:
            return default
        return known.lo if known.is_point else None

    def mode(self, name: str, default: str) -> str | None:
        """The parameter `name`, `default` where it is not given, None where it may be any."""
        value = self.params.get(name, default)
        return value if isinstance(value, str) else None

    def flag(self, name: str, default: bool) -> bool:
        """The parameter `name` where it is a bool, else `default`."""
        value = self.params.get(name)
        return value if isinstance(value, bool) else default


Transfer = Callable[[Call], Interval]
"""The range of an operation's result for the ranges of its operands."""


def always(value: Interval) -> Transfer:
    """The transfer function of a result that lies in one range whatever goes in."""
    return lambda call: value


def first(call: Call) -> Interval:
    """Where elements of the first operand lie that stay as they are."""
    return call.x
