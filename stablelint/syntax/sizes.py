"""Which sizes of a tensor a function hands to `view`, as far as its text tells, and in which order."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from stablelint.syntax.walk import descendants

_UNKNOWN = -1  # some dimension, or none
_FROM_LAST = -2  # a dimension that is counted from the last
_NO_SIZE = -3  # a number of another kind
_NAMES = 2  # that lead on to others


def are_permuted(nodes: Iterable[ast.AST], views: Iterable[ast.Call]) -> bool:
    """Whether one of the `views` can be given the sizes of a tensor in another order than the tensor has them.

    `nodes` are those of the function.
    """
    sizes = _Sizes()
    for node in nodes:
        if isinstance(node, ast.Assign):
            sizes.assigned(node)
        elif isinstance(node, ast.arg):
            sizes.bind(node.arg, _UNKNOWN)
        else:
            bound = getattr(node, "target", None) or getattr(node, "optional_vars", None)
            for name in descendants(bound) if bound is not None else ():
                if isinstance(name, ast.Name):
                    sizes.bind(name.id, _UNKNOWN)
    return any(sizes.may_permute(view.args) for view in views)


class _Sizes:
    """The sizes of tensors that the names of a function stand for."""

    def __init__(self) -> None:
        self._dims: dict[str, int] = {}  # of which dimension a name holds the size
        self._held: dict[str, list[ast.expr]] = {}  # what a name is assigned

    def assigned(self, node: ast.Assign) -> None:
        """Takes note of `n, c = x.shape`, `n = x.size(0)` and `shape = (n, c, -1)`."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.bind(target.id, _dim_of(node.value))
                self._held.setdefault(target.id, []).append(node.value)
            elif isinstance(target, ast.Tuple | ast.List):
                ordered = _is_shape(node.value)
                for place, part in enumerate(target.elts):
                    ordered = ordered and not isinstance(part, ast.Starred)
                    if isinstance(part, ast.Name):
                        self.bind(part.id, place if ordered else _UNKNOWN)

    def bind(self, name: str, dim: int) -> None:
        """Takes note that a name holds the size of a dimension, here at least."""
        self._dims[name] = dim if self._dims.get(name, dim) == dim else _UNKNOWN

    def may_permute(self, given: list[ast.expr], depth: int = _NAMES) -> bool:
        """Whether what a view is given can be the sizes of a tensor in another order."""
        if given and isinstance(given[-1], ast.Tuple | ast.List):  # behind the tensor, of `torch.reshape`
            given = given[-1].elts
        sizes = given[:-1] if given and isinstance(given[-1], ast.UnaryOp) else given
        if len(sizes) == 1 and (len(given) == 1 or isinstance(sizes[0], ast.Starred)):
            return self._may_hold_permuted(sizes[0], depth)
        dims = [
            self._dims.get(size.id, _UNKNOWN) if isinstance(size, ast.Name) else _dim_of(size)
            for size in sizes
        ]
        own = [place for place, dim in enumerate(dims) if dim >= 0]
        split = len(own) > 1 and own[-1] - own[0] >= len(own)
        other = _FROM_LAST in dims or _NO_SIZE in dims
        return split or (len(dims) > 1 and not other and (_UNKNOWN in dims or dims != sorted(dims)))

    def _may_hold_permuted(self, whole: ast.expr, depth: int) -> bool:
        """Whether one argument, by itself, can stand for several sizes in another order."""
        name = whole.value if isinstance(whole, ast.Starred) else whole
        if not isinstance(name, ast.Name):
            return False
        held = self._held.get(name.id, [])
        written = [value.elts for value in held if isinstance(value, ast.Tuple | ast.List)]
        plain = len(written) < sum(not _is_shape(value) for value in held) or not held
        return plain or not depth or any(self.may_permute(sizes, depth - 1) for sizes in written)


def _is_shape(node: ast.expr) -> bool:
    """Whether an expression is the sizes of a tensor from the first on: `x.shape`, `x.size()`, `x.shape[:-1]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.lower is None:
        node = node.value
    if isinstance(node, ast.Call):
        return not node.args and isinstance(node.func, ast.Attribute) and node.func.attr == "size"
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _dim_of(node: ast.expr) -> int:
    """The dimension of which an expression gives the size: `x.size(1)`, `x.shape[1]`."""
    if isinstance(node, ast.Attribute | ast.BinOp | ast.Constant | ast.UnaryOp):
        return _NO_SIZE
    place: ast.expr | None = None
    if isinstance(node, ast.Subscript) and _is_shape(node.value):
        place = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        place = node.args[0] if node.args else None
    if isinstance(place, ast.UnaryOp):
        return _FROM_LAST
    return place.value if isinstance(place, ast.Constant) and isinstance(place.value, int) else _UNKNOWN
