"""Put probes into a tree: operands are recorded where they are evaluated, and nothing else changes.

`f(a, b)` with operands `a` and `b` becomes
`__sl_end__(0, __sl_begin__(0), f(__sl_see__(0, 0, a), __sl_see__(0, 1, b)))`; every wrapped expression
keeps its place, so tracebacks and profiles show the user's own lines and columns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import decode_source

from stablelint.runtime.program.nodes import enclosing
from stablelint.runtime.verify.probe.plan import Placed, Target
from stablelint.runtime.verify.replay.expression import NotReplayableError, parse_expression
from stablelint.syntax.names import called_name
from stablelint.syntax.signatures import parameters
from stablelint.syntax.source import Source

# Two underscores at both ends: inside a class body other names of this kind would be mangled.
HELPERS = {name: f"__sl_{name}__" for name in ("begin", "see", "hold", "end", "snap", "enter")}
BEGIN, SEE, HOLD, END, SNAP, ENTER = HELPERS.values()
_MODULE = "stablelint.runtime.verify.probe.calls"
_MARK = "_stablelint_operands"
_EARLIER = "_stablelint_earlier"
_READING = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.Slice),
    *(ast.expr_context, ast.USub, ast.UAdd),
)


@dataclass(frozen=True, slots=True)
class Probed:
    """A tree with probes, and which targets they belong to."""

    tree: ast.Module
    placed: tuple[Placed, ...]
    functions: tuple[str, ...]  # names of enclosing functions, by number


Place = tuple[tuple[int, int], tuple[int, int]]  # rows and characters from 1


def _place(source: Source, node: ast.expr | ast.stmt) -> Place:
    span = source.span(node)
    return (span.start.row, span.start.column), (span.end.row, span.end.column)


def _pure(node: ast.expr) -> bool:
    """Whether evaluating the expression once more does nothing but read."""
    return all(isinstance(part, _READING) for part in ast.walk(node))


def _call(name: str, place: ast.AST, *arguments: ast.expr | int) -> ast.Call:
    """A call of a helper at the place of a node; of its arguments those keep theirs that have one."""
    given = [ast.Constant(each) if isinstance(each, int) else each for each in arguments]
    node = ast.Call(ast.Name(name, ast.Load()), given, [])
    for part in ast.walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node


def _parsed(text: str) -> ast.expr | None:
    try:
        return parse_expression(text)
    except NotReplayableError:
        return None


def _by_text(target: Target) -> dict[str, tuple[int, ast.expr]]:
    """The operands of a target, as they are spelled: which one, and its tree."""
    trees = ((index, _parsed(text)) for index, text in enumerate(target.operands))
    return {ast.unparse(tree): (index, tree) for index, tree in trees if tree is not None}


def _add_mark(node: ast.expr, name: str, mark: tuple[int, int]) -> None:
    """Adds a mark, of a target and its operand, to those that a node has under a name."""
    setattr(node, name, [*getattr(node, name, []), mark])


def _overwrites(node: ast.AST) -> bool:
    """Whether a call writes into a tensor that it is given: `x.log_()`, `out=`, `inplace=True`."""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    if name.endswith("_") and not name.endswith("__"):
        return True
    return any(keyword.arg in ("out", "inplace") for keyword in node.keywords)


def _guarded(text: str) -> ast.expr | None:
    """`lambda: operand`, so that an operand which does not exist here cannot stop the program.

    None where reading it does more than read.
    """
    tree = _parsed(text)
    if tree is None or not _pure(tree):
        return None
    for part in ast.walk(tree):
        for name in part._attributes:
            delattr(part, name)  # its place is that of the probe
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), tree)


def _loads(node: ast.AST) -> bool:
    written = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
    return isinstance(node, ast.expr) and not written and not isinstance(node, ast.Starred)


def _within(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that are evaluated as part of `node`, at its own place."""
    yield node
    if isinstance(node, ast.Lambda | ast.GeneratorExp | ast.JoinedStr):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _within(child)
        elif isinstance(child, ast.keyword):
            yield from _within(child.value)


