"""From arguments that a call refuses to those it takes: the ones that come furthest are changed first."""

from __future__ import annotations

import ast
import heapq
import math
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import TracebackType

import torch

from stablelint.runtime.verify.witness.arguments import (
    SHAPES,
    Argument,
    Arguments,
    Known,
    Shape,
    argument,
    item,
    kinds_of,
    setting,
    with_argument,
    written,
)
from stablelint.runtime.verify.witness.uses import Uses

_FRESH = 2  # of so many attempts one is a new guess, the others change an earlier one
_LARGEST = 4096
_MOCK = "=unittest.mock.MagicMock()"
_ANY = [*"tensor labels int none float several false str list".split(), _MOCK]
_OTHERS = 4  # kinds of an argument whose default does not do
# Values for one part of a container.
_PARTS = ("'a'", "0.5", "3", "None", "[4, 4]", "True", "torch.rand(2, 4)")
# What is said where a call writes into its arguments, or leaves torch with them.
NO_GRADIENT = ("a leaf Variable that requires grad", "on Tensor that requires grad")
_SAMPLES: tuple[tuple[object, str], ...] = (
    (torch.empty(0), "tensor"),
    (torch.empty(0).numpy(), "=torch.rand(2, 4).numpy()"),
    (torch.nn.Identity(), "callable"),
    (torch.nn.Linear(1, 1), "=torch.nn.Linear(4, 4)"),
    (torch.nn.Embedding(1, 1), "=torch.nn.Embedding(8, 4)"),
    (torch.nn.Conv2d(1, 1, 1), "=torch.nn.Conv2d(4, 4, 1)"),
    ({}, "={}"),
    ("", "str"),
    ([], "list"),
    (torch.distributions.Normal, "=torch.distributions.Normal(torch.zeros(2, 4), torch.ones(2, 4))"),
)
_RANK = r"(?i)(?:expected|requires|be|want) (?:an? )?(\d)(?: dim|-?D\b|-dim)"  # that a message asks for
_OUT_OF_RANGE = r"Dimension out of range \(expected .* but got (-?\d)\)"
_BEYOND = r"index (\d+) is out of bounds for (?:dimension|axis) (\d) with size"
_VIEWED = r"shape '\[([\d, ]+)\]' is invalid"
_NAMESPACE = "types.SimpleNamespace("
_TENSORS = ("tensor", "weights", "mask", "labels", "several")
_IMAGES: tuple[Shape, ...] = ((2, 3, 32, 32), (2, 3, 64, 64))  # what layers that halve their inputs ask for
# What a message says of an argument, and the kinds that it may be of then.
_SAID = (
    (("positional argument", "keyword argument"), ("=torch.nn.Bilinear(4, 4, 4)", "=lambda *x, **k: x[0]")),
    (("not callable",), ("=lambda *x, **k: x[0]",)),
    (("iterable", "has no len()", "not subscriptable"), ("list", "several")),
    (("must be a mapping",), ("={}",)),
    (("Index tensor must have the same number of dimensions",), ("indices",)),
    (("Long",), ("labels",)),
    (("not positive-definite",), ("=torch.eye(4)", "=torch.eye(4).expand(2, 4, 4)")),
    (("must be Tensor, not",), ("tensor", "=torch.tensor(0.5)")),
    (("PathLike", "not str"), ("str",)),
    (
        ("Boolean value of Tensor", "type Tensor doesn't define", "can be converted to Python scalars"),
        ("float", "int", "false"),
    ),
    (("interpreted as an integer", "converted to an index", "converted to an integer"), ("int",)),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What a call raised: the message, and the rows of the program in which it stood, outermost first."""

    message: str
    rows: tuple[int, ...] = ()
    names: frozenset[str] = frozenset()  # in the text of these rows


def failure_of(error: BaseException, sources: Mapping[str, Sequence[str]]) -> Failure:
    """The failure that an exception is; `sources` are the lines of the program's files."""
    places = list(_places(error.__traceback__, sources))
    text = " ".join(sources[name][row - 1] for name, row in places)
    names = frozenset(re.findall(r"[A-Za-z_]\w*", text))
    return Failure(f"{type(error).__name__}: {error}", tuple(row for _, row in places), names)


def _places(trace: TracebackType | None, sources: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, int]]:
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in sources and trace.tb_lineno <= len(sources[name]):
            yield name, trace.tb_lineno
        trace = trace.tb_next


def accepted(
    uses: Mapping[str, Uses],
    guesses: Iterable[Arguments],
    attempt: Callable[[Arguments], Failure | None],
    most: int,
    known: Known,
) -> Iterator[Arguments]:
    """The guesses, and what becomes of them, that `attempt` takes; at most `most` are tried."""
    fresh = iter(guesses)
    waiting: list[tuple[tuple[int, ...], int, Iterator[Arguments]]] = []
    seen: set[str] = set()
    for turn in range(4 * most):
        guess = _changed(waiting) if turn % _FRESH else None
        guess = next(fresh, None) if guess is None else guess
        guess = _changed(waiting) if guess is None else guess
        if guess is None or len(seen) >= most:
            return
        text = written(guess)
        if text in seen:
            continue
        seen.add(text)
        failure = attempt(guess)
        if failure is None:
            yield guess
        else:
            rank = (*(-row for row in failure.rows), sys.maxsize)
            heapq.heappush(waiting, (rank, turn, changes(guess, failure, uses, known)))


