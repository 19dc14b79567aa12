"""Forms whose every obligation is met: written out by hand, and yet nothing in them can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from stablelint.analysis.matching.sites import Site
from stablelint.catalog.predicates import parse_predicate
from stablelint.diagnostic import Status


def discharge_of_parts(sites: Iterable[Site]) -> Callable[[Site], Site]:
    """Discharges a form whose operations all meet their own obligations, as `log(1 + exp(x))` does for x in [-9, 9].

    A form that fails in a narrower format than its parts are judged in, one that loses digits wherever its
    operands lie, and one without an obligation among its operations, a flaw by itself, stay.
    """
    by_key: dict[int, list[Site]] = {}
    for site in sites:
        if site.rule.has_contract:
            by_key.setdefault(site.value.key, []).append(site)

    def discharge(site: Site) -> Site:
        judgement = site.judgement
        if (
            site.rule.has_contract
            or any(parse_predicate(text).is_of_formats for text in site.rule.where)
            or site.rule.expect != "non-finite"
            or not judgement.status.is_open
        ):
            return site
        parts = [part for value in site.match.covered for part in by_key.get(value.key, ())]
        if not parts or any(part.judgement.status.is_open for part in parts):
            return site
        on = tuple(dict.fromkeys(setting for part in parts for setting in part.judgement.assumes))
        status = Status.ASSUMED if on else Status.DISCHARGED
        by = parts[0].judgement.by
        return replace(site, judgement=replace(judgement, status=status, by=by, assumes=on))

    return discharge
