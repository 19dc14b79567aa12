"""What a function takes, its parameters in their order and their defaults, and what a call gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def placed(signature: ast.arguments) -> list[ast.arg]:
    """The parameters that a call can give an argument by its place."""
    return [*signature.posonlyargs, *signature.args]


def parameters(signature: ast.arguments) -> list[ast.arg]:
    """The parameters that a call can give one argument: not those that take what is left over."""
    return [*placed(signature), *signature.kwonlyargs]


def defaults_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters of a function that have a default, with it."""
    return defaults_in(function.args)


def defaults_in(signature: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters that have a default, with it."""
    yield from zip(reversed(placed(signature)), reversed(signature.defaults), strict=False)
    for parameter, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True):
        if default is not None:
            yield parameter, default


def arguments(call: ast.Call) -> list[ast.expr]:
    """What a call is given, by place and by name."""
    return [*call.args, *(k.value for k in call.keywords)]


def argument(call: ast.Call, name: str) -> ast.expr | None:
    """What a call is given by a name."""
    return next((k.value for k in call.keywords if k.arg == name), None)