class _Insert(ast.NodeTransformer):
    """Wraps the targets' expressions and the operands inside them."""

    def __init__(self, source: Source, targets: Sequence[Target], offset: int, functions: int) -> None:
        self._source = source
        self._first_function = functions
        self._waiting: dict[Place, list[tuple[int, Target]]] = {}
        for index, target in enumerate(targets):
            self._waiting.setdefault((target.start, target.end), []).append((offset + index, target))
        self.placed: list[Placed] = []
        self.functions: list[str] = []

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        for part in (node.args, *node.decorator_list):
            self.visit(part)
        number = self._first_function + len(self.functions)
        self.functions.append(node.name)
        before = len(self.placed)
        node.body = self._statements(node.body)
        mine = [index for index in range(before, len(self.placed)) if self.placed[index].function is None]
        for index in mine:
            self.placed[index] = replace(self.placed[index], function=number)
        if mine and isinstance(node, ast.FunctionDef):
            self._enter(node, number)
        return node

    def mark_earlier(self, tree: ast.Module) -> None:
        """Mark operands that are computed, with effects or at a cost, in statements before their target."""
        for (start, _), waiting in self._waiting.items():
            for number, target in waiting:
                keys = {key: index for key, (index, tree) in _by_text(target).items() if not _pure(tree)}
                if not keys:
                    continue
                for part in ast.walk(enclosing(tree, start[0]) or tree):
                    if isinstance(part, ast.expr) and _loads(part) and part.lineno <= start[0]:
                        index = keys.get(ast.unparse(part))
                        if index is not None and _place(self._source, part)[0] < start:
                            _add_mark(part, _EARLIER, (number, index))

    visit_FunctionDef = visit_AsyncFunctionDef = _function  # noqa: N815

    def _enter(self, node: ast.FunctionDef, number: int) -> None:
        first = node.body[0]
        at = int(isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1)
        place = node.body[at]
        parts = parameters(node.args)
        if node.args.vararg or node.args.kwarg:
            return  # cannot be called again from the names alone
        keys: list[ast.expr | None] = [ast.Constant(part.arg) for part in parts]
        scope = ast.Dict(keys, [ast.Name(part.arg, ast.Load()) for part in parts])
        node.body.insert(at, _statement(_call(ENTER, place, number, scope)))

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            found = [] if isinstance(statement, ast.Expr) else self._take(statement)
            value = getattr(statement, "value", None)
            if found and isinstance(value, ast.expr):
                setattr(statement, "value", self._site(value, found))  # noqa: B010
                result.append(statement)
                continue
            for number, target in found:
                result.append(_statement(_call(SNAP, statement, number, *_extra(target, frozenset()))))
                self.placed.append(Placed(number, target))
            visited = self.visit(statement)
            assert isinstance(visited, ast.stmt)
            result.append(visited)
        return result

    def _take(self, node: ast.expr | ast.stmt) -> list[tuple[int, Target]]:
        return self._waiting.pop(_place(self._source, node), [])

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                if name in ("body", "orelse", "finalbody"):
                    value[:] = self._statements(value)
                else:
                    value[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node  # its parts have no places of their own before Python 3.12

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.expr) or not _loads(node):
            found: ast.AST = super().visit(node)
            return found
        return self._site(node, self._take(node))

    def _site(self, node: ast.expr, found: Sequence[tuple[int, Target]]) -> ast.expr:
        """`node` with probes for the targets `found` at it, and with what other targets want of it."""
        absent = [(number, target, self._mark(node, number, target)) for number, target in found]
        wanted: list[tuple[int, int]] = getattr(node, _MARK, [])
        earlier: list[tuple[int, int]] = getattr(node, _EARLIER, [])
        inner: ast.AST = super().visit(node)
        assert isinstance(inner, ast.expr)
        for number, index in wanted:
            inner = _call(SEE, node, number, index, inner)
        for number, index in earlier:
            inner = _call(HOLD, node, number, index, inner)
        overwrites = bool(absent) and any(map(_overwrites, ast.walk(node)))
        for number, target, seen in absent:
            begin = _call(BEGIN, node, number, *_extra(target, seen))
            inner = _call(END, node, number, begin, inner)
            self.placed.append(Placed(number, target, overwrites=overwrites))
        return inner

    def _mark(self, node: ast.expr, number: int, target: Target) -> frozenset[int]:
        """Mark the operands that are evaluated inside `node`; their indices."""
        keys = {key: index for key, (index, _) in _by_text(target).items()}
        seen = set()
        for part in _within(node):
            index = keys.get(ast.unparse(part)) if _loads(part) else None
            if index is not None:
                seen.add(index)
                _add_mark(part, _MARK, (number, index))
        return frozenset(seen)


def _statement(call: ast.Call) -> ast.Expr:
    """The call as a statement that takes no room: one that is held by a row may stand behind it."""
    for part in ast.walk(call):
        if isinstance(part, ast.expr):
            part.end_lineno, part.end_col_offset = part.lineno, part.col_offset
    return ast.copy_location(ast.Expr(call), call)


def _extra(target: Target, seen: frozenset[int]) -> Iterator[ast.expr | int]:
    """Index and thunk for each operand not evaluated within the target, where reading it is harmless."""
    for index, text in enumerate(target.operands):
        if index not in seen and (thunk := _guarded(text)) is not None:
            yield from (index, thunk)


def _import_helpers(tree: ast.Module) -> None:
    """Import the helpers behind the last import of torch, or else behind docstring and `__future__`."""
    at = 0
    for index, node in enumerate(tree.body):
        docstring = index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        match node:
            case ast.ImportFrom(module="__future__"):
                at = index + 1
            case ast.ImportFrom(module=str(name), level=0) if name.partition(".")[0] == "torch":
                at = index + 1
            case ast.Import(names=names) if any(item.name.partition(".")[0] == "torch" for item in names):
                at = index + 1
            case _ if docstring:
                at = index + 1
    names = [ast.alias(name, alias) for name, alias in HELPERS.items()]
    statement = ast.ImportFrom(_MODULE, names, 0)
    place = tree.body[min(at, len(tree.body) - 1)] if tree.body else None
    parts: list[ast.ImportFrom | ast.alias] = [statement, *names]
    for part in parts:
        part.lineno = part.end_lineno = place.lineno if place else 1
        part.col_offset = part.end_col_offset = 0
    tree.body.insert(at, statement)


def insert_probes(
    source: bytes, filename: str, targets: Sequence[Target], offset: int = 0, functions: int = 0
) -> Probed:
    """Parse `source` and put a probe at each target; targets that are not found are left out.

    Targets count up from `offset`, enclosing functions from `functions`. Raises SyntaxError when the source
    cannot be parsed.
    """
    tree = ast.parse(source, filename)
    text = decode_source(source)
    insert = _Insert(Source(filename, text, tree, text.split("\n")), targets, offset, functions)
    insert.mark_earlier(tree)
    tree.body = insert._statements(tree.body)
    if insert.placed:
        _import_helpers(tree)
    return Probed(ast.fix_missing_locations(tree), tuple(insert.placed), tuple(insert.functions))
