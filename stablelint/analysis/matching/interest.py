"""What a function must hold for a rule to find something in it, by the words of the sieve.

A pattern's root is computed in the function itself; what stands below the root may come from anywhere in the file.
Where the root is plain arithmetic, which is everywhere, the rest is asked of the function as well.
"""

from __future__ import annotations

import ast
import importlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from stablelint.analysis.matching.pattern import Shape
from stablelint.analysis.values.decompositions import PARTS
from stablelint.analysis.values.value import Value
from stablelint.catalog.pattern import PREFIX
from stablelint.catalog.predicates import Predicate, parse_predicate
from stablelint.catalog.rule import Rule
from stablelint.records import dataclass
from stablelint.syntax.aliases import BIG, LARGE, PARAMETER
from stablelint.syntax.beforehand import is_whole, values_by_name
from stablelint.syntax.sieve import ABSORBED, JOINED, Glance, words_of

Words = frozenset[str]
Matcher = Callable[..., Iterable[Any]]  # takes the review of a function and the rule, yields sites
_Matcher = TypeVar("_Matcher", bound=Matcher)

_EVERYWHERE = frozenset({"add", "sub", "mul", "matmul"})
_DTYPE_WORDS = {
    "float16": frozenset({"float16", "half"}),
    "bfloat16": frozenset({"bfloat16"}),
    "float32": frozenset({"float32", "float"}),
    "float64": frozenset({"float64", "double"}),
}
# Words for how a number is written, which may be somewhere else.
_OF_CONSTANTS = frozenset({ABSORBED, JOINED})
_OF_WHOLE = ("remainder", "floor_divide")  # operations of whole numbers, most often
_SORTS = ("floating", "tensor")  # predicates that no whole number of Python's meets


@dataclass(frozen=True, slots=True)
class Need:
    """Sets of words of each of which one must occur: in the function, and anywhere in the file."""

    here: tuple[Words, ...]
    anywhere: tuple[Words, ...] = ()
    half: bool = False  # only where the file, or its project, shows half precision
    # Asked of a function that has the words: whether its text can be what is looked for.
    where: Callable[[Glance], bool] | None = None

    @property
    def within(self) -> tuple[Words, ...]:
        """What a function itself must hold: a constant may come from elsewhere."""
        return tuple(part for part in self.here if part.isdisjoint(_OF_CONSTANTS))

    def is_met(self, seen: Glance) -> bool:
        """Whether a function holds what is needed."""
        return met(self.here, seen.words) and (self.where is None or self.where(seen))


@dataclass(frozen=True, slots=True)
class Interest:
    """What is worth a look in one file."""

    alone: Words  # a function with one of these is
    together: tuple[Need, ...]  # and one that meets one of these

    @property
    def words(self) -> Words:
        """Every word that matters."""
        return self.alone.union(*(part for need in self.together for part in need.here))

    def is_met(self, seen: Glance) -> bool:
        """Whether a rule can find something in a function."""
        return not self.alone.isdisjoint(seen.words) or any(need.is_met(seen) for need in self.together)


def met(row: tuple[Words, ...], words: set[str] | Words) -> bool:
    """Whether each set of a row has one of the words."""
    return not any(map(words.isdisjoint, row))


def interest_of(needs: Iterable[Need], words: set[str], half: Callable[[], bool]) -> Interest:
    """What matters in a file that holds `words`; `half` tells whether it can be run in half precision."""
    alone: set[str] = set()
    together: dict[Need, None] = {}
    for need in needs:
        if not met((*need.here, *need.anywhere), words) or (need.half and not half()):
            continue
        if len(need.here) == 1 and need.where is None:
            alone.update(need.here[0])
        else:
            together[Need(need.here, where=need.where)] = None
    return Interest(frozenset(alone), tuple(together))


