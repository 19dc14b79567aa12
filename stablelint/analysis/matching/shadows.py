"""Which sites another site explains: a rewrite of the whole covers its parts, a cause covers its effects.

Sites are found by what they stand on, so that a function with thousands of them is reviewed in linear time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from stablelint.analysis.matching.sites import Site
from stablelint.analysis.proof.judge import Judgement, asked_by, judge
from stablelint.analysis.proof.uses import Users
from stablelint.analysis.values.selections import selecting_mask
from stablelint.analysis.values.transfer import format_of, result_interval
from stablelint.analysis.values.value import Value
from stablelint.diagnostic import Status
from stablelint.numerics.interval import Interval
from stablelint.syntax.operations import VIEWS

_PASSING = frozenset("sqrt view unsqueeze squeeze expand float to index mul sum mean".split())
_CHAIN = 6  # operations through which a bad value is followed back to its cause

Place = tuple[int, int]  # of a value: its key, and the identity of its expression


def without_shadowed(sites: list[Site], users: Users) -> list[Site]:
    """The sites that no other explains, in the same order; `users` tell what takes each value around them."""
    known = _Shadows(sites, users)
    for site in sites:
        known.inherit(site)
    selected: set[tuple[str, int, int]] = set()
    kept: list[Site] = []
    for site in sites:
        selection = _selection(site)
        if selection in selected or known.covers(site):
            continue
        if selection is not None:
            selected.add(selection)
        known.narrow(site)
        kept.append(site)
    return kept


def _selection(site: Site) -> tuple[str, int, int] | None:
    """What a mean is taken over, and where: two means over one selection in one statement have one cause."""
    if site.value.op != "mean" or site.value.first is None or site.rule.has_contract:
        return None
    mask = selecting_mask(site.value.first)
    return None if mask is None else (site.rule.code, id(site.statement), mask.key)


class _Shadows:
    """Sites by their expression, by the values their match covers, and by the value they yield."""

    def __init__(self, sites: list[Site], users: Users) -> None:
        self._users = users
        self._by_node: dict[int, list[Site]] = {}
        self._by_covered: dict[Place, list[Site]] = {}
        self._by_place: dict[Place, list[Site]] = {}
        self._replacing: dict[Place, list[Site]] = {}
        for site in sites:
            self._by_node.setdefault(id(site.node), []).append(site)
            if site.rule.replaces:
                self._replacing.setdefault(_place(site.value), []).append(site)
            for value in site.match.covered:
                self._by_covered.setdefault(_place(value), []).append(site)
            if site.rule.has_contract:
                self._by_place.setdefault(_place(site.value), []).append(site)

    def inherit(self, site: Site) -> None:
        """Takes over what the rule that it replaces shows of the same expression: the operand, and that it goes wrong."""
        if not site.rule.replaces or site.judgement.status is not Status.UNGUARDED:
            return
        replaced = [
            other
            for other in self._by_node.get(id(site.node), ())
            if other.rule.code in site.rule.replaces and other.value is site.value
        ]
        site.replaced = next((other for other in replaced if other.operand is not None), None)
        if any(other.judgement.status is Status.VIOLATED for other in replaced):
            site.judgement = replace(site.judgement, status=Status.VIOLATED)

    def covers(self, site: Site) -> bool:
        """Whether another site explains this one."""
        return (
            any(self._rewrites(other, site) for other in self._by_node.get(id(site.node), ()))
            or any(self._rewrites(other, site) for other in self._parts(site))
            or any(self._holds(other, site) for other in self._by_covered.get(_place(site.value), ()))
            or any(not _without(cause, site, way)[0].status.is_open for cause, way in self._causes(site))
        )

    def narrow(self, site: Site) -> None:
        """Leaves to a site what its causes do not answer for."""
        for cause, way in self._causes(site):
            site.judgement, site.ranges = _without(cause, site, way)

    def _parts(self, site: Site) -> Iterator[Site]:
        """Sites of rules that replace others, at the operations of which this one's match is made."""
        if self._replacing:
            for value in site.match.covered:
                yield from self._replacing.get(_place(value), ())

    def _is_rewritten(self, cause: Site) -> bool:
        """Whether another rule rewrites a cause, into what need not answer for more: a norm is 0 where a root was."""
        return any(self._rewrites(other, cause) for other in self._by_node.get(id(cause.node), ()))

    def _rewrites(self, other: Site, site: Site) -> bool:
        return site.rule.code in other.rule.replaces and _is_other_rule(other, site)

    def _holds(self, other: Site, site: Site) -> bool:
        if self._is_read_beside(site.value, other):
            return False
        if site.rule.code in other.rule.replaces:
            return _may_shadow(other, site) and (other.node is not site.node or _is_other_rule(other, site))
        plain = site.rule.has_contract and not other.rule.has_contract and other.node is not site.node
        return plain and _may_shadow(other, site)

    def _is_read_beside(self, part: Value, other: Site) -> bool:
        """Whether a part of a match is taken by an operation that is none of the match: a rewrite leaves it as it is."""
        if part.key == other.value.key:
            return False
        covered = {part.key, *(value.key for value in other.match.covered)}
        readers = [one for one in self._users.get(part.key, ()) if one.key not in covered]
        return any(one.op not in VIEWS or self._is_read_beside(one, other) for one in readers)

    def _causes(self, site: Site) -> Iterator[tuple[Site, Sequence[Value]]]:
        """Sites whose bad value reaches this one's operand, and the values on the way from there, the operand first.

        The value comes through operations that keep a bad value bad: x / sqrt(v), where sqrt(v) is flagged.
        """
        step = site.operand if site.rule.has_contract else None
        way: list[Value] = []
        for _ in range(_CHAIN):
            if step is None:
                return
            causes = (one for one in self._by_place.get(_place(step), ()) if not self._is_rewritten(one))
            yield from ((one, way) for one in causes if _may_shadow(one, site))
            way = [*way, step]
            step = step.first if step.op in _PASSING else None


def _place(value: Value) -> Place:
    return value.key, id(value.node)


def _is_other_rule(other: Site, site: Site) -> bool:
    return other.rule.code != site.rule.code and _may_shadow(other, site)


def _may_shadow(other: Site, site: Site) -> bool:
    """A cause that is shown covers its effects, and one that is not those that are not shown either."""
    shown = other.judgement.status is Status.VIOLATED or site.judgement.status is not Status.VIOLATED
    return other is not site and shown


def _without(cause: Site, site: Site, way: Sequence[Value]) -> tuple[Judgement, Mapping[str, Interval]]:
    """What is left to prove of a site, and where its operands lie, once the obligation of its cause holds."""
    interval = _granted(cause)
    for value in reversed(way):
        ranges = {name: operand.interval for name, operand in value.operands.items()}
        ranges[next(iter(ranges))] = interval
        interval = result_interval(value.op, value.operands, ranges, format_of(value))
    ranges = {**site.ranges, site.judgement.operand: interval}
    return judge(asked_by(site.rule), site.match.bindings, ranges, site.gradient), ranges


def _granted(cause: Site) -> Interval:
    """Where the value of a site lies when its operands keep to what its rule asks."""
    ranges = {name: operand.interval for name, operand in cause.value.operands.items()}
    for comparison, _ in asked_by(cause.rule):
        bound = cause.match.bindings.get(comparison.variable)
        allowed = comparison.allowed(format_of(cause.value))
        for name, operand in cause.value.operands.items():
            if bound is not None and operand.key == bound.key:
                ranges[name] = ranges[name].meet(allowed) or allowed
    return result_interval(cause.value.op, cause.value.operands, ranges, format_of(cause.value))
