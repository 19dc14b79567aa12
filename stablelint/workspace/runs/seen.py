"""Where runs have seen the values of a text: for an editor to tell beside the ranges that the analysis shows.

An observation speaks of the operands of one site. It holds for the operand within that expression, and for a name that
the function binds once and never changes in place, wherever the function names it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from stablelint.diagnostic import Span
from stablelint.records import dataclass
from stablelint.syntax.source import Source, SourceError, parse
from stablelint.syntax.walk import children, descendants
from stablelint.syntax.writes import written_name
from stablelint.workspace.runs.evidence import (
    Observation,
    are_observed,
    bare,
    function_digest,
    read_observations,
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Seen:
    """The least and the greatest finite element of a value in the calls that a program made of a site."""

    least: float
    greatest: float
    calls: int

    def __str__(self) -> str:
        times = "once" if self.calls == 1 else f"{self.calls:,} times"
        return f"seen in [{self.least:.3g}, {self.greatest:.3g}] ({times})"


def seen_in(data: bytes, filename: str, root: Path) -> dict[Span, Seen]:
    """What the runs kept below `root` have seen of the expressions of a text; nothing where it does not parse."""
    if not are_observed(root):
        return {}
    by_function: dict[str, list[Observation]] = {}
    for each in read_observations(root).values():
        if each.origin == "command":
            by_function.setdefault(each.function, []).append(each)
    try:
        source = parse(data, filename)
    except SourceError:
        return {}
    return dict(_placed(source, by_function))


def _placed(source: Source, by_function: Mapping[str, list[Observation]]) -> Iterator[tuple[Span, Seen]]:
    from stablelint.runtime.verify.output.evidence import function_text

    for function in descendants(source.tree):
        if isinstance(function, _FUNCTIONS):
            known = by_function.get(function_digest(function_text(function, source.lines)), ())
            yield from _in_function(_own(function), known, source) if known else ()


def _own(function: ast.AST) -> list[ast.AST]:
    """The nodes of a function, without those of functions defined in it."""
    found = children(function)
    for node in found:  # grows while it is walked
        found.extend(() if isinstance(node, _FUNCTIONS) else children(node))
    return found


def _in_function(
    nodes: list[ast.AST], known: Iterable[Observation], source: Source
) -> Iterator[tuple[Span, Seen]]:
    texts = [(node, bare(source.segment(node))) for node in nodes if isinstance(node, ast.expr)]
    lasting = _lasting(nodes)
    for each in known:
        seen = {
            bare(text): Seen(low, each.greatest.get(text, low), each.calls)
            for text, low in each.least.items()
        }
        sites = [node for node, text in texts if text == each.expression]
        inside = {id(part) for site in sites for part in descendants(site)}
        for part, text in texts:
            if text in seen and (text in lasting or id(part) in inside):
                yield source.span(part), seen[text]
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                if (name := node.targets[0].id) in lasting and name in seen:
                    yield source.span(node.value), seen[name]


def _lasting(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that a function binds once, and whose values it does not change in place."""
    bound = Counter(
        node.arg if isinstance(node, ast.arg) else node.id
        for node in nodes
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )
    return {name for name, count in bound.items() if count == 1} - set(map(written_name, nodes))
