"""Gives every local, parameter and attribute of a program a name that says nothing."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_KEPT = frozenset(
    {"self", "cls", "training", "requires_grad", "data", "grad", "weight", "bias", *dir(builtins)}
)
_REGISTERS = frozenset(
    {"register_buffer", "register_parameter", "add_module", "getattr", "setattr", "hasattr"}
)


def renamed(code: str) -> str:
    """The same program in which rows, functions, classes and keywords of other packages stay as they are."""
    names = _Names(ast.parse(code))
    lines = [line.encode() for line in code.split("\n")]
    for row, column, old, new in sorted(set(names.edits()), reverse=True):
        line = lines[row - 1]
        assert line[column : column + len(old.encode())] == old.encode(), (row, column, old)
        lines[row - 1] = line[:column] + new.encode() + line[column + len(old.encode()) :]
    return "\n".join(line.decode() for line in lines)


@dataclass
class _Names:
    tree: ast.Module
    given: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes = list(ast.walk(self.tree))
        self.imports = {
            (alias.asname or alias.name).partition(".")[0]
            for node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        self.defined = {node.name for node in nodes if isinstance(node, definitions)}
        formatted = [n for node in nodes if isinstance(node, ast.JoinedStr) for n in ast.walk(node)]
        self.kept = {
            *_KEPT,
            *self.imports,
            *self.defined,
            *(n.id for n in formatted if isinstance(n, ast.Name)),
            *(n.attr for n in formatted if isinstance(n, ast.Attribute)),
            *(name for n in nodes if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names),
            *(n.name for n in nodes if isinstance(n, ast.ExceptHandler | ast.MatchAs) and n.name),
        }
        self.attributes = set(self._attributes(nodes)) - self.kept

    def _attributes(self, nodes: list[ast.AST]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
                yield node.attr
            elif isinstance(node, ast.ClassDef):
                for statement in node.body:
                    target = statement.target if isinstance(statement, ast.AnnAssign) else None
                    targets = statement.targets if isinstance(statement, ast.Assign) else [target]
                    yield from (t.id for t in targets if isinstance(t, ast.Name))
            elif isinstance(node, ast.Call) and _last(node.func) in _REGISTERS:
                yield from (a.value for a in node.args[:2] if _is_text(a))  # type: ignore[misc, attr-defined]

    def edits(self) -> Iterator[tuple[int, int, str, str]]:
        """(row, column in bytes, old, new)."""
        yield from self._within(self.tree, frozenset(), in_class=False)

    def _within(
        self, node: ast.AST, bound: frozenset[str], in_class: bool
    ) -> Iterator[tuple[int, int, str, str]]:
        yield from self._at(node, bound, in_class)
        if isinstance(node, _Function):
            bound, in_class = bound | self._bound(node), False
        elif isinstance(node, ast.ClassDef):
            in_class = True
        for child in ast.iter_child_nodes(node):
            yield from self._within(child, bound, in_class)

    def _bound(self, function: _Function) -> set[str]:
        signature = function.args
        extra = [a for a in (signature.vararg, signature.kwarg) if a is not None]
        arguments = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs, *extra]
        body = ast.walk(function)
        stores = {n.id for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return ({a.arg for a in arguments} | stores) - self.kept

    def _at(
        self, node: ast.AST, bound: frozenset[str], in_class: bool
    ) -> Iterator[tuple[int, int, str, str]]:
        if isinstance(node, ast.Name) and (node.id in bound or (in_class and node.id in self.attributes)):
            yield node.lineno, node.col_offset, node.id, self._new(node.id)
        elif isinstance(node, ast.arg) and node.arg not in self.kept:
            yield node.lineno, node.col_offset, node.arg, self._new(node.arg)
        elif isinstance(node, ast.Attribute) and node.attr in self.attributes and self._is_ours(node):
            row, end = node.end_lineno or 0, node.end_col_offset or 0
            yield row, end - len(node.attr.encode()), node.attr, self._new(node.attr)
        elif isinstance(node, ast.Call):
            if _last(node.func) in self.defined or self._is_super(node.func):
                for keyword in node.keywords:
                    if keyword.arg is not None and keyword.arg not in self.kept:
                        yield keyword.lineno, keyword.col_offset, keyword.arg, self._new(keyword.arg)
            elif _last(node.func) in _REGISTERS:
                for argument in node.args[:2]:
                    if _is_text(argument) and argument.value in self.attributes:  # type: ignore[attr-defined]
                        text: str = argument.value  # type: ignore[attr-defined]
                        yield argument.lineno, argument.col_offset + 1, text, self._new(text)

    def _is_super(self, called: ast.expr) -> bool:
        return isinstance(called, ast.Attribute) and _last(called.value) == "super"

    def _is_ours(self, node: ast.Attribute) -> bool:
        base: ast.expr = node
        while isinstance(base, ast.Attribute | ast.Subscript | ast.Call):
            base = base.func if isinstance(base, ast.Call) else base.value
        return _is_self(node.value) or (isinstance(base, ast.Name) and base.id not in self.imports)

    def _new(self, name: str) -> str:
        private = "_" if name.startswith("_") else ""
        return self.given.setdefault(name, f"{private}q{len(self.given)}")


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
