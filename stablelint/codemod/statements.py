"""Inserting, replacing, deleting, moving and wrapping statements."""

from __future__ import annotations

import ast
import contextlib
import copy
import re
from dataclasses import replace

from stablelint.catalog.errors import RuleError
from stablelint.catalog.pattern import encode
from stablelint.codemod.calls import delete_item
from stablelint.codemod.layout.breaks import folded
from stablelint.codemod.replace import operands_for
from stablelint.codemod.templates import limits
from stablelint.codemod.templates.instantiate import instantiate
from stablelint.codemod.templates.spelling import File, spell_names
from stablelint.codemod.text import draft
from stablelint.codemod.text.locate import Region, Tree
from stablelint.codemod.text.source import comments
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Edit, Proposal
from stablelint.syntax.names import last_name
from stablelint.syntax.walk import descendants, nodes_in


def insert(file: File, proposal: Proposal, before: bool) -> list[Edit]:
    """Insert the template's statements on lines of their own before or after the anchor's statement."""
    anchor = anchor_of(file.tree, proposal)
    region = draft.whole_lines(file.tree, anchor)
    if before:
        region = _with_comment(file.tree, region)
    imports, lines, statements = _statements(file, proposal, anchor)
    own = list(region.statements)
    change = _insertion(file.tree, region, lines, before)
    expected = [*statements, *own] if before else [*own, *statements]
    if not draft.lawful(file.tree, region, [change], expected):
        raise Withheld("no statement can be inserted here")
    if not before and isinstance(own[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
        raise Withheld("a statement inserted here would never be executed")
    return [*imports, *draft.edits(file.tree, [change])]


def wrap(file: File, proposal: Proposal) -> list[Edit]:
    """Put the anchor's statement under a `with` of the template, an expression, one step further in.

    A loop that only repeats the statement goes under it as a whole, and so does a test for it alone. A function is given it
    as its decorator.
    """
    anchor = _repeated(file.tree, anchor_of(file.tree, proposal))
    if isinstance(anchor, ast.FunctionDef):
        return _decorate(file, proposal, anchor)
    region, source = draft.whole_lines(file.tree, anchor), file.tree.source
    if nodes_in(anchor, ast.Yield, ast.YieldFrom):
        raise Withheld("what a generator yields to would run under it, too")
    block = replace(proposal, template=f"with {proposal.template}:\n    pass")
    imports, lines, (head,) = _statements(file, block, anchor)
    step = _step_of(file.tree, anchor, region.indent)
    rows = range(source.position(region.start).row, source.position(region.end).row + 1)
    begun = [source.line_start(row) for row in rows if source.line(row).strip()]
    changes = [(region.start, region.start, f"{region.indent}{lines[0]}{source.newline}")]
    changes += [(start, start, step) for start in begun]
    expected = ast.With(getattr(head, "items", []), [anchor])
    if not draft.lawful(file.tree, region, changes, [expected]):
        raise Withheld("the statement cannot be moved one step further in")
    if _goes_on(file.tree, anchor, head, len(step)):
        del changes[0]
    return [*imports, *draft.edits(file.tree, changes)]


def _decorate(file: File, proposal: Proposal, function: ast.FunctionDef) -> list[Edit]:
    """Give a function the template, an expression, as the innermost of its decorators."""
    imports, (line,), made = _statements(file, proposal, function)
    region, start = file.tree.region(function), file.tree.source.line_start(function.lineno)
    change = (start, start, f"{region.indent}@{line}{file.tree.source.newline}")
    decorated = copy.copy(function)
    decorated.decorator_list = [
        *function.decorator_list,
        *(one.value for one in made if isinstance(one, ast.Expr)),
    ]
    if not draft.lawful(file.tree, region, [change], [decorated]):
        raise Withheld("the function cannot be given a decorator")
    return [*imports, *draft.edits(file.tree, [change])]


def _repeated(tree: Tree, statement: ast.stmt) -> ast.stmt:
    """The outermost loop that does nothing but repeat a statement some times, or test for it; else the statement."""
    above = tree.link(statement).parent
    if not isinstance(above, ast.For | ast.If) or above.body != [statement] or above.orelse:
        return statement
    if isinstance(above, ast.If):
        outer = tree.link(above).parent
        is_branch = isinstance(outer, ast.If) and outer.orelse == [above]
        computes = any(isinstance(one, ast.Call | ast.NamedExpr) for one in descendants(above.test))
        return statement if is_branch or computes else above
    counts = isinstance(above.iter, ast.Call) and last_name(above.iter.func) == "range"
    return _repeated(tree, above) if counts else statement


def _goes_on(tree: Tree, statement: ast.stmt, head: ast.stmt, step: int) -> bool:
    """Whether a statement stands right below a `with` of the same objects, whose lines go one step further in."""
    suite = tree.siblings(statement)
    above = suite[suite.index(statement) - 1] if suite.index(statement) else None
    if not isinstance(above, ast.With) or not isinstance(head, ast.With):
        return False
    is_next = above.end_lineno == statement.lineno - 1 and above.body[0].lineno > above.lineno
    is_aligned = above.body[0].col_offset == statement.col_offset + step
    return is_next and is_aligned and [*map(ast.unparse, above.items)] == [*map(ast.unparse, head.items)]


def delete(file: File, proposal: Proposal) -> list[Edit]:
    """Delete the statement at the proposal's span, or the argument or element that stands there."""
    node = file.tree.find(proposal.span)
    if node is None:
        raise Withheld("the code has moved or stands inside an f-string")
    if isinstance(node, ast.expr) and not isinstance(file.tree.link(node).parent, ast.Expr):
        return delete_item(file.tree, node)
    statement = file.tree.statement(node)
    region = draft.whole_lines(file.tree, statement)
    source = file.tree.source
    if comments(source.text[region.start : region.end]):
        raise Withheld("a comment on the statement would be lost")
    if len(file.tree.siblings(statement)) == 1 and region.indent:
        return draft.edits(file.tree, [(file.tree.start(statement), file.tree.end(statement), "pass")])
    return draft.edits(file.tree, [draft.removal(file.tree, region)])


def move_before(file: File, proposal: Proposal) -> list[Edit]:
    """Move the statement at the proposal's span before the anchor's statement, in the same suite."""
    node = file.tree.find_statement(proposal.span)
    anchor = anchor_of(file.tree, proposal)
    if node is None:
        raise Withheld("the statement is no longer there")
    if file.tree.siblings(node) is not file.tree.siblings(anchor):
        raise Withheld("the statements stand in different blocks")
    if len(file.tree.siblings(node)) < 2 or node is anchor:
        raise Withheld("there is nothing to move it before")
    source = file.tree.source
    moved, target = draft.whole_lines(file.tree, node), draft.whole_lines(file.tree, anchor)
    text = source.text[moved.start : moved.end] + source.newline
    inserted = (target.start, target.start, text)
    return draft.edits(file.tree, [inserted, draft.removal(file.tree, moved)])


def anchor_of(tree: Tree, proposal: Proposal) -> ast.stmt:
    """The statement at the proposal's anchor (its span, where it has none); Withheld when it is gone."""
    found = tree.find_statement(proposal.anchor or proposal.span)
    if found is None:
        raise Withheld("the statement to which the fix belongs is no longer there")
    return found


def _statements(
    file: File, proposal: Proposal, site: ast.stmt
) -> tuple[list[Edit], list[str], list[ast.stmt]]:
    operands = operands_for(file, proposal, site)
    template = limits.sized(proposal.template, operands, file.is_scripted, file.is_double)
    try:
        module = ast.parse(encode(template)[0].strip())
    except (SyntaxError, RuleError) as error:
        raise Withheld("the fix is not made of statements") from error
    code, imports = spell_names(file, module, site)
    text, tree = instantiate(code, operands)
    if any("\n" in operand.text and '"""' in operand.text for operand in operands.values()):
        raise Withheld("an operand holds a string of several lines")
    return imports, re.split(r"\r\n|\n|\r", text), tree.body


def _insertion(tree: Tree, region: Region, lines: list[str], before: bool) -> draft.Change:
    newline = tree.source.newline
    text = newline.join(folded(tree.source, region.indent + line) if line.strip() else line for line in lines)
    if before:
        return region.start, region.start, text + newline
    return region.end, region.end, newline + text


def _step_of(tree: Tree, statement: ast.stmt, indent: str) -> str:
    """How far a statement's block stands in from it; as its file begins lines where it has none."""
    inner = next(iter(getattr(statement, "body", ())), None)
    if isinstance(inner, ast.stmt) and inner.lineno > statement.lineno:
        line = tree.source.line(inner.lineno)
        return line[: len(line) - len(line.lstrip())].removeprefix(indent)
    return "\t" if "\t" in indent else "    "


def _with_comment(tree: Tree, region: Region) -> Region:
    """A region with the lines of comment that stand right above it, and are no statement that was made one."""
    row = tree.source.position(region.start).row
    while row > 1 and tree.source.line(row - 1).startswith(f"{region.indent}#"):
        with contextlib.suppress(SyntaxError):
            was = ast.parse(tree.source.line(row - 1).strip(" \t#")).body
            if any(isinstance(one, ast.Assign | ast.AugAssign | ast.Return) for one in was):
                break
        row -= 1
    return replace(region, start=tree.source.line_start(row))
