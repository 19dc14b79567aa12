"""Operands nobody captured: boundary, extreme and ordinary ones, shaped like those that were."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

import torch

from stablelint.numerics.formats import FORMATS
from stablelint.runtime.tensors.measure import dtype_name, floating
from stablelint.runtime.verify.operands import page
from stablelint.runtime.verify.operands.page import bound_of
from stablelint.runtime.verify.replay.compare import INVENTED, Case, Replayer, Role, poisoned
from stablelint.runtime.verify.replay.evaluate import evaluate
from stablelint.runtime.verify.replay.values import Call, Context, Value, dtype_of

_SHAPES = 2  # distinct captured shapes that boundary operands are made for
_FILLS = 4  # boundary values of one operand that get a case of their own
_GUESSES = 64  # combinations of kinds of operands tried where nothing was captured
_GENERIC = (0.0, 1.0, -1.0, 100.0, -100.0)
_LABELS = {
    Role.SEARCH: "inputs found by the search",
    **dict.fromkeys(INVENTED, "a call made for it"),
    Role.PART: "a call of the statements that make it",
}
_HALVES = ("float16", "bfloat16")


def boundary_cases(replayer: Replayer, calls: Sequence[Call]) -> list[Case]:
    """Cases shaped like the captured `calls`, or like the page's own operands where there are none."""
    named = page.page_cases(replayer)
    found: list[Case] = list(named)
    shapes = _distinct(calls)[:_SHAPES] or _invented(replayer)
    for index, base in enumerate(shapes):
        found += _number_cases(replayer, base)
        for dtype, decisive in _dtypes(replayer, base):
            cast = _cast(base, dtype)
            label = dtype_name(dtype)
            cases = _contract_cases(replayer, cast, label, decisive)
            found += cases
            if decisive and index == 0:
                found += _structure_cases(cast, label)
                if not cases and not named:
                    found += _generic_cases(cast, label)
            if decisive:
                found += _healthy_cases(replayer, cast, label)
    frozen = page.without_gradient(replayer) | _never_requiring_grad(calls)
    return [_without_gradient(_dropping(replayer, case), frozen) for case in found]


def _never_requiring_grad(calls: Sequence[Call]) -> frozenset[str]:
    """Operands towards which no captured call asked for a gradient, where it is known that some asked for one."""
    asking = [call for call in calls if call.context.grad and call.needs]
    asked = frozenset[str]().union(*(call.needs or () for call in asking))
    return frozenset(name for call in asking for name in call.operands) - asked


def _without_gradient(case: Case, frozen: frozenset[str]) -> Case:
    """The case without a gradient towards operands that never require one."""
    if not frozen:
        return case
    asked = frozenset(case.call.operands) if case.call.needs is None else case.call.needs
    return replace(case, call=replace(case.call, needs=asked - frozen))


def _distinct(calls: Sequence[Call]) -> list[Call]:
    seen: dict[tuple[object, ...], Call] = {}
    for call in calls:
        if poisoned(call):
            continue
        key = tuple(
            (tuple(v.shape), v.dtype) if isinstance(v, torch.Tensor) else type(v)
            for v in call.operands.values()
        )
        seen.setdefault(key, call)
    return list(seen.values())


def _dtypes(replayer: Replayer, base: Call) -> Iterator[tuple[torch.dtype, bool]]:
    own = next((v.dtype for v in base.operands.values() if floating(v)), None)
    if own is None:
        return
    known = {own, *(dtype_of(name) for name in replayer.site.dtypes if name in FORMATS)}
    for dtype in sorted(known, key=str):
        yield dtype, True
    spoken = replayer.site.page_dtypes or _HALVES
    for name in _HALVES if own is torch.float32 else ():
        if dtype_of(name) not in known and name in spoken:
            yield dtype_of(name), False


def _cast(call: Call, dtype: torch.dtype) -> Call:
    cast = {name: value.to(dtype) for name, value in call.operands.items() if floating(value)}
    return replace(call, operands={**call.operands, **cast})


def _dropping(replayer: Replayer, case: Case) -> Case:
    """The case with the test that hides the result, where the fix has it as an operand, fit to the other operands.

    What was captured of the test speaks of the captured operands. Where it is not known what the test is made of,
    it hides all.
    """
    if not replayer.site.guards_hidden or replayer.hidden is None or replayer.fixed is None:
        return case
    flag = not replayer.hidden.text.startswith("1.0 -")
    tests = {}
    for source in set(replayer.fixed.operands.values()) - set(replayer.original.operands.values()):
        value = case.call.operands.get(source)
        if not isinstance(value, torch.Tensor) or value.dtype is not torch.bool:
            continue
        tests[source] = torch.full_like(value, flag)
        if source not in replayer.hidden.operands.values():
            dropped = evaluate(replayer.hidden, case.call, replayer.names, backward=False).values
            if len(dropped) == 1 and dropped[0].shape == value.shape:
                tests[source] = (dropped[0] != 0) == flag
    return replace(case, call=replace(case.call, operands={**case.call.operands, **tests}))


