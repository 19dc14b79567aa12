"""Verify one site: its cases, their results and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stablelint.runtime.verify.operands.adversary import boundary_cases, captured_cases
from stablelint.runtime.verify.replay.compare import Replayer, Result, prepare, unusable
from stablelint.runtime.verify.replay.evaluate import calm
from stablelint.runtime.verify.replay.expression import NotReplayableError
from stablelint.runtime.verify.replay.values import Call, Opaque
from stablelint.runtime.verify.site import Kind, Site, Verdict
from stablelint.runtime.verify.verdict import Decision, decide


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything that replaying a site has shown."""

    decision: Decision
    results: tuple[Result, ...] = ()
    replayer: Replayer | None = None


def _needed(call: Call, replayer: Replayer) -> Call:
    """The call without what was captured in case it would be needed."""
    wanted = set(replayer.operands.values())
    return replace(call, operands={name: value for name, value in call.operands.items() if name in wanted})


def _opaque(calls: Sequence[Call], replayer: Replayer) -> frozenset[str]:
    """The operands that could not be stored."""
    return frozenset(
        source
        for call in calls
        for source in replayer.operands.values()
        if isinstance(call.operands.get(source), Opaque)
    )


def _unreplayed(site: Site, reason: str) -> str:
    if site.kind is not Kind.SEQUENCE:
        return f"cannot be replayed: {reason}"
    return "it is about more than one expression: " + (
        "only the rerun can tell" if site.has_fix else "there is nothing to replay and no fix to run"
    )


def examine(
    site: Site,
    source: bytes,
    calls: Sequence[Call],
    *,
    ran: bool,
    reached: bool,
    prepared: Replayer | None = None,
) -> Examination:
    """Replay a site on captured and boundary operands; `source` is the text of its file.

    `prepared` is what `prepare` gave for the site, if that is known. A site whose expression cannot be
    evaluated outside its program gets `not-reproduced`, with the reason.
    """
    try:
        replayer = replace(prepared, site=site) if prepared is not None else prepare(site, source)
    except NotReplayableError as error:
        verdict = Verdict.NOT_REPRODUCED if reached or not ran else Verdict.NOT_REACHED
        return Examination(Decision(verdict, notes=(_unreplayed(site, str(error)),)))
    opaque: frozenset[str] = frozenset()
    while unstored := _opaque(calls, replayer) - opaque:  # what one of them returns may be another
        opaque |= unstored
        replayer = prepare(site, source, opaque)
    usable = [_needed(call, replayer) for call in calls if unusable(call, replayer) is None]
    if calls and not usable:
        hidden = unusable(calls[0], replayer)
        reason = (
            f"an operand is a {hidden.type_name}, which cannot be stored" if hidden else "nothing is usable"
        )
        return Examination(Decision(Verdict.NOT_REPRODUCED, notes=(_unreplayed(site, reason),)))
    with calm():
        known = (*site.dtypes, *(() if "float32" in site.page_dtypes else site.page_dtypes))
        halves = bool({"float16", "bfloat16"} & set(known))
        seen = captured_cases(usable, halves)
        bases = [case.call for case in seen if case.decisive]
        cases = [*seen, *boundary_cases(replayer, bases)]
        results = tuple(result for case in cases if (result := replayer.result(case)) is not None)
    decision = decide(site, results, ran=ran, reached=reached)
    return Examination(decision, results, replayer)
