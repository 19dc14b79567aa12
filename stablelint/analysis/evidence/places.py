"""Where code stands: the names of packages, files, classes and functions around it."""

from __future__ import annotations

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.syntax.names import last_name


def places(module: ModuleInfo) -> list[str]:
    """The names of the packages, or of the folders below the root, that a file lies in, and its own."""
    packages = module.package.split(".")
    return [*max(packages, module.folders, key=len), module.path.stem if module.path is not None else ""]


def base_names(info: ClassInfo) -> list[str]:
    """The last names of a class's bases, as they are written."""
    return list(filter(None, map(last_name, info.node.bases)))


def scopes(function: FunctionInfo | None) -> list[str]:
    """The names of a function, of its class and of the class's bases."""
    if function is None:
        return []
    owner = function.owner
    return [function.name, *([owner.name, *base_names(owner)] if owner is not None else [])]


def is_objective(function: FunctionInfo | None, module: ModuleInfo) -> bool:
    """Whether code computes what is minimised: a function, class or file of losses, that does not just report them."""
    if function is not None and words.names_a_report(function.name):
        return False
    return any(map(words.names_an_objective, [*scopes(function), places(module)[-1]]))


def is_measured(function: FunctionInfo | None, module: ModuleInfo) -> bool:
    """Whether code computes a figure to be read by people: a function, class, file or package of metrics."""
    return any(map(words.names_a_metric, [*scopes(function), *places(module)[-2:]]))
