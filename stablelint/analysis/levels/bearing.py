"""Infinities that an operation further on bears: what a sigmoid or an exponential makes of them is a number."""

from __future__ import annotations

import ast

from stablelint.analysis.matching.provenance import is_trained
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.values.families import LOGARITHMS
from stablelint.analysis.values.value import Value
from stablelint.syntax.walk import children, descendants

_SQUASH = frozenset("sigmoid expit tanh softmax atan arctan".split())  # whatever sign the infinity has
_EXPONENTIALS = frozenset({"exp", "exp2"})  # only -inf becomes a number
_SHIFTS = frozenset("sub add div neg pow square".split())
_STEPS = 12  # operations followed outwards


def is_borne(site: Site, operand: Value) -> bool:
    """A sigmoid or an exponential makes 0 of the logarithm of 0, a quotient of an infinite divisor: without a gradient."""
    from_below = site.value.op in LOGARITHMS and operand.interval.lo >= 0
    if not from_below and site.value.op not in _EXPONENTIALS:
        return False
    if site.gradient and any(is_trained(value, site.frame) for value in site.value.operands.values()):
        return False
    function = site.frame.function
    body = function.node if function is not None else site.statement
    return body is not None and _Borne(body).is_squashed(site.node, negative=from_below)


class _Borne:
    """Follows an infinity outwards through sums, quotients, powers and the names that it is given."""

    def __init__(self, body: ast.AST) -> None:
        self._body = body
        self._parents = {child: node for node in descendants(body) for child in children(node)}

    def is_squashed(self, node: ast.AST, negative: bool, depth: int = 2) -> bool:
        """Whether all that is made of an infinite value of that sign ends in a function that bears it."""
        for _ in range(_STEPS):
            outer = self._parents.get(node)
            if isinstance(outer, ast.Assign) and depth:
                return self._all_uses(outer, negative, depth - 1)
            if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Div) and node is outer.right:
                return True
            step = _call_of(node, outer, self._parents) if outer is not None else None
            if step is None:
                turned = _through(node, outer, negative)
                if turned is None or outer is None:
                    return False
                node, negative = outer, turned
                continue
            name, call, receives = step
            if name in _SQUASH or (name in _EXPONENTIALS and negative):
                return True
            if name not in _SHIFTS or not receives:
                return False
            node, negative = call, _turned(name, call, negative)
        return False

    def _all_uses(self, assigned: ast.Assign, negative: bool, depth: int) -> bool:
        target = assigned.targets[0]
        if len(assigned.targets) != 1 or not isinstance(target, ast.Name):
            return False
        names = [n for n in descendants(self._body) if isinstance(n, ast.Name) and n.id == target.id]
        if sum(isinstance(n.ctx, ast.Store) for n in names) != 1:
            return False
        uses = [n for n in names if isinstance(n.ctx, ast.Load)]
        return bool(uses) and all(self.is_squashed(use, negative, depth) for use in uses)


def _call_of(
    node: ast.AST, outer: ast.AST, parents: dict[ast.AST, ast.AST]
) -> tuple[str, ast.Call, bool] | None:
    """The name of the call that takes a value, as its receiver or its first argument, and whether it is the receiver."""
    call = parents.get(outer) if isinstance(outer, ast.Attribute) else None
    if isinstance(outer, ast.Attribute) and isinstance(call, ast.Call) and call.func is outer:
        return outer.attr, call, True
    if isinstance(outer, ast.Call) and outer.args and outer.args[0] is node:
        name = getattr(outer.func, "attr", None) or getattr(outer.func, "id", None)
        return (name, outer, False) if isinstance(name, str) and name not in _SHIFTS else None
    return None


def _through(node: ast.AST, outer: ast.AST | None, negative: bool) -> bool | None:
    """Whether the infinity is negative after an operator; None where it may become NaN, or is not followed."""
    if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.USub):
        return not negative
    if not isinstance(outer, ast.BinOp):
        return None
    if isinstance(outer.op, ast.Add) or (isinstance(outer.op, ast.Sub) and node is outer.left):
        return negative
    if isinstance(outer.op, ast.Sub):
        return not negative
    if isinstance(outer.op, ast.Div) and node is outer.left:
        return negative
    if isinstance(outer.op, ast.Pow) and node is outer.left and _is_even(outer.right):
        return False
    return None


def _turned(name: str, call: ast.Call, negative: bool) -> bool:
    """Whether the infinity is negative after a method that shifts, scales or squares it."""
    if name == "square" or (name == "pow" and call.args and _is_even(call.args[0])):
        return False
    return not negative if name == "neg" else negative


def _is_even(exponent: ast.expr) -> bool:
    return isinstance(exponent, ast.Constant) and exponent.value in (2, 4, 2.0)
