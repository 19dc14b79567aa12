"""What other files can see of a file, as a digest: the bodies that nobody follows are left out.

A result that rests on another file holds as long as that file's interface does, whatever else is edited there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stablelint.analysis.files.modules import FunctionInfo, ModuleInfo, abridge
from stablelint.syntax.content import digest


@dataclass(frozen=True, slots=True)
class Interface:
    """Two digests of what a file shows: with the rows where it stands, which a finding may name, and without."""

    placed: str
    bare: str


def abridged(module: ModuleInfo, largest: int) -> Interface:
    """Abridges a module to what other files can see, and tells what that is."""
    lines, statements = module.source.lines, module.source.tree.body
    bodies = [(name, function, _body_rows(function, lines)) for name, function in _functions(module)]
    abridge(module, largest)
    dropped = [body for body in bodies if body[1].outline.dropped]
    hidden = {row for _, _, rows in dropped for row in rows}
    shown = [row for s in statements for row in _rows(s) if row not in hidden]
    facts = [module.mentions_torch, module.may_yield, module.may_hold_lambdas, module.search_path]
    outline = repr(
        [*facts, sorted(module.rebound), *(_summary(name, function) for name, function, _ in dropped)]
    )
    text = "\n".join([outline, *(lines[row - 1] for row in shown)])
    return Interface(_digest(f"{text}\n{shown}"), _digest(text))


def _functions(module: ModuleInfo) -> Iterator[tuple[str, FunctionInfo]]:
    yield from module.functions.items()
    for info in module.classes.values():
        yield from ((f"{info.name}.{name}", function) for name, function in info.methods.items())


def _body_rows(function: FunctionInfo, lines: list[str]) -> range:
    """The rows of a function's body; none where it begins on the line of its head."""
    if isinstance(function.node, ast.Lambda):
        return range(0)
    first, last = function.node.body[0], function.node.body[-1]
    apart = not lines[first.lineno - 1][: first.col_offset].strip()
    return range(first.lineno, (last.end_lineno or last.lineno) + 1) if apart else range(0)


def _rows(statement: ast.stmt) -> range:
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return range(first, (statement.end_lineno or statement.lineno) + 1)


def _summary(name: str, function: FunctionInfo) -> tuple[object, ...]:
    """What is remembered of a body that was dropped."""
    touched = function.owner.touched.get(function.name) if function.owner is not None else None
    attributes = (sorted(touched.assigned), sorted(touched.called)) if touched is not None else ()
    return name, function.outline, attributes


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass"))
