"""The sizes of tensors, as far as the operations that make them tell."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stablelint.analysis.interpret.operations.layers import Layer
from stablelint.analysis.values.indexing import parts_of
from stablelint.analysis.values.value import NUMERIC, Kind, Value, unpacked
from stablelint.records import dataclass
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having

Dim = int | None  # None: some size

# Operations whose result has the sizes that their operands broadcast to.
_ELEMENTWISE = having("elementwise", "copy", "device", "cast", "like") | set(
    "softmax log_softmax dropout normalize cumsum cumprod layer_norm batch_norm parameter long int bool copy_ zero_ fill_ "
    "normal_ uniform_ overwritten norm_module bernoulli".split()
)
_REDUCTIONS = having("reduce")
_LOSSES = having("loss")
_CREATIONS = having("create") - having("grid", "whole")
# Modules that change what lies behind the channels, and leave those alone.
_POOLING = tuple("MaxPool AvgPool AdaptiveAvgPool AdaptiveMaxPool Upsample ZeroPad ReflectionPad".split())


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a tensor: of its last dimensions, or of all of them where it is `whole`."""

    dims: tuple[Dim, ...]
    whole: bool = False

    def at(self, dim: int) -> Dim:
        """The size along a dimension; None where it is not known."""
        position = dim if dim < 0 else dim - len(self.dims)
        known = -len(self.dims) <= position < 0 and (dim < 0 or self.whole)
        return self.dims[position] if known else None


UNKNOWN = Shape(())


class Shapes:
    """The shapes of the values of one function, each computed once."""

    def __init__(self) -> None:
        self._known: dict[int, Shape] = {}

    def of(self, value: Value | None) -> Shape:
        """The shape of a value."""
        if value is None:
            return UNKNOWN
        if value.kind is Kind.NUMBER:
            return Shape((), whole=True)
        if value.key not in self._known:
            self._known[value.key] = UNKNOWN  # for a value that is made of itself
            self._known[value.key] = self._computed(value)
        return self._known[value.key]

    def _computed(self, value: Value) -> Shape:
        given = self.of(value.first) if value.first is not None else UNKNOWN
        if value.op in ("linear_module", "layer_output"):
            return through(value.operands["layer"].data, given) if "layer" in value.operands else UNKNOWN
        if value.op in _ELEMENTWISE:
            tensors = [v for n, v in value.operands.items() if n not in ("layer", "dtype", "dim")]
            return broadcast([self.of(v) for v in tensors if v.kind in NUMERIC])
        if value.op == "cat":
            return self._joined(value)
        if value.op == "phi":
            paths = [self.of(v) for v in value.operands.values()]
            return paths[0] if paths and paths.count(paths[0]) == len(paths) else UNKNOWN
        if value.op in _REDUCTIONS:
            return _reduced(value, given)
        if value.op in _LOSSES:
            return Shape((), whole=True) if "reduction" not in value.operands else UNKNOWN
        if value.op in _CREATIONS:
            return _written(value, 0)
        rearranged = _OTHERS.get(value.op)
        return rearranged(value, given) if rearranged is not None else UNKNOWN

    def _joined(self, value: Value) -> Shape:
        """`torch.cat([a, b], dim=-1)`: as many features as they have together."""
        sizes = [self.of(v).at(-1) for v in value.operands.values()]
        known = [n for n in sizes if n is not None]
        is_last = "tensor0" in value.operands and _number(value.data) == -1
        return Shape((sum(known),)) if is_last and len(known) == len(sizes) else UNKNOWN


def through(layer: Layer, given: Shape) -> Shape:
    """The shape of what a module returns for a tensor of a shape."""
    name = layer.qualified.rpartition(".")[2]
    size = last_size(layer)
    if name in ("Linear", "LazyLinear", "Embedding"):
        kept = given.dims if name == "Embedding" else given.dims[:-1]
        return Shape((*kept, size), given.whole and (name == "Embedding" or bool(given.dims)))
    if channels_of(name):
        return Shape((size, *[None] * channels_of(name)))
    if name.startswith(_POOLING) and name[-2:-1].isdigit():
        count = int(name[-2])
        return Shape((given.at(-1 - count), *[None] * count))
    if layer.operation in _ELEMENTWISE or name in ("PReLU", "AlphaDropout", "Dropout3d", "RReLU", "Hardtanh"):
        return given
    return UNKNOWN


