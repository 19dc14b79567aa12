"""Adding an import where its reader would look for it."""

from __future__ import annotations

import ast
import sys

from stablelint.codemod.flow.scope import Scope
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Edit

_Import = ast.Import | ast.ImportFrom
_FUNCTIONAL = "torch.nn.functional."


def import_for(qualified: str, scope: Scope, site: ast.AST) -> tuple[str, str]:
    """The import statement that makes `qualified` reachable at `site`, and its spelling there.

    Raises Withheld where the name that the import would bind stands for something else.
    """
    if qualified.startswith(_FUNCTIONAL) and scope.is_unused("F"):
        return f"import {_FUNCTIONAL[:-1]} as F", f"F.{qualified.removeprefix(_FUNCTIONAL)}"
    root = qualified.partition(".")[0]
    if not scope.is_free(root, site):
        raise Withheld(f"the name `{root}` stands for something else here")
    if root == "torch" and not scope.imports("torch"):
        if scope.has_star:
            raise Withheld("what the rewrite calls comes by `import *`, if at all")
        raise Withheld("the file does without torch, and so may its numbers")
    return f"import {root}", qualified


def insertion(tree: Tree, statement: str) -> Edit:
    """The edit that adds an import statement to the module's top level.

    It goes among the plain imports of the block that already imports from the same package, in alphabetical
    order; else after the last import of the head of the file; else below docstring and `__future__`.
    """
    block = _block_for(tree, statement.split()[1].partition(".")[0])
    newline = tree.source.newline
    if block:
        module = statement.split()[1]
        for existing in block:
            if isinstance(existing, ast.ImportFrom) or existing.names[0].name > module:
                return _at(tree, tree.source.line_start(existing.lineno), statement + newline)
        return _after(tree, block[-1], statement, "")
    blocks = _blocks(tree)
    if blocks and statement.split()[1] in sys.stdlib_module_names:
        place = tree.source.line_start(blocks[0][0].lineno)
        return _at(tree, place, statement + newline * 2)
    head = _head(tree)
    if head:
        return _after(tree, head[-1], statement, newline if isinstance(head[-1], ast.Expr) else "")
    if not tree.module.body:
        return _at(tree, len(tree.source.text), statement + newline)
    first = tree.source.position(tree.start(tree.module.body[0])).row
    return _at(tree, tree.source.line_start(first), statement + newline * 2)


def _block_for(tree: Tree, root: str) -> list[_Import]:
    blocks = _blocks(tree)
    for block in blocks:
        if any(root in _roots(statement) for statement in block):
            return block
    # The standard library's block, where there is one, comes first.
    if root in sys.stdlib_module_names and blocks:
        named = (one for each in blocks[0] for one in _roots(each))
        return blocks[0] if any(one in sys.stdlib_module_names for one in named) else []
    return []


def _blocks(tree: Tree) -> list[list[_Import]]:
    """Runs of top-level imports on adjacent lines, `__future__` left out."""
    blocks: list[list[_Import]] = []
    last_row = -1
    for statement in tree.module.body:
        if not isinstance(statement, _Import) or "__future__" in _roots(statement) or statement.col_offset:
            continue
        if blocks and statement.lineno == last_row + 1:
            blocks[-1].append(statement)
        else:
            blocks.append([statement])
        last_row = statement.end_lineno or statement.lineno
    return blocks


def _head(tree: Tree) -> list[ast.stmt]:
    """Docstring and imports with which the file begins."""
    head: list[ast.stmt] = []
    for index, statement in enumerate(tree.module.body):
        docstring = index == 0 and ast.get_docstring(tree.module, clean=False) is not None
        if not docstring and not isinstance(statement, _Import):
            break
        head.append(statement)
    return head


def _roots(statement: _Import) -> set[str]:
    if isinstance(statement, ast.Import):
        return {alias.name.partition(".")[0] for alias in statement.names}
    return set() if statement.level else {(statement.module or "").partition(".")[0]}


def _after(tree: Tree, statement: ast.stmt, text: str, gap: str) -> Edit:
    """Below the line on which a statement ends, and below whatever shares that line."""
    source = tree.source
    end_row = statement.end_lineno or statement.lineno
    for other in tree.module.body:
        if other.lineno == end_row:
            end_row = other.end_lineno or end_row
    offset = source.next_line(end_row)
    if offset == source.line_end(end_row):  # the last line has no newline
        return _at(tree, offset, source.newline + gap + text)
    return _at(tree, offset, gap + text + source.newline)


def _at(tree: Tree, offset: int, content: str) -> Edit:
    return Edit(tree.source.span(offset, offset), content)
