"""One rewrite in the making: edits of a region of lines, judged by the law before they are given away."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from stablelint.codemod.law import holds
from stablelint.codemod.locate import Region, Tree
from stablelint.diagnostic import Edit

Change = tuple[int, int, str]  # start and end offset, new text


def rendered(tree: Tree, region: Region, changes: Sequence[Change]) -> str:
    """The region's lines with changes made; changes at one place are made in the order given."""
    pieces: list[str] = []
    done = region.start
    for start, end, content in sorted(changes, key=lambda change: change[:2]):
        pieces += [tree.source.text[done:start], content]
        done = end
    pieces.append(tree.source.text[done : region.end])
    return "".join(pieces)


def lawful(tree: Tree, region: Region, changes: Sequence[Change], expected: Sequence[ast.stmt]) -> bool:
    """Whether the changed lines parse to `expected`."""
    return holds(rendered(tree, region, changes), region, expected)


def edits(tree: Tree, changes: Sequence[Change]) -> list[Edit]:
    """Changes as edits."""
    return [Edit(tree.source.span(start, end), content) for start, end, content in changes]
