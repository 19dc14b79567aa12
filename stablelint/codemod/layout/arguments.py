"""Further keyword arguments of a call that stands in the file: it keeps its lines, and they are spelled as its others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stablelint.codemod.templates.operand import parse_operand
from stablelint.codemod.text.draft import Change
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.syntax import operations
from stablelint.syntax.names import last_name

_Keywords = Sequence[tuple[str, str]]  # names and texts


def appended(tree: Tree, call: ast.Call, added: _Keywords) -> Change:
    """The change that puts arguments behind the last one of a call: on lines of their own where that has one."""
    text = tree.source.text
    assigned = " = " if any(_spaced(tree, one) for one in call.keywords) else "="
    items = [f"{name}{assigned}{value}" for name, value in added]
    end = tree.end(call) - 1
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if not given:
        return end, end, ", ".join(items)
    last = max(tree.end(one.value if isinstance(one, ast.keyword) else one) for one in given)
    # Parentheses around the last argument, and a trailing comma, stand between it and the call's own.
    gap = text[last:end]
    if "#" in gap:
        raise Withheld("a comment stands where the argument would go")
    place = last + len(gap.rstrip())
    start = max(_start(tree, one) for one in given)
    line = tree.source.line_start(tree.source.position(start).row)
    indent = text[line:start]
    apart = f"{tree.source.newline}{indent}" if not indent.strip() and line > tree.start(call) else " "
    if gap.rstrip().endswith(","):
        return place, place, f"{apart}{f',{apart}'.join(items)}{',' * (apart != ' ')}"
    return place, place, "".join(f",{apart}{one}" for one in items)


def as_it_stands(tree: Tree, node: ast.expr, text: str) -> str | None:
    """The text of a rewrite in which the call `node` has further arguments, and is written as it is for the rest.

    None where the rewrite holds no such call.
    """
    own = tree.text(node)
    if not isinstance(node, ast.Call):
        return None
    bracketed = f"(\n{text}\n)"
    for one in ast.walk(parse_operand(text)):
        added = _added(node, one) if isinstance(one, ast.Call) else []
        if added:
            items = [(each.arg or "", ast.get_source_segment(bracketed, each.value) or "") for each in added]
            place, _, more = appended(tree, node, items)
            at, written = place - tree.start(node), ast.get_source_segment(bracketed, one) or ""
            return text.replace(written, f"{own[:at]}{more}{own[at:]}", 1)
    return None


def _added(call: ast.Call, other: ast.Call) -> list[ast.keyword]:
    """The keyword arguments that another call has behind those of a call; none where they differ in more."""
    if not same(call.func, other.func) or any(one.arg is None for one in (*call.keywords, *other.keywords)):
        return []
    for names in _parameters(call):
        given, taken = _by_name(call, names), _by_name(other, names)
        kept = given is not None and taken is not None and given.keys() <= taken.keys()
        if given is not None and taken is not None and kept:
            if all(same(given[name], taken[name]) for name in given):
                added = [one for one in other.keywords if one.arg not in given]
                return added if other.keywords[len(other.keywords) - len(added) :] == added else []
    return []


def _parameters(call: ast.Call) -> Iterator[tuple[str, ...]]:
    """The names of a call's positional arguments: as a method has them, or a function; else their numbers."""
    known = operations.method(last_name(call.func))
    if known is not None:
        yield from (known[0].parameters[1:], known[0].parameters)
    yield tuple(map(str, range(len(call.args))))


def _by_name(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr] | None:
    """The arguments of a call by parameter; None where there are more of them, or one is given twice."""
    named = [(one.arg or "", one.value) for one in call.keywords]
    pairs = [*zip(names, call.args, strict=False), *named]
    found = dict(pairs)
    return found if len(found) == len(pairs) == len(call.args) + len(named) else None


def _spaced(tree: Tree, keyword: ast.keyword) -> bool:
    return tree.source.text[_start(tree, keyword) : tree.start(keyword.value)].endswith(" = ")


def _start(tree: Tree, node: ast.expr | ast.keyword) -> int:
    return tree.source.offset_of_bytes(node.lineno, node.col_offset)
