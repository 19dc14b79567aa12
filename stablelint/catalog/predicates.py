"""The closed list of conditions a page may set on what a pattern has bound.

``where`` conditions restrict a rule's matches, ``when`` conditions the choice of a fix. A condition is a call
of a name below, perhaps compared with a number or a name, perhaps preceded by ``not``::

    dtype(y) == float16      literal(eps)      range(x) >= 0      not integral(n)

The engine evaluates them. A condition whose metavariables the matched pattern does not bind is left out.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

from stablelint.catalog.errors import RuleError, nearest
from stablelint.numerics.formats import DTYPES, INTEGERS
from stablelint.records import dataclass

# What the value of a metavariable may be: the words of `form(x) == word`.
FORMS: Mapping[str, str] = {
    "chosen": "a setting whose default or annotation is a float",
    "free": "a tensor or an attribute that nothing shows to hold whole numbers",
    "learned": "a trained parameter",
    "vector": "what is drawn with one size",
    "matrix": "a tensor of two dimensions, as the last step that shapes it names them",
    "of_layer": "what a method gives that writes into the weight of a layer",
    "layered_matrix": "a matrix, or what layers that keep dimensions make of one",
    "lengthened": "a tensor that is given another dimension, on one path at least",
    "gradient": "what a tensor has gathered as its gradient",
    "displacement": "the difference of rows of one tensor, as of positions",
    "all_zero": "values that can all be 0 at once, as those of raw data can",
    "measure": "what is 0 where all that is divided by it is: its norm, total or extent, a union, a sum of totals",
    "coarse": "what is rounded about as 1 is where it is near 0: drawn uniformly, or computed and then taken from a number",
    "large_sum": "something a sum over which can leave the range of float16",
}
_WORDS: Mapping[str, Iterable[str]] = {"dtype": (*DTYPES, *INTEGERS), "form": FORMS}
_OPERATORS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """What a predicate takes: metavariables, perhaps `others`, then numbers; and what it may be compared with."""

    metavariables: int
    numbers: int = 0
    others: int = 0
    compared: str = ""  # "", "dtype", "form" or "number"
    meaning: str = ""


SIGNATURES: Mapping[str, Signature] = {
    "dtype": Signature(
        1,
        compared="dtype",
        meaning="the element type is known to be (or not to be) this one; `>= float32`: shown to be in single precision "
        "or better; `< float32`: something in the program shows that it can be in half precision",
    ),
    "range": Signature(
        1,
        others=1,
        compared="number",
        meaning="every value it can take compares so, by range analysis, and every value of a second one; perhaps so "
        "where all but a 0 do to which nothing shows a way",
    ),
    "nonnegative": Signature(1, meaning="proved to be at least 0"),
    "reaches": Signature(
        1,
        1,
        others=1,
        meaning="proved operations lead to exactly this value; of two, a number that rounds to it in the second one's "
        "element type",
    ),
    "elements": Signature(
        1,
        1,
        meaning="shown to have at least so many elements: all of it, what a mask selects, what a mask of -inf leaves "
        "in each row; of the mask in a mean, what it keeps",
    ),
    "literal": Signature(1, meaning="a number written in the code, or a name bound to one"),
    "form": Signature(
        1, compared="form", meaning="something of this form, or possibly so; the forms stand below"
    ),
    "truth": Signature(1, meaning="truth values, or numbers that were made of them"),
    "python": Signature(1, meaning="known to be a Python number"),
    "tensor": Signature(1, meaning="known to be a tensor"),
    "integral": Signature(
        1, meaning="holds integers, whatever its type: a count, a size, an index, the sum of a mask"
    ),
    "floating": Signature(1, meaning="shown to hold floating-point numbers"),
    "shifted": Signature(1, meaning="its maximum over the reduced dimension has been subtracted"),
    "differentiable": Signature(1, meaning="a gradient can flow back to it"),
    "alone": Signature(1, meaning="the function makes nothing of it but logarithms, and does not return it"),
}


@dataclass(frozen=True, slots=True)
class Predicate:
    """One parsed condition."""

    name: str
    args: tuple[str | float, ...]
    op: str | None = None
    value: float | str | None = None
    negated: bool = False

    @property
    def metavariables(self) -> frozenset[str]:
        """The metavariables the condition speaks of."""
        return frozenset(arg for arg in self.args if isinstance(arg, str))

    @property
    def is_of_formats(self) -> bool:
        """Whether it asks what an element type can hold."""
        return self.name == "dtype" or (self.name == "reaches" and len(self.metavariables) > 1)


@lru_cache(maxsize=1024)
def parse_predicate(text: str) -> Predicate:
    """Parse one condition; raises RuleError for what is not on the list."""
    try:
        node = ast.parse(text.strip().replace("$", ""), mode="eval").body
    except SyntaxError as error:
        raise RuleError(f"not a condition: {error.msg}: `{text}`") from None
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    if isinstance(node, ast.UnaryOp) and negated:
        node = node.operand
    op: str | None = None
    value: float | str | None = None
    if isinstance(node, ast.Compare):
        if len(node.ops) != 1 or type(node.ops[0]) not in _OPERATORS:
            raise RuleError(f"a condition is compared once, by == != < <= > >=: `{text}`")
        op, value = _OPERATORS[type(node.ops[0])], _value(node.comparators[0], text)
        node = node.left
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise RuleError(f"a condition is written `name(x)`: `{text}`")
    args = tuple(_value(arg, text) for arg in node.args)
    predicate = Predicate(node.func.id, args, op, value, negated)
    _check(predicate, text)
    return predicate


def is_of_dtype(predicate: Predicate, dtype: str) -> bool:
    """Whether a condition on the element type allows this one."""
    half = dtype in ("float16", "bfloat16")
    allowed = {"==": dtype == predicate.value, "!=": dtype != predicate.value, "<": half, ">=": not half}
    return allowed[predicate.op or "=="]


def _value(node: ast.expr, text: str) -> float | str:
    if isinstance(node, ast.Name):
        return math.inf if node.id == "inf" else node.id
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, text)
        if isinstance(value, float):
            return -value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    raise RuleError(f"a condition takes names and numbers only: `{text}`")


def _check(predicate: Predicate, text: str) -> None:
    name = predicate.name
    signature = SIGNATURES.get(name)
    if signature is None:
        raise RuleError(f"unknown condition `{name}`", hint=nearest(name, SIGNATURES))
    given = [type(arg) for arg in predicate.args]
    most = signature.metavariables + signature.others
    counts = range(signature.metavariables, most + 1)
    if all(given != [str] * count + [float] * signature.numbers for count in counts):
        raise RuleError(f"`{name}` takes {_describe(signature)}: `{text}`")
    if signature.compared == "" and predicate.op is not None:
        raise RuleError(f"`{name}` is not compared with anything: `{text}`")
    if signature.compared == "number" and not isinstance(predicate.value, float):
        raise RuleError(f"`{name}` is compared with a number: `{text}`")
    words = _WORDS.get(signature.compared, (predicate.value,))
    if predicate.value not in words:
        raise RuleError(f"`{name}` is compared with one of {', '.join(map(str, words))}: `{text}`")
    ordered = name == "dtype" and (predicate.op, predicate.value) in ((">=", "float32"), ("<", "float32"))
    if signature.compared in _WORDS and predicate.op not in ("==", "!=") and not ordered:
        raise RuleError(f"`{name}` is compared by == or !=, and with float32 by >= or <: `{text}`")


def _describe(signature: Signature) -> str:
    most = signature.metavariables + signature.others
    least = f"{signature.metavariables} or " if signature.others else ""
    parts = [f"{least}{most} metavariable{'s' * (most > 1)}"]
    if signature.numbers:
        parts.append(f"{signature.numbers} number")
    return " and ".join(parts)
