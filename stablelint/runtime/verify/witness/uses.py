"""What a function's text says of its parameters: annotation, default, shape in the docstring, uses in the body."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
_TENSOR_ATTRIBUTES = frozenset(
    "shape size dim ndim dtype device sum mean std var view reshape permute transpose unsqueeze squeeze float half "
    "exp log sqrt pow clamp clamp_min clamp_max abs norm T t mT detach contiguous requires_grad numel new_zeros "
    "repeat expand expand_as matmul softmax log_softmax sigmoid max min argmax masked_fill to long bool".split()
)
_LABELLED = frozenset(
    "cross_entropy nll_loss gather one_hot embedding index_select scatter scatter_add".split()
)
_MASKING = frozenset("masked_fill masked_fill_ masked_select where".split())
_RANKED = {"conv1d": 3, "conv2d": 4, "interpolate": 4, "avg_pool2d": 4, "max_pool2d": 4, "bmm": 3, "cdist": 2}
_SHAPE = (
    r"[:`*\s]*(?:[^\n()\[\]]{0,60}?)[(\[]\s*([A-Za-z0-9_*']+(?:\s*[,x×]\s*[A-Za-z0-9_*']+)*)\s*,?\s*[)\]]"
)


@dataclass(slots=True)
class Uses:
    """Evidence on one parameter; `rank` is exact where known, `least_rank` a lower bound."""

    annotation: str = ""
    default: ast.expr | None = None
    keyword: bool = False
    sides: tuple[str, ...] | None = None  # of its shape, as a docstring or an annotation spells them
    rank: int | None = None
    least_rank: int = 0
    kinds: set[str] = field(default_factory=set)  # "tensor", "mask", "labels", "int", "callable", "several"
    attributes: set[str] = field(default_factory=set)


def uses_of(function: Function, method: bool) -> dict[str, Uses]:
    """The parameters of a function in their order, without `self`, and what is known of each."""
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(spec.defaults)) + list(spec.defaults)
    rows = [(arg, default, False) for arg, default in zip(positional, defaults, strict=True)]
    rows += [(arg, default, True) for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
    found = {}
    for arg, default, keyword in rows[1 if method else 0 :]:
        annotation = ast.unparse(arg.annotation) if arg.annotation is not None else ""
        found[arg.arg] = Uses(annotation.strip("'\""), default, keyword)
    found |= _open_ended(function)
    document = ast.get_docstring(function) or ""
    for name, uses in found.items():
        uses.sides = _sides(uses.annotation, document, name)
    for node in ast.walk(function):
        for name, note in _notes(node):
            if name in found:
                _add(found[name], note)
    return found


def _open_ended(function: Function) -> dict[str, Uses]:
    """Parameters behind `*args` and `**kwargs`: the indices and keys that the body takes of them."""
    many, named = function.args.vararg, function.args.kwarg
    indices, keys = [-1], {}
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=key)):
                if many is not None and name == many.arg and type(key) is int:
                    indices.append(key)
                elif named is not None and name == named.arg and isinstance(key, str) and key.isidentifier():
                    keys[key] = Uses(keyword=True)
    return {f"*{index}": Uses(kinds={"tensor"}) for index in range(max(indices) + 1)} | keys


def _sides(annotation: str, document: str, name: str) -> tuple[str, ...] | None:
    quoted = re.search(r"\[[^\]]*Tensor\s*,\s*['\"]([^'\"]+)['\"]", annotation)
    if quoted:
        return tuple(quoted.group(1).split())
    told = re.search(rf"(?m)^\s*(?::param\s+)?[*`]*{re.escape(name)}\b{_SHAPE}", document)
    if told is None:
        return None
    sides = tuple(re.split(r"\s*[,x×]\s*", told.group(1)))
    shaped = all(re.fullmatch(r"\*|\d+|[A-Z]\w*|[a-z]", side) for side in sides)
    return sides if shaped and len(sides) <= 5 else None


Note = tuple[str, object]


def _add(uses: Uses, note: Note) -> None:
    what, value = note
    if what == "rank" and isinstance(value, int):
        uses.rank = value
    elif what == "least" and isinstance(value, int):
        uses.least_rank = max(uses.least_rank, value)
    elif what == "attribute":
        uses.attributes.add(str(value))
    else:
        uses.kinds.add(str(value))


def _name(node: ast.expr | None) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _notes(node: ast.AST) -> Iterator[tuple[str, Note]]:
    """Parameter and evidence, from one node."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            yield name, ("kind", "tensor") if attr in _TENSOR_ATTRIBUTES else ("attribute", attr)
        case ast.Assign(targets=[ast.Tuple(elts=sides)], value=value) if (
            owner := _shape_of(value)
        ) is not None:
            starred = any(isinstance(side, ast.Starred) for side in sides)
            yield owner, ("least", len(sides) - 1) if starred else ("rank", len(sides))
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            yield name, ("least", len(index.elts) if isinstance(index, ast.Tuple) else 1)
            if (inner := _name(index)) is not None:
                yield inner, ("kind", "mask")
        case ast.Subscript(value=value, slice=ast.Constant(value=int(side))) if owner := _shape_of(value):
            yield owner, ("least", side + 1 if side >= 0 else -side)
        case ast.UnaryOp(op=ast.Invert(), operand=ast.Name(id=name)):
            yield name, ("kind", "mask")
        case ast.For(iter=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
            yield name, ("kind", "several")
        case ast.Call():
            yield from _call_notes(node)


def _shape_of(node: ast.expr) -> str | None:
    """The name whose shape an expression is: `x.shape`, `x.size()`."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]):
            return name
    return None


def _call_notes(node: ast.Call) -> Iterator[tuple[str, Note]]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func) or ""
    owner = _name(node.func.value) if isinstance(node.func, ast.Attribute) else None
    names = [_name(each) for each in node.args]
    if isinstance(node.func, ast.Name):
        yield node.func.id, ("kind", "callable")
    if called == "range":
        yield from ((name, ("kind", "int")) for name in names if name)
    if called in _LABELLED:
        yield from ((name, ("kind", "labels")) for name in names[1:] if name)
    if called in _MASKING:
        yield from ((name, ("kind", "mask")) for name in names[:1] if name)
    if called in _RANKED and names and names[0]:
        yield names[0], ("rank", _RANKED[called])
    if owner is None:
        return
    numbers = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and type(arg.value) is int]
    if called == "permute" and len(numbers) == len(node.args) > 1:
        yield owner, ("rank", len(numbers))
    elif called in ("transpose", "size", "sum", "mean", "softmax", "log_softmax", "norm") and numbers:
        yield owner, ("least", max(number + 1 if number >= 0 else -number for number in numbers))
