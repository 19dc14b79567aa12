"""What a function's text says of its parameters: annotation, default, shape in the docstring, uses in the body."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from stablelint.runtime.program.nodes import Function
from stablelint.syntax.names import called_name, is_name
from stablelint.syntax.signatures import defaults_of, parameters

_TENSOR_ATTRIBUTES = frozenset(
    "shape size dim ndim dtype device sum mean std var view reshape permute transpose unsqueeze squeeze float half "
    "exp log sqrt pow clamp clamp_min clamp_max abs norm T t mT detach contiguous requires_grad numel new_zeros "
    "repeat expand expand_as matmul softmax log_softmax sigmoid max min argmax masked_fill to long bool".split()
)
_LABELLED = frozenset(
    "cross_entropy nll_loss gather one_hot embedding index_select scatter scatter_add".split()
)
_MASKING = frozenset("masked_fill masked_fill_ masked_select where".split())
_SIZED = frozenset(
    "zeros ones rand randn empty full arange linspace eye Linear Embedding LayerNorm BatchNorm1d BatchNorm2d BatchNorm3d "
    "GroupNorm Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d LSTM GRU LSTMCell GRUCell MultiheadAttention".split()
)
_SHAPE = (
    r"[:`*\s]*(?:[^\n()\[\]]{0,60}?)[(\[]\s*([A-Za-z0-9_*']+(?:\s*[,x×]\s*[A-Za-z0-9_*']+)*)\s*,?\s*[)\]]"
)
_NAMED = {
    "int": "int", "float": "float", "bool": "false", "str": "str", "Module": "callable", "Callable": "callable",
    "dtype": "dtype", "device": "device", "dict": "dict", "Dict": "dict", "Mapping": "dict", "list": "list", "List": "list",
}  # fmt: skip
_SEVERAL = frozenset("list List Sequence Iterable Iterator Collection tuple Tuple set Set".split())
_INSIDE = frozenset("Optional Annotated Final ClassVar".split())
_SIDED = re.compile(r"^(Float|Int|Bool|Shaped|Num|Real)$")

Spell = Callable[[str], str]  # the text of an argument of a kind
Objects = Callable[[str], Iterator[str]]  # texts of objects of the class that an annotation names


@dataclass(slots=True)
class Uses:
    """Evidence on one parameter."""

    annotation: str = ""
    default: ast.expr | None = None
    keyword: bool = False
    sides: tuple[str, ...] | None = None  # of its shape, as a docstring or an annotation spells them
    rank: int | None = None  # the number of names that its shape is unpacked into
    kinds: set[str] = field(default_factory=set)  # "tensor", "mask", "labels", "int", "callable", "several"
    attributes: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)  # by which items are taken of it
    flags: set[str] = field(default_factory=set)  # attributes that decide a branch
    results: int = 1  # names that the result is unpacked into where the parameter is called
    parts: int = 0  # names that the parameter itself, or a batch of it, is unpacked into
    types: list[str] = field(default_factory=list)  # of which the body asks whether it is one
    strings: list[str] = field(default_factory=list)  # that it is compared with


def uses_of(function: Function, method: bool, owner: ast.ClassDef | None = None) -> dict[str, Uses]:
    """The parameters of a function in their order, without `self`, and what is known of each.

    `owner` is the class whose constructor the function is: what becomes of `self.x` there is told of the parameter `x`.
    """
    defaults, found = dict(defaults_of(function)), {}
    for arg in parameters(function.args)[1 if method else 0 :]:
        annotation = ast.unparse(arg.annotation) if arg.annotation is not None else ""
        keyword = arg in function.args.kwonlyargs
        found[arg.arg] = Uses(annotation.strip("'\""), defaults.get(arg), keyword)
    found |= _open_ended(function)
    document = ast.get_docstring(function) or ""
    for name, uses in found.items():
        uses.sides = _sides(uses.annotation, document, name)
    body = function if owner is None else _OwnNames().visit(ast.parse(ast.unparse(owner)))
    for node in ast.walk(body):
        for name, note in _notes(node):
            if name in found:
                _add(found[name], note)
    return found


class _OwnNames(ast.NodeTransformer):
    """Takes an attribute of the object for the parameter of that name."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if is_name(node.value, "self"):
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)


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
    documented = re.search(rf"(?m)^\s*(?::param\s+)?[*`]*{re.escape(name)}\b{_SHAPE}", document)
    if documented is None:
        return None
    sides = tuple(re.split(r"\s*[,x×]\s*", documented.group(1)))
    shaped = all(re.fullmatch(r"\*|\d+|[A-Z]\w*|[a-z]", side) for side in sides)
    return sides if shaped and len(sides) <= 5 else None


