"""What an annotation says of a parameter: a tensor, its element type, a number, or something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.values.value import Graph, Kind, Value, sized
from stablelint.syntax.names import is_name

Annotated = tuple[Kind, str | None]  # and the element type, where it is named

_NOTHING: Annotated = (Kind.UNKNOWN, None)
_NAMES: dict[str, Annotated] = {
    "Tensor": (Kind.TENSOR, None),
    "FloatTensor": (Kind.TENSOR, None),  # often said of any floating-point tensor
    "HalfTensor": (Kind.TENSOR, "float16"),
    "BFloat16Tensor": (Kind.TENSOR, "bfloat16"),
    "DoubleTensor": (Kind.TENSOR, "float64"),
    "LongTensor": (Kind.TENSOR, "int64"),
    "IntTensor": (Kind.TENSOR, "int32"),
    "ByteTensor": (Kind.TENSOR, "uint8"),
    "BoolTensor": (Kind.TENSOR, "bool"),
    "int": (Kind.NUMBER, None),
    "float": (Kind.NUMBER, None),
    "bool": (Kind.NUMBER, None),
    **dict.fromkeys(("str", "Path", "PurePath", "PathLike", "DataFrame", "bytes"), (Kind.FOREIGN, None)),
    **dict.fromkeys(("ndarray", "NDArray"), (Kind.ARRAY, None)),
}  # fmt: skip
_SEQUENCES = frozenset("list List tuple Tuple Sequence Iterable Collection".split())
_SHAPED: dict[str, str | None] = {  # `Float[Tensor, "batch channels"]`
    "Float": None,
    "Shaped": None,
    "Num": None,
    "Real": None,
    "Inexact": None,
    "Float16": "float16",
    "BFloat16": "bfloat16",
    "Float32": "float32",
    "Float64": "float64",
    "Bool": "bool",
    "Int": "int64",
    "Integer": "int64",
    "Int32": "int32",
    "Int64": "int64",
    "UInt8": "uint8",
}


def annotated(annotation: ast.expr | None) -> Annotated:
    """What an annotation says; ``(Kind.UNKNOWN, None)`` where it says nothing of use."""
    if annotation is None:
        return _NOTHING
    if isinstance(annotation, ast.Name):
        return _NAMES.get(annotation.id, _NOTHING)
    if isinstance(annotation, ast.Attribute):
        return _qualified(annotation)
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotated(_parsed(annotation.value))
    if isinstance(annotation, ast.BinOp):
        return _either([annotation.left, annotation.right])
    if isinstance(annotation, ast.Subscript):
        return _subscripted(annotation)
    return _NOTHING


def classes_named(annotation: ast.expr | None) -> Iterator[ast.Name | ast.Attribute]:
    """The names that an annotation consists of, also as a text or in a union: `Model` in `Optional["Model"]`."""
    return (one for one in _alternatives(annotation) if isinstance(one, ast.Name | ast.Attribute))


def annotated_element(sequence: Value, name: str, node: ast.AST, graph: Graph) -> Value | None:
    """An element of a parameter that is said to hold whole numbers, `size: list[int]`: a count like an `int`."""
    parameter = sequence.node
    if sequence.op != "argument" or not isinstance(parameter, ast.arg) or parameter.annotation is None:
        return None
    held = [element for one in _alternatives(parameter.annotation) for element in _elements(one)]
    counted = bool(held) and all(is_name(one, "int") for one in held)
    return sized(graph.unknown(name, node, Kind.NUMBER), name) if counted else None


def _alternatives(annotation: ast.expr | None) -> Iterator[ast.expr]:
    """What an annotation allows besides None: both sides of a union, what is optional, what stands in a text."""
    match annotation:
        case ast.Constant(value=str(text)):
            yield from _alternatives(_parsed(text))
        case ast.BinOp(left=left, right=right):
            yield from _alternatives(left)
            yield from _alternatives(right)
        case ast.Subscript(value=ast.Name("Optional") | ast.Attribute(attr="Optional"), slice=inner):
            yield from _alternatives(inner)
        case ast.expr() if not (isinstance(annotation, ast.Constant) and annotation.value is None):
            yield annotation


def _elements(annotation: ast.expr) -> Iterator[ast.expr]:
    """What a sequence is said to hold, each `int` of `tuple[int, int]`; what says something else of itself."""
    match annotation:
        case ast.Subscript(value=ast.Name(name) | ast.Attribute(attr=name), slice=inner) if (
            name in _SEQUENCES
        ):
            yield from inner.elts if isinstance(inner, ast.Tuple) else [inner]
        case _:
            yield annotation


def _qualified(annotation: ast.Attribute) -> Annotated:
    found = _NAMES.get(annotation.attr, _NOTHING)
    return _NOTHING if found[0] is Kind.NUMBER else found  # a qualified `float` is another


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _either(parts: list[ast.expr]) -> Annotated:
    """What all alternatives but None have in common."""
    known = {annotated(p) for p in parts if not (isinstance(p, ast.Constant) and p.value is None)}
    return known.pop() if len(known) == 1 else _NOTHING


def _subscripted(annotation: ast.Subscript) -> Annotated:
    base, inner = annotation.value, annotation.slice
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name in ("Optional", "Union"):
        return _either(parts)
    if name in ("Annotated", "Final", "Required") and parts:
        return annotated(parts[0])
    if name in _SHAPED and parts:
        kind, _ = annotated(parts[0])
        return (kind, _SHAPED[name]) if kind is Kind.TENSOR else _NOTHING
    return _NAMES.get(name, _NOTHING)
