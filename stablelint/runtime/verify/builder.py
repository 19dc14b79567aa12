"""From a finding, its rule and its fix to a site."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Applicability, Diagnostic, Edit, Position, Span
from stablelint.runtime.verify.enclosing import enclosing
from stablelint.runtime.verify.replay.expression import NotReplayableError, parse_expression, substituted
from stablelint.runtime.verify.site import Kind, Site
from stablelint.syntax.source import Source, SourceError, parse

_LOOP_FAMILIES = ("amp", "training")  # their rules speak of statements, not of one expression
_TAKEN = re.compile(r"torch\.where\(\$(\w+), \$\w+, 1\)")
_DROPPED = re.compile(r"torch\.where\(\$(\w+), 1, \$\w+\)")
_INLINED = 4  # earlier statements that are spelled out, at most


def _between(source: Source, span: Span) -> tuple[str, int]:
    """The text of a span, and where it begins."""
    text, start = "\n".join(source.lines), _offset(source, span.start)
    return text[start : _offset(source, span.end)], start


def _offset(source: Source, position: Position) -> int:
    return sum(len(line) + 1 for line in source.lines[: position.row - 1]) + position.column - 1


def build_site(diagnostic: Diagnostic, rule: Rule | None, source: bytes) -> Site:
    """The site of a finding; its fix is taken from `diagnostic.fix`.

    Where the fix is no rewrite of one expression, `fixed` is None: only the rerun can speak for it then.
    """
    bindings = diagnostic.proposals[0].bindings if diagnostic.proposals else {}
    operands = {name: item.text for name, item in bindings.items() if item.text is not None}
    dtypes = tuple(sorted({item.dtype for item in bindings.values() if item.dtype}))
    fix = diagnostic.fix
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
    )
    hidden = _hidden(diagnostic, operands)
    site = replace(site, hidden=hidden, guards_hidden=hidden is not None)
    if rule is not None:
        site = replace(
            site,
            forward=rule.forward,
            backward=rule.backward,
            bad_operands=rule.operands,
            sample=rule.sample,
            page_dtypes=rule.dtypes,
            expect=rule.expect,
            kind=_kind(rule),
            facts=_facts(diagnostic, rule),
            redefines=any(
                template.redefines and fix is not None and template.message == fix.message
                for template in rule.fixes
            ),
        )
    try:
        return _with_expressions(site, diagnostic, parse(source, diagnostic.filename))
    except (SourceError, ValueError, NotReplayableError):
        return site


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
    tree = text.tree
    # what a fix over several files makes of the expression, this file alone does not say
    edits = diagnostic.fix.edits if diagnostic.fix and not diagnostic.fix.is_across else ()
    statement = _statement(tree, text, diagnostic.span)
    within = text.span(statement) if statement is not None else diagnostic.span
    local = [edit for edit in edits if _touches(within, edit.span) and not _inserts_statement(edit)]
    target = _target(statement or tree, text, [diagnostic.span, *(edit.span for edit in local)])
    if target is None:
        return site
    fixed = None
    if local:
        rewritten = _applied(text, text.span(target), local)
        target, rewritten = _narrowed(target, rewritten, text, diagnostic.span)
        fixed = _spelled(rewritten, _hoisted(edits, local))
    span = text.span(target)
    original, _ = _between(text, span)
    if site.expect == "inaccurate":
        site = replace(site, hidden=_dropped(statement or tree, target))
    model = None
    if fixed is not None and statement is not None:
        model = _inlined(original, fixed, tree, text, span)
    return replace(site, target=span, original=original, fixed=fixed, model=model)


def _touches(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _statement(tree: ast.AST, text: Source, span: Span) -> ast.stmt | None:
    """The innermost simple statement, or compound statement's head, around a span."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and _touches(text.span(node), span):
            found = node
    return found


def _target(root: ast.AST, text: Source, spans: Sequence[Span]) -> ast.expr | ast.stmt | None:
    """The smallest expression around all spans; an assignment in place counts as one."""
    found: ast.expr | ast.stmt | None = None
    for node in ast.walk(root):
        fits = isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.expr) and not isinstance(node, ast.Starred | ast.JoinedStr | ast.Slice)
        )
        if fits and isinstance(node, ast.expr | ast.stmt):
            if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
                continue
            own = text.span(node)
            if all(_touches(own, span) for span in spans):
                found = node  # children come after their parents
    return found


