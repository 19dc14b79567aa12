"""Which sizes of a tensor a function hands to `view`, as far as its text tells, and in which order."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_UNKNOWN = -1  # some dimension, or none
_FROM_LAST = -2  # a dimension that is counted from the last
_NAMES = 2  # that lead on to others


def are_permuted(nodes: Iterable[ast.AST], views: Iterable[ast.Call]) -> bool:
    """Whether one of the `views` can be given the sizes of a tensor in another order than the tensor has them.

    `nodes` are those of the function.
    """
    sizes = _Sizes()
    for node in nodes:
        if isinstance(node, ast.Assign):
            sizes.assigned(node)
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
                self._bind(target, _dim_of(node.value))
                self._held.setdefault(target.id, []).append(node.value)
            elif isinstance(target, ast.Tuple | ast.List):
                ordered = _is_shape(node.value)
                for place, part in enumerate(target.elts):
                    ordered = ordered and not isinstance(part, ast.Starred)
                    self._bind(part, place if ordered else _UNKNOWN)

    def _bind(self, target: ast.expr, dim: int) -> None:
        if isinstance(target, ast.Name):
            self._dims[target.id] = dim if self._dims.get(target.id, dim) == dim else _UNKNOWN

    def may_permute(self, given: list[ast.expr], depth: int = _NAMES) -> bool:
        """Whether what a view is given can be the sizes of a tensor in another order."""
        if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
            given = given[0].elts
        sizes = given[:-1] if given and isinstance(given[-1], ast.UnaryOp) else given
        if any(isinstance(size, ast.Attribute | ast.BinOp | ast.Constant | ast.UnaryOp) for size in sizes):
            return False
        if len(sizes) == 1:
            return self._may_hold_permuted(sizes[0], depth)
        dims = [
            self._dims.get(size.id, _UNKNOWN) if isinstance(size, ast.Name) else _dim_of(size)
            for size in sizes
        ]
        return _FROM_LAST not in dims and (_UNKNOWN in dims or dims != sorted(dims))

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
    place: ast.expr | None = None
    if isinstance(node, ast.Subscript) and _is_shape(node.value):
        place = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        place = node.args[0] if node.args else None
    if isinstance(place, ast.UnaryOp):
        return _FROM_LAST
    return place.value if isinstance(place, ast.Constant) and isinstance(place.value, int) else _UNKNOWN
