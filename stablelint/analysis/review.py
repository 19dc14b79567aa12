"""From sites to findings: one cause, one finding, at the place to change."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

from stablelint.analysis.files.modules import ModuleInfo
from stablelint.analysis.levels.feeding import counts_input, fed_values
from stablelint.analysis.levels.likelihood import doubted, settled
from stablelint.analysis.levels.log_scales import log_scales
from stablelint.analysis.levels.masking import (
    Hider,
    feels_gradient,
    hider_of,
    hiders_among,
    is_doubled,
    is_empty_group,
    is_gathered,
    is_masked_again,
    is_replaced,
)
from stablelint.analysis.levels.obligations import discharge_of_parts
from stablelint.analysis.levels.pooling import SPREADS, pooled_spreads
from stablelint.analysis.levels.shares import shares
from stablelint.analysis.matching.derivation import derivation
from stablelint.analysis.matching.proposals import place_to_change, proposals
from stablelint.analysis.matching.sequence import sequence_sites
from stablelint.analysis.matching.shadows import has_contract, without_shadowed
from stablelint.analysis.matching.sites import Collector, Index, Site
from stablelint.analysis.values.views import stripped
from stablelint.diagnostic import Diagnostic, Level, Status

_ROUNDING = frozenset("round floor ceil trunc long int".split())


@dataclass
class Review:
    """What was seen in one function, or in the body of the file: the material of matchers."""

    module: ModuleInfo
    collector: Collector
    index: Index
    of_body: bool = False
    words: Set[str] | None = None  # of the sieve; None where nothing was sieved

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
        """Sites whose obligations may not hold."""
        return [s for s in self.sites if s.judgement.status.is_open]

    def is_hidden(self, site: Site) -> bool:
        """Whether something is put in the place of what is made of the site's result, whatever decides on it."""
        return any(is_replaced(site, hider) for hider in self.hiders)

    def is_rounded(self, site: Site) -> bool:
        """Whether the site's result becomes a whole number."""
        return site.value.key in self._rounded

    def is_pooled(self, site: Site) -> bool:
        """Whether the site's result is a spread that is pooled together with its mean."""
        return site.value.op in SPREADS and site.value.key in self._pooled

    def is_shared(self, site: Site) -> bool:
        """Whether the site's result is divided by the sum of such."""
        return site.value.op == "exp" and site.value.key in self._shares

    def is_logarithm(self, site: Site) -> bool:
        """Whether what is exponentiated stands bare in the same sum, and a gradient is taken through it."""
        return site.gradient and site.value.op == "exp" and site.value.key in self._log_scales

    def counts_input(self, site: Site) -> bool:
        """Whether the site is bad only for a batch that is padding throughout."""
        return counts_input(site, self._fed)

    @cached_property
    def _fed(self) -> frozenset[int]:
        return fed_values(v for v, _ in self.collector.observed)

    @cached_property
    def _pooled(self) -> frozenset[int]:
        return pooled_spreads(v for v, _ in self.collector.observed)

    @cached_property
    def _shares(self) -> frozenset[int]:
        return shares(v for v, _ in self.collector.observed)

    @cached_property
    def _log_scales(self) -> frozenset[int]:
        return log_scales(v for v, _ in self.collector.observed)

    @cached_property
    def _rounded(self) -> frozenset[int]:
        rounding = (v for v, _ in self.collector.observed if v.op in _ROUNDING)
        return frozenset(stripped(v.first).key for v in rounding if v.first is not None)


def finish(review: Review, level: Level = Level.POSSIBLE) -> tuple[list[Diagnostic], list[Site]]:
    """The findings of one function, retold from `level` on, and its sites whose obligations hold."""
    discharged = discharge_of_parts(review.sites)
    sites = [_masked_without_gradient(discharged(site), review) for site in review.sites]
    for rule, matcher in review.index.matchers_for(review.words):
        sites.extend(matcher(review, rule))
    sites.extend(sequence_sites(review))
    sites = [
        settled(
            site,
            review.is_hidden(site),
            review.is_rounded(site),
            review.is_pooled(site),
            review.is_shared(site),
            review.is_logarithm(site),
        )
        for site in sites
    ]
    sites = [doubted(site) if _is_likely(site) and review.counts_input(site) else site for site in sites]
    for site in sites:
        place_to_change(site, review.module)
    open_sites = [s for s in sites if s.judgement.status.is_open]
    kept = without_shadowed(open_sites)
    told = {Level.LIKELY, level}
    found = [diagnose(site, review, site.judgement.level in told) for site in kept]
    return found, [s for s in sites if not s.judgement.status.is_open]


def _is_likely(site: Site) -> bool:
    return site.judgement.status.is_open and site.judgement.level is Level.LIKELY


def _masked_without_gradient(site: Site, review: Review) -> Site:
    """Discharges a site whose bad result is replaced later, save for its gradient where one can flow."""
    if not site.judgement.status.is_open:
        return site
    if any("masked_rows" in condition for condition in site.rule.where):
        again = is_masked_again(site, review.hiders, review.collector.observed)
        return _discharged(site, "masked_fill") if again else site
    if not has_contract(site):
        return site
    if is_gathered(site, review.collector.observed):
        return _discharged(site, "index")
    hider = hider_of(site, review.hiders)
    if hider is None:
        return site
    felt = feels_gradient(site, hider) and not is_doubled(site, hider)
    if felt and not is_empty_group(site):
        return replace(site, judgement=replace(site.judgement, backward_only=True))
    return _discharged(site, hider.value.op)


def _discharged(site: Site, by: str) -> Site:
    return replace(site, judgement=replace(site.judgement, status=Status.DISCHARGED, by=by))


def diagnose(site: Site, review: Review, told: bool = True) -> Diagnostic:
    """The finding as it is reported; with its chain and the rewrites on offer where it is `told`."""
    source = site.frame.module.source
    rule, judgement = site.rule, site.judgement
    found = told and judgement.status.is_open
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
        assumes=judgement.assumes,
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
