"""Operands that have no name at the place of a rewrite: they get one where they are computed.

``p = softmax(self.fc(x)); p.log()`` becomes ``logits = self.fc(x); log_softmax(logits)``. Where the name is there, but
given another value on the way, ``x = x.exp(); x = x / x.sum()``, the statement on the way goes, if nothing else reads
what it gave.
"""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import replace

from stablelint.codemod.flow.definition import binds, definition, function_of
from stablelint.codemod.flow.effects import Effect, effect
from stablelint.codemod.flow.nodes import loads, looks_names_up, readers, stores
from stablelint.codemod.guards import dead
from stablelint.codemod.guards.bound import applied
from stablelint.codemod.templates.hoist import hoist, name_for
from stablelint.codemod.templates.operand import Operand, bare
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text import draft
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import comments
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Proposal, Span
from stablelint.syntax.names import last_name, shortened

_OF_LOGITS = frozenset(("softmax", "log_softmax", "softmin", "sigmoid", "logsigmoid"))
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def named(file: File, proposal: Proposal, node: ast.expr) -> tuple[Proposal, list[draft.Change]]:
    """The proposal with a text for each operand, and the changes that make the texts mean what they should.

    Raises Withheld where an operand can have no name.
    """
    bindings = dict(proposal.bindings)
    changes: list[draft.Change] = []
    given: dict[Span, str] = {}
    for key, binding in proposal.bindings.items():
        if binding.text is not None or binding.origin is None:
            continue
        if binding.origin not in given:
            origin = file.tree.find(binding.origin)
            if not isinstance(origin, ast.expr):
                raise Withheld(f"the value of `{key}` can no longer be written at this place")
            given[binding.origin], more = (
                _read(file.tree, origin, node)
                or _kept(file, origin, node)
                or _renamed(file, origin, node)
                or _given(file, origin, node, set(given.values()))
            )
            if any(start < end_ and start_ < end for start, end, _ in more for start_, end_, _ in changes):
                raise Withheld(f"the value of `{key}` can no longer be written at this place")
            changes += more
        bindings[key] = binding._replace(text=given[binding.origin], origin=None)
    return replace(proposal, bindings=bindings), changes


def _read(tree: Tree, origin: ast.expr, node: ast.expr) -> tuple[str, list[draft.Change]] | None:
    """The name by which `node` itself reads what `origin` gives, whatever its statement gives that name next."""
    given = ((reader.id, definition(tree, reader)) for reader in loads(node))
    return next(((name, []) for name, one in given if one is not None and one.value is origin), None)


def _kept(file: File, origin: ast.expr, node: ast.expr) -> tuple[str, list[draft.Change]] | None:
    """The name that `origin` is, and the change that lets it keep its value up to `node`; None where it is no name.

    Where others read what the name is given instead, and the value has a name everywhere, it is given that first.
    """
    if not isinstance(origin, ast.Name):
        return None
    tree = file.tree
    name, statement, site = origin.id, tree.statement(origin), tree.statement(node)
    if statement is site:
        return name, []  # it is read where the rewrite reads it
    function = function_of(tree, node)
    refusal = f"`{name}` has another value at this place"
    if function is None or not binds(statement, name) or not isinstance(statement, ast.Assign):
        raise Withheld(refusal)
    suite = tree.siblings(site)
    if statement not in suite or any(isinstance(link.parent, _LOOPS) for link in tree.ancestors(site)):
        raise Withheld(refusal)
    between = suite[suite.index(statement) + 1 : suite.index(site)]
    region = draft.whole_lines(tree, statement)
    if not any(binds(one, name) for one in between) and not _is_read_on(tree, name, statement, node):
        return name, [draft.removal(tree, region)]
    wish = _wish(tree, origin)
    if wish is None or effect(statement.value) is Effect.ACTS:
        raise Withheld(refusal)
    other = file.scope.fresh(wish, node, f"{name} of line {statement.lineno}")
    line = f"{region.indent}{other} = {name}{tree.source.newline}"
    return other, [(region.start, region.start, line)]


def _is_read_on(tree: Tree, name: str, statement: ast.stmt, node: ast.expr) -> bool:
    """Whether anything but `node` reads what a statement gives a name, before the statement around `node` gives it anew."""
    within, site, function = (
        set(ast.walk(node)) | set(ast.walk(statement)),
        tree.statement(node),
        function_of(tree, node),
    )
    last = site.end_lineno if isinstance(site, ast.Assign) and binds(site, name) else None
    read = (
        (one.lineno for one in readers(function, name) if one not in within) if function is not None else ()
    )
    is_read = any(statement.lineno < row and (last is None or row <= last) for row in read)
    return is_read or function is None or looks_names_up(function)


