"""What one method keeps on `self` for others to use."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo
from stablelint.syntax.operations import having
from stablelint.syntax.walk import descendants

_SPREADS = having("spread", "norm")
_ENDS = having("extreme")


def stored_spread(info: ClassInfo, attr: str) -> FunctionInfo | None:
    """The method that assigns a spread or range of data to `self.attr`, where that is its one assignment.

    None where it assigns something else as well (but None or a number to begin with), compares it, or changes it
    in place: then the zero has been thought of.
    """
    if info.stored is None:
        info.stored = dict(_stored_spreads(info)) if _may_store(info) else {}
    return info.stored.get(attr)


def _may_store(info: ClassInfo) -> bool:
    """Whether the text of a class calls what gives a spread, or a largest and a smallest."""
    source, node = info.module.source, info.node
    text = "\n".join(source.lines[node.lineno - 1 : node.end_lineno])
    return bool(info.reassigned) and (
        any(f"{name}(" in text for name in _SPREADS) or ("max(" in text and "min(" in text)
    )


def _stored_spreads(info: ClassInfo) -> Iterator[tuple[str, FunctionInfo]]:
    assigned: dict[str, list[ast.expr]] = {}
    minded: set[str] = set()
    for node in descendants(info.node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                name = _own(target)
                if name is not None and not isinstance(node.value, ast.Constant):
                    assigned.setdefault(name, []).append(node.value)
                elif isinstance(target, ast.Subscript):
                    minded.add(_own(target.value) or "")
                elif name is None and isinstance(target, ast.Tuple | ast.List):
                    minded.update(_own(one) or "" for one in target.elts)
        elif isinstance(node, ast.AugAssign):
            minded.add(_own(node.target) or "")
        elif isinstance(node, ast.Compare):
            minded.update(_own(one) or "" for one in descendants(node))
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr.endswith("_")
        ):
            minded.add(_own(node.func.value) or "")
    for name, values in assigned.items():
        if len(values) == 1 and name not in minded and _is_spread(values[0]):
            for method in info.methods.values():
                if name in info.reassigned and name in info.touches(method.name).assigned:
                    yield name, method


def _own(node: ast.AST) -> str | None:
    """`name` of `self.name`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return None


def _is_spread(node: ast.expr) -> bool:
    """`x.std(0)`, `torch.std(x)`, or a largest less a smallest: 0 where the data are constant."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return {_called(node.left), _called(node.right)} <= _ENDS
    return _called(node) in _SPREADS


def _called(node: ast.expr) -> str:
    """The last name of what an expression calls, whatever element or part of the result is taken."""
    while isinstance(node, ast.Subscript):
        node = node.value
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
