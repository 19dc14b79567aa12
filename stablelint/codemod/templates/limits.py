"""Limits of an element type, of which the page of a rule speaks: as the number that people write, or as asked of a tensor.

A page states a bound once, as ``torch.finfo($x.dtype).tiny ** 0.5``. A number takes its place where the operand is shown
to be in single precision or better, where the project takes its gradients itself and nowhere speaks of half precision,
and in TorchScript, which knows no `finfo`; everywhere else half precision may arrive, and the bound is asked of the
operand, of a part of it that has its type, or of a name that it is given. No bound is one that a normal number crosses
which has a finite result: the root of the smallest in float16 is 0.0078, so that where it may arrive the smallest itself is
the bound.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.flow.effects import Effect, dtype_source, is_cheap
from stablelint.codemod.templates.forms import code, is_placeholder, parse_code, transform
from stablelint.codemod.templates.instantiate import uses
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import INTEGERS, MAYBE_HALF, NOT_HALF
from stablelint.numerics.formats import FORMATS
from stablelint.syntax.names import name_of

_HALF = ("float16", "bfloat16")
_TINY, _OF_SQUARE, _OF_CUBE = "tiny", "tiny ** 0.5", "tiny ** (2 / 3)"
_NUMBERS = {_TINY: "1.2e-38", _OF_SQUARE: "1e-19", _OF_CUBE: "1e-25", "eps": "1.2e-7", "eps / 2": "6e-8"}
_OF_DOUBLE = {
    _TINY: "2.3e-308",
    _OF_SQUARE: "1e-154",
    _OF_CUBE: "1e-205",
    "eps": "2.3e-16",
    "eps / 2": "1.2e-16",
}
_SCRIPTED = {**_NUMBERS, "max": "3.4e38", "min": "-3.4e38"}
_LIMIT = re.compile(
    r"(?P<root>min\(6e-8, )?torch\.finfo\(\$(?P<of>\w+)\.dtype\)\."
    r"(?P<limit>\w+( \*\* 0\.5| \*\* \(2 / 3\)| / 2)?)(?(root)\))"
)
_SUBNORMAL = "6e-8"  # the smallest number of float16, of whose root the gradient is finite
_OF_COMPLEMENT = "5e-8"  # what is left of 1 is 0 or more, in single precision and in half
# From 20 on it returns its argument, unless it is told otherwise: double precision still sees what that leaves out.
_SOFTPLUS = re.compile(r"softplus\((?P<of>[^()]*)\)")
_PLACEHOLDER = re.compile(r"\$(\w+)")
_EXPONENT = re.compile(
    r"(?P<negative>1 - )?math\.(?P<log>log2?)\(torch\.finfo\(\$(?P<of>\w+)\.dtype\)\.max\)(?(negative)| - (?P<less>\d+))"
)
_ROOM = 8  # exp(8) terms or times as much are finite still


def widest(operand: str) -> str:
    """The bound of what an exponential bears, as a page has it."""
    return f"${operand}.clamp(max=math.log(torch.finfo(${operand}.dtype).max) - 1)"


def roomy(operand: str) -> str:
    """As `widest`, less what a sum or product of exponentials takes; float16 has no room for that."""
    return widest(operand).replace(" - 1)", f" - {1 + _ROOM})")


def may_be_half(dtype: str | None) -> bool:
    """Whether what a bound is for can be of float16, whose exponential ends at 11."""
    return dtype in ("float16", MAYBE_HALF)


def sized(
    template: str,
    operands: Mapping[str, Operand],
    scripted: bool = False,
    double: bool = False,
) -> str:
    """The template with numbers for the limits of operands, by placeholder, whose element type is shown.

    The largest exponent is a number as well, that of single precision where nothing is known, unless the file speaks of
    `double` precision, or its program casts to float16. There the smallest normal number stands for its roots.
    """

    def known(found: re.Match[str]) -> str | None:
        operand = operands.get(PREFIX + found["of"])
        kind = None if operand is None else operand.dtype
        return "float32" if kind == INTEGERS else kind if kind in FORMATS else None

    def number(found: re.Match[str]) -> str:
        limit, operand = found["limit"], operands.get(PREFIX + found["of"])
        kind = known(found)
        least = f"torch.finfo(${found['of']}.dtype).{limit}"
        if found["root"] and kind == "float16":
            return _SUBNORMAL
        if limit == _TINY and kind is None and _is_called_complement(operand):
            return _OF_COMPLEMENT
        if scripted and limit in _SCRIPTED:
            if kind in _HALF or (kind is None and limit.startswith("eps")):
                raise Withheld("TorchScript knows no `torch.finfo`")
            return _SCRIPTED[limit]
        not_half = operand is not None and operand.dtype == NOT_HALF
        if not_half and not double and limit in (_OF_SQUARE, _OF_CUBE):
            return _NUMBERS[limit]
        numbers = _NUMBERS if kind == "float32" else _OF_DOUBLE if kind == "float64" else {}
        if limit in (_OF_SQUARE, _OF_CUBE) and (kind in _HALF or (kind is None and not not_half)):
            return _NUMBERS[limit] if kind == "bfloat16" else least.removesuffix(limit) + _TINY
        return numbers.get(limit, least)

    def exponent(found: re.Match[str]) -> str:
        kind, operand = known(found), operands.get(PREFIX + found["of"])
        is_narrow = operand is not None and may_be_half(operand.dtype)
        less = 1 if is_narrow else int(found["less"] or 1)
        is_asked = kind is None and (double or is_narrow) and not scripted
        if is_asked and found["log"] == "log" and not found["negative"]:
            largest_of_type = f"math.log(torch.finfo(${found['of']}.dtype).max)"
            if not double:
                return f"{largest_of_type} - 1"
            return f"math.floor({largest_of_type})" + f" - {less - 1}" * (less > 1)
        largest = FORMATS[kind or "float32"].max
        bound = math.ceil((math.log if found["log"] == "log" else math.log2)(largest)) - less
        return f"{'-' * bool(found['negative'])}{bound:.1f}"

    def softplus(found: re.Match[str]) -> str:
        read = [
            operands[name]
            for used in _PLACEHOLDER.findall(found["of"])
            if (name := PREFIX + used) in operands
        ]
        kinds = {operand.dtype for operand in read}
        is_double = "float64" in kinds or (double and not kinds <= FORMATS.keys())
        return f"softplus({found['of']}, threshold=40)" if is_double else found[0]

    template = _SOFTPLUS.sub(softplus, template)
    if "finfo" not in template:
        return template
    return _LIMIT.sub(number, _EXPONENT.sub(exponent, template))


def _is_called_complement(operand: Operand | None) -> bool:
    """Whether an operand is 1 less the result of a call, which is not to be called again for its type: ``1 - D(z)``."""
    tree = operand.tree if operand is not None else None
    left = tree.left if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub) else None
    return (
        isinstance(left, ast.Constant)
        and left.value == 1
        and operand is not None
        and operand.effect is Effect.ACTS
    )


def with_types(
    expression: ast.expr, operands: dict[str, Operand], imported: Callable[[str], bool]
) -> ast.expr:
    """Ask for an element type where that costs nothing.

    An operand that is not cheap to write twice is replaced in ``$x.dtype`` by its type, or by a part of it that has the
    same type; such parts are added to `operands`. `imported` tells modules from tensors. Raises Withheld where an
    operand would be computed for the sake of its type alone.
    """
    used = Counter(uses(code(expression)))

    def rewrite(node: ast.expr) -> ast.expr | None:
        if not isinstance(node, ast.Attribute) or node.attr != "dtype" or not is_placeholder(node.value):
            return None
        name = name_of(node.value)
        return parse_code(_dtype(name, operands, imported, used)) if name in operands else None

    return transform(expression, rewrite)


def _dtype(
    name: str, operands: dict[str, Operand], imported: Callable[[str], bool], used: Counter[str]
) -> str:
    operand = operands[name]
    if operand.dtype == INTEGERS:
        return (
            "torch.float32"  # `finfo` knows no integers; what is computed with these is of the default type
        )
    if is_cheap(operand.tree) and not isinstance(operand.tree, ast.UnaryOp):
        return f"{name}.dtype"
    if operand.dtype in FORMATS:
        return f"torch.{operand.dtype}"
    if isinstance(operand.tree, ast.Call) and _names_type(operand.tree):
        return code(operand.tree.args[0])
    source = dtype_source(operand.tree, imported)
    if source is None:
        if used[name] == 1:
            raise Withheld(f"`{operand.shown}` would be computed again for its type")
        return f"{name}.dtype"
    part = f"{name}_part"
    text = ast.get_source_segment(f"(\n{operand.text}\n)", source)
    operands[part] = Operand(part, text or ast.unparse(source), source)
    return f"{part}.dtype"


def _names_type(call: ast.Call) -> bool:
    """Whether a call casts to the type of another tensor, by that tensor's name: ``s.to(x.dtype)``."""
    is_cast = isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "type")
    given = call.args[0] if is_cast and len(call.args) == 1 and not call.keywords else None
    return isinstance(given, ast.Attribute) and given.attr == "dtype" and is_cheap(given.value)
