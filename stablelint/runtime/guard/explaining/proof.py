"""The fix proved on the step that went wrong: replayed with the fixed source in memory, nothing written."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CodeType

from stablelint.runtime.guard.explaining.investigate import Finding
from stablelint.runtime.guard.replay.attempts import attempt_with, run_attempt
from stablelint.runtime.guard.replay.replay import Outcome
from stablelint.runtime.guard.reporting.cause import Advice, Rewrite, Together, Verification
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.program.frames import compile_calmly, parse_file
from stablelint.runtime.program.swapped import functions_of, functions_swapped
from stablelint.runtime.tracing.bound import Attempt


def prove(watch: Watch, finding: Finding, advice: Advice) -> Verification | None:
    """Replay the step with the fix; None where there is no fix or the step cannot be replayed.

    Where the fix alone does not help, the step is replayed with all fixes of its file as well.
    """
    if advice.rewrite is None or finding.attempt is None:
        return None
    alone = _replayed(watch, finding, finding.attempt, advice.rewrite, "the fix")
    if alone is None or alone.finite:
        return alone
    remedied = advice.remedied()
    if remedied is None or remedied.rewrite.source == advice.rewrite.source:
        return alone
    named = f"the {remedied.fixes} fixes of this file"
    whole = _replayed(watch, finding, finding.attempt, remedied.rewrite, named)
    if whole is None:
        return alone
    return replace(alone, with_all_fixes=Together(remedied.fixes, whole.finite, whole.note, remedied.rewrite))


def _replayed(
    watch: Watch, finding: Finding, attempt: Attempt, rewrite: Rewrite, named: str
) -> Verification | None:
    """What the step gives with another text of its file; None where it does not reach its end."""
    try:
        fixed = Fixed.of(rewrite)
    except (SyntaxError, ValueError) as error:
        return Verification(False, None, f"The file with {named} does not compile: {error}.")
    target = replace(finding.target, proving=True)
    try:
        attempt = attempt_with(watch, attempt, fixed.filename, fixed.tree)
        with fixed.applied(attempt):
            outcome = run_attempt(watch, target, attempt)
    except Exception as error:  # training goes on, whatever the rewritten text makes of the step
        outcome = Outcome(error=f"{type(error).__name__}: {error}")
    if outcome.error is not None:
        return Verification(
            False, outcome.loss, f"With {named} the step could not be replayed ({outcome.error})."
        )
    if not outcome.reached:
        return None
    bounded = outcome.loss is None or math.isfinite(outcome.loss)  # none where gradients are set by hand
    finite = bounded and outcome.parameter is None
    if finite and target.shown:
        note = f"With {named} the value that was shown is finite."
    elif target.shown:
        note = f"With {named} the value that was shown still is not finite."
    elif finite and target.updated:
        note = f"The update repeated with {named} leaves finite parameters."
    elif finite:
        loss = "" if outcome.loss is None else "a finite loss and "
        note = f"The step replayed with {named} has {loss}finite gradients."
    elif bounded:
        note = f"With {named} the loss is finite, the gradient of {outcome.parameter} still is not."
    else:
        note = f"With {named} the loss still is not finite."
    return Verification(finite, outcome.loss if bounded else None, note)


_IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file with a fix, compiled."""

    filename: str
    tree: ast.Module
    module: CodeType

    @classmethod
    def of(cls, rewrite: Rewrite) -> Fixed:
        """Compile the text. Raises SyntaxError and ValueError."""
        filename, source = rewrite.filename, rewrite.source
        tree = compile_calmly(source, filename, flags=ast.PyCF_ONLY_AST)
        return cls(filename, tree, compile_calmly(source, filename))

    @contextmanager
    def applied(self, attempt: Attempt) -> Iterator[None]:
        """Until the end of the context the calling thread runs the fixed text, also what `attempt` can name of it."""
        scopes = [one for one in (attempt.globals, attempt.locals) if one is not None]
        functions = functions_of(self.filename, scopes)
        named = [attempt.globals, *(one.__globals__ for one in functions[:1])]
        unique = list({id(one): one for one in named if one is not None}.values())
        with self._imports_added(unique), functions_swapped(functions, self.module):
            yield

    @contextmanager
    def _imports_added(self, scopes: list[dict[str, object]]) -> Iterator[None]:
        """Imports that the fix adds exist while it is tried."""
        original = parse_file(self.filename)
        known = {
            ast.dump(one) for one in ast.walk(original or ast.Module([], [])) if isinstance(one, _IMPORTS)
        }
        added = [one for one in self.tree.body if isinstance(one, _IMPORTS) and ast.dump(one) not in known]
        before = [(one, dict(one)) for one in scopes]
        for one in scopes:
            exec(compile_calmly(ast.Module(list(added), []), self.filename), one)
        try:
            yield
        finally:
            for one, names in before:
                for name in set(one) - set(names):
                    del one[name]
