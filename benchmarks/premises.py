"""Makes true what a proof assumes: settings at their values, counts that are positive, what is added to not negative.

A premise is one of the sentences under `assumes`. A setting (`eps=1e-08`) is bound; an attribute that a constructor makes of
such settings alone is constructed; of the others, a run in which one does not hold says nothing.
"""

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stablelint.analysis.files.callsites import defaults_of

ADDED = "_added"  # no name of a slice
AT_MOST = 1e-2  # a number above is not added to keep another off 0
POSITIVE = (1, 2, 3, 4, 1e-6)
SPACE = dict[str, Any]


class UnmetError(ArithmeticError):
    """A premise does not hold in this run."""


class UnknownPremiseError(ValueError):
    """What is assumed cannot be made true here."""


@dataclass
class Premises:
    """What a proof assumes, by what is done about it."""

    settings: dict[str, str] = field(default_factory=dict)  # a parameter or an attribute, and its value
    made: set[str] = field(default_factory=set)  # attributes as the constructor leaves them
    positive: list[str] = field(default_factory=list)  # expressions
    nonnegative: list[str] = field(default_factory=list)
    ordered: list[tuple[str, str]] = field(default_factory=list)  # the first is above the second
    matrices: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)  # what is not empty
    shifted: bool = False  # what a small number is added to is not negative
    apart: bool = False  # or is not minus that number
    constants: list[ast.stmt] = field(default_factory=list)  # that the settings name
    parameters: dict[str, str | None] = field(default_factory=dict)  # of the constructor, with their defaults
    construction: list[ast.stmt] = field(default_factory=list)  # what a constructor makes of them


def read(assumed: Sequence[str]) -> Premises:
    """The premises that sentences state. Raises UnknownPremiseError."""
    found = Premises()
    for text in assumed:
        subject, verb, rest = text.rpartition(" is ")
        name, equals, value = text.partition("=")
        if equals and " " not in name:
            found.settings[name.removeprefix("self.")] = value
        elif text.endswith(" as `__init__` leaves it"):
            found.made.add(text.partition(" ")[0].removeprefix("self."))
        elif rest == "positive":
            found.positive.append(subject)
        elif rest == "not negative":
            found.nonnegative.append(subject)
        elif rest == "not empty":
            found.filled.append(subject)
        elif rest == "not negative":
            found.shifted = True
        elif rest == "not minus the offset":
            found.apart = True
        elif rest.startswith("above "):
            found.ordered.append((subject, rest.removeprefix("above ")))
        elif text.endswith(" has two dimensions"):
            found.matrices.append(text.partition(" ")[0])
        elif not text.endswith(
            (" factors", " stays as it is")
        ):  # follows from the settings, or from what is run
            raise UnknownPremiseError(f"assumes that {text}" if verb else f"assumes {text}")
    return found


def bind(
    premises: Premises,
    inputs: Sequence[str],
    attributes: set[str],
    owner: ast.ClassDef | None,
    constants: list[ast.stmt],
) -> None:
    """Finds what the settings decide. Raises UnknownPremiseError where that is nothing that the slice reads."""
    constructor = _constructor(owner)
    decided: set[str] = set()
    if constructor is not None:
        decided = {a for a in attributes if a in premises.made or _rests_on(constructor, a, premises)}
        premises.construction = _that_make(constructor.body, decided)
        premises.parameters = {a.arg: None for a in constructor.args.args} | {
            a.arg: ast.unparse(default) for a, default in defaults_of(constructor)
        }
    premises.constants, wanted = constants, premises.construction
    bound = {name for s in wanted for name in _names(s)} | set(inputs) | attributes
    missing = premises.settings.keys() - bound
    if missing or premises.made - decided:
        raise UnknownPremiseError("rests on a setting that is not found")


def establish(premises: Premises, space: SPACE, known: SPACE) -> None:
    """Binds the settings among a slice's inputs, and constructs what is made of them."""
    _run(premises.constants, known)
    settings: SPACE = {name: random.choice(POSITIVE) for name in premises.positive if name.isidentifier()}
    settings |= {name: eval(value, known) for name, value in premises.settings.items()}
    own = space.get("self")
    for name, value in settings.items():
        if name in space:
            space[name] = value
        if own is not None:
            own.made.setdefault(name, value)
    if own is not None:
        own.methods["register_buffer"] = lambda self, name, value, **more: own.made.update({name: value})
        others = {n: eval(d, known) if d else own.maker.value(None) for n, d in premises.parameters.items()}
        spoken = {name for text in premises.positive for name in _names(ast.parse(text))}
        own.made.update({name: others[name] for name in spoken & others.keys() - settings.keys()})
        _run(premises.construction, known | others | space | settings)


