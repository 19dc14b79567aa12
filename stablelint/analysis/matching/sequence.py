"""Rules about the order of calls: a pattern of several statements, and what must not be absent between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stablelint.analysis.matching.pattern import Match, Shape, compile_pattern, match
from stablelint.analysis.matching.sites import Site, text_at
from stablelint.analysis.proof.judge import Judgement
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Value
from stablelint.catalog.pattern import PREFIX
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Status

if TYPE_CHECKING:
    from stablelint.analysis.matching.review import Review


def sequence_sites(review: Review) -> Iterator[Site]:
    """The sites of the rules whose patterns are sequences."""
    events = review.observed
    for rule, shape in review.index.sequences:
        yield from _sites(rule, shape, events, review)


def _sites(rule: Rule, shape: Shape, events: list[tuple[Value, Frame]], review: Review) -> Iterator[Site]:
    roots = [root for root in shape.roots if root is not None]
    seen: set[int] = set()
    found = Match()
    for start, (value, _) in enumerate(events):
        if not match(roots[0], value, found, shape.optional):
            continue
        site, found = _following(rule, shape, roots, start, events, found, review), Match()
        if site is not None and id(site.node) not in seen:
            seen.add(id(site.node))
            yield site


def _following(
    rule: Rule,
    shape: Shape,
    roots: list[Value],
    start: int,
    events: list[tuple[Value, Frame]],
    found: Match,
    review: Review,
) -> Site | None:
    """The site of a sequence whose first root is the event at `start`."""
    places = _follow(roots[1:], events, start + 1, found, shape)
    if places is None or _present(rule, events[start : places[-1] + 1], found):
        return None
    return _site(rule, shape, [start, *places], events, found, review)


def _follow(
    roots: list[Value], events: list[tuple[Value, Frame]], start: int, found: Match, shape: Shape
) -> list[int] | None:
    """Indices of events that match the remaining roots in order."""
    places: list[int] = []
    for root in roots:
        for i in range(start, len(events)):
            if match(root, events[i][0], found, shape.optional):
                places.append(i)
                start = i + 1
                break
        else:
            return None
    return places


def _present(rule: Rule, events: list[tuple[Value, Frame]], found: Match) -> bool:
    """Whether one of the calls whose absence is the flaw is there."""
    for text in rule.absent:
        root = compile_pattern(text).roots[0]
        if root is None:
            continue
        for value, _ in events:
            if match(root, value, Match(), frozenset()) and _same_receiver(root, value, found):
                return True
    return False


def _same_receiver(root: Value, value: Value, found: Match) -> bool:
    attempt = Match()
    match(root, value, attempt, frozenset())
    shared = attempt.bindings.keys() & found.bindings.keys()
    return all(_is_same(attempt.bindings[n], found.bindings[n]) for n in shared)


def _is_same(one: Value, other: Value) -> bool:
    """Whether two values are one, or go by one name: the loops over the optimizers have each their own."""
    return one.key == other.key or (bool(one.name) and one.name == other.name)


def _site(
    rule: Rule,
    shape: Shape,
    places: list[int],
    events: list[tuple[Value, Frame]],
    found: Match,
    review: Review,
) -> Site:
    """The finding stands at the named part (`($clip := …)`), else at the last call."""
    roots = [root for root in shape.roots if root is not None]
    at = next((i for i, root in enumerate(roots) if root.name.startswith(PREFIX)), len(roots) - 1)
    value, frame = events[places[at]]
    context = review.context(value, found.bindings, frame)
    texts = {name: text_at(v, value, frame) for name, v in found.bindings.items()}
    judgement = Judgement(Status.VIOLATED)
    statement = review.statements.get(id(value))
    return Site(rule, value, found, judgement, frame, context.ranges, context, texts, statement)
