#!/usr/bin/env python3
"""Searches for false proofs: runs what was proved safe on operands that satisfy nothing but the reason recorded.

What is assumed safe is run under its assumptions: one that fails though they hold is a false proof, too.

    python benchmarks/false_proofs.py PATHS            folders and files
    python benchmarks/false_proofs.py PATHS --list     and what could not be run, with the cause
    python benchmarks/false_proofs.py --releases       the releases under [proofs] in ecosystem.toml
    python benchmarks/false_proofs.py --page           their table in docs/levels.md

What was found of each release is kept in false_proofs.jsonl beside this script (of paths: in --results), and what stands
there is not searched again: a search that was cut off goes on where it was. Delete the file to search anew.

Of a function in which an operation was discharged, the statements that lead to the operation are cut out: the ones
around and before it on which it depends, and their tests. What they need from outside (parameters, attributes, calls
of other functions) is made up, again and again: zeros, ties, tiny and large numbers of both signs, masks that are
empty. Where every operand of the operation is finite and within reach of its contract, and its result or gradient is
not finite, nor what its statement makes of it, the proof is false. Slices whose tests fail, or that raise, say nothing.

Nothing of the packages is imported; the slices themselves are executed: run it on packages that you would install.
"""

import argparse
import ast
import collections
import contextlib
import copy
import functools
import importlib
import itertools
import json
import math
import operator
import random
import signal
import sys
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import numpy
import torch
from torch.overrides import TorchFunctionMode

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import page
import premises
from releases import fetch, releases

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.analysis.files.callsites import defaults_of
from stablelint.catalog import load_catalog
from stablelint.diagnostic import Diagnostic, Status

CATALOG = load_catalog(entry_points=False)
OBLIGATIONS = frozenset({"SL101", "SL102", "SL103", "SL104", "SL201", "SL204", "SL206"})
RESULTS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "levels.md"
TRIES = 400
SECONDS = 4
ELEMENTS = (
    0.0,
    0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    -7.0,
    1e-3,
    -1e-3,
    1e-8,
    -1e-8,
    1e-20,
    100.0,
    -100.0,
    1e4,
    -1e4,
)
SHAPES = ((3, 3), (2, 3), (4,), (1,), (2, 3, 3), (1, 1), (2, 2, 3, 3))
REPLACED = frozenset({"where", "masked_fill", "nan_to_num", "index"})  # the result is mended later
WITHOUT_GRADIENT = frozenset({"no gradient", "not differentiable", "relu"})


@dataclass(frozen=True, slots=True)
class Slice:
    """What of a function leads to an operation: statements with the tests around them, and the operation."""

    statements: list[ast.stmt]
    operation: ast.expr
    outcome: ast.expr  # what its statement computes of it
    operands: list[ast.expr]
    inputs: dict[str, ast.arg | None]  # what must be made up, with its parameter
    called: frozenset[str]  # names and attributes that it calls
    objects: frozenset[str]  # inputs that are no tensors: `self`, what the file imports
    graded: bool  # gradients are recorded where it stands
    private: bool  # the engine may have seen all calls of the function
    torch: dict[str, object]  # what the file imports from torch, under its names there
    methods: dict[str, ast.FunctionDef]  # of the class, those that it calls
    dtypes: frozenset[str]  # inputs that name an element type
    devices: frozenset[str]  # and those that name a device
    flat: frozenset[str]  # attributes that ask for no gradient
    premises: premises.Premises  # what the proof assumes


class UnsuitedError(Exception):
    """The operation cannot be cut out."""


def proofs(paths: Sequence[Path]) -> Iterator[tuple[Diagnostic, ast.Module]]:
    """The obligations of all files that are discharged, or assumed to hold, with the tree of each file."""
    for root in paths:
        folder = root if root.is_dir() else root.parent
        files = sorted(root.rglob("*.py")) if root.is_dir() else [root]
        for path in files:
            source = path.read_bytes()
            report = check_source(source, str(path), CATALOG, AnalysisOptions(root=folder, discharged=True))
            found = [d for d in report.discharged if d.code in OBLIGATIONS]
            if found:
                tree = ast.parse(source)
                yield from ((d, tree) for d in found)


