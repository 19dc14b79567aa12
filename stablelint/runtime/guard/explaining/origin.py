"""From the root of a replay to what a person calls it: whose code, and how it happened."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import torch

from stablelint.runtime.guard.replay.blame import Root
from stablelint.runtime.guard.replay.operands import first_bad
from stablelint.runtime.guard.replay.trace import Fault
from stablelint.runtime.guard.reporting.event import Element, Kind, Mechanism, Origin
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import operands_of
from stablelint.runtime.tensors.measure import Badness, OperandStats, largest
from stablelint.runtime.tracing.operation import has
from stablelint.syntax import operations
from stablelint.syntax.names import called_name, imported_names, is_literal

# Operands beyond it overflow by their size; below it an operation that yields inf is out of domain.
_LARGE = 1e4
# Beyond the root of the largest number a square overflows; a margin for sums of many terms.
_HUGE = {"float16": 32.0, "bfloat16": 1e17, "float32": 1e17, "float64": 1e150}


def kind_of(root: Root, mechanism: Mechanism) -> Kind:
    """NaN, infinity, or growth without a faulty operation."""
    if mechanism is Mechanism.GROWTH:
        return Kind.EXPLOSION
    if root.leaf is None:
        return Kind.NAN if root.fault.result & Badness.NAN else Kind.INF
    return Kind.NAN if root.nan else Kind.INF


def mechanism_of(root: Root, exploding: bool) -> Mechanism:
    """How the first non-finite value came about."""
    fault = root.fault
    if root.leaf is not None:
        return Mechanism.INHERITED
    if fault.uninitialised:
        return Mechanism.UNINITIALISED
    if fault.written:
        return Mechanism.LITERAL
    infinite = not fault.result & Badness.NAN
    # A product of huge numbers may also be NaN: its partial sums overflow to both sides.
    huge = any(largest(one) > _HUGE.get(one.dtype, math.inf) for one in fault.operands)
    grows = has(fault.operation, "grow", "cast") and not _is_pole(fault)
    if grows and (infinite or huge):
        return Mechanism.GROWTH if exploding else Mechanism.OVERFLOW
    if has(fault.operation, "exponential"):
        return Mechanism.OVERFLOW
    if infinite and _no_zero_divisor(fault.operation, fault.operands):
        return Mechanism.OVERFLOW
    return Mechanism.DOMAIN


def origin_of(root: Root, parameters: Mapping[str, torch.Tensor], outermost: Mapping[str, bool]) -> Origin:
    """Whose code or data the root is."""
    fault = root.fault
    if root.leaf is not None:
        trained = is_written_by_hand(root.leaf) or _parameter_name(root.leaf, parameters)
        return Origin.PARAMETERS if trained else Origin.BATCH
    if fault.place.in_custom:
        return Origin.CUSTOM_FUNCTION
    if fault.in_backward:
        return Origin.BACKWARD
    if fault.place.modules:
        is_loss = outermost.get(fault.place.modules[0].partition(".")[0], False)
        return Origin.LOSS if is_loss else Origin.MODULE
    return Origin.LOSS if fault.place.after_model else Origin.FUNCTION


def parameter_name(root: Root, parameters: Mapping[str, torch.Tensor]) -> str | None:
    """The name of the damaged parameter or buffer, if the root is one."""
    if root.leaf is None:
        return None
    known = _parameter_name(root.leaf, parameters)
    if known is None and is_written_by_hand(root.leaf):
        return next((one.name for one in root.fault.operands if one.name and (one.nan or one.inf)), None)
    return known


def named_operands(root: Root, location: Location | None) -> tuple[OperandStats, ...]:
    """Operand statistics with the source text of each operand where it can be told."""
    operands = root.fault.operands
    texts = operand_texts(location.expression, location.filename) if location is not None else []
    names = _names(root, texts)
    if location is not None and _is_gradient_of(root.fault.node, location.expression):
        kept = dict(zip(("saved self", "saved other"), texts, strict=False))
        names = [kept.get(name, name) for name in names]
    return tuple(replace(operand, name=name) for operand, name in zip(operands, names, strict=True))


def _is_gradient_of(node: str, expression: str) -> bool:
    """Whether a node of the backward pass is that of the operation that the expression is, not of one within it."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:
        return False
    names = [called_name(tree)] if isinstance(tree, ast.Call) else []
    if isinstance(tree, ast.BinOp):
        literal = is_literal(tree.left) or is_literal(tree.right)
        names = [_WRITTEN.get(type(tree.op), "")] if not literal or isinstance(tree.op, ast.Pow) else []
    return node.partition("Backward")[0].lower() in names