def needs_of(shape: Shape, rule: Rule) -> Need:
    """What a pattern needs."""
    if shape.is_sequence:
        return Need(tuple(words for root in shape.roots if root is not None for words in _words(root)))
    root = shape.roots[0]
    assert root is not None
    first, *inner = _words(root) or [frozenset()]
    first -= {PARAMETER}  # it is made in the function itself
    if root.op == "pow" and root.operands["exponent"].op != "const":
        first -= {"x*x", "square"}
    conditions = [parse_predicate(text) for text in rule.where]
    bound = frozenset(_names(root))
    conditions = [p for p in conditions if p.metavariables <= bound and not p.negated]
    here = [first]
    if any(_asks_for(p, LARGE) for p in conditions):
        here.append(frozenset({"large"}))
    elif all(_asks_for(p, BIG) for p in conditions if p.name == "range") and _literals(conditions):
        here.append(frozenset({"big", "large", "inf"}))
    for predicate in conditions:
        if predicate.name == "dtype" and predicate.op == "==" and str(predicate.value) in _DTYPE_WORDS:
            inner.append(_DTYPE_WORDS[str(predicate.value)])
    half = any(p.name == "dtype" and p.op == "<" for p in conditions)
    if root.op in _EVERYWHERE:
        return Need((*here, *inner), half=half)
    where = _divides if root.op in _OF_WHOLE and any(p.name in _SORTS for p in conditions) else None
    return Need(tuple(here), tuple(inner), half, where)


def _divides(seen: Glance) -> bool:
    """Whether anything is divided, with a remainder or without, that need not be a whole number."""
    if any(not seen.words.isdisjoint(words_of(op) - {"%", "//"}) for op in _OF_WHOLE):
        return True
    bound = values_by_name(seen.nodes)
    operators = (n for n in seen.nodes if isinstance(n, ast.BinOp | ast.AugAssign))
    divided = (n for n in operators if isinstance(n.op, ast.Mod | ast.FloorDiv))
    return any(not is_whole(n.left if isinstance(n, ast.BinOp) else n.target, bound) for n in divided)


def observes(
    *texts: str, anywhere: str = "", where: Callable[[Glance], bool] | None = None
) -> Callable[[_Matcher], _Matcher]:
    """Says of a matcher what a function must hold for it to find anything there, and what must stand in the file.

    Each text names operations, or calls, that stand in it together, `|` between alternatives: ``"exp|sqrt op="``.
    Said twice, either suffices. `where` is asked of a function that holds them, before it is interpreted.
    Without a text the matcher looks at what other rules have found, or at the file as a whole.
    """

    def mark(matcher: _Matcher) -> _Matcher:
        needs = tuple(Need(_row(text), _row(anywhere), where=where) for text in texts)
        matcher.observes = (*getattr(matcher, "observes", ()), *needs)  # type: ignore[attr-defined]
        return matcher

    return mark


def matcher_named(text: str) -> Matcher:
    """The function `module:function` of a rule page."""
    module, _, function = text.partition(":")
    found: Matcher = getattr(importlib.import_module(module), function)
    return found


def needs_of_matcher(matcher: Matcher) -> tuple[Need, ...]:
    """What a matcher has declared with `observes`; one that declares nothing is shown every function."""
    declared: tuple[Need, ...] | None = getattr(matcher, "observes", None)
    return (Need(()),) if declared is None else declared


def _row(text: str) -> tuple[Words, ...]:
    """The words of operations that stand together."""
    return tuple(frozenset().union(*map(words_of, word.split("|"))) for word in text.split())


def _words(root: Value) -> list[Words]:
    """The words of each operation of a pattern, its root's first; an attribute is left out."""
    found: list[Words] = []
    stack = [root]
    while stack:
        value = stack.pop()
        if value.op == "const":
            number = value.data
            if isinstance(number, float) and math.isinf(number):
                found.append(frozenset({"inf"}))
            continue
        if value.op == "metavariable":
            continue
        if value.op != "attribute" and value.op not in PARTS:
            found.append(words_of(value.op.removeprefix("method.").removeprefix("call.")))
        stack.extend(value.operands.values())
    return found


def _names(root: Value) -> Iterator[str]:
    """The metavariables of a pattern: its holes, and the parts that `($p := …)` names."""
    yield root.name.removeprefix(PREFIX)
    for value in root.operands.values():
        yield from _names(value)


def _asks_for(predicate: Predicate, size: float) -> bool:
    value = predicate.value
    return predicate.name == "range" and isinstance(value, int | float) and abs(value) >= size


def _literals(conditions: Iterable[Predicate]) -> bool:
    """Whether one of the ranges that are asked for is that of a literal."""
    literal, ranged = ({p.args[0] for p in conditions if p.name == name} for name in ("literal", "range"))
    return not literal.isdisjoint(ranged)
