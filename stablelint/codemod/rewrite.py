"""Turning the proposals of a file's findings into fixes; the file is parsed once."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from stablelint.codemod import calls, statements
from stablelint.codemod.flow.scope import Scope
from stablelint.codemod.guards import beside, bound, scales
from stablelint.codemod.guards.already import check_unguarded, without_equality
from stablelint.codemod.guards.naming import named
from stablelint.codemod.guards.recurring import guarded_once, parameter_once
from stablelint.codemod.proof import handled
from stablelint.codemod.proof.safe import caution
from stablelint.codemod.proof.sharing import (
    callers_of_chain,
    check_taken_alone,
    check_unshared,
    takers_elsewhere,
)
from stablelint.codemod.replace import replace_augmented, replace_expression
from stablelint.codemod.templates.clamps import given_bounds
from stablelint.codemod.templates.forms import parse_template
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text import draft
from stablelint.codemod.text.edits import conflict
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import Read, SourceError, SourceText
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import (
    UNMET,
    Applicability,
    Diagnostic,
    Edit,
    Fix,
    Level,
    Proposal,
    Span,
    Status,
)
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having

_BOUNDS = having("bound", "replace")


class Rewriter:
    """Makes fixes for one source; nothing is parsed before the first is asked for."""

    def __init__(self, source: bytes, read: Read | None = None) -> None:
        self._bytes = source
        self._read = read
        self._others: dict[str, Rewriter] = {}
        self._believed: tuple[str, ...] = ()  # of names, by the edits that were made last
        self._alone: str | None = None  # what their bound leaves out

    @cached_property
    def _file(self) -> File:
        tree = Tree(SourceText.decode(self._bytes))
        return File(tree, Scope(tree))

    def propose(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic with `fix` made from the first proposal that can be written faithfully.

        Where none can, `fix_withheld` says why the first could not. Never raises.
        """
        if diagnostic.fix is not None or not diagnostic.proposals:
            return diagnostic
        reason: str | None = None
        for proposal in diagnostic.proposals:
            try:
                fix = _called_for(self.fix(proposal, diagnostic.span), proposal, diagnostic)
                return replace(diagnostic, fix=fix, fix_withheld=None)
            except Withheld as withheld:
                reason = reason or str(withheld)
        return replace(diagnostic, fix_withheld=reason)

    def fix(self, proposal: Proposal, finding: Span | None = None) -> Fix:
        """The edits of a proposal and of those that belong to it; Withheld when one cannot be made.

        Where the place of the finding is given, a replacement outside it must not change what others use.
        """
        edits: list[Edit] = []
        elsewhere: str | None = None
        self._believed, self._alone = (), None
        try:
            takers = [one.anchor for one in proposal.also if one.anchor is not None]
            for part in (proposal, *proposal.also):
                where = self if part.filename is None else self._other(part.filename)
                made = (edit._replace(filename=part.filename) for edit in where._edits(part))
                edits += [edit for edit in made if edit not in edits]
                if finding is not None:
                    inside = () if part.filename is not None else (finding, *takers)
                    changed = where._others_changed(part, inside)
                    if changed is not None and part.filename is not None:
                        changed = f"in {os.path.basename(part.filename)}, {changed}"
                    elsewhere = changed or elsewhere
            here = [one.anchor for one in proposal.also if one.anchor is not None and one.filename is None]
            if proposal.filename is None and not proposal.also:
                here += takers_elsewhere(self._file.tree, proposal)
            check_taken_alone(self._file.tree, here if finding is not None else [])
        except SourceError as error:
            raise Withheld(str(error)) from error
        except RecursionError as error:
            raise Withheld("the expression is nested too deeply") from error
        edits = [one for one in edits if not any(_breaks_there(other, one) for other in edits)]
        if any(conflict(one, other) for index, one in enumerate(edits) for other in edits[index + 1 :]):
            raise Withheld("the parts of the fix touch the same code")
        edits.sort(key=lambda edit: edit.span)
        caveat = elsewhere or caution(self._file, proposal) or next(iter(self._believed), None)
        trust = proposal.applicability if caveat is None else Applicability.UNSAFE
        if bound.REPLACED.match(proposal.template) and any(bound.FILLED in edit.content for edit in edits):
            trust = Applicability.DISPLAY  # which side of 0 is meant, its author knows
        if proposal.applicability is Applicability.UNSAFE:
            shown = self._alone or handled.only_shown(self._file.tree, proposal, edits)
            trust, caveat = (Applicability.DISPLAY, shown) if shown else (trust, caveat)
        return Fix(trust, scales.promise(self._file.tree.source, proposal, edits), tuple(edits), caveat)

    def _other(self, filename: str) -> Rewriter:
        """The rewriter of another file; raises Withheld where that may not be changed."""
        if filename not in self._others:
            if self._read is None:
                raise Withheld(f"{os.path.basename(filename)} would have to be changed, too")
            try:
                self._others[filename] = Rewriter(self._read(filename))
            except OSError as error:
                raise Withheld(f"{filename} cannot be read: {error.strerror}") from error
        return self._others[filename]

    def _others_changed(self, part: Proposal, inside: Sequence[Span]) -> str | None:
        """What changes for others than the places `inside`; raises Withheld where they must not be changed."""
        if part.kind == "delete":
            return callers_of_chain(self._file.tree, part.span, inside)
        if part.kind == "replace":
            return check_unshared(self._file.tree, part.span, inside, part.template)
        return None

    def _edits(self, proposal: Proposal) -> list[Edit]:
        match proposal.kind:
            case "replace":
                return self._replacement(proposal)
            case "insert-before":
                return statements.insert(self._file, proposal, before=True)
            case "insert-after":
                return statements.insert(self._file, proposal, before=False)
            case "delete":
                return statements.delete(self._file, proposal)
            case "move-before":
                return statements.move_before(self._file, proposal)
            case "wrap":
                return statements.wrap(self._file, proposal)
            case "set-keywords":
                return calls.set_keywords(self._file, proposal)
        raise Withheld(f"no rewrite is called `{proposal.kind}`")

    def _believe(self, before: Proposal, after: Proposal) -> None:
        """Remember what a proposal that was bounded otherwise takes on the word of a name."""
        if after.caveats != before.caveats:
            self._believed += after.caveats

    def _replacement(self, proposal: Proposal) -> list[Edit]:
        node = self._file.tree.find(proposal.span)
        if node is None:
            raise Withheld("the code has moved or stands inside an f-string")
        if isinstance(node, ast.expr):
            check_unguarded(self._file.tree, proposal, node)
            handled.check(self._file.tree, proposal, node)
            stricter = without_equality(self._file.tree, proposal, node)
            if stricter is not None:
                return draft.edits(self._file.tree, [stricter])
            spans = [one.origin for one in proposal.bindings.values() if one.origin and one.text is None]
            counted, node = bound.of_count(self._file.tree, proposal, node)
            self._believe(proposal, counted)
            proposal, changes = named(self._file, counted, node)
            if changes:
                naming = draft.edits(self._file.tree, changes)
                origins = map(self._file.tree.find, spans)
                taken = [one for one in origins if isinstance(one, ast.expr)]
                edits = replace_expression(self._file, proposal, node, moved=taken)
                kept = [one for one in edits if not any(conflict(one, other) for other in naming)]
                if any(one.content and one not in kept for one in edits):
                    raise Withheld("an operand is computed in what the rewrite replaces")
                return [*naming, *kept]
            proposal, node = scales.of_factor(self._file.tree, proposal, node)
            made = beside.where_made(self._file.tree, proposal, node)
            if made:
                with contextlib.suppress(Withheld):
                    return [edit for one in made for edit in replace_expression(self._file, *one)]
            set_here = beside.where_set(self._file.tree, proposal, node)
            if set_here is not None:
                with contextlib.suppress(Withheld):
                    return replace_expression(self._file, *set_here)
            everywhere = beside.beside_exponential(self._file.tree, proposal, node)
            if everywhere is not None:
                return statements.insert(self._file, everywhere, before=everywhere.kind == "insert-before")
            recurring = parameter_once(self._file, proposal, node)
            if recurring is not None:
                given = statements.insert(self._file, recurring[0], before=True)
                return [*given, *draft.edits(self._file.tree, recurring[1])]
            self._alone = beside.disagrees(self._file.tree, proposal, node)
            scaled = scales.of_scale(self._file.tree, proposal, node) or (proposal, node)
            self._believe(proposal, scaled[0])
            proposal, node = scaled
            proposal, node = bound.of_view(self._file.tree, proposal, node)
            recurring = guarded_once(self._file, proposal, node)
            if recurring is not None:
                with contextlib.suppress(Withheld):
                    given = statements.insert(self._file, recurring[0], before=True)
                    return [*given, *draft.edits(self._file.tree, recurring[1])]
            definition = bound.at_definition(self._file.tree, proposal, node)
            if definition is not None:
                moved, value = definition
                if given_bounds(value):  # a clamp is tightened, or stays: no second one stands behind it
                    return replace_expression(self._file, moved, value)
                if not bound.REPLACED.match(moved.template):
                    with contextlib.suppress(Withheld):
                        return replace_expression(self._file, moved, value, inline=True)
                with contextlib.suppress(Withheld):
                    here = replace(proposal, template=moved.template)
                    again = bound.behind_definition(self._file.tree, here, node, value)
                    return statements.insert(self._file, again, before=False)
            self._alone = self._alone or bound.divided_beside(self._file.tree, proposal, node)
            edits = replace_expression(self._file, proposal, node)
            alone = bound.apart(self._file.tree, proposal, node) if _lines(edits) > 1 else None
            if alone is not None:
                with contextlib.suppress(Withheld):
                    edits = min(edits, statements.insert(self._file, alone, before=False), key=_lines)
            return edits
        if isinstance(node, ast.AugAssign):
            return replace_augmented(self._file, proposal, node)
        raise Withheld("the rewrite is one of an expression, and a statement stands here")


