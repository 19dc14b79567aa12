"""NumPy: functions that compute on arrays what an operation of torch computes on tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stablelint.analysis.values import lists
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Kind, Value
from stablelint.numerics.formats import FORMATS, INTEGERS
from stablelint.numerics.interval import NONNEGATIVE
from stablelint.syntax import operations
from stablelint.syntax.operations import Operation

_SAME = frozenset(
    """
    log log2 log10 log1p exp exp2 expm1 sqrt square abs absolute sign sum nansum mean nanmean median prod max amax min
    amin maximum minimum std var where clip divide true_divide multiply add subtract dot matmul cumsum cumprod arccos
    arctanh arccosh arcsin sinh cosh reciprocal sin cos tanh floor ceil isnan isinf isfinite nan_to_num logical_not
    logical_and logical_or
    """.split()
)
_COPIES = {"array": "clone", "asarray": "numpy"}  # of what is an array already, or a tensor
_WRITING = frozenset(
    "fill sort partition put itemset resize place putmask copyto fill_diagonal random.shuffle add.at subtract.at".split()
)
# Of these nothing is known but that they are arrays: what has just been made is filled by functions that are not followed.
_MADE = frozenset(
    """
    array asarray load zeros ones full empty zeros_like ones_like full_like empty_like ptp average percentile quantile
    bincount concatenate stack vstack hstack repeat tile roll sort diff gradient cumsum cross outer inner vdot einsum
    tensordot kron convolve interp cov corrcoef nanmax nanmin nanmedian nanstd nanvar trace diag linalg.inv
    linalg.pinv linalg.solve linalg.det linalg.eigvals linalg.eigvalsh fft.fft fft.rfft
    """.split()
)
_SPREADS = frozenset({"std", "var", "ptp"})  # not negative, and over the whole count
_FROM_NUMBERS = {
    "arange": "arange",
    "linspace": "linspace",
    "random.rand": "rand",
    "random.random": "rand",
    "random.randn": "randn",
}
# What NumPy makes in double precision unless it is told another type, and what keeps the type of its elements.
_DOUBLES = frozenset(
    """
    zeros ones empty eye linspace logspace loadtxt genfromtxt random.rand random.randn random.random random.normal
    random.uniform random.standard_normal random.random_sample
    """.split()
)
_JOINS = frozenset("array asarray concatenate stack vstack hstack column_stack tile repeat meshgrid".split())
_RENAMED = {"power": "pow", "linalg.norm": "norm", "expand_dims": "unsqueeze"}
_KEYWORDS = {"keepdims": "keepdim", "a_min": "min", "a_max": "max", "num": "steps", "ddof": "correction"}
_METHODS = frozenset(
    "sum mean std var prod max min clip cumsum cumprod reshape flatten ravel squeeze transpose all any dot item".split()
)
_ATTRIBUTES = frozenset({"shape", "T", "size", "ndim"})
_TYPES = FORMATS.keys() | INTEGERS.keys() | {"bool"}
_ARRAYS = frozenset({Kind.ARRAY, Kind.FOREIGN, Kind.UNKNOWN, Kind.TENSOR})


def function(name: str, positional: list[Value], keywords: Mapping[str, Value]) -> Operation | None:
    """The operation that a function of NumPy computes of arrays; of numbers alone, or `where=` alone, it is none of ours."""
    first = positional[0].kind if positional else None
    if name in _COPIES and first in (Kind.ARRAY, Kind.TENSOR):
        shares = "copy" in keywords and keywords["copy"].constant() is not True
        return operations.canonical("numpy" if shares else _COPIES[name])
    if name in _FROM_NUMBERS:
        return operations.canonical(_FROM_NUMBERS[name])
    known = _RENAMED.get(name, name if name in _SAME else "")
    if name in _COPIES and first is Kind.SEQUENCE:
        return operations.function("torch.tensor")
    if not known or "where" in keywords or not any(v.kind in _ARRAYS for v in positional):
        return None
    return operations.function(f"torch.{known}")


def made(name: str, result: Value, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    """The result of a function of NumPy of which no more is known than its name, and what it is given."""
    if name in _DOUBLES:
        return typed(name, replace(result, kind=Kind.ARRAY), positional, keywords)
    if name in _JOINS and positional:
        first = positional[0]
        known = lists.elements_of(first) if lists.is_list(first) else None
        parts = first.data if first.kind is Kind.SEQUENCE else known or [first]
        types = {part.dtype for part in parts}
        return replace(result, kind=Kind.ARRAY, dtype=types.pop() if len(types) == 1 else None)
    if name in _SPREADS:
        result = replace(result, interval=NONNEGATIVE, zero=Attained.COINCIDENCE)
    return as_array(result) if name in _MADE or name in _SAME or name in _FROM_NUMBERS else result


def operands_of(operation: str, operands: dict[str, Value], frame: Frame) -> dict[str, Value]:
    """What an operation takes where nothing else is said: a spread the whole count, numbers of Python's double precision."""
    if operation in _SPREADS and "correction" not in operands:
        return {**operands, "correction": frame.graph.constant(0)}
    if operation == "tensor" and "dtype" not in operands:
        numbers = [part.constant() for part in lists.innermost(operands["data"])]
        double = Value("dtype", frame.graph.key("dtype", "float64"), Kind.FOREIGN, dtype="float64")
        return {**operands, "dtype": double} if any(type(one) is float for one in numbers) else operands
    return operands


def is_array(value: Value, frame: Frame) -> bool:
    """Whether a value is an array, be it only because no torch comes into the file."""
    return value.kind is Kind.ARRAY or (value.kind is Kind.UNKNOWN and frame.module.is_of_arrays)


def writes(name: str) -> bool:
    """Whether a method, or a function of its first argument, writes into the array."""
    return name in _WRITING


def is_method(name: str) -> bool:
    """Whether an array has that method of tensors."""
    return name in _METHODS


def is_attribute(name: str) -> bool:
    """Whether an array has that attribute of tensors."""
    return name in _ATTRIBUTES


def element_type(given: Value) -> Value:
    """What `astype` is given, with the type that its text names: `"int32"`."""
    named = given.constant() if given.kind is Kind.STRING else None
    return replace(given, dtype=named) if named in _TYPES else given


def keyword(name: str) -> str:
    """The name that a keyword of NumPy has in torch."""
    return _KEYWORDS.get(name, name)


def as_array(value: Value) -> Value:
    """The value as NumPy takes it."""
    return replace(value, kind=Kind.ARRAY) if value.kind in _ARRAYS else value


def typed(name: str, value: Value, positional: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """The array that a function of NumPy makes, in double precision where it says nothing else."""
    named = positional[1:2] if name in ("zeros", "ones", "empty") else ()
    types = [element_type(v).dtype for v in (*named, *(v for k, v in keywords.items() if k == "dtype"))]
    return replace(value, dtype=types[0] if types else "float64") if name in _DOUBLES else value
