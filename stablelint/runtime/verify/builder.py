"""From a finding, its rule and its fix to a site."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Applicability, Diagnostic, Span, edited
from stablelint.runtime.program.nodes import blocks_around, enclosing
from stablelint.runtime.verify.replay.expression import NotReplayableError, parse_expression, substituted
from stablelint.runtime.verify.site import Kind, Site
from stablelint.syntax.names import names_in
from stablelint.syntax.source import Source, SourceError, parse

_LOOP_FAMILIES = ("amp", "training")  # their rules speak of statements, not of one expression
_TAKEN = re.compile(r"torch\.where\(\$(\w+), \$\w+, 1\)")
_DROPPED = re.compile(r"torch\.where\(\$(\w+), 1, \$\w+\)")
_INLINED = 4  # earlier statements that are spelled out, at most


def build_site(diagnostic: Diagnostic, rule: Rule | None, source: bytes) -> Site:
    """The site of a finding; its fix is taken from `diagnostic.fix`.

    Where the fix is no rewrite of one expression, `fixed` is None: only the rerun can speak for it then.
    """
    bindings = diagnostic.proposals[0].bindings if diagnostic.proposals else {}
    operands = {name: item.text for name, item in bindings.items() if item.text is not None}
    dtypes = tuple(sorted({item.dtype for item in bindings.values() if item.dtype}))
    fix, hidden = diagnostic.fix, _hidden(diagnostic, operands)
    site = Site(
        diagnostic.code,
        diagnostic.filename,
        diagnostic.span,
        diagnostic.expression,
        diagnostic.expression,
        None,
        operands,
        name=diagnostic.name,
        message=diagnostic.message,
        dtypes=dtypes,
        safe=fix is not None and fix.applicability is Applicability.SAFE,
        has_fix=fix is not None,
        across=fix is not None and fix.is_across,
        hidden=hidden,
        guards_hidden=hidden is not None,
    )
    if rule is not None:
        site = _with_rule(site, diagnostic, rule)
    try:
        return _with_expressions(site, diagnostic, parse(source, diagnostic.filename))
    except (SourceError, ValueError, NotReplayableError):
        return site


def _with_rule(site: Site, diagnostic: Diagnostic, rule: Rule) -> Site:
    """The site with what its rule's page says of it."""
    chosen = diagnostic.fix.message if diagnostic.fix is not None else None
    return replace(
        site,
        forward=rule.forward,
        backward=rule.backward,
        bad_operands=rule.operands,
        sample=rule.sample,
        page_dtypes=rule.dtypes,
        expect=rule.expect,
        kind=_kind(rule),
        facts=_facts(diagnostic, rule),
        redefines=any(template.redefines and template.message == chosen for template in rule.fixes),
    )


def _hidden(diagnostic: Diagnostic, operands: Mapping[str, str]) -> str | None:
    """Where the finding's result is dropped, if its fix puts 1 in the operand's place there."""
    for proposal in diagnostic.proposals[:1]:
        taken = _TAKEN.fullmatch(proposal.template)
        dropped = _DROPPED.fullmatch(proposal.template)
        if taken and taken[1] in operands:
            return f"1.0 - ({operands[taken[1]]}) * 1.0"
        if dropped and dropped[1] in operands:
            return f"({operands[dropped[1]]}) * 1.0"
    return None


def _facts(diagnostic: Diagnostic, rule: Rule) -> tuple[str, ...]:
    """The conditions under which the rule proposes this very fix: the analysis has shown that they hold."""
    if diagnostic.fix is None:
        return ()
    proposed = {item.template for item in diagnostic.proposals if item.message == diagnostic.fix.message}
    offered = [
        template
        for template in rule.fixes
        if template.replace in proposed and template.message == diagnostic.fix.message
    ]
    shared = [set(template.when) for template in offered]
    return tuple(sorted(set.intersection(*shared))) if shared else ()


def _dropped(root: ast.AST, target: ast.AST) -> str | None:
    """Where a `where` around the target drops its result, element by element."""
    for node in ast.walk(root):
        match node:
            case ast.Call(func=ast.Attribute(attr="where"), args=[test, taken, other]):
                pass
            case ast.Call(func=ast.Attribute(attr="where", value=taken), args=[test, other]):
                pass
            case _:
                continue
        if target is taken:
            return f"1.0 - ({ast.unparse(test)}) * 1.0"
        if target is other:
            return f"({ast.unparse(test)}) * 1.0"
    return None


def _kind(rule: Rule) -> Kind:
    if rule.expect == "wrong":
        return Kind.INTERFACE
    return Kind.SEQUENCE if rule.family in _LOOP_FAMILIES else Kind.EXPRESSION


def _with_expressions(site: Site, diagnostic: Diagnostic, text: Source) -> Site:
    tree, fix = text.tree, diagnostic.fix
    target, fixed = _around(tree, text, diagnostic.span), None
    # what a fix over several files makes of it, this file alone does not say
    if fix is not None and not fix.is_across:
        after = edited(text.lines, fix.edits)
        changed = _changed(tree, ast.parse(after), text, diagnostic.span)
        if changed is not None:
            target, rewritten, bound = changed
            fixed = ast.get_source_segment(after, rewritten) or ast.unparse(rewritten)
            fixed = _spelled(fixed, bound)
    if target is None:
        return site
    span = text.span(target)
    original = ast.get_source_segment("\n".join(text.lines), target) or ast.unparse(target)
    if site.expect == "inaccurate":
        site = replace(site, hidden=_dropped(tree, target))
    model = _inlined(original, fixed, tree, text, span) if fixed is not None else None
    return replace(site, target=span, original=original, fixed=fixed, model=model)


