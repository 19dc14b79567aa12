"""The options of a command line that a file defines: an attribute each, with the default that it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.files.reading import statements_of
from stablelint.syntax.names import last_name
from stablelint.syntax.signatures import parameters
from stablelint.syntax.walk import nodes_below

PARSING = frozenset({"parse_args", "parse_known_args"})
_SWITCHES = {"store_true": False, "store_false": True}


def options_in(tree: ast.Module) -> ast.ClassDef | None:
    """A class with the defaults of a file's options as its attributes; None where it defines none.

    An option is left out that is defined in several ways, has no default, or is set anew.
    """
    found: dict[str, list[ast.expr | None]] = {}
    for name, default in _defined(tree):
        found.setdefault(name, []).append(default)
    if not found:
        return None
    stored = {n.attr for n in nodes_below(tree, ast.Attribute) if isinstance(n.ctx, ast.Store)}
    made = ast.ClassDef("Namespace", [], [], [ast.Pass()], [])
    for name, (default, *others) in found.items():
        alike = default is not None and all(
            o is not None and ast.dump(o) == ast.dump(default) for o in others
        )
        if alike and default is not None and name not in stored:
            made.body.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], default), default))
    made.lineno, made.col_offset = 1, 0
    return ast.fix_missing_locations(made)


def options_by_decorator(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters of a command to which a decorator gives a default: `@click.option("--eps", default=1e-6)`."""
    given = {parameter.arg: parameter for parameter in parameters(function.args)}
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and last_name(decorator.func) == "option":
            named = {keyword.arg: keyword.value for keyword in decorator.keywords}
            default, parameter = _default(named), given.get(_parameter(decorator.args))
            if parameter is not None and default is not None:
                yield parameter, default


def _parameter(names: list[ast.expr]) -> str:
    """The parameter that an option of click sets: one that is named, or by the option."""
    texts = [name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)]
    plain = [text for text in texts if not text.startswith("-")]
    return plain[0] if plain else _attribute(names, None)


def yields_options(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether all that a function returns is what a parser of the command line has yielded to it."""
    statements = statements_of(node.body)
    names = {
        target.id
        for one in statements
        if isinstance(one, ast.Assign) and _parses(one.value)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    returned = [one.value for one in statements if isinstance(one, ast.Return)]
    return bool(returned) and all(
        _parses(value) or (isinstance(value, ast.Name) and value.id in names) for value in returned
    )


def _parses(node: ast.expr | None) -> bool:
    """Whether an expression is a call of `parse_args`."""
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "parse_args"


def _defined(tree: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The attribute that each option sets, and its default; None where it has none, or another one is set later."""
    for call in nodes_below(tree, ast.Call):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name == "set_defaults":
            yield from ((keyword.arg, None) for keyword in call.keywords if keyword.arg is not None)
        elif name == "add_argument":
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            attribute = _attribute(call.args, given.get("dest"))
            if attribute:
                yield attribute, _default(given)


def _attribute(names: list[ast.expr], dest: ast.expr | None) -> str:
    """The attribute in which an option is kept; "" for an argument that must be given, or where it is not known."""
    texts = [name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)]
    options = [text for text in texts if text.startswith("-")]
    if not options or len(texts) < len(names):
        return ""
    if dest is not None:
        return str(dest.value) if isinstance(dest, ast.Constant) else ""
    long = [text for text in options if text.startswith("--")]
    return (long or options)[0].lstrip("-").replace("-", "_")


def _default(given: dict[str | None, ast.expr]) -> ast.expr | None:
    """The default of an option; None where it has to be given, or is a text that is read as something else."""
    required, action, default = (given.get(name) for name in ("required", "action", "default"))
    if isinstance(required, ast.Constant) and required.value:
        return None
    if default is not None:
        is_read = isinstance(default, ast.Constant) and isinstance(default.value, str) and "type" in given
        return None if is_read else default
    switch = action.value if isinstance(action, ast.Constant) else None
    return ast.Constant(_SWITCHES[switch]) if switch in _SWITCHES else None
