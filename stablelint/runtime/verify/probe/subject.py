"""A function that holds a site, to be called again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import FunctionType

from stablelint.runtime.verify.probe.plan import REGISTRY, Function
from stablelint.runtime.verify.probe.recorder import RECORDER
from stablelint.runtime.verify.probe.scope import Scope, kept_scope

# A function that uses one of these names does more than compute; it is not called again.
_EFFECTS = frozenset(
    "backward step save open write print input exit _exit remove unlink mkdir rmtree system run Popen barrier "
    "all_reduce broadcast add_scalar fit send recv put".split()
)
_WRAPPERS = 4  # decorators around a function that name what they wrap


def first_call(number: int | None) -> tuple[Function | None, Scope | None]:
    """The place of the function of that number, and a copy of the arguments of its first call, as far as there is one."""
    if number is None:
        return None, None
    scope = RECORDER.functions.get(number)
    return REGISTRY.functions.get(number), kept_scope(scope) if scope is not None else None


def function_of(place: Function, scope: Mapping[str, object]) -> FunctionType | None:
    """The function of that name that takes these arguments; None where it is not found, or does more than compute."""
    owner = scope.get("self")
    if owner is not None:
        function = getattr(type(owner), place.name, None)
    else:
        held = (each for each in list(sys.modules.values()) if _path_of(each) == place.path)
        function = next((getattr(module, place.name, None) for module in held), None)
    for _ in range(_WRAPPERS):
        function = getattr(function, "__wrapped__", function)
    if not isinstance(function, FunctionType) or _EFFECTS & set(function.__code__.co_names):
        return None
    wanted = set(function.__code__.co_varnames[: function.__code__.co_argcount])
    return None if wanted - set(scope) or function.__code__.co_posonlyargcount else function


def _path_of(module: object) -> str | None:
    path = getattr(module, "__file__", None)
    return os.path.realpath(path) if isinstance(path, str) else None
