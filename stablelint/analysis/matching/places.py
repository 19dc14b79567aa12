"""Where code stands and what it is called: in a loss, a metric, a test, or where pictures are drawn."""

from __future__ import annotations

import ast
import re

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo

_OBJECTIVE = re.compile(
    r"loss|criterion|objective|log_?prob|rsample|kl_div|likelihood|elbo|(^|_)energy(_|$)|training_step|penalty",
    re.I,
)
_DOCUMENTED = re.compile(r"\bdifferentiab|back-?prop|autograd", re.I)
_MEASURE = re.compile(
    r"(^|_)(metrics?|evaluat(ion|or)s?)$|^metrics_|metrics$|(Metric|Evaluator|Evaluation)s?$"
)
_FIGURES = re.compile(r"(^|_)metrics?(_|$)")  # a function's name
_TESTS = re.compile(r"^(unit)?tests?$|^testing$|_tests?$")  # a folder's name
_TEST = re.compile(r"^(unit)?tests?$|^test_|_tests?$|^conftest$")  # a file's
# Where pictures are drawn for people to look at, and where programs are measured.
_SHOWN = re.compile(
    r"visuali[sz]|(anomaly|heat|saliency)_?maps?$|(^|_)(colou?r_?maps?|plots?|plotting|benchmarks?)($|_)|(^|_)eval(uate|uation)?$"
)
_DRAWS = re.compile(r"Visuali[sz]|Plot(ter|ting)?$")  # a class's name


def places(module: ModuleInfo) -> list[str]:
    """The names of the packages that a file lies in, and its own."""
    return [*module.package.split("."), module.path.stem if module.path is not None else ""]


def says_so(function: FunctionInfo) -> bool:
    """Whether a docstring says that a gradient is taken through a function."""
    node = function.node
    if isinstance(node, ast.Lambda) or not node.body:
        return False
    text = ast.get_docstring(node, clean=False)
    return text is not None and _DOCUMENTED.search(text) is not None


def is_measured(function: FunctionInfo | None, module: ModuleInfo) -> bool:
    """Whether code computes a figure to be read by people: it stands in a module or a class of metrics."""
    if any(_MEASURE.search(part) for part in places(module)):
        return True
    if function is not None and _FIGURES.search(function.name):
        return True
    owner = function.owner if function is not None else None
    return owner is not None and any(_MEASURE.search(name) for name in (owner.name, *base_names(owner)))


def is_test(module: ModuleInfo) -> bool:
    """Whether a file is one of tests, whose assertions check what it computes."""
    *folders, name = places(module)
    return _TEST.search(name) is not None or any(map(_TESTS.search, folders))


def is_shown(function: FunctionInfo | None, module: ModuleInfo) -> bool:
    """Whether a file, or a class, draws pictures for people to look at, or measures a program."""
    owner = function.owner if function is not None else None
    return _SHOWN.search(places(module)[-1]) is not None or (
        owner is not None and _DRAWS.search(owner.name) is not None
    )


def base_names(info: ClassInfo) -> list[str]:
    """The last names of a class's bases, as they are written."""
    names = []
    for base in info.node.bases:
        name = getattr(base, "attr", None) or getattr(base, "id", None)
        if isinstance(name, str):
            names.append(name)
    return names


def is_objective(function: FunctionInfo) -> bool:
    """Whether a function is called a loss, or stands in a file of losses."""
    return names_an_objective(function.name) or _is_about_losses(function.module)


def names_an_objective(name: str) -> bool:
    """Whether a function's or a class's name says that it computes what is minimised."""
    return _OBJECTIVE.search(name) is not None


def _is_about_losses(module: ModuleInfo) -> bool:
    parts = [module.package.rpartition(".")[2], module.path.stem if module.path is not None else ""]
    return any("loss" in part or "criterion" in part or "objective" in part for part in parts)
