"""Calls of which nothing is known but their name and their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace

from stablelint.analysis.interpret.objects.classes import let_unseen_run
from stablelint.analysis.interpret.paths.narrowing import opened
from stablelint.analysis.interpret.statements.lending import exposed, handed, let_write, tested
from stablelint.analysis.interpret.statements.writing import replaced
from stablelint.analysis.values.lists import held_by
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Belief, Kind, Value

_READING = ("torch.nn.functional.", "torch.special.", "torch.linalg.", "torch.fft.", "torch.nn.init.")


def opaque(
    op: str, key: int, operands: Mapping[str, Value], node: ast.AST, frame: Frame, kind: Kind = Kind.UNKNOWN
) -> Value:
    """The value of such a call, which may write into lists and mappings; matchers are shown it by its name.

    One whose result nobody takes is there for its effect: it may write into tensors and objects, too.
    """
    if "out" in operands:
        let_write(op, [operands["out"]], frame, in_place=True)
    if "inplace" in operands and operands["inplace"].constant() is not False:
        let_write(op, list(operands.values())[:1], frame, in_place=True)
    known_to_read = op.startswith("torch.") and (op.count(".") == 1 or op.startswith(_READING))
    if op.endswith("_") or not known_to_read:
        alone = isinstance(frame.statement, ast.Expr) and frame.statement.value is node
        if alone or op.startswith("torch.distributed."):
            in_place = known_to_read and op.endswith("_")
            let_write(op.rpartition(".")[2], operands.values(), frame, in_place)
        _hand_over(operands.values(), frame)
        let_unseen_run(frame)
        for name, given in operands.items():
            if given.kind is Kind.UNKNOWN:
                own = op.startswith("method.") and name == "input"
                exposed(given.key, "" if own else handed(given, op), frame)
    value = Value(op, key, kind, operands, node=node, module=frame.module, name=op.rpartition(".")[2])
    if frame.reporting:
        frame.session.observe(value, frame)
    return _asked_again(value, frame) if key in tested(frame) else value


def _asked_again(value: Value, frame: Frame) -> Value:
    """What a method yields of which it was tested what it yielded before: the same, if it does so each time."""
    known = frame.state.facts.get(value.key)
    if known is not None:
        said = Assumption(f"{value.name}() yields the same each time")
        value.belief = Belief(known, Attained.NONE, Attained.COINCIDENCE, (said,))
    return replace(value, key=frame.graph.fresh())


def _hand_over(arguments: Iterable[Value], frame: Frame) -> None:
    """Lets a body that is not seen change what lists and mappings hold."""
    for given in arguments:
        if held_by(given) and (given.kind is Kind.MAPPING or given.name == "list"):
            name = next((n for n, value in frame.state.names.items() if value.key == given.key), "it")
            replaced(given, opened(given, frame.graph.fresh(), name, frame), frame)
