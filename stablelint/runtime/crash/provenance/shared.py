"""Lists of a caller that a function of the program changes in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.provenance.statements import inside, last_in, value_for
from stablelint.runtime.crash.repairs.edits import Edit
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.program.frames import parse_file
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import FUNCTIONS
from stablelint.syntax.names import base_name

_INSTEAD = {"reverse": "{}[::-1]", "sort": "sorted({})"}  # a new list
_CHANGES = (*_INSTEAD, "insert", "append", "extend", "pop", "remove")


def changed_in_place(frames: list[Frame]) -> Iterator[tuple[Repair, Location]]:
    """A list of its own in place of one that a function was given and changes, and where it does."""
    for filename in dict.fromkeys(one.site.code.co_filename for one in frames if one.mine):
        tree = parse_file(filename) or ast.Module([], [])
        for function in (one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)):
            taken = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            for node in inside(function):
                match node:
                    case ast.Expr(ast.Call(ast.Attribute(owner, name))) if name in _CHANGES:
                        made = last_in(function, base_name(owner), node.lineno)
                        value = value_for(made, base_name(owner)) if made is not None else None
                        place = Location.of(node, filename)
                        if (
                            isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
                            and base_name(value) in taken
                        ):
                            text, where = f"list({ast.unparse(value)})", f" in line {value.lineno}"
                            yield (
                                Repair(text, None, revisions=(Edit.of(value, filename, text),), where=where),
                                place,
                            )
                        elif made is None and base_name(owner) in taken and name in _INSTEAD:
                            text = ast.unparse(owner)
                            yield Repair(f"{text} = {_INSTEAD[name].format(text)} in its place", None), place
