"""Other numbers of a constructor of the program with which what failed passes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import islice
from time import monotonic
from typing import Any

from torch import nn

from stablelint.runtime.audit.replayed import undisturbed
from stablelint.runtime.crash.deduced import silenced
from stablelint.runtime.crash.explanation import Advice
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, value_of
from stablelint.runtime.crash.layers import again, fails_again, outermost
from stablelint.runtime.crash.provenance.scopes import makes
from stablelint.runtime.crash.pure import only_builds
from stablelint.runtime.crash.repairs.replay import fits
from stablelint.runtime.crash.scene import Scene

_SECONDS = 3.0  # after which no further pass is begun
_TOLD = 2
_FAR = 8  # from the number that was given, and up to its double


def rebuilt(scene: Scene) -> Advice | None:
    """The calls of the constructor that pass, the nearest first, of the innermost module for which there are some."""
    whole, until = outermost(scene) if fails_again(scene) else None, monotonic() + _SECONDS
    paths = {id(one): path for path, one in whole[0].named_modules()} if whole is not None else {}
    for owner in dict.fromkeys(one.frame.f_locals.get("self") for one in reversed(scene.frames) if one.mine):
        if not isinstance(owner, nn.Module) or id(owner) not in paths or not only_builds(type(owner)):
            continue
        call, scope = scene.origins.maker(owner) or (None, None)
        if not isinstance(call, ast.Call) or scope is None or not makes(call, scope, type(owner)):
            continue
        given = _given(call, scope.names, type(owner))
        found = list(islice(_passing(scene, owner, paths[id(owner)], given, until), _TOLD))
        if found:
            return Advice(tuple(found), (), ((f"{type(owner).__name__} is made here", scope.at(call)),))
    return None


def _given(call: ast.Call, names: dict[str, Any], kind: type) -> dict[str, Any]:
    """What a constructor was given for each of its parameters, or takes by itself; nothing where that is not known."""
    written = {name: value_of(one, names) for name, one in given_by_name(call, names, kind).items()}
    taken = inspect.signature(kind).parameters.values()
    default = {one.name: one.default for one in taken if one.default is not one.empty}
    whole = {**default, **written}
    return {} if any(one is UNKNOWN for one in whole.values()) else whole


def _passing(scene: Scene, owner: nn.Module, path: str, given: dict[str, Any], until: float) -> Iterator[str]:
    numbers = [(name, value) for name, value in given.items() if type(value) is int and value > 1]
    changes = [
        (abs(other - value), name, other)
        for name, value in numbers
        for other in range(1, 2 * value + 1)
        if 0 < abs(other - value) <= _FAR
    ]
    for _, name, other in sorted(changes):
        if monotonic() > until:
            return
        try:
            with undisturbed(), silenced():
                made = type(owner)(**{**given, name: other}).train(owner.training)
        except Exception:  # whatever it says of such a number
            continue
        if fits(scene, again(scene, {path: made})):
            yield f"{type(owner).__name__}(…, {name}={other}) passes"
