"""From sites to findings: one cause, one finding, at the place to change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from stablelint.analysis.evidence.forms.table import form_of
from stablelint.analysis.evidence.score import confidence_of, level_of, reasons
from stablelint.analysis.evidence.subject import Subject, Surroundings
from stablelint.analysis.matching.composites import discharge_of_parts
from stablelint.analysis.matching.derivation import derivation
from stablelint.analysis.matching.proposals import place_to_change, proposals
from stablelint.analysis.matching.review import Review
from stablelint.analysis.matching.sequence import sequence_sites
from stablelint.analysis.matching.shadows import without_shadowed
from stablelint.analysis.matching.sites import Site
from stablelint.analysis.proof.counts import is_counted, rests_on
from stablelint.analysis.proof.judge import Judgement, asked_by, differentiable, judge
from stablelint.analysis.proof.replacement import (
    believing,
    factors_before,
    feels_gradient,
    is_doubled,
    is_empty_group,
    is_gathered,
    is_masked_again,
    is_replaced,
    replacement_of,
    taken_far_from_0,
    wiped_away,
)
from stablelint.analysis.proof.uses import is_cut_off, is_harmless_above
from stablelint.analysis.unfit import unfit
from stablelint.analysis.values.families import LOGARITHMS
from stablelint.analysis.values.lists import leaves
from stablelint.analysis.values.paths import Assumption
from stablelint.catalog.predicates import parse_predicate
from stablelint.diagnostic import Diagnostic, Level, Span, Status, Step
from stablelint.numerics.interval import Interval

_SHARE = Interval(2.0**-40, math.inf)  # what is counted at least once, or its share of all that there is


def finish(review: Review, level: Level = Level.POSSIBLE) -> tuple[list[Diagnostic], list[Site]]:
    """The findings of one function, retold from `level` on, and its sites whose obligations hold."""
    matched = [
        one
        for one in review.sites
        if not _is_used_besides(one, review) and not _is_for_what_is_not_small(one, review)
    ]
    proved = [_proved_later(site, review) for site in matched]
    sites = list(map(discharge_of_parts(proved), proved))
    for rule, matcher in review.index.matchers_for(review.words):
        sites.extend(matcher(review, rule))
    sites.extend(sequence_sites(review))
    for site in sites:
        place_to_change(site, review.module)
    open_sites = [s for s in sites if s.judgement.status.is_open]
    around = Surroundings(review.module, [value for value, _ in review.observed], review.replacements)
    found = [
        _finding(Subject(site, around), review, level) for site in without_shadowed(open_sites, review.users)
    ]
    return found, [s for s in sites if not s.judgement.status.is_open]


def _is_used_besides(site: Site, review: Review) -> bool:
    """Whether the function makes something else of what its page asks to stand `alone`, or returns it."""
    asked = (parse_predicate(text) for text in site.rule.where if text.startswith("alone"))
    bound = (site.match.bindings.get(name) for predicate in asked for name in predicate.metavariables)
    keys = {value.key for value in bound if value is not None}
    if not keys:
        return False
    takers = (v for key in keys for v in review.takers.get(key, ()))
    used = any(v.op not in LOGARITHMS and v is not site.value for v in takers)
    return used or any(leaf.key in keys for one in site.frame.returns for leaf in leaves(one))


def _is_for_what_is_not_small(site: Site, review: Review) -> bool:
    """Whether a result that loses digits of small operands is taken for others alone: another form stands for those."""
    if site.rule.expect != "inaccurate" or not review.replacements:
        return False
    asked = (replace(site.obligation, operand=bound) for bound in site.match.bindings.values())
    return any(taken_far_from_0(one, review.replacements, review.observed) for one in asked)


def of_one_change(found: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings, of those that one change of a value removes, with others beside it, the first alone.

    A model that ends in a sigmoid is told once, with the change of every loss that takes what it gives.
    """
    groups: dict[tuple[str, str | None, Span], list[Diagnostic]] = {}
    for item in found:
        best = next(iter(item.proposals), None)
        shared = best is not None and (best.also or best.filename)
        place = (best.filename, best.span) if best is not None and shared else (None, item.span)
        groups.setdefault((item.code, *place), []).append(item)
    for first, *others in groups.values():
        yield _with_others(first, others) if others and first.proposals else first


def taker(item: Diagnostic) -> Span | None:
    """The operation elsewhere that takes what the first rewrite of a finding changes."""
    best = next(iter(item.proposals), None)
    outermost = best.program[-1] if best is not None and best.program and best.filename is None else None
    return None if outermost == item.span else outermost


def _with_others(first: Diagnostic, others: Sequence[Diagnostic]) -> Diagnostic:
    best, *further = first.proposals
    also = [*best.also]
    also += [part for one in others for part in one.proposals[0].also if part not in also]
    steps = (_taking_too(one) for one in others)
    takers = tuple(span for span in map(taker, others) if span is not None)
    proposals = (replace(best, also=tuple(also), takers=takers), *further)
    return replace(first, proposals=proposals, derivation=(*first.derivation, *steps))


def _taking_too(item: Diagnostic) -> Step:
    """Another operation that takes what one change is made of: the finding's own, or that which it has told of."""
    told = (step for step in item.derivation if step.span == taker(item))
    shown = next(told, Step(f"`{' '.join(item.expression.split())}` takes it", item.span))
    return shown._replace(text=f"{shown.text} too")


