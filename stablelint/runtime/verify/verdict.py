"""Verify one site: its cases, their results, and from those to one verdict."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import decode_source

from stablelint.runtime.plain import plural
from stablelint.runtime.program.nodes import enclosing
from stablelint.runtime.verify.operands.adversary import boundary_cases, captured_cases
from stablelint.runtime.verify.outcome import FunctionShown
from stablelint.runtime.verify.replay.compare import INVENTED, SEEN, Replayer, Result, Role, prepare, unusable
from stablelint.runtime.verify.replay.evaluate import calm
from stablelint.runtime.verify.replay.expression import NotReplayableError
from stablelint.runtime.verify.replay.values import Call, Opaque
from stablelint.runtime.verify.site import Kind, Site, Verdict
from stablelint.syntax import operations


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, the case that decided it, and what else a reader should know."""

    verdict: Verdict
    witness: Result | None = None
    notes: tuple[str, ...] = ()


_DEALING = operations.having("finite-test", "replace")
_PROOF = (Role.CAPTURED, Role.SEARCH, Role.BOUNDARY)
_SHOWS = {  # what the first case that fails, and is cured, shows
    Role.CAPTURED: Verdict.CONFIRMED,
    **dict.fromkeys((Role.MADE, Role.VARIED, Role.SEARCH), Verdict.REACHABLE),
    **dict.fromkeys((Role.PART, Role.BOUNDARY, Role.STRESS, Role.STRUCTURE, Role.HEALTHY), Verdict.LATENT),
}


_VANISHING = (
    "the gradient overflows, with the fix too, where an operand is next to the least normal number or beneath"
)


def decide(site: Site, results: Sequence[Result], *, ran: bool, reached: bool) -> Decision:
    """The verdict on a site.

    `ran`: a command was run; `reached`: it evaluated the site at least once. A fix is refused on the word of
    captured, searched and contract-breaking operands; extreme operands speak against it only when the
    original could handle them.
    """
    # a fix of what a test hides says nothing of what it takes
    seen = any(
        r.role in (Role.CAPTURED, Role.MADE) and r.fixed is not None and not r.fixed.error for r in results
    )
    decisive = [r for r in results if r.case.decisive and not _irrelevant(r, seen)]
    notes = _notes(site, results)
    if ran and not reached:
        return Decision(Verdict.NOT_REACHED, notes=notes)
    failing = sorted((r for r in decisive if _counts(site, r)), key=lambda r: list(Role).index(r.role))
    replayed = any(result.fixed is not None for result in decisive)
    if site.has_fix and failing and not replayed:
        alone = () if site.across else ("the original fails; the fix cannot be replayed by itself",)
        return Decision(Verdict.NOT_REPRODUCED, failing[0], (*notes, *alone))
    if replayed:
        cured = [r for r in failing if r.fixed is not None and not r.fixed_failed]
        judged = [r for r in failing if r.role in SEEN or not r.vanishing]
        if cured and len(judged) < len(failing):
            failing, notes = judged, (*notes, _VANISHING)
        refusal = _refusal(site, decisive, failing, cured)
        if refusal is not None:
            return replace(refusal, notes=notes)
        failing = cured
    if failing:
        return Decision(_SHOWS[failing[0].role], failing[0], notes)
    return Decision(Verdict.NOT_REPRODUCED, notes=notes)


def _refusal(
    site: Site, decisive: Sequence[Result], failing: Sequence[Result], cured: Sequence[Result]
) -> Decision | None:
    """What speaks against a fix that was replayed."""
    strict = [r for r in failing if not (r.role is Role.STRUCTURE or r.infinite or r.role in INVENTED)]
    broken = (r for r in decisive if not r.original_failed and r.role is not Role.STRUCTURE)
    against = (
        (Verdict.INEFFECTIVE, [r for r in failing if r.role in _PROOF and r.fixed_failed and not r.infinite]),
        (Verdict.INEFFECTIVE, failing if strict and not cured else ()),
        (Verdict.INEFFECTIVE, [r for r in broken if r.fixed_failed and not r.infinite]),
        (Verdict.DIVERGES, [r for r in decisive if _diverges(site, r)]),
    )
    return next((Decision(verdict, results[0]) for verdict, results in against if results), None)