def channels_of(name: str) -> int:
    """How many dimensions lie behind the channels that a convolution takes; 0 for any other module."""
    return int(name[-2]) if name.startswith("Conv") and name[-2:-1].isdigit() else 0


def first_size(layer: Layer) -> Dim:
    """The size that a module is made for, where it is written out."""
    names = ("in_features", "in_channels", "num_features", "num_channels", "normalized_shape", "input_size")
    return _size(layer, *names)


def last_size(layer: Layer) -> Dim:
    """The size that a module yields, where it is written out."""
    return _size(layer, "out_features", "out_channels", "embedding_dim")


def _unpacked(value: Value, _given: Shape) -> Shape:
    """What a recurrent layer gives: of each step as many features as it has, of each direction; its last states."""
    made = value.first
    layer = made.operands.get("layer") if made is not None and made.op == "layer_output" else None
    given = layer.data.arguments if layer is not None else {}
    ways = given["bidirectional"].constant() if "bidirectional" in given else False
    if layer is None or type(ways) is not bool or "proj_size" in given:
        return UNKNOWN
    size = _size(layer.data, "hidden_size")
    if value.data == 1 and not layer.data.qualified.endswith("LSTM"):
        return Shape((None, size))  # the last state of each layer and direction
    if size is None or value.data != 0:
        return UNKNOWN
    in_batches = "batch_first" in given  # of what has no batches nobody says where those lie
    return Shape((*[None] * (1 + in_batches), size * (1 + ways)), whole=in_batches)


def _size(layer: Layer, *names: str) -> Dim:
    """A size that a layer is made with, be it by a default of the function that makes it."""
    found = next((layer.arguments[name] for name in names if name in layer.arguments), None)
    known = found.default() if found is not None else None
    return known if type(known) is int else None


def _number(value: Value | None) -> Dim:
    """A number that is written out: not a default, which callers may override."""
    known = value is not None and type(value.constant()) is int
    return value.data if known and value is not None else None


def broadcast(shapes: list[Shape]) -> Shape:
    """The shape that arithmetic on tensors of these shapes yields."""
    if not shapes:
        return UNKNOWN
    whole = all(shape.whole for shape in shapes)
    longest = max(len(shape.dims) for shape in shapes)
    dims: list[Dim] = []
    for position in range(-longest, 0):
        sizes = {s.at(position) for s in shapes if s.whole is False or -position <= len(s.dims)}
        sizes = sizes - {1} or {1}
        dims.append(sizes.pop() if len(sizes) == 1 else None)
    return Shape(tuple(dims), whole)


def _reduced(value: Value, given: Shape) -> Shape:
    dim = value.operands.get("dim")
    if dim is None or dim.kind is Kind.NONE:
        return Shape((), whole=True)
    keeps = "keepdim" in value.operands
    if keeps and value.operands["keepdim"].constant() is not True:
        return UNKNOWN
    return _without(given, _number(dim), (1,) if keeps else ())


def _without(given: Shape, dim: int | None, instead: tuple[Dim, ...] = ()) -> Shape:
    """The shape with `instead` in the place of a dimension."""
    if dim is None or (dim >= 0 and not given.whole):
        return UNKNOWN
    position = dim if dim >= 0 else dim + len(given.dims)
    if not 0 <= position < len(given.dims):
        return UNKNOWN if given.whole or dim != -1 else Shape(instead)
    return Shape((*given.dims[:position], *instead, *given.dims[position + 1 :]), given.whole)


def _written(value: Value, first: int) -> Shape:
    """The sizes that a call writes out: `view(-1, 1)`, `zeros((3, 4))`."""
    sizes = unpacked([v for n, v in value.operands.items() if n in ("size", "shape") or n.startswith("more")])
    if not sizes or any(v.kind is not Kind.NUMBER for v in sizes[first:]):
        return UNKNOWN
    numbers = [_number(v) for v in sizes]
    return Shape(tuple(n if n != -1 else None for n in numbers), whole=True)


