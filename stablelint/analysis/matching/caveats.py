"""What is not shown of the operands of a rewrite that is safe for tensors of some numbers alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.interpret.statements.writing import is_written
from stablelint.analysis.matching.operand_types import dimensions, is_method_of_tensors
from stablelint.analysis.matching.sites import Site, is_inside_function
from stablelint.analysis.values.families import HANDED_OVER
from stablelint.analysis.values.lists import leaves
from stablelint.analysis.values.sorts import KEEPS_SORT, MAKES_FLOATS, deciding
from stablelint.analysis.values.value import Kind, Value
from stablelint.catalog.pattern import encode
from stablelint.catalog.rule import FixTemplate
from stablelint.diagnostic import Binding
from stablelint.numerics.formats import FORMATS
from stablelint.syntax.names import last_name, shortened
from stablelint.syntax.operations import canonical, having
from stablelint.syntax.signatures import parameters

SINGLE = ("float32", "float64")
_DEPTH = 12
_REAL = having("real")
_NARROWED, _WIDENED = having("narrowed"), having("widened")
_OF_DEFAULT_TYPE = having("default-type") & _REAL
_OF_TENSORS = frozenset(("dim", "keepdim"))


def caveats(
    fix: FixTemplate, site: Site, bindings: Mapping[str, Binding], module: ModuleInfo
) -> Iterator[str]:
    """Why a rewrite is not shown to be one for the operands that there are, whoever calls."""
    known = {name: real_type(site.match.bindings[name], site) for name in bindings}
    function = site.frame.function
    if function is not None and any(
        "jit" in ast.unparse(one) for one in getattr(function.node, "decorator_list", [])
    ):
        tensors = (name for name in bindings if not site.match.bindings[name].is_constant)
        if any(known[name] is None for name in tensors):
            yield "TorchScript has gradients of its own for complex numbers"
    held = next((one for one in site.match.covered if _is_function_of_name(one, module)), None)
    if held is not None:
        yield f"{_short(ast.unparse(held.node))} need not be one of torch's"  # type: ignore[arg-type]
    if not any(_takes_tensors_alone(one, module) for one in site.match.covered):
        yield "nothing shows that it is computed with tensors"
    end = site.frame.graph.youngest + 1
    if is_written(site.value, end, site.frame):
        yield "what it gives is written into, and its gradient may need that"
    for name, binding in bindings.items():
        if is_written(site.match.bindings[name], end, site.frame):
            yield f"{_named(binding)} is written into later, and its gradient may need what it holds"
    for dimension, _ in dimensions(fix.replace, site):
        if any(_is_chosen_by_others(one, site) for one in leaves(dimension)):
            yield f"{_short(dimension.name) or 'the dimension'} may be `None`, or several dimensions"
    for name in fix.floating:
        if name in known and known[name] is None:
            yield f"{_named(bindings[name])} may hold integers or complex numbers"
    for name in fix.single:
        if name in known and known[name] not in SINGLE:
            yield f"{_named(bindings[name])} may hold numbers in half precision"
    given = [name for name in bindings if not site.match.bindings[name].is_constant]
    if (
        fix.target is None
        and _loses_width(fix.replace, site)
        and not any(
            known[name] in SINGLE or (known[name] is not None and site.match.bindings[name].op in _WIDENED)
            for name in given
        )
    ):
        yield "autocast computes in single precision what is written, and not the rewrite"


def _loses_width(template: str, site: Site) -> bool:
    """Whether autocast takes an operation of the match in single precision, and none of a template."""
    if not any(one.op in _WIDENED for one in site.match.covered):
        return False
    calls = (one for one in ast.walk(ast.parse(encode(template)[0])) if isinstance(one, ast.Call))
    operations = (canonical(last_name(one.func)) for one in calls)
    return not any(one is not None and one.name in _WIDENED for one in operations)


def _is_chosen_by_others(dimension: Value, site: Site) -> bool:
    """Whether a dimension is handed over, and not said to be a whole number."""
    if (
        not dimension.assumed
        and dimension.kind in (Kind.NUMBER, Kind.SEQUENCE)
        and dimension.op not in HANDED_OVER
    ):
        return False
    given = () if site.frame.function is None else parameters(site.frame.function.node.args)
    says = (one.annotation for one in given if one.arg == dimension.name and one.annotation is not None)
    return not any(ast.unparse(one) in ("int", "'int'") for one in says)


def real_type(value: Value, site: Site) -> str | None:
    """The type of the real floating-point numbers that a value is shown to hold: "" of any such, None where it is not.

    What another function or a layer computes may be set to something else, and what is handed over be of any type.
    """
    return _real_type(value, site, _DEPTH, {})


def _real_type(value: Value, site: Site, depth: int, known: dict[int, str | None]) -> str | None:
    if value.key not in known:
        known[value.key] = None  # until it is shown
        known[value.key] = _shown_type(value, site, depth, known)
    return known[value.key]


def _shown_type(value: Value, site: Site, depth: int, known: dict[int, str | None]) -> str | None:
    if value.link is not None or value.op in HANDED_OVER:
        return None
    if value.node is not None and not is_inside_function(value.node, site):
        return None
    if value.op in _REAL:
        is_default = value.op in _OF_DEFAULT_TYPE and "dtype" not in value.operands
        return value.dtype or ("float32" if is_default and site.frame.session.default_dtype is None else "")
    if depth and value.op in KEEPS_SORT | MAKES_FLOATS:
        types = {_real_type(one, site, depth - 1, known) for one in deciding(value)}
        if not types or None in types:
            return None
        is_narrowed = value.op in _NARROWED  # by autocast
        return "" if is_narrowed else value.dtype or ("float32" if types <= set(SINGLE) else "")
    return value.dtype if value.dtype in FORMATS else None


def _takes_tensors_alone(operation: Value, module: ModuleInfo) -> bool:
    """Whether an operation is a function of torch, or a method that no array has."""
    call = operation.node
    if not isinstance(call, ast.Call):
        return False
    if any(keyword.arg in _OF_TENSORS for keyword in call.keywords):
        return True
    if operation.module is module and _is_of_torch(call.func, module):
        return True
    return is_method_of_tensors(operation)


def _is_function_of_name(operation: Value, module: ModuleInfo) -> bool:
    """Whether an operation is called as a function of what a name holds, which is no import: `lib.log(x)`."""
    call = operation.node
    if not isinstance(call, ast.Call) or operation.module is not module or operation.link is not None:
        return False
    given = len(call.args) + len(call.keywords)
    return given >= len(operation.operands) and not _is_of_torch(call.func, module)


def _is_of_torch(function: ast.expr, module: ModuleInfo) -> bool:
    while isinstance(function, ast.Attribute):
        function = function.value
    name = module.imports.get(function.id, "") if isinstance(function, ast.Name) else ""
    return name.partition(".")[0] == "torch"


def _named(binding: Binding) -> str:
    return _short(binding.text or "") or "the operand"


def _short(text: str) -> str:
    return f"`{shortened(text)}`" if text.strip() else ""