def cut(diagnostic: Diagnostic, tree: ast.Module, whole: bool = False) -> Slice:
    """The slice that ends in a discharged operation, or in what its `whole` statement makes of it.

    Raises UnsuitedError.
    """
    path = _path_to(diagnostic, tree)
    operation = path[-1]
    if not isinstance(operation, ast.expr):
        raise UnsuitedError("no expression")
    functions = [n for n in path if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    if not functions:
        raise UnsuitedError("in no function")
    around = path[path.index(functions[-1]) :]
    if any(isinstance(n, ast.comprehension | ast.Lambda) for n in around):
        raise UnsuitedError("in a lambda, or where a comprehension loops")
    statements = _before(around, operation)
    outcome = _outcome(path) if whole else operation
    needed = _names(outcome)
    kept: list[ast.stmt] = []
    for statement in reversed(statements):
        changed = _changed(statement)
        if isinstance(statement, ast.Assert) or changed & needed:
            kept.append(statement)
            needed |= _names(statement)
    function = functions[-1]
    private = function.name.startswith("_") or not isinstance(
        path[path.index(function) - 1], ast.Module | ast.ClassDef
    )
    owner = next((n for n in reversed(path) if isinstance(n, ast.ClassDef)), None)
    methods = _methods(owner, (*kept, operation))
    needed = needed.union(*map(_names, methods.values()))
    called_here = _functions(tree, needed)
    needed = needed.union(*map(_names, called_here))
    constants = _constants(tree, needed - _stored(function) - _parameters(function).keys())
    if private:
        constants += [
            ast.Assign([ast.Name(p.arg, ast.Store())], d) for p, d in defaults_of(function) if p.arg in needed
        ]
    constants += called_here
    steps = [ast.copy_location(Leaving().visit(copy.deepcopy(s)), s) for s in (*constants, *kept[::-1])]
    assumed = premises.read(diagnostic.assumes)
    if assumed.shifted or assumed.apart:
        operation = outcome = copy.deepcopy(operation)
        watch = premises.Additions()
        steps = watch.visit(ast.Module(steps, [])).body
        for node in (operation, *methods.values()):
            watch.visit(node)
    parameters = _parameters(function)
    nodes = (*steps, *methods.values(), outcome)
    made = {
        name: parameters.get(name)
        for name in sorted(_unbound([*steps, *methods.values()], outcome) - _of_torch(tree).keys())
        if name in parameters or name not in KNOWN
    }
    called = {_last(n.func) for s in nodes for n in ast.walk(s) if isinstance(n, ast.Call)}
    graded = not any(
        "no_grad" in ast.unparse(n) or "inference_mode" in ast.unparse(n) for n in _contexts(path)
    )
    looked_up = {n.attr for s in nodes for n in ast.walk(s) if isinstance(n, ast.Attribute)}
    read = _read(tree, Path(diagnostic.filename))
    if (called | looked_up | made.keys()) & (read - methods.keys()) or (
        "forward" in read and _calls_a_module(nodes, methods)
    ):
        raise UnsuitedError("rests on a method, or on another file")
    written = {n for value in assumed.settings.values() for n in _names(ast.parse(value))}
    premises.bind(assumed, list(made), premises.attributes_of(*nodes), owner, _constants(tree, written))
    if made.keys() & _bound_at_top(tree):
        raise UnsuitedError("rests on what the file binds")
    aliases = (a for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names)
    objects = {"self", *((a.asname or a.name).partition(".")[0] for a in aliases)}
    ours = _of_torch(tree)
    objects -= ours.keys()
    objects |= {n.func.id for s in nodes for n in ast.walk(s) if _calls_a_name(n)}  # type: ignore[attr-defined]
    objects |= _with_other_attributes(nodes)
    return Slice(
        steps,
        operation,
        outcome,
        _operands(operation),
        made,
        frozenset(called),
        frozenset(objects),
        graded,
        private,
        ours,
        methods,
        frozenset(_given_as(nodes, "dtype")),
        frozenset(_given_as(nodes, "device")),
        frozenset(_without_gradient(tree)),
        assumed,
    )


def _methods(owner: ast.ClassDef | None, nodes: Sequence[ast.AST]) -> dict[str, ast.FunctionDef]:
    """The methods of a class that are called or read on `self`, with those that they call, without decorators."""
    own = {s.name: s for s in owner.body if isinstance(s, ast.FunctionDef)} if owner is not None else {}
    found: dict[str, ast.FunctionDef] = {}
    pending = list(nodes)
    while pending:
        for node in ast.walk(pending.pop()):
            if isinstance(node, ast.Attribute) and _root(node.value) == "self" and node.attr in own:
                if node.attr not in found and not own[node.attr].decorator_list:
                    found[node.attr] = _plain(own[node.attr])
                    pending.append(found[node.attr])
    return found


def _with_other_attributes(nodes: Sequence[ast.AST]) -> set[str]:
    """Names of which an attribute is read that no tensor has."""
    return {
        n.value.id
        for s in nodes
        for n in ast.walk(s)
        if isinstance(n, ast.Attribute)
        and isinstance(n.value, ast.Name)
        and not hasattr(torch.Tensor, n.attr)
    }


def _given_as(nodes: Sequence[ast.AST], keyword: str) -> Iterator[str]:
    """The names that are passed by a keyword: `dtype=kind`."""
    for node in (n for s in nodes for n in ast.walk(s)):
        if isinstance(node, ast.keyword) and node.arg == keyword and isinstance(node.value, ast.Name):
            yield node.value.id


def _without_gradient(tree: ast.Module) -> Iterator[str]:
    """The attributes that ask for no gradient: buffers, and what `float` or `int` has made."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last(node.func) == "register_buffer" and node.args:
            yield ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else ""
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if _last(node.value.func) in ("float", "int"):
                yield from (t.attr for t in node.targets if isinstance(t, ast.Attribute))


def _contexts(path: list[ast.AST]) -> Iterator[ast.expr]:
    """The decorators and context managers around an operation."""
    for node in path:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from node.decorator_list
        elif isinstance(node, ast.With | ast.AsyncWith):
            yield from (item.context_expr for item in node.items)


def _read(tree: ast.Module, path: Path) -> set[str]:
    """Names of methods of the file, and of what it imports from its own package: the engine looks into them."""
    methods = {
        s.name
        for c in ast.walk(tree)
        if isinstance(c, ast.ClassDef)
        for s in c.body
        if isinstance(s, ast.FunctionDef)
    }
    own = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and (n.level or (n.module or "").partition(".")[0] in path.parts)
    ]
    whole = (a for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names)
    modules = {a.asname or a.name for n in own for a in n.names}
    modules.update(a.asname or a.name for a in whole if a.name.partition(".")[0] in path.parts)
    through = {
        n.func.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and _root(n.func) in modules
    }
    return methods | modules | through


def _of_torch(tree: ast.Module) -> dict[str, object]:
    """What `from torch… import` and `import torch.… as` bring into a file."""
    found: dict[str, object] = {}
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.asname and alias.name.startswith("torch."):
                with contextlib.suppress(ImportError, AttributeError):
                    found[alias.asname] = importlib.import_module(alias.name)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            for alias in node.names:
                with contextlib.suppress(ImportError, AttributeError):
                    imported = getattr(importlib.import_module(node.module or ""), alias.name)
                    found[alias.asname or alias.name] = imported
    return found


def _calls_a_module(nodes: Sequence[ast.AST], methods: Container[str]) -> bool:
    """Whether something calls an attribute of `self`, or an element of one: the engine looks into its `forward`.

    Methods of the class are run, and what a tensor has for a method is taken for one.
    """
    for function in (n.func for s in nodes for n in ast.walk(s) if isinstance(n, ast.Call)):
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            if function.value.id == "self" and function.attr not in methods:
                return True
        elif isinstance(function, ast.Attribute | ast.Subscript) and _root(function) == "self":
            if not hasattr(torch.Tensor, getattr(function, "attr", "")):
                return True
    return False


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _calls_a_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


class Leaving(ast.NodeTransformer):
    """Ways out of the function, on which the operation is not reached."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return ast.copy_location(ast.Raise(ast.Name("ArithmeticError", ast.Load())), node)


def _functions(tree: ast.Module, names: set[str]) -> list[ast.stmt]:
    """The functions of the file that are called, with those that they call."""
    own = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    wanted = [name for name in sorted(names) if name in own]
    for name in wanted:  # grows while it is walked
        wanted.extend(sorted(n for n in _names(own[name]) if n in own and n not in wanted))
    return [_plain(own[name]) for name in wanted]


def _plain(function: ast.FunctionDef) -> ast.FunctionDef:
    """A function without annotations and decorators, which may name what is not here."""
    copied = copy.deepcopy(function)
    copied.decorator_list, copied.returns = [], None
    for argument in _parameters(copied).values():
        argument.annotation = None
    return copied


def _constants(tree: ast.Module, names: set[str]) -> list[ast.stmt]:
    """The numbers that the file binds to some of the names, once; what a function binds is another's."""
    declared = {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    assigned = [s for s in tree.body if isinstance(s, ast.Assign)]
    bound = collections.Counter(t.id for s in assigned for t in s.targets if isinstance(t, ast.Name))
    return [
        s
        for s in assigned
        if all(isinstance(t, ast.Name) and t.id in names and bound[t.id] == 1 for t in s.targets)
        and not declared & _stored(s)
        and _names(s.value) <= KNOWN.keys()
    ]


def _bound_at_top(tree: ast.Module) -> set[str]:
    """The names that the body of a file binds, other than by definitions and imports."""
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return set().union(*(_stored(s) for s in tree.body if not isinstance(s, definitions)))


def _path_to(diagnostic: Diagnostic, tree: ast.Module) -> list[ast.AST]:
    """From the module down to the expression of a diagnostic."""
    start, end = diagnostic.span.start, diagnostic.span.end
    best: list[ast.AST] = []
    stack: list[list[ast.AST]] = [[tree]]
    while stack:
        path = stack.pop()
        node = path[-1]
        if isinstance(node, ast.expr):
            place = (node.lineno, node.col_offset + 1, node.end_lineno, (node.end_col_offset or 0) + 1)
            if place == (start.row, start.column, end.row, end.column) and len(path) > len(best):
                best = path
        stack.extend([*path, child] for child in ast.iter_child_nodes(node))
    if not best:
        raise UnsuitedError("not found")
    return best


def _before(around: list[ast.AST], operation: ast.expr) -> list[ast.stmt]:
    """The statements that run before an operation within its function, and the tests that lead to it as asserts."""
    found: list[ast.stmt] = []
    for outer, inner in itertools.pairwise(around):
        if isinstance(outer, ast.For) and inner in outer.body:
            found.append(_one_turn(outer.target, outer.iter))
            if _last(getattr(outer.iter, "func", outer.iter)) == "range":
                found.append(ast.Assert(outer.iter))  # there is a turn
        if isinstance(outer, ast.While) and inner in outer.body:
            found.append(ast.Assert(outer.test))
        for clause in getattr(outer, "generators", ()):
            found += [_one_turn(clause.target, clause.iter), *map(ast.Assert, clause.ifs)]
        if isinstance(outer, ast.If) and isinstance(inner, ast.stmt):
            test = outer.test if inner in outer.body else ast.UnaryOp(ast.Not(), outer.test)
            found.append(ast.Assert(test))
        if isinstance(outer, ast.IfExp) and inner is not outer.test:
            test = outer.test if inner is outer.body else ast.UnaryOp(ast.Not(), outer.test)
            found.append(ast.Assert(test))
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(outer, block, None)
            if isinstance(statements, list) and inner in statements:
                found.extend(statements[: statements.index(inner)])
    return [s for s in found if not isinstance(s, ast.Expr) or not isinstance(s.value, ast.Constant)]


def _one_turn(target: ast.expr, iterated: ast.expr) -> ast.stmt:
    """What a loop binds in one of its turns, any one."""
    return ast.Assign([target], ast.Call(ast.Name(ONE_OF, ast.Load()), [iterated], []))


def _changed(node: ast.AST) -> set[str]:
    """The names and attribute chains that a statement may bind or write into."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store | ast.Del):
            found.add(part.id)
        elif isinstance(part, ast.FunctionDef):
            found.add(part.name)
        elif isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            found |= _names(part.value)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if part.func.attr.endswith("_") and not part.func.attr.endswith("__"):
                found |= _names(part.func.value)
        elif isinstance(part, ast.Return | ast.Raise):
            found |= _names(node)
        if isinstance(part, ast.keyword) and part.arg == "out":
            found |= _names(part.value)
    return found


def _outcome(path: Sequence[ast.AST]) -> ast.expr:
    """What the statement of an operation computes of its result, as far as torch does."""
    found = path[-1]
    for inner, outer in itertools.pairwise(reversed(path)):
        if not _computes(outer, inner):
            break
        found = outer if isinstance(outer, ast.expr) else found
    assert isinstance(found, ast.expr)
    return found


def _computes(outer: ast.AST, inner: ast.AST) -> bool:
    if isinstance(outer, ast.Attribute):
        return hasattr(torch.Tensor, outer.attr)
    if isinstance(outer, ast.Call):
        return outer.func is inner or _root(outer.func) in ("torch", "F", "math")
    return isinstance(outer, ast.BinOp | ast.UnaryOp | ast.Compare | ast.keyword | ast.Tuple | ast.List)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _stored(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.arg]:
    signature = function.args
    return {a.arg: a for a in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)}


def _unbound(statements: list[ast.stmt], operation: ast.expr) -> set[str]:
    """Names that the slice reads before it binds them."""
    bound: set[str] = set()
    free: set[str] = set()
    for node in (*statements, operation):
        if isinstance(node, ast.FunctionDef):
            bound.add(node.name)
            free |= _names(node) - bound - _stored(node) - _parameters(node).keys()
            continue
        free |= {n for n in _names(node) if n not in bound}
        if not isinstance(node, ast.If | ast.For | ast.While | ast.Try):
            bound |= {
                n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
    return free


def _operands(operation: ast.expr) -> list[ast.expr]:
    """What an operation computes with."""
    if isinstance(operation, ast.BinOp):
        return [operation.left, operation.right]
    if isinstance(operation, ast.Call):
        receiver = operation.func.value if isinstance(operation.func, ast.Attribute) else None
        own = (
            [receiver] if receiver is not None and _root(receiver) not in ("torch", "F", "math", "nn") else []
        )
        return [*own, *(a for a in operation.args if not isinstance(a, ast.Starred))]
    raise UnsuitedError("no operation")


def one_of(iterated: Iterable[object]) -> object:
    """One element, each of the first few as likely as the others."""
    return random.choice(list(itertools.islice(iterated, 4)))


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


ONE_OF = "_one_of"  # no name of a slice
KNOWN: dict[str, object] = {
    ONE_OF: one_of,
    premises.ADDED: operator.add,
    "torch": torch, "np": numpy, "numpy": numpy, "nn": torch.nn, "F": torch.nn.functional, "math": math,
    "Tensor": torch.Tensor,
    **{name: getattr(torch, name) for name in ("log", "exp", "sqrt", "softmax", "relu", "sigmoid")},
    **vars(__builtins__ if not isinstance(__builtins__, dict) else __import__("builtins")),
}  # fmt: skip


@dataclass
class Maker:
    """Makes up what a slice needs; `self` and other objects answer with more of the same."""

    random: random.Random
    shape: tuple[int, ...] = (3, 3)
    numbers: dict[str, object] = field(default_factory=dict)

    def value(self, parameter: ast.arg | None) -> object:
        """A tensor, a number or a mask: as annotated, or any."""
        written = ast.unparse(parameter.annotation) if parameter is not None and parameter.annotation else ""
        if written == "float":
            return self.random.choice(ELEMENTS)
        if written == "int":
            return self.random.choice((0, 1, 2, 3))
        if written == "bool":
            return self.random.random() < 0.5
        if "ndarray" in written:
            return self.tensor().detach()  # as an array, it asks for no gradient
        kind = self.random.random() if "Tensor" not in written else 0.0
        if "Bool" in written or 0.6 < kind <= 0.7:
            return torch.rand(self.shape) < self.random.choice((0.0, 0.5, 1.0))
        if "Long" in written or 0.7 < kind <= 0.8:
            return torch.randint(0, 3, self.shape)
        if 0.8 < kind <= 0.9:
            return self.random.choice((0, 1, 2, 3))
        if kind > 0.9:
            return self.random.choice(ELEMENTS)
        return self.tensor()

    def tensor(self) -> torch.Tensor:
        """Elements of one kind, of every kind, or rows that agree."""
        count = math.prod(self.shape)
        style = self.random.random()
        elements = [self.random.choice(ELEMENTS) for _ in range(count)]
        made = torch.tensor(elements).reshape(self.shape)
        if style < 0.25:
            made = torch.full(self.shape, elements[0])
        elif style < 0.35:
            made = torch.randn(self.shape)
        return made.requires_grad_().clone()  # a gradient is asked for, and it can be written into


@dataclass
class Stand:
    """An object of which nothing is known: each attribute is made up once, and a call yields a tensor.

    A call without arguments yields the same again: what it was tested for is true of it, as for a reader.
    """

    maker: Maker
    called: frozenset[str]  # attributes that the slice calls
    methods: dict[str, Callable[..., object]] = field(default_factory=dict)
    flat: frozenset[str] = frozenset()  # attributes that ask for no gradient
    made: dict[str, object] = field(default_factory=dict)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.methods:
            return functools.partial(self.methods[name], self)
        if name not in self.made:
            made = Stand(self.maker, self.called) if name in self.called else self.maker.value(None)
            self.made[name] = made.detach() if name in self.flat and isinstance(made, torch.Tensor) else made
        return self.made[name]

    def __call__(self, *arguments: object, **keywords: object) -> object:
        if arguments or keywords:
            return self.maker.tensor()
        return self.made.setdefault("()", self.maker.tensor())


def falsified(part: Slice, diagnostic: Diagnostic, tries: int, seed: int) -> tuple[int, str]:
    """How many runs came to the operation, and the first operands for which it fails."""
    body = ast.fix_missing_locations(ast.Module(part.statements, []))
    steps = compile(body, "<slice>", "exec")
    operands = [
        compile(ast.fix_missing_locations(ast.Expression(o)), "<operand>", "eval") for o in part.operands
    ]
    whole = compile(ast.fix_missing_locations(ast.Expression(_over_operands(part))), "<operation>", "eval")
    outcome = None
    if part.outcome is not part.operation:
        after = ast.fix_missing_locations(ast.Expression(_over_result(part)))
        outcome = compile(after, "<outcome>", "eval")
    felt = part.graded and diagnostic.discharged_by not in WITHOUT_GRADIENT
    runs = 0
    for attempt in range(tries):
        try:
            space = _inputs(part, seed + attempt)
            exec(steps, space)
            premises.hold(part.premises, space)
            values = [eval(code, space) for code in operands]
            failure = _failure(whole, outcome, values, felt, space)
        except UnsuitedError:  # it takes too long
            raise
        except Exception:
            continue
        runs += 1
        if failure and overflows(part, steps, operands, seed + attempt):
            failure = ""
        if failure:
            return runs, failure
    return runs, ""


class Finite(TorchFunctionMode):
    """Notes whether an operation has yielded something that is not finite."""

    broken = False

    def __torch_function__(
        self, function: Any, types: object, arguments: Any = (), keywords: Any = None
    ) -> object:
        result = function(*arguments, **(keywords or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            self.broken = self.broken or not _is_finite(result.detach())
        return result


def overflows(part: Slice, steps: CodeType, operands: Sequence[CodeType], seed: int) -> bool:
    """Whether an earlier operation of the slice yields inf or NaN: that is a finding, or none, of its own."""
    space = _inputs(part, seed)
    with Finite() as watch:
        exec(steps, space)
        for operand in operands:
            eval(operand, space)
    return watch.broken


def _inputs(part: Slice, seed: int) -> dict[str, object]:
    """Something for all that a slice needs from outside."""
    torch.manual_seed(seed)
    random.seed(seed)
    maker = Maker(random.Random(seed))
    maker.shape = maker.random.choice(SHAPES)
    space = KNOWN | part.torch | {premises.ADDED: premises.adding(part.premises)}
    for name, parameter in part.inputs.items():
        if name in part.dtypes:
            space[name] = torch.float32
        elif name in part.devices:
            space[name] = torch.device("cpu")
        else:
            known = Stand(maker, part.called, flat=part.flat)
            space[name] = known if name in part.objects else maker.value(parameter)
    own = space.get("self")
    if isinstance(own, Stand) and part.methods:
        exec(
            compile(ast.fix_missing_locations(ast.Module([*part.methods.values()], [])), "<methods>", "exec"),
            space,
        )
        own.methods = {name: space.pop(name) for name in part.methods}  # type: ignore[misc]
    premises.establish(part.premises, space, KNOWN | part.torch)
    return space


def _over_operands(part: Slice) -> ast.expr:
    """The operation over variables that hold its operands."""
    names = {id(operand): f"_operand{i}" for i, operand in enumerate(part.operands)}

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if id(node) in names:
                return ast.Name(names[id(node)], ast.Load())
            visited: ast.AST = self.generic_visit(node)
            return visited

    copied = Replace().visit(_shallow(part.operation))
    assert isinstance(copied, ast.expr)
    return copied


def _over_result(part: Slice) -> ast.expr:
    """What the statement computes, over a variable that holds the result of the operation."""

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if node is part.operation:
                return ast.Name("_result", ast.Load())
            fields = {name: self._copied(value) for name, value in ast.iter_fields(node)}
            return type(node)(**fields)

        def _copied(self, value: object) -> object:
            if isinstance(value, list):
                return [self._copied(one) for one in value]
            return self.visit(value) if isinstance(value, ast.AST) else value

    copied = Replace().visit(part.outcome)
    assert isinstance(copied, ast.expr)
    return copied


def _shallow(node: ast.expr) -> ast.expr:
    """A copy whose operands are the very nodes of the original."""
    if isinstance(node, ast.BinOp):
        return ast.BinOp(node.left, node.op, node.right)
    assert isinstance(node, ast.Call)
    function = node.func
    if isinstance(function, ast.Attribute):
        function = ast.Attribute(function.value, function.attr, ast.Load())
    return ast.Call(function, list(node.args), list(node.keywords))


def _failure(
    whole: CodeType, outcome: CodeType | None, values: list[object], felt: bool, space: dict[str, object]
) -> str:
    """The operands for which the operation, or its gradient, is not finite although they are, nor what becomes of it."""
    if not all(map(_is_finite, values)) or not any(isinstance(v, torch.Tensor) for v in values):
        return ""
    if _overflows(values):
        return ""
    return _broken(whole, outcome, values, felt, space)


def _broken(
    whole: CodeType, outcome: CodeType | None, values: list[object], felt: bool, space: dict[str, object]
) -> str:
    """What is not finite of an operation, or of its `outcome`: its value, or the gradient of an operand; else ""."""
    leaves = [
        v.detach().clone().requires_grad_(felt and v.requires_grad)
        if isinstance(v, torch.Tensor) and v.is_floating_point()
        else v
        for v in values
    ]
    result = eval(whole, space | {f"_operand{i}": v for i, v in enumerate(leaves)})
    if not isinstance(result, torch.Tensor):
        return ""
    told = f"{_all_shown(values)} -> {_shown(result)}" if not _is_finite(result) else ""
    if outcome is not None:
        became = eval(outcome, space | {"_result": result})
        result = became if isinstance(became, torch.Tensor | float | int) else result
        told = told if not _is_finite(result) else ""
    if not told and felt and isinstance(result, torch.Tensor) and result.requires_grad:
        result.sum().backward()
        spoiled = (v.grad for v in leaves if isinstance(v, torch.Tensor) and v.grad is not None)
        told = next(
            (f"{_all_shown(values)} -> gradient {_shown(g)}" for g in spoiled if not _is_finite(g)), ""
        )
    return told


def _overflows(values: list[object]) -> bool:
    """Whether operands are so large, or a divisor so small, that an infinity is no fault of a contract."""
    sizes = [
        v.detach().abs()
        for v in values
        if isinstance(v, torch.Tensor) and v.numel() and v.dtype is not torch.bool
    ]
    largest = max((float(size.max()) for size in sizes), default=0.0)
    least = min((float(size[size > 0].min()) for size in sizes if (size > 0).any()), default=1.0)
    return largest > 1e12 or least < 1e-15 or largest / least**2 > 1e35  # the gradient of a quotient


def _is_finite(value: object) -> bool:
    if isinstance(value, torch.Tensor):
        return bool(torch.isfinite(value).all())
    return not isinstance(value, float) or math.isfinite(value)


def _all_shown(values: list[object]) -> str:
    return "; ".join(map(_shown, values))


def _shown(value: object) -> str:
    text = str(value.tolist()) if isinstance(value, torch.Tensor) else repr(value)
    return text if len(text) < 120 else f"{text[:117]}..."


@contextlib.contextmanager
def _limit(seconds: int) -> Iterator[None]:
    def leave(number: int, frame: object) -> None:
        raise UnsuitedError("takes too long")

    signal.signal(signal.SIGALRM, leave)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def left_over(failure: str, diagnostic: Diagnostic, tree: ast.Module, options: argparse.Namespace) -> str:
    """A failure, unless the statement of the operation makes something finite of what it yields, whenever it runs."""
    try:
        part = cut(diagnostic, tree, whole=True)
    except UnsuitedError:  # what else stands in the statement cannot be run here
        return failure
    if part.outcome is part.operation:
        return failure
    runs, remaining = falsified(part, diagnostic, options.tries, options.seed)
    return remaining if runs else failure


def search(root: Path, options: argparse.Namespace) -> "Found":
    """Runs the proofs of a folder or file; those that are false are printed, too."""
    found = Found(root.name)
    for diagnostic, tree in proofs([root]):
        assumed = diagnostic.status is Status.ASSUMED
        found.proofs, found.assumed = found.proofs + (not assumed), found.assumed + assumed
        if diagnostic.discharged_by in REPLACED:
            found.causes["mended later"] += 1
            continue
        try:
            with _limit(SECONDS):
                part = cut(diagnostic, tree)
                runs, failure = falsified(part, diagnostic, options.tries, options.seed)
                failure = failure and left_over(failure, diagnostic, tree, options)
        except (UnsuitedError, SyntaxError, ValueError, TypeError) as error:
            found.causes[str(error)] += 1
            continue
        if not runs:
            found.causes["never reached"] += 1
        found.run, found.run_assumed = (
            found.run + (runs > 0 and not assumed),
            found.run_assumed + (runs > 0 and assumed),
        )
        if failure and part.private:
            found.causes["open to what a private function is passed"] += 1
        elif failure:
            told = f"{_told(diagnostic, root)}\n    {failure}"
            (found.false_assumed if assumed else found.false).append(told)
            print(told, flush=True)
        elif options.list and not runs:
            print(f"never reached: {_told(diagnostic, root)}")
    return found


def _told(diagnostic: Diagnostic, root: Path) -> str:
    where = Path(diagnostic.filename)
    place = f"{where.relative_to(root) if where != root else where.name}:{diagnostic.span.start.row}"
    assumed = f" assuming {', '.join(diagnostic.assumes)}" if diagnostic.assumes else ""
    return f"{place} {diagnostic.code} by {diagnostic.discharged_by}: `{diagnostic.expression}`{assumed}"


@dataclass
class Found:
    """What the search found of one release or path."""

    name: str
    proofs: int = 0
    run: int = 0
    false: list[str] = field(default_factory=list)
    assumed: int = 0
    run_assumed: int = 0
    false_assumed: list[str] = field(default_factory=list)
    causes: collections.Counter[str] = field(
        default_factory=collections.Counter
    )  # not to run, or not to count


def kept(results: Path) -> dict[str, Found]:
    """What was found before, by name."""
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    rows = [Found(**json.loads(line)) for line in lines]
    return {row.name: row for row in rows}


def write_page(found: Iterable[Found]) -> None:
    """The table of the releases in docs/levels.md."""
    rows = sorted(found, key=lambda row: row.name.lower())
    total = Found("together")
    for row in rows:
        total.proofs, total.run = total.proofs + row.proofs, total.run + row.run
        total.assumed, total.run_assumed = total.assumed + row.assumed, total.run_assumed + row.run_assumed
        total.false += row.false
        total.false_assumed += row.false_assumed
    lines = [
        [r.name, *map(str, (r.proofs, r.run, len(r.false), r.assumed, r.run_assumed, len(r.false_assumed)))]
        for r in (*rows, total)
    ]
    head = ["release", "proved safe", "run", "false", "assumed safe", "run", "false"]
    page.fill(PAGE, "false proofs", page.table(head, lines))


def main() -> int:
    """Searches, lists what is false, and counts. The exit code is 1 where a proof is false."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--releases", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results = options.results or (RESULTS if options.releases or options.page else None)
    known = kept(results) if results is not None else {}
    falsified_here = 0
    for root in (fetch(*r) for r in releases(table="proofs").items()) if options.releases else options.paths:
        if root.name in known:
            continue
        found = search(root, options)
        falsified_here += len(found.false) + len(found.false_assumed)
        print(f"{root.name}: proofs {found.proofs}, run {found.run}, false {len(found.false)}", end="; ")
        print(f"assumed {found.assumed}, run {found.run_assumed}, false {len(found.false_assumed)}", end="")
        print("".join(f", {cause} {count}" for cause, count in found.causes.most_common()), flush=True)
        if results is not None:
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(vars(found)) + "\n")
    if options.page:
        write_page(kept(options.results or RESULTS).values())
    return 1 if falsified_here else 0


if __name__ == "__main__":
    raise SystemExit(main())
