"""Facts about the context: what the code around a site is there for, and what its author has guarded."""

from __future__ import annotations

import ast

from stablelint.analysis.evidence import vocabulary as words
from stablelint.analysis.evidence.fact import lowers, raises
from stablelint.analysis.evidence.places import is_measured, is_objective, is_shown, places, scopes
from stablelint.analysis.evidence.subject import Subject


@raises
def in_loss(s: Subject) -> bool:
    """stands in a loss"""
    return is_objective(s.function, s.module)


@lowers
def in_metric(s: Subject) -> bool:
    """stands in a metric"""
    return is_measured(s.function, s.module)


@lowers
def in_test(s: Subject) -> bool:
    """stands in a test"""
    return any(map(words.names_a_test, places(s.module)))


@lowers
def in_display(s: Subject) -> bool:
    """stands where something is drawn or measured"""
    return is_shown(s.function, s.module)


@lowers
def in_evaluation(s: Subject) -> bool:
    """stands in an evaluation or inference"""
    return s.function is not None and words.names_an_evaluation(s.function.name)


@lowers
def in_data_preparation(s: Subject) -> bool:
    """stands where data are prepared"""
    return any(map(words.names_data_preparation, [*scopes(s.function)[:1], *places(s.module)[-2:]]))


@raises
def in_optimizer(s: Subject) -> bool:
    """stands in an optimizer or scheduler"""
    return any(map(words.names_an_optimizer, [*scopes(s.function), *places(s.module)[-2:]]))


@lowers
def in_script(s: Subject) -> bool:
    """stands in a script"""
    return s.module.is_script or any(map(words.names_a_script, places(s.module)[-2:]))


@raises
def in_forward(s: Subject) -> bool:
    """stands in a module's forward pass"""
    return s.function is not None and s.function.owner is not None and s.function.name == "forward"


@lowers
def in_constructor(s: Subject) -> bool:
    """stands where an object is made or initialised"""
    name = s.function.name if s.function is not None else "__init__"
    return name in ("__init__", "__post_init__", "setup", "build") or name.lstrip("_").startswith(
        ("init", "reset")
    )


@raises
def sibling_guarded(s: Subject) -> bool:
    """another operation of the kind is guarded in the same function"""
    return s.site.value.op in s.around.guarded_operations


@lowers
def guards_in_file(s: Subject) -> bool:
    """the file guards other operations by a small constant"""
    return words.says_a_small_constant(s.module.source.text)


@lowers
def half_precision(s: Subject) -> bool:
    """the file shows half precision"""
    return s.site.context.half_shown


@lowers
def meant(s: Subject) -> bool:
    """a comment or docstring says that it is meant"""
    source, node = s.module.source, s.site.node
    row: int = node.lineno  # type: ignore[attr-defined]
    around = [line.partition("#")[2] for line in source.lines[max(0, row - 3) : row]]
    holder = s.function.node if s.function is not None else None
    if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef):
        around.append(" ".join((ast.get_docstring(holder, clean=False) or "").split())[:2000])
    return any(map(words.says_it_is_meant, around))
