"""The statements of a program on which a failed expression depends, by the names to which they give values."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_MOST_HOPS = 6
_MOST_STATEMENTS = 80
_CALLED = ("forward", "__call__", "__getitem__", "__iter__", "__len__")  # when an object is used
_SIMPLE = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
_HEADERS = ast.For | ast.If | ast.While | ast.With


class Part(NamedTuple):
    """A statement of a file, and how many hops it stands behind what failed."""

    filename: str
    statement: ast.stmt
    hops: int


@dataclass
class Sources:
    """The files of a program, and which statements give a name its value."""

    trees: dict[str, ast.Module]
    makers: dict[str, list[tuple[str, ast.stmt]]] = field(default_factory=lambda: defaultdict(list))
    taken: dict[str, list[str]] = field(
        default_factory=dict
    )  # what functions and classes call their arguments

    def __post_init__(self) -> None:
        for tree in self.trees.values():
            for node in ast.walk(tree):
                self._define(node)
        for filename, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.stmt):
                    for name in self._named(node):
                        self.makers[name].append((filename, node))

    def _define(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name, args):
                self.taken.setdefault(name, [one.arg for one in args.args if one.arg != "self"])
            case ast.ClassDef(name, body=body):
                for one in body:
                    if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                        self.taken[name] = [each.arg for each in one.args.args[1:]]

    def _named(self, node: ast.stmt) -> Iterator[str]:
        """The names to which a statement gives values, as targets, results or arguments."""
        match node:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (name for one in targets for name in _stored(one))
            case ast.FunctionDef(args=args):
                yield from (one.arg for one in args.args if args.defaults)
        for expression in expressions(node):
            for one in ast.walk(expression):
                if isinstance(one, ast.Call):
                    yield from self._passed(one)

    def _passed(self, call: ast.Call) -> Iterator[str]:
        yield from (one.arg for one in call.keywords if one.arg)
        taken = self.taken.get(last_name(call.func), ())
        yield from (name for name, _ in zip(taken, call.args, strict=False))
        for one in call.args:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.value.lstrip("-").replace("-", "_")

    def returned(self, name: str) -> Iterator[tuple[str, ast.stmt]]:
        """What a function of that name returns, or the methods by which an object of a class of that name is used."""
        for filename, tree in self.trees.items():
            for node in ast.walk(tree):
                match node:
                    case ast.FunctionDef(found) if found == name:
                        functions = [node]
                    case ast.ClassDef(found, body=body) if found == name:
                        functions = [
                            one for one in body if isinstance(one, ast.FunctionDef) and one.name in _CALLED
                        ]
                    case _:
                        continue
                inner = [one for each in functions for one in ast.walk(each)]
                results = [one for one in inner if isinstance(one, ast.Return) or _yields(one)]
                yield from ((filename, one) for one in results if isinstance(one, ast.stmt))

    def behind(self, seeds: list[tuple[str, ast.stmt, ast.AST]]) -> list[Part]:
        """The statements behind the expressions of some statements, the innermost of which comes first."""
        found = {
            id(one): Part(filename, one, int(place > 0)) for place, (filename, one, _) in enumerate(seeds)
        }
        names = {name: int(place > 0) for place, (_, _, node) in enumerate(seeds) for name in _loaded(node)}
        waiting = list(names)
        while waiting and len(found) < _MOST_STATEMENTS:
            name = waiting.pop(0)
            hops = names[name] + 1
            for filename, one in (*self.makers[name], *self.returned(name)) if hops <= _MOST_HOPS else ():
                if id(one) not in found:
                    found[id(one)] = Part(filename, one, hops)
                    more = [each for part in expressions(one) for each in _loaded(part) if each not in names]
                    names.update(dict.fromkeys(more, hops))
                    waiting += dict.fromkeys(more)
        return list(found.values())


def expressions(statement: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement itself, without those of the statements within it."""
    match statement:
        case ast.For(iter=inner):
            return [inner]
        case ast.If(test=inner) | ast.While(test=inner):
            return [inner]
        case ast.With(items=items):
            return [one.context_expr for one in items]
        case ast.FunctionDef(args=args):
            return [*args.defaults, *(one for one in args.kw_defaults if one is not None)]
        case ast.AnnAssign(target, _, value) | ast.Assign([target], value) | ast.AugAssign(target, _, value):
            index = [target.slice] if isinstance(target, ast.Subscript) else []
            return [*index, value] if value is not None else []
        case ast.Assign(value=value) | ast.Expr(value) | ast.Return(ast.expr() as value):
            return [value]
    return []


def last_name(node: ast.expr) -> str:
    """The name of what is called, without what it is asked of."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _stored(target: ast.expr) -> Iterator[str]:
    for one in ast.walk(target):
        if isinstance(one, ast.Name | ast.Attribute):
            yield last_name(one)
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _loaded(node: ast.AST) -> list[str]:
    kinds = ast.Name | ast.Attribute
    names = [
        last_name(one) for one in ast.walk(node) if isinstance(one, kinds) and isinstance(one.ctx, ast.Load)
    ]
    texts = [
        one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    return list(dict.fromkeys([*names, *texts]))


def _yields(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield)
