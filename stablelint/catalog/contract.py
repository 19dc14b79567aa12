"""The ``requires`` language: what an operation asks of its operands, in floating point.

A contract joins comparisons by ``and``. Each compares one metavariable, or ``abs`` of one, with a constant
built from numbers, ``tiny``, ``eps`` and ``max`` (of the operand's dtype), ``log``, ``sqrt``, ``exp`` and
arithmetic; comparisons may be chained::

    x > 0        abs(y) >= max ** -0.5        -1 < x < 1        x > 0 and n >= 1

A comparison speaks of the patterns that bind its metavariable, and of no others.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

from stablelint.catalog.errors import RuleError, nearest
from stablelint.numerics.formats import FloatFormat, round_to
from stablelint.numerics.interval import Interval
from stablelint.records import dataclass
from stablelint.syntax.names import is_name

_OPERATORS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.NotEq: "!=",
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
}
BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS: Mapping[str, Callable[[float], float]] = {"log": math.log, "sqrt": math.sqrt, "exp": math.exp}
CONSTANTS = ("tiny", "eps", "max")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison: `variable`, or its absolute value, against a constant."""

    variable: str
    absolute: bool
    op: str
    bound: ast.expr

    def value(self, fmt: FloatFormat) -> float:
        """The constant, in double precision, for operands of the format."""
        return evaluate(self.bound, fmt)

    def holds(self, value: float, fmt: FloatFormat) -> bool:
        """Whether an operand satisfies the comparison; NaN never does."""
        if math.isnan(value):
            return False
        return _COMPARE[self.op](abs(value) if self.absolute else value, self.value(fmt))

    def proved_by(self, interval: Interval, fmt: FloatFormat) -> bool:
        """Whether every value of the interval satisfies the comparison."""
        if interval.nan:
            return False
        return any(interval.subset_of(region) for region in self._regions(fmt))

    def allowed(self, fmt: FloatFormat) -> Interval:
        """The smallest interval that holds every allowed finite operand.

        ``abs(x) >= c`` leaves a hole that one interval cannot show, so it becomes "not 0"; `proved_by` knows the hole.
        """
        region, *further = self._regions(fmt)
        nonzero = self.value(fmt) > 0 or self.op == ">"
        return Interval(-math.inf, math.inf, nonzero=nonzero) if further else region

    def _regions(self, fmt: FloatFormat) -> tuple[Interval, ...]:
        bound, inf = self.value(fmt), math.inf
        strict = self.op in ("<", ">")
        if self.op == "!=":
            return (Interval(-inf, inf, nonzero=True),)
        if self.op in ("<", "<="):
            low = -bound if self.absolute else -inf
            return (Interval(low, bound, strict and self.absolute, strict),)
        above = Interval(bound, inf, strict, False)
        return (above, Interval(-inf, -bound, False, strict)) if self.absolute else (above,)


@dataclass(frozen=True, slots=True)
class Contract:
    """A conjunction of comparisons."""

    text: str
    comparisons: tuple[Comparison, ...]

    @property
    def variables(self) -> frozenset[str]:
        """The metavariables the contract speaks of."""
        return frozenset(comparison.variable for comparison in self.comparisons)

    def holds(self, values: Mapping[str, float], fmt: FloatFormat) -> bool:
        """Whether the operands satisfy every comparison whose metavariable is among them."""
        return all(c.holds(values[c.variable], fmt) for c in self.comparisons if c.variable in values)

    def about(self, variable: str) -> tuple[Comparison, ...]:
        """The comparisons over one metavariable."""
        return tuple(c for c in self.comparisons if c.variable == variable)

    def boundaries(self, variable: str, fmt: FloatFormat) -> tuple[float, ...]:
        """Finite operands of the format at which the contract is decided, in ascending order.

        Each bound with its two neighbours (of both signs where `abs` is compared), both zeros, and the
        format's own edges: smallest subnormal, tiny, eps, 1 and max, of both signs.
        """
        edges = (fmt.smallest_subnormal, fmt.tiny, fmt.eps, 1.0, fmt.max)
        found = [0.0, -0.0, *edges, *(-edge for edge in edges)]
        for comparison in self.about(variable):
            bound = round_to(comparison.value(fmt), fmt)
            for value in (bound, -bound) if comparison.absolute else (bound,):
                found += [value, *neighbours(value, fmt)]
        finite = {(value, math.copysign(1.0, value)) for value in found if math.isfinite(value)}
        return tuple(value for value, _ in sorted(finite))


