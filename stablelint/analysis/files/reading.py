"""What the text of a function or a file tells by itself: its size, its ways out, the names that it declares."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from stablelint.records import dataclass
from stablelint.syntax.names import called_name, last_name
from stablelint.syntax.operations import having
from stablelint.syntax.walk import BLOCKS, SCOPES, children, descendants, statements_below
from stablelint.syntax.writes import is_of_self

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_RAISING = frozenset({ast.Raise, ast.Assert})
ASSERTIONS = frozenset({"torch._assert", "torch._check", "torch._check_value", "torch._assert_async"})
"""Functions that raise where their first argument is false."""
_READING = frozenset("super isinstance issubclass type id len hasattr getattr str repr print hash".split())
_NAMESPACES = frozenset({"globals", "vars", "locals"})
_LOOKING = frozenset("get keys items values copy".split())  # methods that leave a mapping as it is
_LOOPS = ast.For | ast.AsyncFor | ast.While
_STEEP = having("log") | {"sqrt", "rsqrt", "exp"}
_SEEN_THROUGH = frozenset({ast.Attribute, ast.Subscript, ast.Starred, ast.NamedExpr})
_CHECK = 12  # statements of a function that does nothing but check


@dataclass(frozen=True, slots=True)
class Outline:
    """What a glance at a function's body tells."""

    statements: int
    generator: bool = False
    returns: bool = True  # some path returns something other than None
    textual: bool = False  # what it returns is annotated as text, a truth value or nothing
    dropped: bool = False  # the body was not kept
    checks: bool = False  # it raises where something does not hold, and returns nothing


Binding = tuple[Sequence[ast.expr], ast.expr]
"""What something is bound to, and the value: of a loop, what it is over."""


def bindings_among(nodes: Iterable[Any]) -> list[Binding]:
    """What is bound by assignments, loops, `with`, and within expressions."""
    binding = ((_BINDING[kind], node) for node in nodes if (kind := type(node)) in _BINDING)
    return [pair for bound_by, node in binding if (pair := bound_by(node))[1] is not None and pair[0]]


_BINDING: Mapping[type[ast.AST], Callable[[Any], Binding]] = {
    ast.Assign: lambda node: (node.targets, node.value),
    **dict.fromkeys((ast.AnnAssign, ast.NamedExpr), lambda node: ([node.target], node.value)),
    **dict.fromkeys((ast.For, ast.comprehension), lambda node: ([node.target], node.iter)),
    ast.withitem: lambda node: ([node.optional_vars] * (node.optional_vars is not None), node.context_expr),
}


def with_sources(names: frozenset[str], bindings: Iterable[Binding]) -> frozenset[str]:
    """`names`, and the names of what they may stand for, or be views of: `w = z.view(-1)`, `for row in z`."""
    if not names:
        return names
    given: dict[str, list[ast.expr]] = {}
    for targets, value in bindings:
        for name in {name for target in targets for name in sources_of(target)}:
            given.setdefault(name, []).append(value)
    found, new = set(names), set(names)
    while new:
        values = (value for name in new for value in given.get(name, ()))
        new = {name for value in values for name in sources_of(value)} - found
        found |= new
    return frozenset(found)


def attributes_behind(names: frozenset[str], bindings: Iterable[Binding]) -> frozenset[str]:
    """The attributes of `self` that `names` may stand for, or for elements of: `w = self.w`, `for w in self.ws`."""
    met = (v for targets, v in bindings if any(n in names for target in targets for n in sources_of(target)))
    read = (n for value in met for n in descendants(value) if isinstance(n, ast.Attribute))
    return frozenset(n.attr for n in read if is_of_self(n))


def sources_of(node: ast.expr) -> list[str]:
    """The names of what an expression may be, or be a view of: of arithmetic none."""
    if type(node) is ast.Name:
        return [node.id]
    found: list[str] = []
    pending: list[Any] = [node]
    for part in pending:  # grows while it is walked
        kind = type(part)
        if kind is ast.Name:
            found.append(part.id)
        elif kind in _SEEN_THROUGH:
            pending.append(part.value)
        elif kind is ast.Call:
            pending += (part.func, *part.args)
        elif kind is ast.Tuple or kind is ast.List:
            pending += part.elts
        elif kind is ast.IfExp:
            pending += (part.body, part.orelse)
    return found


