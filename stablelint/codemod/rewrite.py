"""Turning the proposals of a file's findings into fixes; the file is parsed once."""

from __future__ import annotations

import ast
import contextlib
from dataclasses import replace as with_fields
from functools import cached_property

from stablelint.codemod import calls, statements
from stablelint.codemod.flow.scope import Scope
from stablelint.codemod.guards import bound, scales
from stablelint.codemod.guards.naming import named
from stablelint.codemod.proof.safe import caution
from stablelint.codemod.proof.sharing import callers_of_chain, check_unshared
from stablelint.codemod.replace import replace_augmented, replace_expression
from stablelint.codemod.templates.spelling import File
from stablelint.codemod.text import draft
from stablelint.codemod.text.edits import conflict
from stablelint.codemod.text.locate import Tree
from stablelint.codemod.text.source import SourceError, SourceText
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Applicability, Diagnostic, Edit, Fix, Proposal, Span


class Rewriter:
    """Makes fixes for one source; nothing is parsed before the first is asked for."""

    def __init__(self, source: bytes) -> None:
        self._bytes = source

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
                fix = self.fix(proposal, diagnostic.span)
                return with_fields(diagnostic, fix=fix, fix_withheld=None)
            except Withheld as withheld:
                reason = reason or str(withheld)
        return with_fields(diagnostic, fix_withheld=reason)

    def fix(self, proposal: Proposal, finding: Span | None = None) -> Fix:
        """The edits of a proposal and of those that belong to it; Withheld when one cannot be made.

        Where the place of the finding is given, a replacement outside it must not change what others use.
        """
        edits: list[Edit] = []
        elsewhere: str | None = None
        try:
            for part in (proposal, *proposal.also):
                edits += [edit for edit in self._edits(part) if edit not in edits]
                if finding is not None and part.kind == "delete":
                    elsewhere = callers_of_chain(self._file.tree, part.span) or elsewhere
                if finding is not None and part.kind == "replace":
                    takers = [one.anchor for one in proposal.also if one.anchor is not None]
                    elsewhere = (
                        check_unshared(self._file.tree, part.span, finding, part.template, takers)
                        or elsewhere
                    )
        except SourceError as error:
            raise Withheld(str(error)) from error
        except RecursionError as error:
            raise Withheld("the expression is nested too deeply") from error
        if any(conflict(one, other) for index, one in enumerate(edits) for other in edits[index + 1 :]):
            raise Withheld("the parts of the fix touch the same code")
        edits.sort(key=lambda edit: edit.span)
        doubt = elsewhere or caution(self._file, proposal)
        trust = proposal.applicability if doubt is None else Applicability.UNSAFE
        return Fix(trust, proposal.message, tuple(edits), doubt)

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
            case "set-keywords":
                return calls.set_keywords(self._file, proposal)
        raise Withheld(f"no rewrite is called `{proposal.kind}`")

    def _replacement(self, proposal: Proposal) -> list[Edit]:
        node = self._file.tree.find(proposal.span)
        if node is None:
            raise Withheld("the code has moved or stands inside an f-string")
        if isinstance(node, ast.expr):
            proposal, changes = named(self._file, proposal, node)
            if changes:
                made = draft.edits(self._file.tree, changes)
                edits = replace_expression(self._file, proposal, node)
                return [*made, *(one for one in edits if not any(conflict(one, other) for other in made))]
            everywhere = scales.beside_exponential(self._file.tree, proposal, node)
            if everywhere is not None:
                return statements.insert(self._file, everywhere, before=everywhere.kind == "insert-before")
            apart = scales.attribute_beside(self._file, proposal, node)
            if apart is not None:
                return draft.edits(self._file.tree, apart)
            part = scales.of_scale(self._file.tree, proposal, node)
            if part is not None:
                return replace_expression(self._file, *part)
            single = bound.within_guard(self._file.tree, proposal, node)
            if single is not None:
                with contextlib.suppress(Withheld):
                    return replace_expression(self._file, *single)
            definition = bound.at_definition(self._file.tree, proposal, node)
            if definition is not None:
                moved, value = definition
                with contextlib.suppress(Withheld):
                    return replace_expression(self._file, with_fields(moved, inline=True), value)
                with contextlib.suppress(Withheld):
                    again = bound.behind_definition(self._file.tree, proposal, node, value)
                    return statements.insert(self._file, again, before=False)
            return replace_expression(self._file, proposal, node)
        if isinstance(node, ast.AugAssign):
            return replace_augmented(self._file, proposal, node)
        return statements.replace_statement(self._file, proposal, node)
