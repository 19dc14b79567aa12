"""What an annotation says of an argument."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator
from itertools import islice

_NAMED = {
    "int": "int", "float": "float", "bool": "false", "str": "str", "Module": "callable", "Callable": "callable",
    "dtype": "dtype", "device": "device", "dict": "dict", "Dict": "dict", "Mapping": "dict", "list": "list", "List": "list",
}  # fmt: skip
_SEVERAL = frozenset("list List Sequence Iterable Iterator Collection tuple Tuple set Set".split())
_INSIDE = frozenset("Optional Annotated Final ClassVar".split())
_SIDED = re.compile(r"^(Float|Int|Bool|Shaped|Num|Real)$")

Spell = Callable[[str], str]  # the text of an argument of a kind
Objects = Callable[[str], Iterator[str]]  # texts of objects of the class that an annotation names


def by_annotation(text: str, spell: Spell, objects: Objects) -> Iterator[str]:
    """Kinds of argument that an annotation allows, in its order; one that begins with `=` is the text itself."""
    with contextlib.suppress(SyntaxError, ValueError):
        yield from _kinds(ast.parse(text, mode="eval").body if text else ast.Constant(None), spell, objects)


def _kinds(node: ast.expr, spell: Spell, objects: Objects) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield from by_annotation(text, spell, objects)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from (kind for side in (left, right) for kind in _kinds(side, spell, objects))
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            yield from _of_parts(name, parts, spell, objects)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield from (f"={text}" for text in objects(ast.unparse(node)))
            yield from [_NAMED[name]] if name in _NAMED else _tensors(name)


def _of_parts(name: str, parts: list[ast.expr], spell: Spell, objects: Objects) -> Iterator[str]:
    if name == "Literal":
        yield from (f"={ast.unparse(part)}" for part in parts)
    elif name == "Union":
        yield from (kind for part in parts for kind in _kinds(part, spell, objects))
    elif name in _INSIDE:
        yield from _kinds(parts[0], spell, objects)
    elif _SIDED.match(name):
        yield {"Bool": "mask", "Int": "labels"}.get(name, "tensor")
    elif name in _SEVERAL:
        yield from _containers(name, parts, spell, objects)
    elif name in _NAMED:
        yield _NAMED[name]


def _containers(name: str, parts: list[ast.expr], spell: Spell, objects: Objects) -> Iterator[str]:
    """Two of what is said once, or as many as are said."""
    same = len(parts) == 1 or ast.unparse(parts[-1]) == "..."
    sides = [list(islice(_kinds(part, spell, objects), 2)) for part in (parts[:1] * 2 if same else parts)]
    if same and sides[0][:1] == ["tensor"]:
        yield "several"
    elif all(sides):
        texts = ", ".join(kind[1:] if kind.startswith("=") else spell(kind) for kind, *_ in sides)
        yield f"=[{texts}]" if name.lower() != "tuple" else f"=({texts},)"
    else:
        yield "list"


def _tensors(name: str) -> Iterator[str]:
    if "Tensor" in name:
        yield "mask" if "Bool" in name else "labels" if re.search(r"Long|Int", name) else "tensor"
