"""What a file passes to the functions and classes of other files, and what its classes set for those they inherit.

The text of each argument is kept where it may tell something: a number other than the default, an object that is made
on the spot, a class or function by its name. The file that is passed to asks for it by `target_of` and the name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain

from stablelint.analysis.files.callsites import argument_of, default_of, is_number, parameters_of
from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.analysis.files.project import Found, Project
from stablelint.analysis.files.reading import statements_of
from stablelint.analysis.files.sights import CallSite
from stablelint.diagnostic import CALLED, OF_SOME_OBJECT, WHOLE, Passed, Passes, Place
from stablelint.syntax.names import called_name, last_name, spelled
from stablelint.syntax.precision import SCOPED, speaks_for
from stablelint.syntax.signatures import arguments
from stablelint.syntax.walk import descendants
from stablelint.syntax.writes import is_of_self

CRITICAL = "/"
"""Before the name of a parameter: where the arguments lie that other files pass for it, which is critical in a function."""

WRITTEN = "="
"""What is passed to a top-level name into which another file writes."""

_DEPTH = 4  # names that lead on to others
_LONGEST = 120  # characters of an argument
_LINEAGE = 8


def target_of(thing: FunctionInfo | ClassInfo | tuple[ModuleInfo, str]) -> str:
    """How a function, class or top-level name is known to other files."""
    if isinstance(thing, tuple):
        return f"{thing[0].path}:{thing[1]}"
    owner = f"{thing.owner.name}." if isinstance(thing, FunctionInfo) and thing.owner is not None else ""
    return f"{thing.module.path}:{owner}{thing.name}"


def of_some_object(method: str) -> str:
    """How a method is known to files that call it on an object of which they do not tell the class."""
    return OF_SOME_OBJECT + method


def asking(module: ModuleInfo, project: Project) -> dict[str, FunctionInfo]:
    """The functions of other files that a file calls by a name and that have critical parameters, by that name."""
    called = (name for seen, _, _ in module.sights.parts for name in seen.calls)
    found = {name: project.find(module.imports[name], module) for name in {*called} & module.imports.keys()}
    return {
        name: thing
        for name, thing in found.items()
        if isinstance(thing, FunctionInfo) and thing.critical and thing.owner is None
    }


def critical_of(module: ModuleInfo, functions: Mapping[str, FunctionInfo], known: Passes) -> Passes:
    """What a file passes for critical parameters: what is `known` of its calls, of those that were not seen nothing."""
    found = {place: set(passed) for place, passed in known.items()}
    for name, function in functions.items():
        rows = [site.call.lineno for site in module.sights.calls_of(name)]
        loads = sum(seen.loads.get(name, 0) for seen, _, _ in module.sights.parts)
        for parameter in function.critical:
            passed = found.setdefault((target_of(function), CRITICAL + parameter), set())
            unseen = {*rows} - {one.row for one in passed} or ({1} if loads > len(rows) else set())
            passed.update(Passed(str(module.path), row, "") for row in unseen)
    return {place: tuple(sorted(passed)) for place, passed in found.items()}


def passes_of(module: ModuleInfo, calls: Iterable[CallSite], project: Project) -> Passes:
    """What a file passes elsewhere, by the place to which it is passed, and what it shows of the project."""
    shown = project.shown if speaks_for(project.root, str(module.path)) else ()
    scoped = SCOPED.intersection(shown)
    programs = project.programs_in(module) if scoped and module.is_script else {project.program}
    places = [(WHOLE, fact) for fact in shown if fact not in scoped]
    places += [(program, fact) for program in programs for fact in scoped]
    found = {place: {Passed(str(module.path), 1, "")} for place in places}
    pairs = [_passed_in(site, module, project) for site in calls]
    pairs.append(_written(module, project))
    for info in module.classes.values():
        pairs += [_registered(info, project), _overridden(info, project)]
    for place, row, text in chain.from_iterable(pairs):
        found.setdefault(place, set()).add(Passed(str(module.path), row, text))
    return {place: tuple(sorted(found[place])) for place in sorted(found)}


def _passed_in(site: CallSite, module: ModuleInfo, project: Project) -> Iterator[tuple[Place, int, str]]:
    given = arguments(site.call)
    texts = {arg: text for arg in given if (text := _telling(arg, site, module, _DEPTH))}
    private = called_name(site.call).startswith("_")
    callee, skipped = _callee(site, module, project) if texts or private else (None, 0)
    if (
        private
        and callee is None
        and isinstance(site.call.func, ast.Attribute)
        and not is_of_self(site.call.func)
    ):
        yield (of_some_object(called_name(site.call)), CALLED), site.call.lineno, ""
    function = project.method(callee, "__init__") if isinstance(callee, ClassInfo) else callee
    if isinstance(function, FunctionInfo):
        if function.name.startswith("_") and function.module is not module:
            yield (target_of(function), CALLED), site.call.lineno, ""
        for name in parameters_of(function.node) if function.module is not module else ():
            passed = argument_of(site.call, function, name, skipped)
            default = default_of(function.node, name)
            if passed in texts and (default is None or texts[passed] != ast.unparse(default)):
                yield (target_of(function), name), site.call.lineno, texts[passed]
    elif isinstance(callee, ClassInfo):
        for above in (callee, *_bases(callee, project)):
            for keyword in site.call.keywords if above.module is not module else ():
                if keyword.arg and keyword.value in texts:
                    yield (target_of(above), keyword.arg), site.call.lineno, texts[keyword.value]


def _written(module: ModuleInfo, project: Project) -> Iterator[tuple[Place, int, str]]:
    """The top-level names of other files into which a file writes: `config.EPS = 0`, `TABLE["eps"] = 0`, `tools.f = g`."""
    for seen, function, _ in module.sights.parts:
        row = function.lineno if function is not None else 1
        for name in sorted(seen.changed.intersection(module.imports)):
            qualified = module.imports[name]
            found = project.names_in(qualified, {*seen.written, *seen.loads}, module)
            for place in (project.find(qualified, module), *found):
                if place is not None:
                    yield (target_of(place), WRITTEN), row, ""


def _callee(site: CallSite, module: ModuleInfo, project: Project) -> tuple[Found | None, int]:
    """What is called, and how many of the arguments stand for none of its parameters."""
    function = site.call.func
    if called_name(function) == "partial" and site.call.args:
        return project.resolve(site.call.args[0], module), 1
    if isinstance(function, ast.Attribute) and function.attr == "__init__":
        if called_name(function.value) != "super":
            found = project.resolve(function.value, module)
            return (project.method(found, "__init__") if isinstance(found, ClassInfo) else None), 1
        info = module.classes.get(site.owner.name) if site.owner is not None else None
        above = _bases(info, project) if info is not None else iter(())
        return next((b.methods["__init__"] for b in above if "__init__" in b.methods), None), 0
    if is_of_self(function) and site.owner is not None:
        info = module.classes.get(site.owner.name)
        return project.method(info, last_name(function)) if info is not None else None, 0
    found = project.resolve(function, module)
    if isinstance(found, FunctionInfo) and found.owner is not None:
        return found, int(not found.has_decorator("staticmethod", "classmethod"))
    return found, 0


def _bases(info: ClassInfo, project: Project) -> Iterator[ClassInfo]:
    """The classes above a class, nearest first, in whatever file."""
    known = [info]
    for one in known:  # grows while it is walked
        for base in one.node.bases if len(known) < _LINEAGE else ():
            found = project.resolve(base, one.module)
            if isinstance(found, ClassInfo) and found not in known:
                known.append(found)
                yield found


def _registered(info: ClassInfo, project: Project) -> Iterator[tuple[Place, int, str]]:
    """`@register("name")`: the entry of a table that the decorator makes."""
    for decorator in info.node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        function = project.resolve(called, info.module)
        if isinstance(function, FunctionInfo):
            names = [a.value for a in getattr(decorator, "args", ()) if isinstance(a, ast.Constant)]
            for table in _tables(function):
                entry = f"{{{(names or [info.name])[0]!r}: {info.name}}}"
                yield (target_of((function.module, table)), ""), info.node.lineno, entry


def _tables(function: FunctionInfo) -> set[str]:
    """The top-level mappings of its file that a function adds to."""
    subscripts = (n for n in descendants(function.node) if isinstance(n, ast.Subscript))
    stored = {n.value.id for n in subscripts if type(n.ctx) is ast.Store and isinstance(n.value, ast.Name)}
    return stored.intersection(function.module.assignments)


def _overridden(info: ClassInfo, project: Project) -> Iterator[tuple[Place, int, str]]:
    """What a class has otherwise than those of other files that it inherits from: methods, numbers of attributes."""
    given = [*info.fields.items()]
    for name, method in info.methods.items() if info.node.bases else ():
        for statement in statements_of(getattr(method.node, "body", [])):
            if isinstance(statement, ast.Return):
                given.append((name, statement.value))
            elif isinstance(statement, ast.Assign) and is_of_self(statement.targets[0]):
                given.append((last_name(statement.targets[0]), statement.value))
    numbers = [(name, value) for name, value in given if value is not None and is_number(value)]
    # Within a package no method is believed to stay as it is; only flat files ask for what others override.
    for base in _bases(info, project) if numbers or info.module.is_script else ():
        if base.module is info.module:
            continue
        for name, value in numbers:
            yield (target_of(base), name), value.lineno, ast.unparse(value)
        for name in info.methods.keys() & base.methods.keys() if base.module.is_script else ():
            yield (target_of(base), name + CALLED), info.methods[name].node.lineno, ""


def _telling(node: ast.expr | None, site: CallSite, module: ModuleInfo, depth: int) -> str:
    """The text of an argument that tells something where nobody knows the names around it; else ""."""
    if node is None or not depth:
        return ""
    if is_number(node):
        return ast.unparse(node)
    if isinstance(node, ast.Name):
        return _of_name(node.id, site, module, depth)
    called = called_name(node) if isinstance(node, ast.Call) else ""
    made = called[:1].isupper() or called in module.imports
    if not made and not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return ""
    if node.lineno != node.end_lineno or (node.end_col_offset or 0) - node.col_offset > _LONGEST:
        return ""
    text = spelled(node)
    return text if module.defines(text.partition("(")[0].partition(".")[0]) else ""


def _of_name(name: str, site: CallSite, module: ModuleInfo, depth: int) -> str:
    """The text of what a name stands for: the one value that is assigned to it, a parameter's default, a definition."""
    if site.function is not None and not isinstance(site.function, ast.Lambda):
        default = default_of(site.function, name)
        if default is not None:
            return _telling(default, CallSite(site.call, None, None), module, depth - 1)
        assigned = _assigned(site.function).get(name)
        if assigned:
            return _telling(assigned[0], site, module, depth - 1) if len(assigned) == 1 else ""
    values = module.assignments.get(name, [])
    if len(values) == 1:
        return _telling(values[0], CallSite(site.call, None, None), module, depth - 1)
    return name if name in module.classes or name in module.functions or name in module.imports else ""


@lru_cache(maxsize=1)
def _assigned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
    """What a function assigns to its names."""
    found: dict[str, list[ast.expr]] = {}
    for statement in statements_of(function.body):
        if isinstance(statement, ast.Assign):
            for name in {getattr(target, "id", "") for target in statement.targets}:
                found.setdefault(name, []).append(statement.value)
    return found
