"""Changing the arguments of a call, or the elements of a list."""

from __future__ import annotations

import ast
import copy
import re

from stablelint.catalog.errors import RuleError
from stablelint.catalog.pattern import encode
from stablelint.codemod.flow.effects import Effect, effect
from stablelint.codemod.layout.arguments import appended
from stablelint.codemod.layout.placed import fitted
from stablelint.codemod.replace import operands_for
from stablelint.codemod.templates import forms
from stablelint.codemod.templates.instantiate import instantiate
from stablelint.codemod.templates.spelling import File, spell_names
from stablelint.codemod.text import draft
from stablelint.codemod.text.law import replaced
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import comments
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Edit, Proposal

_REASON = re.compile(r"[ \t]*,?[ \t]*#")
_COMMENT = re.compile(r"[ \t]*#")


def set_keywords(file: File, proposal: Proposal) -> list[Edit]:
    """Give the call at the proposal's span the template's keyword arguments (``correction=0``)."""
    node = file.tree.find(proposal.span)
    if not isinstance(node, ast.Call):
        raise Withheld("the call is no longer there")
    given = {keyword.arg: keyword for keyword in node.keywords}
    if None in given:
        raise Withheld("the call may be given the argument already (`**`)")
    try:
        wanted = forms.parse_code(f"f({encode(proposal.template)[0]})")
    except (SyntaxError, RuleError) as error:
        raise Withheld("the fix is not a list of keyword arguments") from error
    operands = operands_for(file, proposal, node)
    changes: list[draft.Change] = []
    added: list[tuple[str, str]] = []
    imports: list[Edit] = []
    call = ast.Call(node.func, list(node.args), list(node.keywords))
    if not isinstance(wanted, ast.Call) or wanted.args or any(one.arg is None for one in wanted.keywords):
        raise Withheld("the fix is not a list of keyword arguments")
    for argument in wanted.keywords:
        code, needed = spell_names(file, argument.value, node)
        text, tree = instantiate(code, operands)
        value = tree.body[0].value if isinstance(tree.body[0], ast.Expr) else ast.Constant(None)
        name, imports = argument.arg or "", [*imports, *needed]
        if name in given:
            old = given[name]
            if effect(old.value) is Effect.ACTS:
                raise Withheld(f"`{file.tree.text(old.value)}` would no longer be evaluated")
            if _REASON.match(file.tree.source.text, file.tree.end(old.value)):
                raise Withheld(f"the comment beside `{file.tree.text(old.value)}` tells why it is so")
            changes.append((file.tree.start(old.value), file.tree.end(old.value), text))
            call.keywords[node.keywords.index(old)] = ast.keyword(name, value)
        else:
            added.append((name, text))
            call.keywords.append(ast.keyword(name, value))
    if added:
        changes.append(appended(file.tree, node, added))
    statement = file.tree.statement(node)
    region = file.tree.region(statement)
    expected = replaced(file.tree, region, node, call)
    choice = file.tree.link(statement).parent
    if isinstance(choice, ast.If) and [ast.unparse(one) for one in expected] in [
        [ast.unparse(one) for one in branch] for branch in (choice.body, choice.orelse)
    ]:
        raise Withheld(f"both branches of the test on line {choice.lineno} would be the same")
    if not draft.lawful(file.tree, region, changes, expected):
        raise Withheld("the argument cannot be added to this call")
    return [*imports, *draft.edits(file.tree, fitted(file.tree, region, node, changes, expected))]


def delete_item(tree: Tree, node: ast.expr) -> list[Edit]:
    """Delete an argument of a call or an element of a list, with its comma."""
    link = tree.link(node)
    in_call = isinstance(link.parent, ast.Call) and link.field == "args"
    in_display = isinstance(link.parent, ast.List | ast.Set) and link.field == "elts"
    if not in_call and not in_display:
        raise Withheld("only an argument or an element of a list can be deleted")
    start, end = tree.start(node), tree.end(node)
    source = tree.source.text
    after = re.compile(r"\s*,[ \t]*").match(source, end)
    before = re.compile(r",\s*$").search(source, 0, start)
    parent_end = tree.end(link.parent) if isinstance(link.parent, ast.expr) else end
    is_last = after is not None and after.end() + 1 == parent_end
    if is_last and before is not None:
        start = before.start()
    elif after is not None and after.end() < parent_end:
        end = after.end()
        row = tree.source.position(start).row
        own_line = not source[tree.source.line_start(row) : start].strip()
        if own_line and end == tree.source.line_end(tree.source.position(end).row):
            start, end = tree.source.line_start(row), tree.source.next_line(tree.source.position(end).row)
    elif before is not None:
        start = before.start()
    change = (start, end, "")
    if comments(tree.text(node)):
        raise Withheld("a comment inside the argument would be lost")
    line = tree.source.line_start(tree.source.position(tree.start(node)).row)
    if not source[line : tree.start(node)].strip() and _COMMENT.match(source, end):
        raise Withheld("the comment behind it speaks of what would be gone")
    statement = tree.statement(node)
    region = tree.region(statement)
    parent = _without(link.parent, link.field, link.index or 0)
    if not draft.lawful(tree, region, [change], replaced(tree, region, link.parent, parent)):
        raise Withheld("the argument cannot be deleted without changing something else")
    return draft.edits(tree, [change])


def _without(parent: ast.AST, field: str, index: int) -> ast.AST:
    changed = copy.copy(parent)
    items = list(getattr(parent, field))
    del items[index]
    setattr(changed, field, items)
    return changed