def _run(statements: list[ast.stmt], space: SPACE) -> None:
    if statements:
        exec(compile(ast.fix_missing_locations(ast.Module(statements, [])), "<premises>", "exec"), space)


def hold(premises: Premises, space: SPACE) -> None:
    """Raises UnmetError where one of the premises is not met, or not found."""
    for text in premises.positive:
        _demand(bool((torch.as_tensor(_value(text, space)) > 0).all()))
    for text in premises.nonnegative:
        _demand(bool((torch.as_tensor(_value(text, space)) >= 0).all()))
    for higher, lower in premises.ordered:
        _demand(bool((torch.as_tensor(_value(higher, space)) > torch.as_tensor(_value(lower, space))).all()))
    for text in premises.matrices:
        _demand(_value(text, space).ndim == 2)
    for text in premises.filled:
        if text.isidentifier() and text in space:
            thing = space[text]
            _demand(thing.numel() > 0 if isinstance(thing, torch.Tensor) else bool(thing))


def _demand(met: bool) -> None:
    if not met:
        raise UnmetError


def _value(text: str, space: SPACE) -> Any:
    """What an expression of names comes to; a name that is not bound is an attribute."""
    own = space.get("self")
    names = {n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}
    around = {name: space[name] if name in space else getattr(own, name) for name in names}
    return eval(text, {"torch": torch}, around)


class Additions(ast.NodeTransformer):
    """Has each sum look at what a number is added to."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Add):
            return node
        return ast.copy_location(_sum(node.left, node.right), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Add):
            return node
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        return [ast.copy_location(ast.Expr(_sum(target, node.value)), node), node]


def _sum(one: ast.expr, other: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(ADDED, ast.Load()), [one, other], [])


def adding(premises: Premises) -> Any:
    """The sum of two, in a run in which what a small number is added to is as the premises say."""

    def added(one: Any, other: Any) -> Any:
        total = one + other
        for lift, base in ((one, other), (other, one)):
            if not _is_number(lift) or not isinstance(base, torch.Tensor | int | float):
                continue
            if premises.shifted and 0 < float(lift) < AT_MOST:
                _demand(bool((torch.as_tensor(base) >= 0).all()))
            if premises.apart and float(lift) > 0:
                _demand(bool((torch.as_tensor(total) != 0).all()))
        return total

    return added


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, torch.Tensor) and value.numel() == 1)


def _constructor(owner: ast.ClassDef | None) -> ast.FunctionDef | None:
    own = owner.body if owner is not None else []
    return next((s for s in own if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)


def _rests_on(constructor: ast.FunctionDef, attribute: str, premises: Premises) -> bool:
    """Whether a constructor makes an attribute, and of settings and literals alone."""
    steps = _that_make(constructor.body, {attribute})
    free = {n for s in steps for n in _names(s)} & {a.arg for a in constructor.args.args[1:]}
    return bool(free) and free <= premises.settings.keys() | set(premises.positive)


def _that_make(body: Sequence[ast.stmt], attributes: set[str]) -> list[ast.stmt]:
    """The statements of a constructor on which attributes depend."""
    wanted = {f"self.{a}" for a in attributes}
    kept: list[ast.stmt] = []
    for statement in reversed(body):
        spoken = _names(statement) | {f"self.{a}" for a in attributes_of(statement)}
        if wanted & set(_bound(statement)) or (_may_raise(statement) and wanted & spoken):
            kept.append(statement)
            wanted |= spoken
    return kept[::-1]


def _may_raise(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Raise | ast.Assert) for node in ast.walk(statement))


def _bound(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "register_buffer" and node.args:
            yield f"self.{getattr(node.args[0], 'value', '')}"


def attributes_of(*nodes: ast.AST) -> set[str]:
    """The attributes of `self` that are read or bound."""
    walked = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Attribute))
    return {n.attr for n in walked if isinstance(n.value, ast.Name) and n.value.id == "self"}


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
