"""Constants sized for the element type of the operand they guard."""

from __future__ import annotations

import ast
import decimal
import re
from collections import Counter
from collections.abc import Callable

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.flow.effects import dtype_source, is_cheap
from stablelint.codemod.templates.clamps import number
from stablelint.codemod.templates.forms import code, dotted, identifier, is_placeholder, parse_code, transform
from stablelint.codemod.templates.instantiate import uses
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.withheld import Withheld
from stablelint.numerics.formats import FORMATS

WHOLE = "integers"
LIMITS = f"{PREFIX}_limits"
_ASKED = re.compile(r"((?:\w+\.)*finfo\([\w.]+\))\.(\w+)")


def with_constants(
    expression: ast.expr,
    operands: dict[str, Operand],
    imported: Callable[[str], bool],
    scripted: bool = False,
    inline: bool = False,
) -> ast.expr:
    """Size constants for the operand's element type.

    ``finfo($x).tiny`` becomes a literal where the type is known, else ``torch.finfo($x.dtype).tiny``; in a `scripted`
    file, where that does not compile, ``torch.finfo($x.dtype).tiny`` too becomes one, of single precision. An
    operand that is not cheap to write twice is replaced in ``$x.dtype`` by its type, or by a part of it that
    has the same type; such parts are added to `operands`. `imported` tells modules from tensors. Raises
    Withheld where an operand would be computed for the sake of its type alone, and where `inline` asks for a name's type
    and there is one for which a number will do.
    """
    used = Counter(uses(code(expression)))

    def rewrite(node: ast.expr) -> ast.expr | None:
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Pow)
            and isinstance(node.left, ast.Constant)
        ):
            size = number(node)
            return None if size is None else parse_code(_shortened(size, decimal.ROUND_CEILING))
        if not isinstance(node, ast.Attribute):
            return None
        asked = _asked_type(node.value) if scripted else None
        if asked is not None:
            literal = _literal(node.attr, operands[asked].dtype if asked in operands else None, "float32")
            return None if literal is None else parse_code(literal)
        helped = _helper_operand(node.value)
        if helped is not None and helped in operands:
            literal = _literal(node.attr, operands[helped].dtype)
            if literal is not None:
                return parse_code(literal)
            dtype = _dtype(helped, operands, imported, used, inline)
            return parse_code(f"torch.finfo({dtype}).{node.attr}")
        if node.attr == "dtype" and is_placeholder(node.value) and identifier(node.value) in operands:
            return parse_code(_dtype(identifier(node.value), operands, imported, used, inline))
        return None

    return transform(expression, rewrite)


def repeated(code: str, is_taken: Callable[[str], bool]) -> tuple[str, str, str] | None:
    """A template that asks for limits of one element type more than once, with `LIMITS` in their place.

    With it comes what `LIMITS` stands for, and a name for that: one limit, or where there are several, or its
    name is taken, all of them. None where nothing is asked for twice.
    """
    asked = _ASKED.findall(code)
    if len(asked) < 2:
        return None
    types, limits = {item for item, _ in asked}, {item for _, item in asked}
    if len(types) > 1:
        return None
    owner, one = types.pop(), limits.pop()
    if not limits and not is_taken(one):
        return code.replace(f"{owner}.{one}", LIMITS), f"{owner}.{one}", one
    return code.replace(owner, LIMITS), owner, "finfo"


def _helper_operand(node: ast.expr) -> str | None:
    if not isinstance(node, ast.Call) or identifier(node.func) != "finfo" or not node.args:
        return None
    argument = node.args[0]
    return identifier(argument) if is_placeholder(argument) else None


def _asked_type(node: ast.expr) -> str | None:
    """The placeholder of whose type ``torch.finfo($x.dtype)`` or ``finfo($x)`` speaks."""
    if not isinstance(node, ast.Call) or identifier(node.func) == "finfo":
        return _helper_operand(node)
    argument = node.args[0] if node.args and dotted(node.func) == "torch.finfo" else None
    return identifier(argument.value) if isinstance(argument, ast.Attribute) else None


def _dtype(
    name: str, operands: dict[str, Operand], imported: Callable[[str], bool], used: Counter[str], inline: bool
) -> str:
    operand = operands[name]
    if operand.dtype == WHOLE:
        return (
            "torch.float32"  # `finfo` knows no integers; what is computed with these is of the default type
        )
    if is_cheap(operand.tree) and not isinstance(operand.tree, ast.UnaryOp):
        return f"{name}.dtype"
    if operand.dtype in FORMATS and inline:
        raise Withheld(f"`{operand.shown}` is known to be of {operand.dtype}, for which a number will do")
    if operand.dtype in FORMATS:
        return f"torch.{operand.dtype}"
    source = dtype_source(operand.tree, imported)
    if source is None:
        if used[name] == 1:
            raise Withheld(f"`{operand.shown}` would be computed again for its type")
        return f"{name}.dtype"
    part = f"{name}_part"
    text = ast.get_source_segment(f"(\n{operand.text}\n)", source)
    operands[part] = Operand(part, text or ast.unparse(source), source)
    return f"{part}.dtype"


def _literal(attribute: str, dtype: str | None, default: str = "") -> str | None:
    """A literal of two digits, at least as large as the constant it stands for (for `max`: at most)."""
    form = FORMATS.get(dtype or default)
    if form is None or attribute not in ("eps", "tiny", "smallest_normal", "max", "min"):
        return None
    if attribute in ("max", "min"):
        text = repr(form.max) if form.max < 1e6 else _shortened(form.max, decimal.ROUND_FLOOR)
        return text if attribute == "max" else f"-{text}"
    return _shortened(form.eps if attribute == "eps" else form.tiny, decimal.ROUND_CEILING)


def _shortened(value: float, rounding: str) -> str:
    short = decimal.Context(prec=2, rounding=rounding).create_decimal(decimal.Decimal(value))
    text = str(short) if 1e-3 < abs(value) < 1e6 else f"{short:e}"
    return text.replace("e+", "e")