def _renamed(file: File, origin: ast.expr, node: ast.expr) -> tuple[str, list[draft.Change]] | None:
    """Another name for what `origin` gives a name that a later statement gives anew: ``z = net(x); z = sigmoid(z)``.

    The later statement, and what stands between the two, read the other name; it goes where nothing reads what it gives.
    None where the text has another form.
    """
    tree = file.tree
    statement, function = tree.statement(origin), function_of(tree, node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if (
        not isinstance(target, ast.Name)
        or getattr(statement, "value", None) is not origin
        or function is None
    ):
        return None
    after = tree.siblings(statement)[tree.siblings(statement).index(statement) + 1 :]
    anew = next((index for index, one in enumerate(after) if binds(one, target.id)), None)
    second = None if anew is None else after[anew]
    if anew is None or not isinstance(second, ast.Assign) or second is tree.statement(node):
        return None
    nested = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    if any(isinstance(one, nested) and one is not function for one in ast.walk(function)):
        return None
    reads = [reader for one in after[: anew + 1] for reader in readers(one, target.id)]
    wish = (_wish(tree, reads[0]) if reads else None) or name_for(origin)
    name = file.scope.fresh(wish, node, f"{target.id} of line {statement.lineno}")
    run = after[anew : after.index(site)] if (site := tree.statement(node)) in after[anew:] else []
    is_straight = bool(run) and all(isinstance(one, ast.Assign | ast.Expr) for one in run)
    is_straight = is_straight and effect(second.value) is not Effect.ACTS
    around = [link.parent for link in tree.ancestors(statement)]
    tried = any(isinstance(one, ast.Try) for one in around)
    # What a turn leaves in the name must not be what the next one reads, unless the rewritten statement gives it anew.
    loops = [one for one in around if isinstance(one, ast.For | ast.While)]
    again = [] if binds(tree.statement(node), target.id) else loops[-1:]
    early = [one for loop in again for one in readers(loop, target.id) if one.lineno <= statement.lineno]
    goes = is_straight and not (tried or early) and not _is_read_on(tree, target.id, second, node)
    gone = [draft.removal(tree, draft.whole_lines(tree, second))] if goes else []
    if gone and any(readers(node, target.id)):
        return target.id, gone
    reads = [one for one in reads if not goes or one not in set(ast.walk(second))]
    return name, [*((tree.start(one), tree.end(one), name) for one in (target, *reads)), *gone]


def _given(file: File, origin: ast.expr, node: ast.expr, taken: Set[str]) -> tuple[str, list[draft.Change]]:
    """A new name for `origin`, and the changes that give it: a statement of its own before the one that computes it."""
    tree = file.tree
    statement, site, function = tree.statement(origin), tree.statement(node), function_of(tree, node)
    text = bare(tree.text(origin))
    region = tree.region(statement)
    if (
        function is None
        or function_of(tree, origin) is not function
        or tree.siblings(statement) is not tree.siblings(site)
    ):
        raise Withheld(f"`{shortened(text)}`, which the rewrite needs, is computed in another block")
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    wish = _wish(tree, origin) or _logarithm(tree, origin, target) or name_for(origin)
    if wish in taken and isinstance(target, ast.Name):
        wish = f"{target.id}_{wish}"
    hoisted = hoist(tree, file.scope, Operand("", text, origin, origin), origin, region, wish)
    line = hoisted.line("({})" if "\n" in text else "{}")
    if isinstance(target, ast.Name):
        gone = [(start, end) for start, end, _ in dead.removals(tree, node, [])]
        within = set(ast.walk(node))
        others = [
            one
            for one in readers(function, target.id)
            if one not in within and not any(start <= tree.start(one) < end for start, end in gone)
        ]
        if binds(site, target.id):  # what is read behind it has the value that the site gives
            others = [one for one in others if statement.lineno < one.lineno <= (site.end_lineno or 0)]
        stays = (
            others
            or looks_names_up(function)
            or any(isinstance(one.ctx, ast.Del) for one in stores(function, target.id))
            or comments(tree.text(statement))
            or function_of(tree, node) is not function
        )
        if not stays:
            return hoisted.name, [(tree.start(statement), tree.end(statement), line)]
    newline = tree.source.newline + region.indent
    return hoisted.name, [
        (hoisted.offset, hoisted.offset, line + newline),
        (*draft.bracketed(tree, origin), hoisted.name),
    ]


def _wish(tree: Tree, origin: ast.expr) -> str | None:
    """What the operand of a softmax or sigmoid is called everywhere."""
    for link in list(tree.ancestors(origin))[:2]:
        call = link.parent
        if isinstance(call, ast.Call):
            return "logits" if last_name(call.func) in _OF_LOGITS else None
    return None


def _logarithm(tree: Tree, origin: ast.expr, target: ast.expr | None) -> str | None:
    """What the exponent is called of an exponential that has a name: ``sigma = h.exp()`` makes it `log_sigma`."""
    exponential = applied(tree, origin, "exp")
    given = getattr(tree.statement(origin), "value", None)
    return f"log_{target.id}" if isinstance(target, ast.Name) and exponential is given is not None else None
