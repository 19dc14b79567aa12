"""From sites to findings: one cause, one finding, at the place to change."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from stablelint.analysis.derivation import derivation
from stablelint.analysis.judge import is_polluted
from stablelint.analysis.masking import Hider, feels_gradient, hider_of, hiders_among, is_doubled
from stablelint.analysis.modules import ModuleInfo
from stablelint.analysis.proposals import place_to_change, proposals
from stablelint.analysis.sequence import sequence_sites
from stablelint.analysis.sites import Collector, Index, Site
from stablelint.analysis.value import Value
from stablelint.catalog.rule import Rule
from stablelint.diagnostic import Diagnostic, Level, Status

Matcher = Callable[["Review", Rule], Iterable[Site]]


@dataclass
class Review:
    """What was seen in one function: the material of matchers."""

    module: ModuleInfo
    collector: Collector
    index: Index

    @property
    def sites(self) -> list[Site]:
        """Sites of pattern rules, in no order."""
        return list(self.collector.sites.values())

    @cached_property
    def hiders(self) -> list[Hider]:
        """Operations that replace some elements of another's result."""
        return hiders_among(v for v, _ in self.collector.observed)

    @property
    def open(self) -> list[Site]:
        """Sites that were not discharged."""
        return [s for s in self.sites if s.judgement.status is not Status.DISCHARGED]


def finish(review: Review) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """The findings and the discharged obligations of one function."""
    sites = [_masked_without_gradient(site, review) for site in review.sites]
    for rule in review.index.matchers:
        sites.extend(_matcher(rule)(review, rule))
    sites.extend(sequence_sites(review))
    for site in sites:
        place_to_change(site, review.module)
    open_sites = [s for s in sites if s.judgement.status is not Status.DISCHARGED]
    kept = _without_shadowed(open_sites)
    found = [diagnose(site, review) for site in kept]
    proved = [diagnose(s, review) for s in sites if s.judgement.status is Status.DISCHARGED]
    return found, proved


def _masked_without_gradient(site: Site, review: Review) -> Site:
    """Discharges a site whose bad result is replaced later and through which no gradient flows."""
    if site.judgement.status is Status.DISCHARGED or not _has_contract(site):
        return site
    hider = hider_of(site, review.hiders)
    if hider is None or (feels_gradient(site, hider) and not is_doubled(site, hider)):
        return site
    return replace(site, judgement=replace(site.judgement, status=Status.DISCHARGED, by=hider.value.op))


def _matcher(rule: Rule) -> Matcher:
    assert rule.matcher is not None
    module, _, function = rule.matcher.partition(":")
    found: Matcher = getattr(importlib.import_module(module), function)
    return found


def _without_shadowed(sites: list[Site]) -> list[Site]:
    """Drops a site that another explains: a rewrite of the whole covers its parts, a cause covers its effects."""
    kept: list[Site] = []
    for site in sites:
        if any(_shadows(other, site) for other in sites if other is not site):
            continue
        kept.append(site)
    return kept


def _shadows(other: Site, site: Site) -> bool:
    outranks = site.rule.code in other.rule.replaces
    likelier = other.judgement.level is Level.LIKELY or site.judgement.level is Level.POSSIBLE
    if outranks and (other.node is site.node or _covers(other, site.value)) and likelier:
        return site.rule.code != other.rule.code
    if (
        _has_contract(site)
        and not _has_contract(other)
        and other.node is not site.node
        and _covers(other, site.value)
    ):
        return likelier
    return _has_contract(site) and _has_contract(other) and likelier and _is_effect(site, other)


def _has_contract(site: Site) -> bool:
    return site.rule.forward is not None or site.rule.backward is not None


def _covers(site: Site, value: Value) -> bool:
    return any(value is c or (value.key == c.key and value.node is c.node) for c in site.match.covered)


def _is_effect(site: Site, cause: Site) -> bool:
    """Whether the site's operand goes bad only because the cause's does.

    Either the cause's value comes through operations that keep a bad value bad (x / sqrt(v) where sqrt(v) is
    flagged), or the operand's range already holds NaN or an infinity and is made from the cause's value.
    """
    operand = site.match.bindings.get(site.judgement.operand)
    if operand is None:
        return False
    if is_polluted(site.ranges[site.judgement.operand]) and _made_from(operand, cause.value, 10):
        return True
    for _ in range(6):
        if operand is None:
            return False
        if operand.node is cause.value.node and operand.key == cause.value.key:
            return True
        operand = operand.first if operand.op in _PASSING else None
    return False


_PASSING = frozenset("sqrt view unsqueeze squeeze expand float to index mul sum mean".split())


def _made_from(value: Value, source: Value, depth: int) -> bool:
    if value.key == source.key:
        return True
    return depth > 0 and any(_made_from(v, source, depth - 1) for v in value.operands.values())


def diagnose(site: Site, review: Review) -> Diagnostic:
    """The finding as it is reported."""
    source = site.frame.module.source
    rule, judgement = site.rule, site.judgement
    found = judgement.status is not Status.DISCHARGED
    diagnostic = Diagnostic(
        rule.code,
        rule.name,
        source.filename,
        source.span(site.node),
        _message(site),
        rule.severity,
        judgement.status,
        judgement.level,
        source.segment(site.node),
        derivation(site, source.filename) if found else (),
        discharged_by=judgement.by or None,
        url=rule.url,
    )
    if not found:
        return diagnostic
    offered, withheld = proposals(site, review.module)
    return replace(diagnostic, proposals=offered, fix_withheld=withheld)


def _message(site: Site) -> str:
    text = site.message or site.rule.message or site.rule.summary
    for name, bound in site.texts.items():
        text = text.replace(f"${name}", bound or "the operand")
    operand = site.match.bindings.get(site.judgement.operand)
    if operand is None or not site.judgement.failing:
        return text
    where = site.texts.get(site.judgement.operand)
    subject = f"`{where}`" if where and len(where) <= 40 and "\n" not in where else "the operand"
    known = site.ranges.get(site.judgement.operand)
    place = (
        f"{subject} lies in {known}"
        if known is not None and site.judgement.ground
        else f"the range of {subject} is unknown"
    )
    tail = "; the gradient is not finite there" if site.judgement.backward_only else ""
    return f"{text}: {place}{tail}"
