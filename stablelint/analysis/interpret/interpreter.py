"""The interpreter, assembled: what the parts ask of each other is answered here."""

from __future__ import annotations

from stablelint.analysis.interpret.calls.dispatch import call_value
from stablelint.analysis.interpret.expressions import evaluate
from stablelint.analysis.interpret.statements.execution import execute


class AstInterpreter:
    """Interprets syntax trees with abstract values; it holds no state of its own."""

    evaluate = staticmethod(evaluate)
    execute = staticmethod(execute)
    call = staticmethod(call_value)


INTERPRETER = AstInterpreter()