def _covers(text: Source, node: ast.AST, span: Span) -> bool:
    """Whether a node, or one directly in it where it has no place of its own, stands around a span."""
    if isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg | ast.excepthandler):
        own = text.span(node)
        return own.start <= span.start and span.end <= own.end
    return any(_covers(text, child, span) for child in ast.iter_child_nodes(node))


def _is_target(node: ast.AST) -> TypeGuard[ast.expr | ast.AugAssign]:
    """Whether a node computes a value; an assignment in place counts as an expression."""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return False
    other = isinstance(node, ast.Starred | ast.JoinedStr | ast.Slice)
    return isinstance(node, ast.AugAssign) or (isinstance(node, ast.expr) and not other)


def _around(tree: ast.AST, text: Source, span: Span) -> ast.expr | ast.AugAssign | None:
    """The smallest expression around a span."""
    found: ast.expr | ast.AugAssign | None = None
    node: ast.AST | None = tree
    while node is not None:
        found = node if _is_target(node) else found
        node = next((child for child in ast.iter_child_nodes(node) if _covers(text, child, span)), None)
    return found


def _changed(
    tree: ast.Module, fixed: ast.Module, text: Source, span: Span
) -> tuple[ast.expr | ast.AugAssign, ast.AST, dict[str, ast.expr]] | None:
    """The smallest expression around the span that holds all that differs in its statement, and what it becomes.

    With it come the names that the fix binds in statements before that one, and what it binds them to. None where the
    statement is the same, or is no longer there.
    """
    bound: dict[str, ast.expr] = {}
    found: tuple[ast.expr | ast.AugAssign, ast.AST] | None = None
    pair: tuple[ast.AST, ast.AST] | None = (tree, fixed)
    while pair is not None:
        node, other = pair
        if _is_target(node) and ast.dump(node) != ast.dump(other):
            found = node, other
        pair = _inner(node, other, text, span, bound) if type(node) is type(other) else None
    return (*found, bound) if found is not None else None


def _inner(
    node: ast.AST, other: ast.AST, text: Source, span: Span, bound: dict[str, ast.expr]
) -> tuple[ast.AST, ast.AST] | None:
    """The children of two nodes of a kind that stand around the span; of two expressions if nothing else differs."""
    pairs: list[tuple[ast.AST, ast.AST]] = []
    for (_, one), (_, two) in zip(ast.iter_fields(node), ast.iter_fields(other), strict=True):
        ones, twos = (each if isinstance(each, list) else [each] for each in (one, two))
        if ones and isinstance(ones[0], ast.stmt):
            index = next((i for i, each in enumerate(ones) if _covers(text, each, span)), None)
            if index is not None:
                behind = len(twos) - len(ones) + index  # a fix puts statements before the one that it changes
                bound |= _bound(twos[:behind], ones[:index]) if behind > index else {}
                return (ones[index], twos[behind]) if 0 <= behind < len(twos) else None
        elif len(ones) != len(twos):
            return None
        else:
            nodes = zip(ones, twos, strict=True)
            pairs += [each for each in nodes if _dumped(each[0]) != _dumped(each[1])]
    if len(pairs) != 1 or not isinstance(pairs[0][0], ast.AST) or not isinstance(pairs[0][1], ast.AST):
        return None
    return pairs[0] if _covers(text, pairs[0][0], span) else None


def _dumped(value: object) -> object:
    return ast.dump(value) if isinstance(value, ast.AST) else value


def _bound(statements: Sequence[ast.stmt], known: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """Names that statements bind which are not among those that are known, and what to."""
    found: dict[str, ast.expr] = {}
    kept = set(map(ast.dump, known))
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if ast.dump(node) not in kept:
                found[name] = substituted(value, found)
    return found


def _spelled(text: str, values: Mapping[str, ast.expr]) -> str:
    """An expression's text with names replaced by what they stand for."""
    return ast.unparse(substituted(parse_expression(text), values)) if values else text


def _free(text: str) -> set[str]:
    return names_in(parse_expression(text), ast.Load)


def _inlined(original: str, fixed: str, tree: ast.Module, text: Source, span: Span) -> str | None:
    """The original with earlier statements spelled out, as far as it speaks of what the fix does not.

    None where there is nothing to spell out, or where the operands of the fix are not reached.
    """
    wanted = _free(fixed)
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    imported = {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
    known = imported | {"torch", "F", "math"}
    bound = _bindings_before(tree, text, span)
    current = original
    for _ in range(_INLINED):
        names = {name: bound[name] for name in _free(current) - wanted - known if name in bound}
        if not names:
            break
        current = _spelled(current, names)
    reached = not (wanted - known - _free(current))
    return current if reached and current != original else None


def _bindings_before(tree: ast.Module, text: Source, span: Span) -> dict[str, ast.expr]:
    """What names are bound to by plain assignments that stand before the span on every way to it, the last of each."""
    start = span.start
    column = len(text.lines[start.row - 1][: start.column - 1].encode())
    values: dict[str, ast.expr] = {}
    for block, index in blocks_around(enclosing(tree, start.row) or tree, start.row, column):
        around = block[index] if isinstance(block[index], ast.For | ast.AsyncFor | ast.While) else None
        for node in [*block[:index], *([around] if around else [])]:
            stored = names_in(node, ast.Store)
            values = {
                name: one for name, one in values.items() if not stored & {name, *names_in(one, ast.Load)}
            }
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    values[name] = value
    return values