_WRITTEN = {ast.Div: "div", ast.Mult: "mul", ast.Pow: "pow"}


def _names(root: Root, texts: list[str]) -> list[str]:
    """A name for each operand: its own, or the text of what is left where it can be no other."""
    names = [operand.name for operand in root.fault.operands]
    # A text that is a name stands for the tensor that bears it: where none of the operands is that, it is no operand.
    left = [text for text in texts if text not in names and text not in root.fault.named]
    unnamed = names.count("")
    if unnamed != len(left):
        left = []
    following = iter(left)
    return [name or next(following, f"operand {index + 1}") for index, name in enumerate(names)]


def element_of(root: Root, location: Location | None) -> Element | None:
    """The first non-finite element of the result and what it was made of, or that of data which held it already."""
    fault = root.fault
    if root.leaf is not None:
        place, values = first_bad(root.leaf, [root.leaf])
        names = [one.name for one in named_operands(root, location) if one.nan or one.inf]
        made = [(name, value) for name, value in zip(names[:1], values, strict=False) if value is not None]
        return Element(place, tuple(made), tuple(root.leaf.shape)) if place and made else None
    if fault.in_backward or not fault.first:
        return None
    named = named_operands(root, location)
    made = [(one.name, value) for one, value in zip(named, fault.elements, strict=False) if value is not None]
    return Element(fault.first, tuple(made), fault.shape)


def operand_texts(expression: str, filename: str) -> list[str]:
    """The operands of an expression of a file, in the order in which the operation takes them."""
    try:
        tree = ast.parse(expression.strip()).body[0]
    except (SyntaxError, IndexError):
        return []
    node = tree.value if isinstance(tree, ast.Expr) else tree
    parts = list(operands_of(node))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        parts = parts if _is_tensor(node.func.value, node.func.attr, filename) else parts[1:]
    return [ast.unparse(part) for part in parts if not is_literal(part)]


def _is_tensor(receiver: ast.expr, method: str, filename: str) -> bool:
    """Whether what a method is called on is an operand: not a module of functions, nor an object with methods."""
    root = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return True
    if receiver is root and root.id in ("self", "cls"):
        return False
    return operations.method(method) is not None and root.id not in _imported(filename)


@lru_cache(maxsize=64)
def _imported(filename: str) -> frozenset[str]:
    """Names that a file's imports bind."""
    tree = parse_file(filename)
    imports = [one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)] if tree else []
    return frozenset(name for one in imports for name, _ in imported_names(one, ""))


def _parameter_name(tensor: torch.Tensor, parameters: Mapping[str, torch.Tensor]) -> str | None:
    for name, parameter in parameters.items():
        if parameter is tensor or (
            parameter.data_ptr() == tensor.data_ptr() != 0 and parameter.numel() >= tensor.numel() > 0
        ):
            return name
    return None


def is_written_by_hand(leaf: torch.Tensor) -> bool:
    """Whether a tensor is a parameter that no optimizer has: it takes gradients, and was written in place."""
    return leaf.is_leaf and leaf.requires_grad and leaf._version > 0


def _is_pole(fault: Fault) -> bool:
    """Whether a power is of a zero, and of nothing large: its exponent is negative."""
    powers = fault.operands if fault.operation == "pow" else ()
    return any(one.zero for one in powers) and all(largest(one) <= _LARGE for one in powers)


def _no_zero_divisor(operation: str, operands: tuple[OperandStats, ...]) -> bool:
    # A quotient of finite numbers is infinite by a zero divisor, or else by the size of the result.
    if operation in ("div", "reciprocal", "rsqrt"):
        divisor = operands[-1] if operands else None
        return divisor is not None and divisor.zero == 0
    return any(operand.maximum is not None and operand.maximum > _LARGE for operand in operands)
