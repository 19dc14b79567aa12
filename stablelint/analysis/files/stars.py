"""What `from module import *` binds: the names of a file of the project, or of a package that is known.

Only names that the importing file reads and does not bind itself are looked for.
"""

from __future__ import annotations

import ast
import builtins
import math
import sys
from collections.abc import Iterator

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.files.project import Project
from stablelint.numerics.formats import FORMATS
from stablelint.records import dataclass
from stablelint.syntax import operations
from stablelint.syntax.names import bound_by
from stablelint.syntax.walk import nodes_below

_HOPS = 4  # files that import each other's names, all of them
_KNOWN = frozenset({"torch", "numpy", "math"})
# What a package that is not read passes on under these names, if it does: nothing is proved by it.
_CUSTOMARY = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy", "math": "math"}


@dataclass(frozen=True, slots=True)
class Binding:
    """The qualified name that a star import binds, and whether custom alone says so, as the other file is not read."""

    qualified: str
    by_custom: bool = False


def names_by_star(module: ModuleInfo, project: Project) -> dict[str, Binding]:
    """What the star imports of a file bind among the names that it reads."""
    if not module.stars or module.path is None:
        return {}
    found = ((name, bound_by_star(name, module, project)) for name in sorted(set(_free_names(module))))
    return {name: binding for name, binding in found if binding is not None}


def _free_names(module: ModuleInfo) -> Iterator[str]:
    """The names that a file reads and binds nowhere."""
    tree = module.source.tree
    bound = {arg.arg for arg in nodes_below(tree, ast.arg)}.union(*map(bound_by, nodes_below(tree, ast.AST)))
    for node in nodes_below(tree, ast.Name):
        if node.id not in bound and not module.defines(node.id):
            yield node.id


def bound_by_star(name: str, module: ModuleInfo, project: Project, hops: int = _HOPS) -> Binding | None:
    """What the last of a file's star imports that has a name binds it to."""
    if name.startswith("_"):
        return None  # a star leaves it out
    for star in reversed(module.stars):
        located = project.locate(f"{star}.{name}", module)
        if located is None:
            found = _of_package(star, name)
        elif located[0] is module or not hops:
            found = None
        elif located[0].defines(name):
            found = Binding(located[0].imports.get(name, f"{star}.{name}"))
        else:
            found = bound_by_star(name, located[0], project, hops - 1)
        if found is not None:
            return found
    return None


def _of_package(package: str, name: str) -> Binding | None:
    """What a name of a package stands for that is not read."""
    top, qualified = package.partition(".")[0], f"{package}.{name}"
    if top not in _KNOWN:
        is_read = hasattr(builtins, name) or top in sys.stdlib_module_names
        return Binding(_CUSTOMARY[name], by_custom=True) if name in _CUSTOMARY and not is_read else None
    known = (
        hasattr(math, name)
        if top == "math"
        else operations.function(qualified)
        or operations.module(qualified)
        or (package == top and name in FORMATS)
    )
    return Binding(qualified) if known else None
