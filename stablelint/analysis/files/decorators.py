"""What decorators make of a function: whether it records gradients, and whether it yields what its body does."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Mapping

from stablelint.syntax.names import called_name
from stablelint.syntax.signatures import arguments

# Whose decorators leave what a function yields.
_FAITHFUL = frozenset(
    "torch functools abc typing typing_extensions property staticmethod classmethod".split()
)


def recorded_under(
    decorators: Iterable[ast.expr], around: bool, imports: Mapping[str, str], own: Container[str]
) -> bool:
    """Whether a body records gradients, by what is `around` its call and by its decorators, those that may be of torch.

    `imports` and `own` are what the file imports, by the names that this has there, and its own functions.
    """
    for decorator in decorators:
        first = _spelled(decorator).partition(".")[0]
        is_of_torch = imports.get(first, "torch").partition(".")[0] == "torch" and first not in own
        asked = records_gradient(decorator) if is_of_torch else None
        around = around if asked is None else asked
    return around


def wrapper_among(decorators: Iterable[ast.expr], imports: Mapping[str, str]) -> str:
    """The decorator that may have a function yield something else than its body does, or ""."""
    for decorator in decorators:
        spelled = _spelled(decorator)
        first, _, rest = spelled.partition(".")
        root = imports.get(first, first).partition(".")[0]
        faithful = root in _FAITHFUL or rest in ("setter", "getter")
        if not faithful or spelled.rpartition(".")[2].startswith("singledispatch"):
            return spelled
    return ""


def _spelled(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def records_gradient(context: ast.expr) -> bool | None:
    """Whether a decorator, or what a `with` enters, has gradients recorded; None where it leaves that as it is.

    One that asks for a mode which is not known may have them recorded.
    """
    given = arguments(context) if isinstance(context, ast.Call) else []
    modes = [mode.value if isinstance(mode, ast.Constant) else None for mode in given]
    name = called_name(context)
    if name == "no_grad" or (name == "inference_mode" and modes in ([], [True])):
        return False
    if name == "set_grad_enabled":
        return modes != [False]
    return True if name in ("enable_grad", "inference_mode") else None