def neighbours(value: float, fmt: FloatFormat) -> tuple[float, float]:
    """The next representable numbers of the format below and above a representable `value`."""
    if value == 0:
        return -fmt.smallest_subnormal, fmt.smallest_subnormal
    mantissa, exponent = math.frexp(abs(value))
    gap = max(math.ldexp(fmt.eps, exponent - 1), fmt.smallest_subnormal)
    inner = max(gap / 2, fmt.smallest_subnormal) if mantissa == 0.5 else gap
    smaller, larger = abs(value) - inner, round_to(abs(value) + gap, fmt)
    return (smaller, larger) if value > 0 else (-larger, -smaller)


def evaluate(node: ast.expr, fmt: FloatFormat) -> float:
    """The value of a constant expression, in double precision; overflow is infinite."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        return float({"tiny": fmt.tiny, "eps": fmt.eps, "max": fmt.max}[node.id])
    if isinstance(node, ast.UnaryOp):
        return -evaluate(node.operand, fmt)
    try:
        if isinstance(node, ast.BinOp):
            return BINARY[type(node.op)](evaluate(node.left, fmt), evaluate(node.right, fmt))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return FUNCTIONS[node.func.id](evaluate(node.args[0], fmt))
    except OverflowError:
        return math.inf
    raise AssertionError("a parsed constant holds no other node")


@lru_cache(maxsize=1024)
def parse(text: str) -> Contract:
    """Parse a contract; raises RuleError, naming what is undefined or out of place."""
    try:
        node = ast.parse(text.strip().replace("$", ""), mode="eval").body
    except SyntaxError as error:
        raise RuleError(f"not a contract: {error.msg}: `{text}`") from None
    clauses = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node]
    comparisons: list[Comparison] = []
    for clause in clauses:
        if not isinstance(clause, ast.Compare):
            raise RuleError(f"a contract joins comparisons by `and`: `{text}`")
        comparisons += _clause(clause, text)
    return Contract(text, tuple(comparisons))


def parse_constant(text: str) -> ast.expr:
    """Parse a constant of the language, such as ``max ** -0.5``; raises RuleError."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise RuleError(f"not a constant: {error.msg}: `{text}`") from None
    _check_constant(node, text)
    return node


def _clause(node: ast.Compare, text: str) -> list[Comparison]:
    sides = [node.left, *node.comparators]
    found = []
    for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
        sign = _OPERATORS.get(type(op))
        if sign is None:
            raise RuleError(f"a contract compares by < <= > >= !=: `{text}`")
        subject, other = _subject(left), _subject(right)
        if subject is None and other is None:
            raise RuleError(f"a comparison of a contract has a metavariable: `{text}`")
        if subject is not None and other is not None:
            raise _undefined(other[0], text)
        if subject is None:
            assert other is not None
            subject, right, sign = other, left, _MIRRORED[sign]
        _check_constant(right, text)
        if sign == "!=" and not (isinstance(right, ast.Constant) and right.value == 0):
            raise RuleError(f"`!=` compares with 0 only: `{text}`")
        found.append(Comparison(subject[0], subject[1], sign, right))
    return found


def _subject(node: ast.expr) -> tuple[str, bool] | None:
    if isinstance(node, ast.Name) and node.id not in CONSTANTS:
        return node.id, False
    if isinstance(node, ast.Call) and is_name(node.func, "abs"):
        if len(node.args) == 1 and isinstance(node.args[0], ast.Name) and not node.keywords:
            return node.args[0].id, True
        raise RuleError("`abs` takes one metavariable")
    return None


def _check_constant(node: ast.expr, text: str) -> None:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return
    elif isinstance(node, ast.Name):
        if node.id in CONSTANTS:
            return
        raise _undefined(node.id, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _check_constant(node.operand, text)
    elif isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        _check_constant(node.left, text)
        return _check_constant(node.right, text)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id not in FUNCTIONS or len(node.args) != 1 or node.keywords:
            hint = nearest(node.func.id, FUNCTIONS)
            raise RuleError(f"undefined function `{node.func.id}` in `{text}`", hint=hint)
        return _check_constant(node.args[0], text)
    raise RuleError(f"not a constant of the contract language: `{ast.unparse(node)}` in `{text}`")


def _undefined(name: str, text: str) -> RuleError:
    message = f"undefined name `{name}` in `{text}`: a bound is made of numbers, tiny, eps and max"
    return RuleError(message, hint=nearest(name, CONSTANTS))
