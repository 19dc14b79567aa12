"""Operands that have no name at the place of a rewrite: they get one where they are computed.

``p = softmax(self.fc(x)); p.log()`` becomes ``logits = self.fc(x); log_softmax(logits)``. Where the name is there, but
given another value on the way, ``x = x.exp(); x = x / x.sum()``, the statement on the way goes, if nothing else reads
what it gave.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from stablelint.codemod.flow.definition import binds, function_of, readers
from stablelint.codemod.templates.hoist import hoist
from stablelint.codemod.templates.operand import Operand, bare
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text import draft
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import comments
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Proposal

_OF_LOGITS = frozenset(("softmax", "log_softmax", "softmin", "sigmoid", "logsigmoid"))
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def named(file: File, proposal: Proposal, node: ast.expr) -> tuple[Proposal, list[draft.Change]]:
    """The proposal with a text for each operand, and the changes that make the texts mean what they should.

    Raises Withheld where an operand can have no name.
    """
    bindings = dict(proposal.bindings)
    changes: list[draft.Change] = []
    for key, binding in proposal.bindings.items():
        if binding.text is not None or binding.origin is None:
            continue
        origin = file.tree.find(binding.origin)
        if not isinstance(origin, ast.expr) or changes:
            raise Withheld(f"the value of `{key}` can no longer be written at this place")
        text, changes = _kept(file.tree, origin, node) or _given(file, origin, node)
        bindings[key] = replace(binding, text=text, origin=None)
    return replace(proposal, bindings=bindings), changes


def _kept(tree: Tree, origin: ast.expr, node: ast.expr) -> tuple[str, list[draft.Change]] | None:
    """The name that `origin` is, and the change that lets it keep its value up to `node`; None where it is no name."""
    if not isinstance(origin, ast.Name):
        return None
    name, statement, site = origin.id, tree.statement(origin), tree.statement(node)
    function = function_of(tree, node)
    refusal = f"`{name}` has another value at this place"
    if function is None or not binds(statement, name) or not isinstance(statement, ast.Assign):
        raise Withheld(refusal)
    suite = tree.siblings(site)
    if statement not in suite or any(isinstance(link.parent, _LOOPS) for link in tree.ancestors(site)):
        raise Withheld(refusal)
    between = suite[suite.index(statement) + 1 : suite.index(site)]
    within = set(ast.walk(node)) | set(ast.walk(statement))
    later = [one for one in readers(function, name) if one not in within and one.lineno > statement.lineno]
    if isinstance(site, ast.Assign) and binds(site, name):
        later = [one for one in later if one.lineno <= (site.end_lineno or 0)]
    region = draft.whole_lines(tree, statement)
    if (
        later
        or any(binds(one, name) for one in between)
        or comments(tree.source.text[region.start : region.end])
    ):
        raise Withheld(refusal)
    return name, [draft.removal(tree, region)]


def _given(file: File, origin: ast.expr, node: ast.expr) -> tuple[str, list[draft.Change]]:
    """A new name for `origin`, and the changes that give it: a statement of its own before the one that computes it."""
    tree = file.tree
    statement, function = tree.statement(origin), function_of(tree, node)
    text = bare(tree.text(origin))
    region = tree.region(statement)
    if (
        function is None
        or function_of(tree, origin) is not function
        or tree.siblings(statement) is not tree.siblings(tree.statement(node))
    ):
        raise Withheld(f"`{_short(text)}`, which the rewrite needs, is computed in another block")
    operand = Operand("", text, origin, origin)
    hoisted = hoist(tree, file.scope, operand, origin, region, _wish(tree, origin))
    line = hoisted.line("({})" if "\n" in text else "{}")
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    if isinstance(target, ast.Name):
        within = set(ast.walk(node))
        others = [one for one in readers(function, target.id) if one not in within]
        stays = others or comments(tree.text(statement)) or function_of(tree, node) is not function
        if not stays:
            return hoisted.name, [(tree.start(statement), tree.end(statement), line)]
    newline = tree.source.newline + region.indent
    return hoisted.name, [
        (hoisted.offset, hoisted.offset, line + newline),
        (tree.start(origin), tree.end(origin), hoisted.name),
    ]


def _wish(tree: Tree, origin: ast.expr) -> str | None:
    """What the operand of a softmax or sigmoid is called everywhere."""
    for link in list(tree.ancestors(origin))[:2]:
        call = link.parent
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            return "logits" if name in _OF_LOGITS else None
    return None


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:37]}..."
