"""Rules about the order of calls: a pattern of several statements, and what must not be absent between them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablelint.analysis.matching.pattern import Match, Shape, compile_pattern, match
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sites import Site, is_rebound, text_at
from stablelint.analysis.proof.judge import Judgement
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Value
from stablelint.catalog.pattern import PREFIX
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Status


def sequence_sites(review: Review) -> Iterator[Site]:
    """The sites of the rules whose patterns are sequences."""
    for rule, shape in review.index.sequences:
        first: dict[int, Site] = {}
        for site in _sites(rule, shape, review):
            first.setdefault(id(site.node), site)
        yield from first.values()


def _sites(rule: Rule, shape: Shape, review: Review) -> Iterator[Site]:
    """The sites of a sequence, by the events that match its first root."""
    events, roots = review.observed, [root for root in shape.roots if root is not None]
    found = Match()
    for start, (value, _) in enumerate(events):
        if not match(roots[0], value, found, shape.optional):
            continue
        places = _follow(roots[1:], events, start + 1, found, shape)
        if places is not None and not _present(rule, events[start : places[-1] + 1], found):
            yield _site(rule, roots, [start, *places], found, review)
        found = Match()


def _follow(
    roots: list[Value], events: list[tuple[Value, Frame]], start: int, found: Match, shape: Shape
) -> list[int] | None:
    """Indices of events that match the remaining roots in order."""
    places: list[int] = []
    for root in roots:
        left = range(places[-1] + 1 if places else start, len(events))
        place = next((i for i in left if match(root, events[i][0], found, shape.optional)), None)
        if place is None:
            return None
        places.append(place)
    return places


def _present(rule: Rule, events: list[tuple[Value, Frame]], found: Match) -> bool:
    """Whether one of the calls whose absence is the flaw is there."""
    for text in rule.absent:
        root = compile_pattern(text).roots[0]
        if root is None:
            continue
        if any(_is_of_receiver(root, value, found) for value, _ in events):
            return True
    return False


def _is_of_receiver(root: Value, value: Value, found: Match) -> bool:
    """Whether a call is one that is looked for, of what the sequence is about."""
    attempt = Match()
    if not match(root, value, attempt, frozenset()):
        return False
    shared = attempt.bindings.keys() & found.bindings.keys()
    return all(_is_same(attempt.bindings[n], found.bindings[n]) for n in shared)


def _is_same(one: Value, other: Value) -> bool:
    """Whether two values are one, before or after a write, or go by one name: loops over the optimizers have their own."""
    return not _keys(one).isdisjoint(_keys(other)) or (bool(one.name) and one.name == other.name)


def _keys(value: Value) -> set[int]:
    """The keys of a value, of what it was before a write, and of what it is on each of the paths that meet."""
    paths = value.operands.values() if value.op == "phi" else ()
    return {value.key, *value.origin, *(key for part in paths for key in (part.key, *part.origin))}


def _site(rule: Rule, roots: list[Value], places: list[int], found: Match, review: Review) -> Site:
    """The finding stands at the named part (`($clip := …)`), else at the last call."""
    at = next((i for i, root in enumerate(roots) if root.name.startswith(PREFIX)), len(roots) - 1)
    value, frame = review.observed[places[at]]
    context = review.context(value, found.bindings, frame)
    events = [review.observed[place][0] for place in places]
    texts = {
        name: text_at(v, value, frame) or _name_later(v, value, events, frame)
        for name, v in found.bindings.items()
    }
    judgement = Judgement(Status.VIOLATED)
    statement = review.statements.get(id(value))
    return Site(rule, value, found, judgement, frame, context.ranges, context, texts, statement)


def _name_later(value: Value, root: Value, events: list[Value], frame: Frame) -> str | None:
    """The name by which a later call of the sequence is given a value, where it is not bound in between."""
    if frame.function is None or not isinstance(root.node, ast.expr):
        return None
    for event in events:
        for place, given in enumerate(event.node.args if isinstance(event.node, ast.Call) else ()):
            if isinstance(given, ast.Name) and event.operands.get(f"argument{place}") is value:
                rows = range(root.node.lineno, given.lineno + 1)
                return None if is_rebound(given, frame.function.node, rows) else given.id
    return None