def _changed(waiting: list[tuple[tuple[int, ...], int, Iterator[Arguments]]]) -> Arguments | None:
    """The next change of those arguments with which a call came furthest."""
    while waiting:
        guess = next(waiting[0][2], None)
        if guess is not None:
            return guess
        heapq.heappop(waiting)
    return None


def changes(
    arguments: Arguments, failure: Failure, uses: Mapping[str, Uses], known: Known
) -> Iterator[Arguments]:
    """The arguments with what the failure asks for, then with one of them changed: those named in its row first."""
    asked = _completed(arguments, failure.message, known)
    if asked is not None:
        yield asked
    held = {each.name for each in arguments}
    # a default may not do there
    for name in sorted(name for name in uses.keys() - held if _speaks_of(failure, name)):
        for kind in islice((*_suggested(failure.message), *kinds_of(name, uses[name], known)), _OTHERS):
            yield (*arguments, argument(name, uses[name], kind, _shape_of(arguments), True))
    together = _together(arguments, failure, uses)
    of_shapes = any(_numbers(failure.message)) or _ranks(failure.message)
    if of_shapes and not failure.message.startswith(("TypeError", "AttributeError")):
        yield from together
    yield from _each_changed(arguments, failure, uses, known, True)
    yield from together
    yield from _each_changed(arguments, failure, uses, known, False)


def _speaks_of(failure: Failure, name: str) -> bool:
    """Whether a parameter is named in the rows of a failure, or spelled out in its message."""
    return name in failure.names or ("_" in name and name.replace("_", " ") in failure.message.lower())


def _each_changed(
    arguments: Arguments, failure: Failure, uses: Mapping[str, Uses], known: Known, named: bool
) -> Iterator[Arguments]:
    """The arguments with one of them changed, of those that are named in the failing rows or of the others."""
    spoken = [one for one in arguments if _speaks_of(failure, one.name) is named]
    # what is said of a tensor is said of those first; then one other value of each, and one more of each
    spoken.sort(key=lambda one: "Tensor" in failure.message and one.kind not in _TENSORS)
    waiting = deque((one, _others(one, failure, uses.get(one.name, Uses()), known)) for one in spoken)
    while waiting:
        one, others = waiting.popleft()
        if (other := next(others, None)) is not None:
            yield with_argument(arguments, other)
            waiting.append((one, others))


def _together(arguments: Arguments, failure: Failure, uses: Mapping[str, Uses]) -> Iterator[Arguments]:
    """The arguments with all tensors of another shape."""
    shape = _shape_of(arguments)
    sizes = [int(text) for text in _numbers(failure.message) if 1 < int(text) <= _LARGEST]
    ranks = _ranks(failure.message)
    shapes: list[Shape] = [each for each in SHAPES if len(each) in ranks]
    for index, side in re.findall(_BEYOND, failure.message):
        if int(side) < len(shape) and int(index) < _LARGEST:
            shapes.append((*shape[: int(side)], int(index) + 1, *shape[int(side) + 1 :]))
    viewed = [math.prod(map(int, _numbers(text))) for text in re.findall(_VIEWED, failure.message)]
    shapes += [(size,) for size in viewed if 0 < size <= _LARGEST]
    shapes += [(*shape[:-1], size) for size in sizes]
    shapes += [(*shape[:-2], size, size) for size in sizes if len(shape) > 2]
    shapes += _IMAGES if len(shape) == len(_IMAGES[0]) else ()
    for other in (*shapes, *(each for each in SHAPES if len(each) != len(shape))):
        yield tuple(_shaped(each, uses.get(each.name, Uses()), other) for each in arguments)


def _ranks(message: str) -> set[int]:
    """The ranks of tensors that a message asks for."""
    found = {int(text) for text in re.findall(_RANK, message)}
    found |= {max(int(text) + 1, -int(text)) for text in re.findall(_OUT_OF_RANGE, message)}
    found |= {int(text) for text in re.findall(r"values to unpack \(expected (\d)", message)}
    found |= {int(text) + 1 for text in re.findall(r"too many indices for tensor of dimension (\d)", message)}
    return found | ({3, 4} if "tuple index out of range" in message else set())


def _shaped(one: Argument, uses: Uses, shape: Shape) -> Argument:
    if one.kind not in _TENSORS or one.given:
        return one
    if uses.sides is not None and len(uses.sides) == len(shape):
        return replace(one, shape=shape)  # the letters of its docstring stand for other sizes
    return argument(one.name, uses, one.kind, shape, one.keyword)