def _with(call: Call, source: str, value: Value) -> Call:
    return replace(call, operands={**call.operands, source: value}, inputs={})


def _contract_cases(replayer: Replayer, base: Call, label: str, decisive: bool) -> list[Case]:
    cases: list[Case] = []
    for metavariable, source in replayer.metavariables.items():
        value = base.operands.get(source)
        fmt = FORMATS.get(dtype_name(value.dtype)) if isinstance(value, torch.Tensor) else None
        if not isinstance(value, torch.Tensor) or fmt is None:
            continue
        bound = bound_of(replayer.site, metavariable, fmt)
        if bound is None:
            continue
        calm = _calm(replayer, base, metavariable)
        for number in _spread(bound.near, _FILLS if decisive else 1):
            call = _with(calm, source, torch.full_like(value, number))
            cases.append(Case(call, Role.BOUNDARY, f"{label} {metavariable} = {number:.3g}", decisive))
        if not decisive:
            continue
        if bound.near and value.numel() > 1:
            mixed = _mixed(calm.operands[source], bound.near)
            cases.append(Case(_with(calm, source, mixed), Role.BOUNDARY, f"{label} {metavariable} mixed"))
        for number in _spread(bound.beyond, 2):
            call = _with(calm, source, torch.full_like(value, number))
            cases.append(Case(call, Role.STRESS, f"{label} {metavariable} = {number:.3g}"))
    return cases


def _number_cases(replayer: Replayer, base: Call) -> Iterator[Case]:
    """Operands that are numbers of Python's, at the edge of the contract."""
    for metavariable, source in replayer.metavariables.items():
        value = base.operands.get(source)
        bound = bound_of(replayer.site, metavariable, FORMATS["float64"])
        if bound is None or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        whole = isinstance(value, int)
        calm = _calm(replayer, base, metavariable)
        for number in _spread([each for each in bound.near if not whole or each.is_integer()], 2):
            call = _with(calm, source, int(number) if whole else number)
            yield Case(call, Role.BOUNDARY, f"{metavariable} = {number:.3g}")


def _spread(values: Sequence[float], most: int) -> list[float]:
    if len(values) <= most:
        return list(values)
    ordered = sorted(values, key=abs)
    picks = {round(index * (len(ordered) - 1) / max(most - 1, 1)) for index in range(most)}
    return [ordered[index] for index in sorted(picks)]


def _calm(replayer: Replayer, base: Call, changed: str) -> Call:
    """The call with every other operand moved well inside its own contract."""
    operands = dict(base.operands)
    for metavariable, source in replayer.metavariables.items():
        value = operands.get(source)
        if metavariable == changed or not isinstance(value, torch.Tensor):
            continue
        fmt = FORMATS.get(dtype_name(value.dtype))
        bound = bound_of(replayer.site, metavariable, fmt) if fmt else None
        if bound and bound.inside:
            operands[source] = torch.where(torch.isfinite(value), value, torch.ones_like(value))
    return replace(base, operands=operands, inputs={})