def with_function(site: Site, decision: Decision, seen: FunctionShown | None, consumes: bool) -> Decision:
    """The verdict on a site in the light of its function: what that returns and writes, before and after the fix.

    A value that goes wrong is handled where the function's result is finite all the same: an infinity in any
    case, as `exp(-inf)` is 0; a NaN only where the text deals with such values (`consumes`).
    """
    if seen is None or not (decision.verdict.passing or decision.verdict is Verdict.NOT_REPRODUCED):
        return decision
    witness = decision.witness
    met = witness is not None and witness.role in SEEN and witness.original_failed in ("forward", "backward")
    if met and witness is not None and seen.original == "finite":
        if consumes or not witness.original.forward.nan:
            harm = "; with the fix it is another one" if (seen.witness_change or 0.0) > 1 else ""
            return _with_note(
                decision, f"the function's result is finite all the same{harm}", Verdict.HANDLED
            )
    if site.kind is not Kind.EXPRESSION or site.redefines or not decision.verdict.passing:
        return decision
    # Digits that the fix brings back are another result, and a better one.
    loses_digits = witness is not None and witness.role in SEEN and witness.original_failed == "accuracy"
    if (seen.healthy_change or 0.0) > 1 and not loses_digits:
        note = f"with the fix the function gives another result on {plural(seen.healthy, 'healthy call')}"
        return _with_note(decision, note, Verdict.DIVERGES)
    if met and seen.fixed == "raised" and seen.original != "raised":
        note = f"with the fix the function raises {seen.fixed_text}"
        return _with_note(decision, note, Verdict.INEFFECTIVE)
    if met and seen.original not in (None, "finite", "raised") and seen.fixed not in (None, "finite"):
        note = f"with the fix the function's result is still not finite ({seen.fixed_text}): another expression fails"
        return _with_note(decision, note, decision.verdict)
    return decision


def consumes(source: bytes, row: int) -> bool:
    """Whether the innermost function around a row asks for, replaces or selects by values that are not finite."""
    try:
        tree = ast.parse(decode_source(source))
    except (SyntaxError, ValueError):
        return False
    return any(map(_deals, ast.walk(enclosing(tree, row) or tree)))


def _deals(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return _handles_bad_values(name)
        case ast.Assign(targets=[ast.Subscript(slice=index)]):
            return not isinstance(index, ast.Constant | ast.Slice)
    return False


def _handles_bad_values(name: str) -> bool:
    """Whether an operation asks for, leaves out, replaces or selects by such values, so that one is no accident."""
    found = operations.method(name)
    if found is None:
        return False
    row, _ = found
    return row.name in _DEALING or "mask" in row.parameters or name.startswith("nan")  # `nansum` and its like


def _with_note(decision: Decision, note: str, verdict: Verdict) -> Decision:
    return replace(decision, verdict=verdict, notes=(*decision.notes, note))


def _irrelevant(result: Result, seen: bool) -> bool:
    """Whether a result is no word on the fix as it stands in its program.

    A fix of what a test hides says nothing of what it takes: an infinity there may be meant, a NaN that was seen
    is not. And where the fix was evaluated on captured operands (`seen`), that it refuses the rule page's own, of
    another rank, is no fault.
    """
    if result.shown and result.fixed_failed:
        nan = result.fixed is not None and result.fixed.forward.nan
        return result.role not in (Role.CAPTURED, Role.MADE) or not nan
    return seen and result.case.call.origin == "page" and result.fixed_failed == "error"


def _counts(site: Site, result: Result) -> bool:
    """Whether the original fails in a way that the rule speaks of."""
    if site.expect == "inaccurate" and result.original_failed != "accuracy" and result.fixed_failed:
        return False  # lost digits are the rule's matter: what is not finite in both is another's
    return result.original_failed is not None


def _diverges(site: Site, result: Result) -> bool:
    if result.changed is None or result.changed <= 1 or site.kind is not Kind.EXPRESSION or site.redefines:
        return False
    if result.role in (Role.CAPTURED, Role.MADE):
        return result.original_failed in (None, "forward", "backward")
    if result.role is Role.HEALTHY:
        return result.original_failed is None
    return site.safe and result.role is Role.SEARCH and result.original_failed is None


def _is_less_accurate(result: Result) -> bool:
    """Whether the fix loses more than a bit where the original is right."""
    if not result.case.decisive or result.original_failed is not None:
        return False
    if result.role not in (Role.CAPTURED, Role.MADE, Role.HEALTHY):
        return False
    before, after = result.original_bits, result.fixed_bits
    return before is not None and after is not None and after < before - 1.0


def _notes(site: Site, results: Sequence[Result]) -> tuple[str, ...]:
    notes = []
    if not site.has_fix:
        notes.append("no fix to verify")
    if site.across:
        notes.append("its fix changes several files: only a rerun of a command tells what becomes of it")
    undecided = [result for result in results if not result.case.decisive]
    uncured = {result.case.label for result in undecided if result.fixed_failed}
    uncured -= {result.case.label for result in undecided if not result.original_failed}
    if uncured and site.fixed is not None:
        formats = sorted({label.split()[0] for label in uncured})
        notes.append(f"the fix would not hold in {', '.join(formats)}")
    worse = list(filter(_is_less_accurate, results))
    if any(result.shown and result.fixed_failed for result in results):
        notes.append("what the test takes can be non-finite still: the fix is about what it hides")
    if site.redefines:
        notes.append("the fix computes another quantity, as its rule page says")
    elif worse:
        first = worse[0]
        notes.append(
            f"the fix is less accurate on {first.case.label}: "
            f"{first.fixed_bits:.1f} bits against {first.original_bits:.1f}"
        )
    return tuple(notes)


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