Note = tuple[str, str | int]  # a field of `Uses`, and what is noted there


def _add(uses: Uses, note: Note) -> None:
    what, value = note
    match getattr(uses, what):
        case set() as held:
            held.add(value)
        case list() as several:
            several.append(value)
        case _:
            setattr(uses, what, value)


def _name(node: ast.expr | None) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _notes(node: ast.AST) -> Iterator[tuple[str, Note]]:
    """Parameter and evidence, from one node."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            yield name, ("kinds", "tensor") if attr in _TENSOR_ATTRIBUTES else ("attributes", attr)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr=outer), attr=attr) if (
            outer not in _TENSOR_ATTRIBUTES and not hasattr(str, attr) and attr not in _TENSOR_ATTRIBUTES
        ):
            yield name, ("attributes", f"{outer}.{attr}")
        case ast.Assign(targets=[ast.Tuple(elts=sides)], value=value) if (
            owner := _shape_of(value)
        ) is not None:
            if not any(isinstance(side, ast.Starred) for side in sides):
                yield owner, ("rank", len(sides))
        case ast.Assign(
            targets=[ast.Tuple(elts=sides)], value=ast.Call(func=ast.Name(id="next"), args=[taken, *_])
        ):
            batches = taken.args[0] if isinstance(taken, ast.Call) and taken.args else taken
            yield from ((name, ("parts", len(sides))) for name in [_name(batches)] if name)
            yield from ((name, ("kinds", "batches")) for name in [_name(batches)] if name)
        case ast.Assign(targets=[ast.Tuple(elts=sides)], value=ast.Call(func=ast.Name(id=name))):
            yield name, ("results", len(sides))
            yield name, ("kinds", "callable")
        case ast.Assign(targets=[ast.Tuple(elts=sides)], value=ast.Name(id=name)):
            yield name, ("parts", len(sides))
        case ast.For(target=ast.Tuple(elts=sides), iter=ast.Name(id=name)):
            yield name, ("parts", len(sides))
            yield name, ("kinds", "batches")
        case ast.If(test=ast.Attribute(value=ast.Name(id=name), attr=attr)):
            yield name, ("flags", attr)
        case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=str(text))]):
            yield name, ("strings", text)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            yield name, ("keys", key)
        case ast.Subscript(
            value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int())),
            slice=ast.Constant(value=int()),
        ):
            yield name, ("kinds", "shapes")
        case ast.Subscript(value=ast.Name(), slice=ast.Name(id=name)):
            yield name, ("kinds", "mask")
        case ast.UnaryOp(op=ast.Invert(), operand=ast.Name(id=name)):
            yield name, ("kinds", "mask")
        case ast.For(iter=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
            yield name, ("kinds", "several")
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
    called = called_name(node)
    names = [_name(each) for each in node.args]
    if isinstance(node.func, ast.Name):
        yield node.func.id, ("kinds", "callable")
    yield from (
        (name, ("kinds", "dict")) for word in node.keywords if not word.arg and (name := _name(word.value))
    )
    if called == "isinstance" and names and names[0]:
        asked = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else node.args[1:]
        yield from ((names[0], ("types", ast.unparse(each))) for each in asked)
    if called == "range" or called in _SIZED:
        yield from ((name, ("kinds", "int")) for name in names if name)
    if called in _LABELLED:
        yield from ((name, ("kinds", "labels")) for name in names[1:] if name)
    if called in _MASKING:
        yield from ((name, ("kinds", "mask")) for name in names[:1] if name)


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