def _narrowed(
    target: ast.expr | ast.stmt, rewritten: str, text: Source, span: Span
) -> tuple[ast.expr | ast.stmt, str]:
    """The part of a rewritten expression, around the finding, that is all that differs, and what it becomes.

    A fix that breaks a long line replaces more than it changes, and what else stands there may fail by itself.
    """
    node: ast.AST = target
    other: ast.AST = parse_expression(rewritten)
    part: ast.expr | None = None
    while type(node) is type(other):
        pair = _difference(node, other)
        if (
            pair is None
            or not isinstance(pair[0], ast.expr | ast.keyword)
            or not _touches(text.span(pair[0]), span)
        ):
            break
        node, other = pair
        if isinstance(node, ast.expr) and isinstance(other, ast.expr):
            target, part = node, other
    if part is None:
        return target, rewritten
    return target, ast.get_source_segment(f"({rewritten}\n)", part) or ast.unparse(part)


def _difference(node: ast.AST, other: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """The one child in which two nodes of a kind differ; None where that is not all, or not one."""
    found: list[tuple[ast.AST, ast.AST]] = []
    for (_, one), (_, two) in zip(ast.iter_fields(node), ast.iter_fields(other), strict=True):
        ones, twos = (each if isinstance(each, list) else [each] for each in (one, two))
        if len(ones) != len(twos):
            return None
        for first, second in zip(ones, twos, strict=True):
            if isinstance(first, ast.AST) and isinstance(second, ast.AST):
                found += [(first, second)] if ast.dump(first) != ast.dump(second) else []
            elif first != second:
                return None
    return found[0] if len(found) == 1 else None


def _applied(text: Source, span: Span, edits: Sequence[Edit]) -> str:
    result, start = _between(text, span)
    for edit in sorted(edits, key=lambda item: item.span, reverse=True):
        first, last = _offset(text, edit.span.start) - start, _offset(text, edit.span.end) - start
        result = result[:first] + edit.content + result[last:]
    return result


def _inserts_statement(edit: Edit) -> bool:
    """Whether the edit puts statements before another one, on the same line as that starts on."""
    broken = edit.content.rstrip().endswith(("(", "[", "{"))  # a line that is broken, and no statement
    return edit.span.start == edit.span.end and edit.content.rstrip(" \t").endswith("\n") and not broken


def _hoisted(edits: Sequence[Edit], local: Sequence[Edit]) -> dict[str, ast.expr]:
    """Names that the fix binds in statements of their own, and what it binds them to."""
    found: dict[str, ast.expr] = {}
    for edit in edits:
        if edit in local:
            continue
        try:
            body = ast.parse(edit.content.strip()).body
        except SyntaxError:
            continue
        for node in body:
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                found[node.targets[0].id] = substituted(node.value, found)
    return found


def _spelled(text: str, values: Mapping[str, ast.expr]) -> str:
    """An expression's text with names replaced by what they stand for."""
    return ast.unparse(substituted(parse_expression(text), values)) if values else text


def _free(text: str) -> set[str]:
    tree = parse_expression(text)
    return {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _inlined(original: str, fixed: str, tree: ast.Module, text: Source, span: Span) -> str | None:
    """The original with earlier statements spelled out, as far as it speaks of what the fix does not.

    None where there is nothing to spell out, or where the operands of the fix are not reached: a name that is
    bound twice is not followed.
    """
    wanted = _free(fixed)
    imported = {
        alias.asname or alias.name.partition(".")[0] for node in ast.walk(tree) for alias in _aliases(node)
    }
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


def _aliases(node: ast.AST) -> Iterator[ast.alias]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from node.names


def _bindings_before(tree: ast.Module, text: Source, span: Span) -> dict[str, ast.expr]:
    """Names bound exactly once in the enclosing function, before the span, and their values."""
    scope = enclosing(tree, span.start.row) or tree
    values: dict[str, ast.expr] = {}
    times: dict[str, int] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.arg):
            times[node.arg] = times.get(node.arg, 0) + 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            times[node.id] = times.get(node.id, 0) + 1
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
            and text.span(node).end <= span.start
        ):
            values[node.targets[0].id] = node.value
    return {name: value for name, value in values.items() if times.get(name) == 1}
