"""Matrices that can be singular, where they are factorised or inverted."""

from __future__ import annotations

import ast
import re

from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.views import behind, is_opaque, stripped
from stablelint.matchers.common import Frame, Kind, Review, Rule, Sites, Value, make_site, observes, scope_of
from stablelint.matchers.names import assigned_in
from stablelint.matchers.tree import ancestors, calls_in, subject
from stablelint.syntax.walk import nodes_in

_INFORMATION = re.compile(
    r"(^|_)(precision|hess(ian)?|fisher(_information)?|information)$|^(mat|matrix)_?hess", re.I
)
_PRODUCTS = frozenset("matmul bmm".split())
_LIFTS = frozenset("eye diag diag_embed overwritten".split())
_DETERMINANTS = frozenset({"logdet", "slogdet"})
_FACTORS = _DETERMINANTS | {"cholesky", "inverse"}
# What factorises an operand of its own accord, and which.
_TAKING = {
    "solve": ("input",),
    "torch.distributions.MultivariateNormal": ("covariance_matrix", "precision_matrix"),
}
_UNOBSERVED = "`{}` says nothing of a direction in which nothing was observed: it is singular then"
_UNLIFTED = "nothing is added to the diagonal of this matrix, which can be singular"
_DEPTH = 6  # operations looked through


@observes("cholesky|inverse|inv|logdet|slogdet|solve|MultivariateNormal")
def singular_matrix(review: Review, rule: Rule) -> Sites:
    """`torch.linalg.cholesky(A)` where A is singular, or indefinite by rounding, for ordinary data."""
    seen: set[ast.AST] = set()
    for pair in review.observed:
        value, frame = pair
        taken = (value.operands[name] for name in _TAKING.get(value.op, ()) if name in value.operands)
        operation, given = _operation(value), next(taken, None if value.op in _TAKING else value.first)
        if operation is None or value.node is None or given is None or value.node in seen:
            continue
        seen.add(value.node)
        matrix = _symmetrised(given)
        reason = _weakness(matrix, operation)
        if (reason or _is_bare(value, matrix)) and not _is_tried(value.node, frame):
            message = reason or _said_of(matrix)
            yield make_site(review, rule, pair, {"A": matrix}, shown=bool(reason), message=message)
    yield from _through_wrappers(review, rule, seen)


def _through_wrappers(review: Review, rule: Rule, seen: set[ast.AST]) -> Sites:
    """`cholesky(g.precision)` by a function of the project that is called as what it wraps."""
    frame = next((frame for _, frame in review.observed if frame.function is not None), None)
    if frame is None or frame.function is None or review.of_body:
        return
    scope = scope_of(frame)
    for call in calls_in(scope, *_FACTORS):
        if call in seen or not isinstance(call.func, ast.Name) or len(call.args) != 1:
            continue
        name = _attribute_behind(call.args[0], scope)
        if _INFORMATION.search(name) and not _is_tried(call, frame):
            value = Value("call", -1, node=call, module=review.module)
            yield make_site(review, rule, (value, frame), shown=False, message=_UNOBSERVED.format(name))


def _attribute_behind(argument: ast.expr, scope: ast.AST) -> str:
    """The attribute that is passed, directly or by a local name that is bound once."""
    if isinstance(argument, ast.Name):
        stores = [
            n for n in nodes_in(scope, ast.Name) if n.id == argument.id and isinstance(n.ctx, ast.Store)
        ]
        made = assigned_in(argument.id, scope)
        argument = made[0].value or argument if len(stores) == len(made) == 1 else argument
    return argument.attr if isinstance(argument, ast.Attribute) else ""


def _operation(value: Value) -> str | None:
    """Which factorisation a call is, also one by a function of that name in another file of the project."""
    if value.op in _TAKING:
        return "inverse" if value.op == "solve" else "cholesky"
    owner, _, name = value.op.rpartition(".")
    if name not in _FACTORS or owner in ("method", "call"):
        return None
    lazy = subject(value.node) not in ("torch", "torch.linalg") and not _is_dense(value.first)
    return None if lazy else name  # a linear operator adds what it needs itself


def _is_dense(matrix: Value | None) -> bool:
    """Whether a matrix is known to be a tensor, and nothing that it is made of may be an operator instead."""
    if matrix is None or matrix.kind is not Kind.TENSOR:
        return False
    return not any(is_opaque(v) for v in behind(matrix))


def _is_tried(node: ast.AST, frame: Frame) -> bool:
    """Whether the function is ready for a factorisation that fails, or does this one because another has."""
    path = [node, *ancestors(node, scope_of(frame))]
    return any(n in (*t.body, *t.handlers) for t in path if isinstance(t, ast.Try) for n in path)


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
    if value.op in _DETERMINANTS and stripped(matrix).op in HANDED_OVER:
        return False  # a weight is singular by chance alone
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
    return any(v.op in _LIFTS or v.op.rpartition(".")[2] in _LIFTS for v in behind(matrix))
