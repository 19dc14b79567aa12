"""Lists of a caller that a function of the program changes in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.statements import inside, last_in
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS
from stablelint.syntax.names import base_name

_INSTEAD = {"reverse": "{}[::-1]", "sort": "sorted({})"}  # a new list


def changed_in_place(frames: list[Frame]) -> Iterator[tuple[str, str, Location]]:
    """The lists that a function was given and puts in another order: their text, a new list instead, and the place."""
    for filename in dict.fromkeys(one.site.code.co_filename for one in frames if one.mine):
        tree = parse_file(filename) or ast.Module([], [])
        for function in (one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)):
            for node in inside(function):
                match node:
                    case ast.Expr(ast.Call(ast.Attribute(owner, name), [])) if name in _INSTEAD:
                        if _is_given(owner, function, node.lineno):
                            text = ast.unparse(owner)
                            yield text, _INSTEAD[name].format(text), Location.of(node, filename)


def _is_given(owner: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef, row: int) -> bool:
    """Whether a list is what a function was given, or a part of it, and none that it made."""
    taken = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    made = last_in(function, base_name(owner), row)
    if made is None:
        return base_name(owner) in taken
    value = getattr(made, "value", None)
    return isinstance(value, ast.Attribute | ast.Subscript) and base_name(value) in taken
