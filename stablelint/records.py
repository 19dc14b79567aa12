"""Data classes that cost little to define and to fill: that nobody changes a frozen one, mypy sees to.

For a frozen class with slots the standard decorator compiles six functions, and its `__init__` sets each field by a call.
A run over one file spends a quarter of its start on that. This one compiles an `__init__` that assigns.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field, fields, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ("dataclass", "field", "fields", "replace")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass`, for classes whose fields all are arguments and take part in comparisons."""
        return partial(_defined, **options) if cls is None else _defined(cls, **options)


def _defined(cls: type[Any], *, slots: bool = False, frozen: bool = False, eq: bool = True) -> type[Any]:
    made: type[Any] = dataclasses.dataclass(slots=slots, init=False, repr=False, eq=False)(cls)
    names = [one.name for one in fields(made)]
    key = attrgetter(names[0], *names)  # a tuple, be there one field
    methods: dict[str, Any] = {"__init__": _filling(made), "__repr__": _text}
    if eq:
        methods["__eq__"] = lambda one, other: (
            key(one) == key(other) if type(one) is type(other) else NotImplemented
        )
        methods["__hash__"] = (lambda one: hash(key(one))) if frozen else None
    for name, method in methods.items():
        if name not in vars(cls):
            setattr(made, name, method)
    return made


def _filling(made: type[Any]) -> Any:
    """The `__init__` of a class."""
    scope, parameters, body = dict[str, Any](), ["self"], [""]
    for one in fields(made):
        name, is_made = one.name, one.default_factory is not dataclasses.MISSING
        scope[f"{name}_"] = one.default_factory if is_made else one.default
        parameters.append(name if scope[f"{name}_"] is dataclasses.MISSING else f"{name}={name}_")
        body.append(f"self.{name} = {f'{name}_() if {name} is {name}_ else ' if is_made else ''}{name}")
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):" + "\n ".join(body), scope)
    scope["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    return scope["__init__"]


def _text(one: Any) -> str:
    shown = (f"{known.name}={getattr(one, known.name)!r}" for known in fields(one) if known.repr)
    return f"{type(one).__qualname__}({', '.join(shown)})"
