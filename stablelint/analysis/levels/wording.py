"""What the text around a site tells of its author's mind: announced, put right, meant for an angle."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.value import Value
from stablelint.analysis.values.views import stripped
from stablelint.syntax.walk import descendants

_MEANT = re.compile(
    r"ignor|intend|meant|expected|purpose|design|want|deliberate|never|cannot|handled|replaced|dropped|avoid|"
    r"harmless|undefined|clamp|as it should|faster",
    re.I,
)
_STATED = re.compile(r"^\s*-?(nans?|infs?)\b", re.I)  # `# -inf where nothing is kept`
_OPEN = re.compile(r"todo|fixme|xxx|hack|bug|wrong|why", re.I)
_ANNOUNCED = re.compile(
    r"\b(nans?|infs?|infinit\w*|zeros?|empty|degenerate|div(ision|ide)? by|(un|less )stable)\b|== 0\b", re.I
)
_DOCUMENTED = re.compile(
    r"\bnans?\b[^.]{0,60}\b(if|where|when|for|at)\b|\b(if|where|when|for|at)\b[^.]{0,60}\bnans?\b|"
    r"\bdivision by zero\b|numerical issues? (for|at|when|if)\b",
    re.I,
)
_ANGLES = frozenset("atan arctan".split())
_ONE_LESS = frozenset("log log1p".split())
_EXPONENTIALS = frozenset("exp exp2 expm1".split())


def is_announced(site: Site, operand: Value) -> bool:
    """A comment that says NaN or zero is meant, never there or dealt with, a docstring that says when, is believed."""
    source = site.frame.module.source
    span = source.span(site.node)
    first = min(span.start.row, getattr(site.statement, "lineno", span.start.row)) - 1
    while first > 0 and source.lines[first - 1].lstrip().startswith("#"):
        first -= 1
    rows = source.lines[first : span.end.row]
    comment = " ".join(row.partition("#")[2] for row in rows)
    beside = rows[-1].partition("#")[2]
    if _STATED.search(beside) and not _OPEN.search(beside):
        return True
    return bool(_ANNOUNCED.search(comment) and _MEANT.search(comment)) or _is_documented(site)


def _is_documented(site: Site) -> bool:
    node = site.frame.function.node if site.frame.function is not None else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    text = ast.get_docstring(node, clean=False)
    return text is not None and _DOCUMENTED.search(" ".join(text.split())) is not None


def is_put_right(site: Site, operand: Value) -> bool:
    """Where an element of a quotient is overwritten by a number right after, its author knows which one is bad."""
    statement, function = site.statement, site.frame.function
    if (
        site.value.op != "div"
        or not isinstance(statement, ast.Assign)
        or function is None
        or len(statement.targets) != 1
    ):
        return False
    name = getattr(statement.targets[0], "id", None)
    for block in _blocks(function.node):
        if statement in block[:-1]:
            return _overwrites(block[block.index(statement) + 1], name)
    return False


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    bodies = [getattr(n, field, None) for n in descendants(node) for field in ("body", "orelse")]
    return [body for body in bodies if isinstance(body, list)]


def _overwrites(statement: ast.stmt, name: str | None) -> bool:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
        return False
    target = statement.targets[0]
    place = target.slice if isinstance(target, ast.Subscript) else None
    return isinstance(place, ast.Constant) and name is not None and _root(target) == name


def _root(target: ast.expr) -> str | None:
    return getattr(target.value, "id", None) if isinstance(target, ast.Subscript) else None


def is_taken_as_angle(site: Site, operand: Value) -> bool:
    """The arctangent bears an infinite quotient."""
    return site.value.op == "div" and any(
        site.node in call.args and _called(call) in _ANGLES for call in _calls(site) if len(call.args) == 1
    )


def is_of_a_log_probability(site: Site, operand: Value) -> bool:
    """What is exponentiated for `log1p(-exp(x))` or `log(-expm1(x))` is the logarithm of a probability: not above 0."""
    if site.value.op not in _EXPONENTIALS:
        return False
    for call in _calls(site):
        argument = call.args[0] if call.args and _called(call) in _ONE_LESS else None
        if isinstance(argument, ast.UnaryOp) and isinstance(argument.op, ast.USub):
            if argument.operand is site.node:
                return True
    return False


def is_of_a_difference(site: Site, operand: Value) -> bool:
    """The difference of two numbers that are given by their logarithms is 0 where they are equal: its own is -inf."""
    if site.value.op not in _ONE_LESS:
        return False
    taken = stripped(operand)
    if site.value.op == "log1p":
        exponential = stripped(taken.operands["input"]) if taken.op == "neg" else None
    else:
        left = taken.operands["input"].constant() if taken.op == "sub" else None
        exponential = stripped(taken.operands["other"]) if left == 1 else None
    if exponential is None or exponential.op != "exp" or exponential.first is None:
        return False
    return stripped(exponential.first).op == "sub"


def _calls(site: Site) -> list[ast.Call]:
    within = site.statement if site.statement is not None else site.node
    return [n for n in descendants(within) if isinstance(n, ast.Call)]


def _called(call: ast.Call) -> str | None:
    return getattr(call.func, "attr", None) or getattr(call.func, "id", None)


DOUBTS_BY_WORDING: tuple[Callable[[Site, Value], bool], ...] = (
    is_announced,
    is_put_right,
    is_taken_as_angle,
    is_of_a_log_probability,
    is_of_a_difference,
)