def critical_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that stand, but for a factor, as divisors, exponents, or operands of logarithms and roots."""
    found: set[str] = set()
    for node in nodes:
        at: ast.expr | None = None
        if type(node) is ast.BinOp:
            at = node.right if type(node.op) is ast.Div else None
        elif type(node) is ast.Call and last_name(node.func) in _STEEP:
            at = node.args[0] if node.args else getattr(node.func, "value", None)
            while type(at) is ast.UnaryOp or type(at) is ast.BinOp:
                at = _unscaled(at)
        if type(at) is ast.Name:
            found.add(at.id)
    return frozenset(found)


def _unscaled(node: ast.UnaryOp | ast.BinOp) -> ast.expr | None:
    """What a number, or a sign, is before: the `x` of `-x`, `0.5 * x` and `x / 2`."""
    if isinstance(node, ast.UnaryOp):
        return node.operand if type(node.op) is ast.USub else None
    if type(node.op) in (ast.Mult, ast.Div) and type(node.right) is ast.Constant:
        return node.left
    return node.right if type(node.op) is ast.Mult and type(node.left) is ast.Constant else None


def outline_of(node: FunctionNode, may_yield: bool = True) -> Outline:
    """Counts the statements of a body and looks at its ways out; nested definitions are left out."""
    if isinstance(node, ast.Lambda):
        return Outline(1)
    statements = statements_of(node.body)
    returns = any(type(s) is ast.Return and not _is_none(s.value) for s in statements)
    generator = may_yield and any(_yields(s) for s in statements)
    annotation = node.returns
    name = annotation.id if isinstance(annotation, ast.Name) else getattr(annotation, "value", annotation)
    textual = annotation is not None and (name is None or name in ("str", "bool", "None"))
    short = len(statements) <= _CHECK and not generator
    checks = short and not returns and any(map(_refuses, statements))
    return Outline(len(statements), generator, returns, textual, checks=checks)


def returns_truth(node: FunctionNode) -> bool:
    """Whether some path of a body may return a true value."""
    returned = (
        (s.value for s in statements_of(node.body) if isinstance(s, ast.Return)) if _has_body(node) else ()
    )
    return any(not (v is None or (isinstance(v, ast.Constant) and not v.value)) for v in returned)


def catches_at_yield(node: FunctionNode) -> bool:
    """Whether a generator may go on where something is raised at its `yield`."""
    tries = (s for s in statements_of(node.body) if isinstance(s, ast.Try)) if _has_body(node) else ()
    around = (t for t in tries if any(isinstance(n, ast.Yield) for s in t.body for n in ast.walk(s)))
    return any(not isinstance(h.body[-1], ast.Raise) for t in around for h in t.handlers)


def _has_body(node: FunctionNode) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return not isinstance(node, ast.Lambda)


def _refuses(statement: ast.stmt) -> bool:
    """Whether a statement raises, where it is reached or where something does not hold."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    asserts = isinstance(call, ast.Call) and f"torch.{called_name(call)}" in ASSERTIONS
    return asserts or type(statement) in _RAISING


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def statements_of(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body at every level, without those of nested definitions."""
    found: list[Any] = list(body)
    for part in found:  # grows while it is walked
        if type(part) not in SCOPES:
            for name in BLOCKS[type(part)]:
                found.extend(getattr(part, name))
    return [part for part in found if isinstance(part, ast.stmt)]


def _yields(statement: ast.stmt) -> bool:
    """Whether a statement is a `yield`, or keeps what one gives; it hardly ever stands deeper."""
    value = getattr(statement, "value", None)
    return isinstance(value.value if isinstance(value, ast.Await) else value, ast.Yield | ast.YieldFrom)


def names_handed_out(node: FunctionNode) -> frozenset[str]:
    """The names that a body returns, yields or keeps in an attribute, by themselves or within something."""
    if isinstance(node, ast.Lambda):
        return frozenset()
    values: list[ast.expr | None] = []
    for statement in statements_of(node.body):
        if isinstance(statement, ast.Return) or (
            isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)
        ):
            values.append(statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
            values.append(statement.value.value)
    nodes = [n for value in values if value is not None for n in ast.walk(value)]
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    return frozenset(n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in called)


def handed_of_self(nodes: Iterable[Any]) -> list[ast.Name | ast.Attribute]:
    """Where a method hands its object, or an attribute of it, to others that can change the object by it."""
    kept: set[int] = set()
    lent: list[ast.Name | ast.Attribute] = []
    for node in nodes:
        kind = type(node)
        if kind is ast.Name:
            lent += [node] if node.id == "self" else []
        elif kind is ast.Attribute:
            lent += [node] if is_of_self(node) else []
            kept |= {id(node.value)} if node.attr != "__dict__" else set()
        elif kind is ast.Call:
            kept.add(id(node.func))
            if type(node.func) is ast.Name and node.func.id in _READING:
                kept.update(map(id, node.args))
        elif kind is ast.Return:
            kept.add(id(node.value))
    return [one for one in lent if id(one) not in kept]


def declared_names(tree: ast.AST) -> frozenset[str]:
    """The names that functions declare as global or nonlocal."""
    declarations = (n for n in statements_below(tree) if isinstance(n, ast.Global | ast.Nonlocal))
    return frozenset(name for node in declarations for name in node.names)


def bound_again(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that statements bind more than once, those of functions, classes and imports among them."""
    times = Counter[str]()
    for statement in body:
        nodes = _outside_of_scopes(statement)
        names = [name for node in nodes for name in _bound_by(node)]
        times.update(names if not any(isinstance(node, _LOOPS) for node in nodes) else 2 * names)
    return frozenset(name for name, number in times.items() if number > 1)


def _outside_of_scopes(statement: ast.AST) -> list[ast.AST]:
    """The nodes of a statement, without the bodies of functions and classes."""
    found = [statement]
    for node in found:  # grows while it is walked
        if not isinstance(node, SCOPES):
            found += children(node)
    return found


def _bound_by(node: ast.AST) -> list[str]:
    """The names that a node binds by itself."""
    if isinstance(node, ast.Name):
        return [node.id] if type(node.ctx) is not ast.Load else []
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(one.asname or one.name).partition(".")[0] for one in node.names]
    name = getattr(node, "name", None) if not isinstance(node, ast.alias) else None
    return [name] if name else []


def entered_names(tree: ast.AST, known: Iterable[str]) -> Iterator[str]:
    """The names of `globals()["EPS"] = 0` and `globals().update(EPS=0)`; all that are `known` where they cannot be told."""
    nodes = descendants(tree)
    owned = {id(n.value): n for n in nodes if isinstance(n, ast.Subscript | ast.Attribute)}
    for node in nodes:
        if (
            not isinstance(node, ast.Call)
            or node.args
            or node.keywords
            or called_name(node) not in _NAMESPACES
        ):
            continue
        owner = owned.get(id(node))
        if isinstance(owner, ast.Subscript) and type(owner.ctx) is ast.Load:
            continue
        if isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Constant):
            yield str(owner.slice.value)
        elif not (isinstance(owner, ast.Attribute) and owner.attr in _LOOKING):
            yield from known


def added_to_search_path(tree: ast.Module) -> Iterator[str]:
    """The paths of `sys.path.append(os.path.join(here, "..", "lib"))` and its like, without their beginning."""
    for node in descendants(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("sys.path.append", "sys.path.insert"):
            texts = (n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))
            parts = [str(n.value) for n in sorted(texts, key=lambda n: (n.lineno, n.col_offset))]
            if parts:
                yield "/".join(parts).lstrip("/")
