"""What a module runs in its forward pass, and what only when it is made or configured, where no gradient is taken."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from stablelint.analysis.files.modules import CONSTRUCTORS, ClassInfo, FunctionInfo
from stablelint.syntax.walk import descendants


def is_run_by_module(function: FunctionInfo) -> bool:
    """Whether the forward pass of a module of the same file calls a function by its name."""
    passes = (info.methods.get("forward") for info in function.module.classes.values())
    return any(
        isinstance(node, ast.Name) and node.id == function.name
        for found in passes
        if found is not None
        for node in descendants(found.node)
    )


def is_preparation(function: FunctionInfo, family: Iterable[ClassInfo]) -> bool:
    """Whether a method is called by the others of its class, and by construction or the setter of a property alone.

    What none of them calls is for other code to call, and may be a part of its forward pass.
    """
    family = tuple(family)
    pending, seen = [function.name], {function.name}
    while pending:
        name = pending.pop()
        calling = _calling(name, family)
        begins = name in CONSTRUCTORS or _sets_property(name, family)
        if not calling and (not begins or name == function.name):
            return False
        pending.extend(calling - seen)
        seen |= calling
    return True


def _calling(called: str, family: Iterable[ClassInfo]) -> set[str]:
    """The methods of a class that call one of its methods."""
    return {
        name
        for info in family
        for name in info.methods
        if called != name and called in info.touches(name).called
    }


def _sets_property(name: str, family: Iterable[ClassInfo]) -> bool:
    return any(name in info.methods and info.methods[name].has_decorator("setter") for info in family)
