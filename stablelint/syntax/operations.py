"""Operations by their spellings, and what kinds of operations there are.

Rules, ranges and messages speak only of canonical names; the tables are in `stablelint.syntax.spellings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from stablelint.records import dataclass
from stablelint.syntax.spellings import (
    MODULES,
    OPERATIONS,
    ORIGINS,
    PREFIXES,
    TRAITS,
    elementwise,
    reductions,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation and the names of its parameters, in order."""

    name: str
    parameters: tuple[str, ...]


@cache
def _operations() -> tuple[dict[str, Operation], dict[str, Operation], dict[str, Operation]]:
    functions: dict[str, Operation] = {}
    methods: dict[str, Operation] = {}
    canonical: dict[str, Operation] = {}
    for row in filter(None, OPERATIONS.splitlines()):
        name, parameters, *spellings = row.partition("+")[0].split()
        operation = Operation(name, tuple(parameters.split(",")))
        canonical[name] = operation
        for spelling in spellings:
            if spelling.startswith("."):
                methods.setdefault(spelling[1:], operation)
                continue
            for prefix, full in PREFIXES.items():
                if spelling.startswith(prefix):
                    spelling = full + spelling.removeprefix(prefix)
                    break
            functions[spelling] = operation
    return functions, methods, canonical


@cache
def _modules() -> dict[str, Operation]:
    table: dict[str, Operation] = {}
    for row in MODULES.strip().splitlines():
        name, operation, *given = row.split()
        table[f"torch.nn.{name}"] = Operation(operation, tuple(given[0].split(",") if given else ()))
    return table


def function(qualified_name: str) -> Operation | None:
    """The operation that a fully qualified function stands for (`torch.log_` is the in-place `torch.log`)."""
    functions = _operations()[0]
    found = functions.get(qualified_name)
    if found is None and qualified_name.endswith("_") and qualified_name.startswith("torch."):
        found = functions.get(qualified_name[:-1])
    return found


def method(name: str) -> tuple[Operation, bool] | None:
    """The operation of a tensor method, and whether the spelling is in-place."""
    methods = _operations()[1]
    if name in methods:
        return methods[name], name.endswith("_")
    if name.endswith("_") and not name.endswith("__") and name[:-1] in methods:
        return methods[name[:-1]], True
    return None


def canonical(name: str) -> Operation | None:
    """The operation of that canonical name."""
    return _operations()[2].get(name)


@cache
def required(name: str) -> frozenset[str]:
    """The operands without which a call of an operation raises: its tensors, and what one is raised to."""
    operation = canonical(name)
    if operation is None or operation.parameters[0] != "input":
        return frozenset()
    return frozenset({"input", "other", "exponent"}.intersection(operation.parameters))


def module(qualified_name: str) -> Operation | None:
    """The operation that an instance of an `nn` class applies, with the parameters of the class's constructor."""
    return _modules().get(qualified_name.replace("torch.nn.modules.", "torch.nn."))


def applying(function: str) -> str | None:
    """The `nn` class whose instances apply a function, qualified as it is; None where there is none."""
    operation = function.rpartition(".")[2]
    return next((name for name, found in _modules().items() if found.name == operation), None)


def spellings() -> Iterator[tuple[str, str]]:
    """Every spelling in the tables (a qualified function or class, or a bare method), and its operation."""
    functions, methods, _ = _operations()
    for table in (functions, methods, _modules()):
        yield from ((spelling, operation.name) for spelling, operation in table.items())


@cache
def _traits() -> Mapping[str, frozenset[str]]:
    held: dict[str, set[str]] = {trait: set() for trait in TRAITS}
    for row in filter(None, (OPERATIONS + ORIGINS).splitlines()):
        name, *traits = (word.strip() for word in row.split("+"))
        for trait in traits:
            held[trait].add(name.split()[0])
    for trait, table in (("elementwise", elementwise), ("along", reductions)):
        held[trait].update(row.split()[0] for row in table.OPERATIONS.splitlines() if row)
    return {trait: frozenset(names) for trait, names in held.items()}


def having(*traits: str) -> frozenset[str]:
    """The canonical names of the operations that have one of the traits. Raises KeyError where there is no such trait."""
    return frozenset().union(*(_traits()[trait] for trait in traits))


# Attributes of a tensor that are the tensor, rearranged or in part.
VIEWING = frozenset({"T", "mT", "H", "data", "values", "real", "imag"})
# Operations that rearrange, copy or cast and leave every element's value as it was.
VIEWS = having("layout", "copy", "device", "cast")
# Casts among the views: they keep values up to rounding.
CASTS = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16"}
# Casts that cut the fraction off.
CUTS = {"int": "int32", "long": "int64", "short": "int16", "char": "int8", "byte": "uint8"}
# Where elements stand, by their order.
PLACES = having("rank") & having("whole")
# Selections of some elements of the operand.
SELECTIONS = having("pick")