def _mixed(value: Value, numbers: Sequence[float]) -> torch.Tensor:
    assert isinstance(value, torch.Tensor)
    mixed = torch.where(torch.isfinite(value), value, torch.ones_like(value)).clone()
    flat = mixed.reshape(-1)
    step = max(flat.numel() // 3, 1)
    places = torch.arange(0, flat.numel(), step)
    chosen = torch.tensor([numbers[i % len(numbers)] for i in range(len(places))], dtype=torch.float64)
    flat[places] = chosen.to(flat)
    return flat.reshape(mixed.shape)


def _structure_cases(base: Call, label: str) -> list[Case]:
    """Ties, rows of a constant, all-masked rows and empty tensors."""
    cases = []
    for source, value in base.operands.items():
        if not isinstance(value, torch.Tensor):
            continue
        if value.dtype is torch.bool:
            for flag in (True, False):
                call = _with(base, source, torch.full_like(value, flag))
                cases.append(Case(call, Role.STRUCTURE, f"{label} {source} all {flag}"))
        elif value.is_floating_point() and value.ndim and value.numel():
            masked = value.clone()
            masked[0] = -math.inf
            for word, other in (("masked row", masked), ("tied", torch.ones_like(value))):
                cases.append(Case(_with(base, source, other), Role.STRUCTURE, f"{label} {source} {word}"))
    held = {n: v for n, v in base.operands.items() if isinstance(v, torch.Tensor) and v.ndim}
    if len({v.shape[0] for v in held.values()}) == 1:
        call = replace(base, operands={**base.operands, **{n: v[:0] for n, v in held.items()}}, inputs={})
        cases.append(Case(call, Role.STRUCTURE, f"{label} empty"))
    return cases


def _generic_cases(base: Call, label: str) -> list[Case]:
    cases = []
    numbers = {source: value for source, value in base.operands.items() if floating(value)}
    if len(numbers) > 1:
        zeros = {source: torch.zeros_like(value) for source, value in numbers.items()}
        call = replace(base, operands={**base.operands, **zeros}, inputs={})
        cases.append(Case(call, Role.STRESS, f"{label} all = 0"))
    for source, value in numbers.items():
        info = torch.finfo(value.dtype)
        for number in (*_GENERIC, info.tiny, math.sqrt(info.max)):
            call = _with(base, source, torch.full_like(value, number))
            cases.append(Case(call, Role.STRESS, f"{label} {source} = {number:.3g}"))
        if value.ndim and value.shape[-1] > 1:
            steep = torch.zeros_like(value)
            steep[..., 0] = 200.0
            cases.append(Case(_with(base, source, steep), Role.STRESS, f"{label} {source} peaked"))
    return cases


def _healthy_cases(replayer: Replayer, base: Call, label: str) -> list[Case]:
    operands = dict(base.operands)
    generator = torch.Generator().manual_seed(7)
    needs = base.needs
    for metavariable, source in replayer.metavariables.items():
        value = operands.get(source)
        if not floating(value):
            continue
        span = page.range_of(replayer.site, metavariable)
        if span is None:
            return []
        drawn = torch.rand(value.shape, generator=generator, dtype=torch.float64)
        drawn = span[0] + (span[1] - span[0]) * drawn
        if _counts(value):
            drawn = torch.where(drawn > 0, drawn.ceil(), drawn.floor())
            needs = (frozenset(operands) if needs is None else needs) - {source}  # a count has no gradient
        operands[source] = drawn.to(value)
    if all(operands[source] is value for source, value in base.operands.items()):
        return []
    return [Case(replace(base, operands=operands, inputs={}, needs=needs), Role.HEALTHY, f"{label} ordinary")]


def _counts(value: torch.Tensor) -> bool:
    """Whether a floating operand holds counts: whole numbers, and not only 0 and 1."""
    whole = bool((torch.isfinite(value) & (value == value.round())).all())
    return whole and value.numel() > 1 and bool((value.abs() > 1).any())


def _invented(replayer: Replayer) -> list[Call]:
    """Operands for a site that nothing was captured of: the first kind of values that it accepts."""
    dtype = next((dtype_of(name) for name in replayer.site.dtypes if name in FORMATS), torch.float32)
    generator = torch.Generator().manual_seed(3)
    sources = replayer.invented
    meant = {source: name for name, source in replayer.metavariables.items()}

    def kinds(source: str) -> list[Value]:
        drawn = (0.1 + 0.8 * torch.rand(4, 5, generator=generator, dtype=torch.float64)).to(dtype)
        facts = replayer.site.facts
        name = meant.get(source)
        if f"integral({name})" in facts:
            return [3] if f"python({name})" in facts else [(10 * drawn).ceil()]
        if f"python({name})" in facts:
            return [0.5]
        described = page.drawn(replayer.site, name or "", dtype)
        if described is not None:
            return [described]
        return [drawn, -1, torch.rand(4, 5, generator=generator) < 0.5, torch.arange(4), 1e-8]

    counts = {source for source in sources if f"integral({meant.get(source)})" in replayer.site.facts}
    needs = frozenset(sources) - counts  # a count has no gradient
    second: list[Call] = []
    for choice in islice(product(*(kinds(source) for source in sources)), _GUESSES):
        call = Call(dict(zip(sources, choice, strict=True)), Context(), "invented", needs=needs)
        outcome = evaluate(replayer.spelled_out, call, replayer.names, backward=False)
        if outcome.error is not None or not outcome.values:
            continue
        if replayer.fixed is None or not evaluate(replayer.fixed, call, replayer.names, backward=False).error:
            return [call]
        second = second or [call]  # the fix may be at fault, and not the kind of its operands
    return second


def captured_cases(calls: Sequence[Call], halves: bool = True) -> list[Case]:
    """Cases for captured and searched calls; calls with NaN among their operands are left out.

    Calls that were made in half precision decide only where `halves` says that the site is known to see it.
    """
    cases = []
    for index, call in enumerate(calls):
        if poisoned(call):
            continue
        role = Role(call.origin)
        label = _LABELS.get(role, f"captured call {index + 1}")
        half = None if halves or role not in INVENTED else _half_of(call)
        cases.append(Case(call, role, f"{half} in {label}" if half else label, half is None))
    return cases


def _half_of(call: Call) -> str | None:
    """The name of a half-precision type among the operands."""
    dtypes = (dtype_name(value.dtype) for value in call.operands.values() if isinstance(value, torch.Tensor))
    return next((name for name in dtypes if name in _HALVES), None)
