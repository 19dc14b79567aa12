"""The fix proved on the step that went wrong: replayed with the fixed source in memory, nothing written."""

from __future__ import annotations

import ast
import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FunctionType

from stablelint.runtime.guard.attempts import Attempt, attempt_with, run_attempt
from stablelint.runtime.guard.cause import Advice, Together, Verification
from stablelint.runtime.guard.frames import parse_file
from stablelint.runtime.guard.investigate import Finding
from stablelint.runtime.guard.watch import Watch


def prove(watch: Watch, finding: Finding, advice: Advice) -> Verification | None:
    """Replay the step with the fix; None where there is no fix or the step cannot be replayed.

    Where the fix alone does not help, the step is replayed with all fixes of its file as well.
    """
    if advice.fixed_source is None or finding.attempt is None:
        return None
    alone = _replayed(watch, finding, finding.attempt, advice.filename, advice.fixed_source, "the fix")
    if alone is None or alone.finite:
        return alone
    remedied = advice.remedied()
    if remedied is None or remedied.source == advice.fixed_source:
        return alone
    named = f"the {remedied.fixes} fixes of this file"
    whole = _replayed(watch, finding, finding.attempt, advice.filename, remedied.source, named)
    if whole is None:
        return alone
    return replace(alone, together=Together(remedied.fixes, whole.finite, whole.note))


def _replayed(
    watch: Watch, finding: Finding, attempt: Attempt, filename: str, source: str, named: str
) -> Verification | None:
    """What the step gives with another text of its file; None where it does not reach its end."""
    try:
        tree = ast.parse(source)
        module = compile(source, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return Verification(False, None, f"The file with {named} does not compile: {error}.")
    fixed = attempt_with(watch, attempt, filename, tree)
    target = replace(finding.target, backward_only=True, loss=None, loss_object=None, proving=True)
    with fix_applied(fixed.globals, filename, tree, module):
        outcome = run_attempt(watch, target, fixed)
    if outcome.error is not None:
        return Verification(
            False, outcome.loss, f"With {named} the step could not be replayed ({outcome.error})."
        )
    if outcome.loss is None or not outcome.reached:
        return None
    finite = math.isfinite(outcome.loss) and outcome.parameter is None
    if finite:
        note = f"The step replayed with {named} has a finite loss and finite gradients."
    elif math.isfinite(outcome.loss):
        note = f"With {named} the loss is finite, the gradient of {outcome.parameter} still is not."
    else:
        note = f"With {named} the loss still is not finite."
    return Verification(finite, outcome.loss if math.isfinite(outcome.loss) else None, note)


@contextmanager
def fix_applied(
    scope: dict[str, object] | None, filename: str, tree: ast.Module, module: CodeType
) -> Iterator[None]:
    """The fixed text of a file is what its live functions run, until the end of the context."""
    with _imports_added(scope, filename, tree), _functions_swapped(filename, module):
        yield


@contextmanager
def _functions_swapped(filename: str, module: CodeType) -> Iterator[None]:
    """Live functions of a file run the code of its fixed text."""
    fixed = _codes_by_name(module)
    held: list[tuple[FunctionType, CodeType]] = []
    for function in _functions_of(filename):
        code = fixed.get(function.__code__.co_qualname)
        if code is not None and code.co_freevars == function.__code__.co_freevars:
            held.append((function, function.__code__))
    for function, old in held:
        function.__code__ = fixed[old.co_qualname]
    try:
        yield
    finally:
        for function, old in held:
            function.__code__ = old


def _functions_of(filename: str) -> list[FunctionType]:
    return [
        item
        for item in gc.get_objects()
        if type(item) is FunctionType and item.__code__.co_filename == filename
    ]


def _codes_by_name(module: CodeType) -> dict[str, CodeType]:
    """Code objects by qualified name; names borne by more than one (lambdas) are left out."""
    found: dict[str, list[CodeType]] = {}
    pending = [module]
    while pending:
        for constant in pending.pop().co_consts:
            if isinstance(constant, CodeType):
                found.setdefault(constant.co_qualname, []).append(constant)
                pending.append(constant)
    return {name: codes[0] for name, codes in found.items() if len(codes) == 1}


@contextmanager
def _imports_added(scope: dict[str, object] | None, filename: str, fixed: ast.Module) -> Iterator[None]:
    """Imports that the fix adds exist while it is tried."""
    original = parse_file(filename)
    known = {ast.dump(node) for node in ast.walk(original)} if original is not None else set()
    added = [
        node
        for node in fixed.body
        if isinstance(node, (ast.Import, ast.ImportFrom)) and ast.dump(node) not in known
    ]
    scopes = [scope] if scope is not None else []
    scopes.extend(function.__globals__ for function in _functions_of(filename)[:1])
    unique = {id(one): one for one in scopes}.values()
    before = [(one, dict(one)) for one in unique]
    for one in unique:
        exec(compile(ast.Module(list(added), []), filename, "exec"), one)
    try:
        yield
    finally:
        for one, names in before:
            for name in set(one) - set(names):
                del one[name]
