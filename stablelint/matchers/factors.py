"""Matrices that can be singular, where they are factorised or inverted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.interest import observes
from stablelint.analysis.matching.sites import encloses
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.value import Kind, Value
from stablelint.analysis.values.views import behind, stripped
from stablelint.matchers.common import make_site, receiver_text, scope_of
from stablelint.syntax.walk import descendants, nodes_in

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review
    from stablelint.analysis.matching.sites import Site
    from stablelint.analysis.values.state import Frame
    from stablelint.catalog.rule import Rule

_INFORMATION = re.compile(
    r"(^|_)(precision|hess(ian)?|fisher(_information)?|information)$|^(mat|matrix)_?hess", re.I
)
_PRODUCTS = frozenset("matmul bmm".split())
_LIFTS = frozenset("eye diag diag_embed overwritten".split())
_FACTORS = frozenset({"cholesky", "inverse"})
# What factorises an operand of its own accord, and which.
_TAKING = {
    "solve": ("input",),
    "torch.distributions.MultivariateNormal": ("covariance_matrix", "precision_matrix"),
}
_UNOBSERVED = "`{}` says nothing of a direction in which nothing was observed: it is singular then"
_UNLIFTED = "nothing is added to the diagonal of this matrix, which can be singular"
_DEPTH = 6  # operations looked through


@observes("cholesky|inverse|inv|solve|MultivariateNormal")
def singular_matrix(review: Review, rule: Rule) -> Iterator[Site]:
    """`torch.linalg.cholesky(A)` where A is singular, or indefinite by rounding, for ordinary data."""
    seen: set[ast.AST] = set()
    for pair in review.collector.observed:
        value, frame = pair
        operation, given = _operation(value), _matrix_of(value)
        if operation is None or value.node is None or given is None or value.node in seen:
            continue
        seen.add(value.node)
        matrix = _symmetrised(given)
        reason = _weakness(matrix, operation)
        if (reason or _is_bare(value, matrix)) and not _is_tried(value.node, frame):
            message = reason or _said_of(matrix)
            yield make_site(review, rule, pair, {"A": matrix}, shown=bool(reason), message=message)
    yield from _through_wrappers(review, rule, seen)


def _through_wrappers(review: Review, rule: Rule, seen: set[ast.AST]) -> Iterator[Site]:
    """`cholesky(g.precision)` by a function of the project that is called as what it wraps."""
    frame = next((frame for _, frame in review.collector.observed if frame.function is not None), None)
    if frame is None or frame.function is None or review.of_body:
        return
    scope = scope_of(frame)
    for call in nodes_in(scope, ast.Call):
        assert isinstance(call, ast.Call)
        if call in seen or getattr(call.func, "id", None) not in _FACTORS or len(call.args) != 1:
            continue
        name = _attribute_behind(call.args[0], scope)
        if name is not None and _INFORMATION.search(name) and not _is_tried(call, frame):
            value = Value("call", -1, node=call, module=review.module)
            message = _UNOBSERVED.format(name)
            yield make_site(review, rule, (value, frame), shown=False, message=message)


def _attribute_behind(argument: ast.expr, scope: ast.AST) -> str | None:
    """The attribute that is passed, directly or by a local name that is assigned nothing else."""
    if isinstance(argument, ast.Name):
        assigned = [n for n in nodes_in(scope, ast.Assign, ast.AugAssign) if _binds(n, argument.id)]
        if len(assigned) != 1 or not isinstance(assigned[0], ast.Assign):
            return None
        argument = assigned[0].value
    return argument.attr if isinstance(argument, ast.Attribute) else None


def _binds(statement: ast.AST, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(n, ast.Name) and n.id == name for t in targets if t for n in descendants(t))


def _operation(value: Value) -> str | None:
    """Which factorisation a call is, also one by a function of that name in another file of the project."""
    if value.op in _TAKING:
        return "inverse" if value.op == "solve" else "cholesky"
    owner, _, name = value.op.rpartition(".")
    if name not in _FACTORS or owner in ("method", "call"):
        return None
    lazy = receiver_text(value) not in ("torch", "torch.linalg") and not _is_dense(value.first)
    return None if lazy else name  # a linear operator adds what it needs itself


def _matrix_of(value: Value) -> Value | None:
    """The matrix that a call factorises."""
    named = (value.operands[name] for name in _TAKING.get(value.op, ()) if name in value.operands)
    return next(named, None if value.op in _TAKING else value.first)


def _is_dense(matrix: Value | None) -> bool:
    """Whether a matrix is known to be a tensor, and nothing that it is made of may be an operator instead."""
    if matrix is None or matrix.kind is not Kind.TENSOR:
        return False
    return not any(v.op.startswith(("call.", "method.")) for v in behind(matrix, lambda _: False))


def _is_tried(node: ast.AST, frame: Frame) -> bool:
    """Whether the function is ready for a factorisation that fails, or does this one because another has."""
    tries = (n for n in descendants(scope_of(frame)) if isinstance(n, ast.Try))
    return any(encloses(inner, node) for found in tries for inner in (*found.body, *found.handlers))


def _symmetrised(matrix: Value) -> Value:
    """What was made symmetric, as `(A + A.mT) / 2`, or scaled, as `X.mT @ X / n`."""
    for _ in range(_DEPTH):
        matrix = stripped(matrix)
        parts = [stripped(v) for v in matrix.operands.values()]
        if matrix.op in ("mul", "div") and len(parts) == 2 and any(v.kind is Kind.NUMBER for v in parts):
            matrix = next((v for v in parts if v.kind is not Kind.NUMBER), matrix)
        elif matrix.op == "add" and len(parts) == 2 and parts[0].key == parts[1].key:
            matrix = parts[0]
        else:
            break
    return matrix


def _said_of(matrix: Value) -> str:
    """What there is to say of a matrix of which nothing is known but its name."""
    block = matrix
    while block.op == "index" and block.first is not None:
        block = stripped(block.first)
    informs = block.op in HANDED_OVER and _INFORMATION.search(block.name)
    return _UNOBSERVED.format(block.name) if informs else _UNLIFTED


def _is_bare(value: Value, matrix: Value) -> bool:
    """Whether torch factorises a matrix that is neither lifted in sight nor made of a factorisation."""
    factorised = value.op in _FACTORS or value.op in _TAKING
    return factorised and matrix.op not in _FACTORS and not _is_lifted(matrix)


def _weakness(matrix: Value, operation: str) -> str | None:
    """Why a matrix is not positive definite for ordinary data, or None where nothing tells."""
    if operation != "cholesky" or len(matrix.operands) < 2:
        return None
    one, other = map(stripped, list(matrix.operands.values())[:2])
    if matrix.op == "sub" and other.op in _PRODUCTS and one.kind is not Kind.NUMBER and not _is_lifted(one):
        return "rounding carries a difference of matrices out of the positive definite ones"
    if matrix.op in _PRODUCTS and one.key == other.key and one.op not in _FACTORS:
        return "a matrix times its own transpose is singular where the inner dimension is the smaller one"
    return None


def _is_lifted(matrix: Value) -> bool:
    return any(v.op in _LIFTS or v.op.rpartition(".")[2] in _LIFTS for v in behind(matrix, lambda _: False))