def _proved_later(site: Site, review: Review) -> Site:
    """Discharges a site by what a count cannot be, or by what replaces its bad result, save for a gradient that flows."""
    if not site.judgement.status.is_open:
        return site
    if any("elements" in condition for condition in site.rule.where):
        if is_masked_again(site.obligation, review.replacements, review.observed):
            return _discharged(site, "masked_fill")
        wiped = wiped_away(site.obligation, review.replacements)
        return _discharged(site, wiped.value.op) if wiped is not None else site
    if is_cut_off(site.value, site.frame, review.users):
        site = _without_gradient(site)
    if not site.rule.has_contract:
        return site
    felt = site.operand is None or differentiable(site.operand, site.gradient)
    if not felt and is_harmless_above(site.value, site.frame, review.users):
        return _discharged(site, "infinite divisor")
    if site.operand is not None and is_counted(site.operand) and not _within(site, _SHARE).status.is_open:
        proved, on = _discharged(site, "count"), list(rests_on(site.operand))
        return _assumed(proved, *on) if on else proved
    if is_gathered(site.obligation, review.observed):
        return _discharged(site, "index")
    later = replacement_of(site.obligation, review.replacements, review.observed)
    settings: tuple[Assumption, ...] = ()
    if later is None and any(is_replaced(site.obligation, one) for one in review.replacements):
        supposed, settings = believing(site.obligation, review.replacements)
        later = replacement_of(supposed, review.replacements, review.observed)
    if later is None:
        return site
    felt = feels_gradient(site.obligation, later) and not is_doubled(site.obligation, later)
    felt = felt and not is_cut_off(later.value, site.frame, review.users)
    if felt and not is_empty_group(site.obligation):
        return site if settings else replace(site, judgement=replace(site.judgement, backward_only=True))
    proved, assumed = (
        _discharged(site, later.value.op),
        [one.text for one in settings if one.filename is None],
    )
    factor = next(factors_before(site.obligation, later), None)
    if factor is not None:
        assumed.append(f"{factor.name or 'what multiplies the result'} is not 0")
    return _assumed(proved, *assumed) if assumed else proved


def _without_gradient(site: Site) -> Site:
    """The site as it is where no gradient comes back to it."""
    if any(condition.startswith("differentiable") for condition in site.rule.where):
        return _discharged(site, "no gradient")
    bare = replace(site, gradient=False, context=replace(site.context, gradient=False))
    holds = not judge(asked_by(site.rule), site.match.bindings, site.ranges, gradient=False).status.is_open
    return _discharged(bare, "no gradient") if site.rule.has_contract and holds else bare


def _within(site: Site, interval: Interval) -> Judgement:
    """What is left to prove of a site whose operand is known to lie in an interval."""
    known = site.ranges[site.judgement.operand]
    ranges = {**site.ranges, site.judgement.operand: known.meet(interval) or interval}
    return judge(asked_by(site.rule), site.match.bindings, ranges, site.gradient)


def _discharged(site: Site, by: str) -> Site:
    return replace(site, judgement=replace(site.judgement, status=Status.DISCHARGED, by=by))


def _assumed(site: Site, *texts: str) -> Site:
    return replace(site, judgement=replace(site.judgement, status=Status.ASSUMED, assumes=texts))


def _finding(subject: Subject, review: Review, level: Level) -> Diagnostic:
    """The finding with its confidence; with its chain and the rewrites on offer from `level` on."""
    site = subject.site
    form = form_of(subject)
    if form is not None:
        site.message = site.message or form.message
    because = reasons(subject)
    confidence = confidence_of(because)
    found = replace(
        diagnose(site), level=level_of(confidence), confidence=round(confidence, 4), because=because
    )
    if found.level is not Level.LIKELY and level is Level.LIKELY:
        return found
    against = unfit(site, subject.around, review.users)
    offered, withheld = ((), against) if against is not None else proposals(site, review.module)
    chain = derivation(site, found.filename)
    return replace(found, derivation=chain, proposals=offered, fix_withheld=withheld)


def diagnose(site: Site) -> Diagnostic:
    """What was matched and proved at a site, without chain or rewrites."""
    source = site.frame.module.source
    rule, judgement = site.rule, site.judgement
    return Diagnostic(
        rule.code,
        rule.name,
        source.filename,
        span=source.span(site.node),
        message=_message(site),
        severity=rule.severity,
        status=judgement.status,
        level=Level.POSSIBLE,
        expression=source.segment(site.node),
        discharged_by=judgement.by or None,
        assumes=judgement.assumes,
        url=rule.url,
        of_gradient=judgement.backward_only,
    )


def _message(site: Site) -> str:
    text = site.message or site.rule.message or site.rule.summary
    for name, bound in site.texts.items():
        text = text.replace(f"${name}", bound or "the operand")
    if site.operand is None or not site.judgement.failing:
        return text
    where = site.texts.get(site.judgement.operand)
    subject = f"`{where}`" if where and len(where) <= 40 and "\n" not in where else "the operand"
    known = site.ranges.get(site.judgement.operand)
    bounded = known is not None and (site.judgement.attained or known.lo > -math.inf or known.hi < math.inf)
    place = f"{subject} lies in {known}" if bounded else f"the range of {subject} is unknown"
    if site.judgement.overflows:
        return f"the result can be larger than what {site.judgement.overflows} holds: {place}"
    tail = "; the gradient is not finite there" if site.judgement.backward_only else ""
    return f"{text}: {place}{tail}"