def _called_for(fix: Fix, proposal: Proposal, diagnostic: Diagnostic) -> Fix:
    """A fix as one that is only shown, where neither values nor facts nor a run tell that what it changes is met.

    What is known of a value does not tell that a gradient is taken of it, for which alone a bound may be.
    """
    is_other = proposal.kind != "replace" or fix.applicability is not Applicability.UNSAFE
    if is_other or diagnostic.level is Level.LIKELY:
        return fix
    calls = (one for one in ast.walk(parse_template(proposal.template)) if isinstance(one, ast.Call))
    is_for_gradient = diagnostic.of_gradient and any(called_name(one) in _BOUNDS for one in calls)
    if diagnostic.status is Status.VIOLATED and not is_for_gradient:
        return fix
    return fix._replace(applicability=Applicability.DISPLAY, caution=UNMET)


def _lines(edits: Sequence[Edit]) -> int:
    """How many lines edits add, those that they take away aside."""
    return sum(edit.content.count("\n") for edit in edits)


def _breaks_there(edit: Edit, inserted: Edit) -> bool:
    """Whether an edit brings the line break that another inserts at its start or end: two parts open the same brackets."""
    if inserted is edit or inserted.content.strip() or edit.filename != inserted.filename or edit == inserted:
        return False
    at, content = inserted.span, inserted.content
    if at.start != at.end or len(content) >= len(edit.content):
        return False
    before = at.start == edit.span.start and edit.content.startswith(content)
    return before or (at.start == edit.span.end and edit.content.endswith(content))