def _shape_of(arguments: Arguments) -> Shape:
    return next((each.shape for each in arguments if each.kind in _TENSORS and each.shape), SHAPES[0])


def _others(one: Argument, failure: Failure, uses: Uses, known: Known) -> Iterator[Argument]:
    """Other arguments for the parameter, those that the message speaks of first."""
    numbers = [text for text in _numbers(failure.message) if 0 < int(text) <= _LARGEST]
    if one.kind in _TENSORS and not one.given:
        yield replace(one, shape=one.shape[:1])  # a number for each sample
        yield from (replace(one, shape=(int(text),)) for text in numbers)  # or for each channel
        for place in range(len(one.shape)):
            for text in numbers:
                yield replace(one, shape=(*one.shape[:place], int(text), *one.shape[place + 1 :]))
    elif one.kind == "int":
        yield from (replace(one, given=text) for text in (*numbers, "1"))
    shape = one.shape or SHAPES[0]
    for kind in dict.fromkeys((*_suggested(failure.message), *kinds_of(one.name, uses, known), *_ANY)):
        if kind != one.kind:
            yield argument(one.name, uses, kind, shape, one.keyword)
    parts = (*(kind[1:] for kind in _suggested(failure.message) if kind.startswith("=")), *_PARTS)
    yield from (replace(one, given=text) for text in _with_other_part(one.given, failure.names, parts))
    if one.kind in _TENSORS and not one.given:
        yield from (replace(one, shape=each) for each in SHAPES if len(each) != len(one.shape))


def _numbers(message: str) -> Iterator[str]:
    yield from dict.fromkeys(re.findall(r"(?<![A-Za-z_.\d])\d+(?!\.?\d)", message))


def _suggested(message: str) -> Iterator[str]:
    """Kinds of arguments that a message asks for."""
    if found := re.search(r"values to unpack \(expected (\d)", message):
        yield f"=({', '.join(['torch.rand(2, 4)'] * int(found[1]))})"
    if found := re.search(r"object has no attribute '(\w+)'", message):
        known = [kind for sample, kind in _SAMPLES if hasattr(sample, found[1])]
        yield from known or [f"=types.SimpleNamespace({found[1]}=4)", _MOCK]
    for texts, kinds in _SAID:
        if any(text in message for text in texts):
            yield from kinds


def _with_other_part(text: str, names: frozenset[str], others: Sequence[str]) -> Iterator[str]:
    """The text of containers with another value for one of the parts that are named."""
    for name, start, end in _parts(text):
        yield from (text[:start] + other + text[end:] for other in others if name in names)


def _parts(text: str) -> Iterator[tuple[object, int, int]]:
    """Names of the fields and items of containers in a text, and where their values stand."""
    for node in ast.walk(ast.parse(text, mode="eval")) if text.startswith((_NAMESPACE, "{")) else ():
        pairs: list[tuple[object, ast.expr]] = []
        match node:
            case ast.Call():
                pairs = [(word.arg, word.value) for word in node.keywords]
            case ast.Dict():
                keys = (getattr(key, "value", None) for key in node.keys)
                pairs = list(zip(keys, node.values, strict=True))
        yield from ((name, value.col_offset, value.end_col_offset or 0) for name, value in pairs)


def _completed(arguments: Arguments, message: str, known: Known) -> Arguments | None:
    """The arguments with what an error message asks for; None where it asks for nothing."""
    for pattern, answer in _ASKING:
        if missing := re.search(pattern, message):
            names = re.findall(r"'(\w+)'", missing[1])
            grown = tuple(_grown(each, {name: answer(name, known) for name in names}) for each in arguments)
            if "arguments" not in pattern or grown != arguments:
                return grown
            # what a constructor hands on to that of a library's class
            none = Uses()
            more = (argument(name, none, kinds_of(name, none, known)[0], SHAPES[0], True) for name in names)
            return (*arguments, *more)
    return None


def _grown(one: Argument, values: Mapping[str, str]) -> Argument:
    """The argument with more fields in all of its namespaces, or more items where it is a dictionary."""
    if not one.given.startswith((_NAMESPACE, "{")):
        return one
    tree = ast.parse(one.given, mode="eval").body
    for name, text in values.items():
        value = ast.parse(text, mode="eval").body
        for node in list(ast.walk(tree)):
            if isinstance(node, ast.Call) and f"{ast.unparse(node.func)}(" == _NAMESPACE:
                if name not in [each.arg for each in node.keywords]:
                    node.keywords.append(ast.keyword(name, value))
        if isinstance(tree, ast.Dict):
            tree.keys.append(ast.Constant(name))
            tree.values.append(value)
    return replace(one, given=ast.unparse(tree))


# What a message lacks, and what it is told by its name; the last is of what was called with `**` of a dictionary.
_ASKING: tuple[tuple[str, Callable[[str, Known], str]], ...] = (
    (r"SimpleNamespace' object has no attribute ('\w+')", setting),
    (r"KeyError: ('\w+')", item),
    (r"missing \d+ required .*?arguments?: (.*)", setting),
)
