"""What sort of numbers an expression holds, as far as its text proves it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from stablelint.codemod.flow.definition import definition
from stablelint.codemod.flow.nodes import is_number
from stablelint.codemod.text.locate import Tree
from stablelint.syntax import operations

Qualified = Callable[[ast.expr], str | None]
# Results are real floating-point numbers, or there is none.
_REAL = frozenset(
    """
    softmax log_softmax softmin logsigmoid softplus gelu silu mish leaky_relu elu selu celu hardtanh normalize
    rand randn bernoulli uniform normal layer_norm dropout cosine_similarity pairwise_distance cdist vector_norm
    logaddexp erf erfc erfinv lgamma digamma cross_entropy binary_cross_entropy nll_loss mse_loss kl_div sigmoid
    """.split()
)
_REAL_OF_REAL = frozenset(("sigmoid", "normal"))  # complex numbers stay what they are
_CASTS = {"float": "single", "double": "single", "half": "half", "bfloat16": "half"}
# Results are of the type of the first operand, with a Python number for another one.
_KEEPS = frozenset(
    """
    neg abs clamp clamp_min clamp_max exp log sqrt sum mean view reshape transpose permute squeeze unsqueeze flatten
    expand contiguous clone detach relu square amax amin cumsum flip roll
    """.split()
)
# Methods of tensors that arrays and other tables have as well.
_SHARED = frozenset(
    """
    sum mean std var prod max min cumsum cumprod clip dot round abs all any argmax argmin flatten reshape transpose
    squeeze sort copy item tolist pow add sub mul div index get type
    """.split()
)


def is_floating(node: ast.expr, tree: Tree, qualified: Qualified) -> bool:
    """Whether an expression is shown to hold real floating-point numbers."""
    return _sort(node, tree, qualified) is not None


def is_single(node: ast.expr, tree: Tree, qualified: Qualified) -> bool:
    """Whether an expression is shown to hold real numbers in single or double precision."""
    return _sort(node, tree, qualified) == "single"


def _sort(node: ast.expr, tree: Tree, qualified: Qualified) -> str | None:
    """ "single", "half", "float" where the precision is not known, or None."""
    if isinstance(node, ast.Name):
        given = definition(tree, node)
        return None if given is None else _sort(given.value, tree, qualified)
    if isinstance(node, ast.UnaryOp):
        return _sort(node.operand, tree, qualified)
    if isinstance(node, ast.BinOp):
        sides = [one for one in (node.left, node.right) if not is_number(one)]
        sorts = [_sort(one, tree, qualified) for one in sides]
        return sorts[0] if sorts and len(set(sorts)) == 1 else None
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    of_torch = qualified(node.func)
    given_type = any(keyword.arg in ("dtype", "out", None) for keyword in node.keywords)
    if name in _CASTS and of_torch is None and not node.args:
        return _CASTS[name]
    if of_torch is not None and of_torch.startswith("torch.") and name in _REAL - _REAL_OF_REAL:
        return None if given_type else "float"
    if name in _KEEPS and not given_type and isinstance(node.func, ast.Attribute):
        operand = node.func.value if of_torch is None else node.args[0] if node.args else None
        return None if operand is None else _sort(operand, tree, qualified)
    return None


def shows_tensor(calls: Iterable[ast.expr], qualified: Qualified) -> bool:
    """Whether one of the operations takes tensors alone: a function of torch, a method that no array has."""
    for node in calls:
        if not isinstance(node, ast.Call):
            continue
        if (qualified(node.func) or "").startswith("torch."):
            return True
        if any(keyword.arg in ("dim", "keepdim") for keyword in node.keywords):
            return True
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name not in _SHARED and operations.method(name) is not None:
            return True
    return False