def _squeezed(value: Value, given: Shape) -> Shape:
    if "dim" in value.operands:
        dim = _number(value.operands["dim"])
        return _without(given, dim) if dim is not None and given.at(dim) == 1 else UNKNOWN
    return Shape(tuple(d for d in given.dims if d != 1), whole=True) if given.whole else UNKNOWN


def _unsqueezed(value: Value, given: Shape) -> Shape:
    dim = _number(value.operands.get("dim"))
    if dim == -1:
        return Shape((*given.dims, 1), given.whole)
    if dim is None or dim < 0 or not given.whole:
        return UNKNOWN
    return Shape((*given.dims[:dim], 1, *given.dims[dim:]), whole=True)


def _flattened(value: Value, given: Shape) -> Shape:
    start = value.operands.get("start_dim") or value.operands.get("more0")
    if start is None:
        return Shape((None,), whole=True)
    first = _number(start)
    return Shape((*given.dims[:first], None), given.whole) if given.whole and first else Shape((None,))


def _indexed(value: Value, given: Shape) -> Shape:
    """`x[:, 0]`, `x[:, None]`, `x[..., 0]`."""
    parts = parts_of(value.operands["index"]) if "index" in value.operands else []
    if len(parts) > 1 and not given.whole and _is_all(parts[-1]) and given.at(-1) is not None:
        return Shape(given.dims[-1:])  # `out[:, -1, :]`
    if len(parts) < len(given.dims) and not given.whole and all(p.kind is Kind.NUMBER for p in parts):
        return Shape(given.dims[len(parts) :])  # `states[-1]`
    if not given.whole or any(p.op != "slice" and not p.is_constant for p in parts):
        return UNKNOWN
    rest = list(given.dims)
    dims: list[Dim] = []
    for part in parts:
        if part.kind is Kind.NONE:
            dims.append(1)
        elif part.data is Ellipsis:
            return UNKNOWN
        elif rest:
            size = rest.pop(0)
            if part.op == "slice":
                dims.append(size if _is_all(part) else None)
    return Shape((*dims, *rest), whole=True)


def _is_all(part: Value) -> bool:
    """Whether a part of an index takes all of a dimension."""
    return part.op == "slice" and all(bound.kind is Kind.NONE for bound in part.data)


def _listed(value: Value, given: Shape) -> Shape:
    """`torch.tensor([1, 2, 3])`, `torch.from_numpy(array)`."""
    dims: list[Dim] = []
    data = value.operands.get("data")
    if data is not None and data.kind is Kind.ARRAY:
        return _of_array(data.node) if data.op == "foreign" else given
    if data is not None and data.kind is Kind.NUMBER:
        return Shape((), whole=True)
    while data is not None and data.kind is Kind.SEQUENCE and data.data:
        dims.append(len(data.data))
        data = data.data[0]
    return (
        Shape(tuple(dims), whole=True) if dims and data is not None and data.kind is Kind.NUMBER else UNKNOWN
    )


def _of_array(made: ast.AST | None) -> Shape:
    """The shape of an array of NumPy that is filled: `np.zeros((3, 4))`."""
    if not isinstance(made, ast.Call) or called_name(made) not in ("zeros", "ones", "empty") or not made.args:
        return UNKNOWN
    sizes = getattr(made.args[0], "elts", made.args[:1])
    numbers = [n.value for n in sizes if isinstance(n, ast.Constant) and type(n.value) is int]
    return Shape(tuple(numbers), whole=True) if len(numbers) == len(sizes) else UNKNOWN


def _rows(_value: Value, given: Shape) -> Shape:
    """A batch of a data set: as many rows as the loader takes."""
    return Shape((None, *given.dims[1:]), whole=True) if given.whole and given.dims else UNKNOWN


def _counted(value: Value, _given: Shape) -> Shape:
    steps = value.operands.get("steps")
    only = value.operands.get("start") if len(value.operands) == 1 else None
    return Shape((_number(steps) if value.op == "linspace" else _number(only),), whole=True)


_OTHERS: dict[str, Callable[[Value, Shape], Shape]] = {
    "view": lambda value, _: _written(value, 0),
    "squeeze": _squeezed,
    "unsqueeze": _unsqueezed,
    "flatten": _flattened,
    "index": _indexed,
    "part": _unpacked,
    "tensor": _listed,
    "batch": _rows,
    "arange": _counted,
    "linspace": _counted,
}
