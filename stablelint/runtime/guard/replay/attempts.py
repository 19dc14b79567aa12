"""Ways to run a step once more: the user's closure, or the regions of the frames from the innermost out."""

from __future__ import annotations

import ast
import copy
import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType, GeneratorType
from typing import Any

import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter
from torch.utils.data.dataloader import _DatasetKind

from stablelint.runtime.guard.replay.confined import iterators_frozen, waits_skipped
from stablelint.runtime.guard.replay.kept import contents_kept, within_reach
from stablelint.runtime.guard.replay.replay import Outcome, Replay, Target
from stablelint.runtime.guard.source.outer import OuterNames
from stablelint.runtime.guard.source.slices import is_bad, slices_at, slices_of_cells
from stablelint.runtime.guard.tensors.rewind import rewound
from stablelint.runtime.guard.watching.checks import is_written_by_program
from stablelint.runtime.guard.watching.step_state import Alarm, Boundary
from stablelint.runtime.guard.watching.watch import Watch
from stablelint.runtime.program.frames import is_library, step_frames
from stablelint.runtime.program.region import Region, place_of, region_at, replacement_tree
from stablelint.runtime.program.threads import others_run_the_program
from stablelint.runtime.tensors.names import parameters_of
from stablelint.runtime.tracing import hooks
from stablelint.runtime.tracing.bound import Attempt, bind, bind_loop, bind_target, items_from
from stablelint.runtime.tracing.patches import in_own_thread, replaced
from stablelint.syntax.names import names_in

_ATTEMPTS = 4
# Words to go back beyond what the last replay drew, where the numbers drawn decide how many follow: replays come ever
# closer to the start, and at the end stand beside it.
_REWINDS = (*[0] * 4, *sorted(range(-16, 17), key=abs)[1:])
_REWIND_SECONDS = 1.0  # after which no further start is tried


def attempts(watch: Watch, alarm: Alarm) -> Iterator[Attempt]:
    """Ways to run the step again, the likeliest first."""
    if alarm.shown is not None:
        yield from slices(alarm)
        return
    if alarm.closure is not None:
        start = watch.state.closure_start
        run = _as_it_was_called(alarm.closure, watch.state.closure_names)
        yield Attempt(run, start.random if start is not None else None)
    later: list[Attempt] = []
    count = 0
    for frame in step_frames(alarm.frame):
        region = region_at(frame.f_code, frame.f_lasti)
        if region is None:
            continue
        attempt, complete = _attempt(watch, frame, region)
        if not complete:
            later.append(attempt)
            continue
        count += 1
        yield attempt
        if count >= _ATTEMPTS:
            return
    yield from later[: _ATTEMPTS - count]


def _as_it_was_called(closure: Callable[[], object], names: OuterNames | None) -> Callable[[], object]:
    """The closure, with the names that it binds outside itself as they were before the call under way."""

    def run() -> object:
        assert names is not None
        with names.put_back(closure):
            return closure()

    return closure if names is None else run


def update_of(optimizer: torch.optim.Optimizer) -> Attempt:
    """The update alone, of the gradients that the parameters have."""
    held = [(one, one.grad) for one in parameters_of(optimizer)]

    def run() -> None:
        for one, gradient in held:
            one.grad = gradient if gradient is None else gradient.clone()
        optimizer.step()

    return Attempt(run, None)


def slices(alarm: Alarm) -> Iterator[Attempt]:
    """The statements behind a value that is not finite, in the frame that met it and in those that called it."""
    return _slices_of(step_frames(alarm.frame, _ATTEMPTS))


def slices_of_generators() -> Iterator[Attempt]:
    """The statements behind values that are not finite and that generators of the program hold, which wait to go on."""
    # Holding what another thread is just making breaks that thread.
    known = [] if others_run_the_program() else gc.get_objects()
    waiting = [one for one in known if type(one) is GeneratorType and one.gi_suspended]
    frames = [one.gi_frame for one in waiting if not is_library(one.gi_code.co_filename)]
    return _slices_of(one for one in frames if one and any(map(is_bad, one.f_locals.values())))


def fetched_again(watch: Watch) -> Iterator[Attempt]:
    """The last batch of a loader, made of its samples anew: those that a worker has made as well."""
    iterator: Any = watch.state.fetched_from()
    index = watch.state.fetched_index
    if index is not None and getattr(iterator, "_dataset_kind", None) == _DatasetKind.Map:
        given = (iterator._dataset, iterator._auto_collation, iterator._collate_fn, iterator._drop_last)
        fetcher = _DatasetKind.create_fetcher(_DatasetKind.Map, *given)
        yield Attempt(lambda: fetcher.fetch(index), None)


def slices_of_earlier_cells(alarm: Alarm) -> Iterator[Attempt]:
    """The statements behind values that are not finite in the cells of a notebook that ran before."""
    return _slices_of(step_frames(alarm.frame), slices_of_cells)


def _slices_of(
    frames: Iterable[FrameType], regions: Callable[[FrameType], Iterable[Region]] = slices_at
) -> Iterator[Attempt]:
    for frame in frames:
        for region in regions(frame):
            run = bind(region, replacement_tree(region), frame, {})
            yield Attempt(run, None, region, frame, (run.code, region.body[-1].lineno))


def run_attempt(watch: Watch, target: Target, attempt: Attempt) -> Outcome:
    """Replay once; the watch stands aside meanwhile."""
    reached = list(within_reach(step_frames(target.alarm.frame)))
    held = [one for _, one in reached if isinstance(one, torch.Tensor)]
    replay = Replay(target, attempt, watch.state.buffers, held)
    with (
        _repaired(target.updated.values()),
        hooks.alone(replay),
        _steps_skipped(watch, replay),
        scalers_reset(watch),
        iterators_frozen(last := dict(watch.state.last_of)),
        waits_skipped(last),
        contents_kept(reached) as changed,
    ):
        outcome = replay.run()
    outcome.changed = tuple(changed)
    return outcome


@contextmanager
def _repaired(damaged: Iterable[torch.Tensor]) -> Iterator[None]:
    """Until the end of the context 0 stands for what is not finite in the tensors, with their versions as they were."""
    held = [(one.detach(), one.detach().clone()) for one in damaged]
    with ExitStack() as stack:
        for one, _ in held:
            stack.enter_context(_unsafe_preserve_version_counter(one))
            one.nan_to_num_(0.0, 0.0, 0.0)
        try:
            yield
        finally:
            for one, before in held:
                one.copy_(before)


def run_exactly(watch: Watch, target: Target, attempt: Attempt) -> tuple[Outcome, Attempt]:
    """Replay, and where other random numbers were drawn than in the step, again from where it may have begun."""
    first = outcome = run_attempt(watch, target, attempt)
    again, tried, ends = attempt, 1, time.monotonic() + _REWIND_SECONDS
    # Where other threads draw in between, a search among starts finds none: what is known of the draws must do.
    for further in _REWINDS[:1] if others_run_the_program() else _REWINDS:
        ended, recorded = outcome.moment, target.moment
        if recorded is None or ended is None or outcome.begun is None:
            break
        # From several starts draws may end in the same place: the values tell which it was.
        if outcome.likeness.same_random and (outcome is first or outcome.likeness.differing is None):
            break
        if further == 0 and outcome.likeness.same_random:
            continue  # it would begin there again
        if further == 0:
            told = outcome.begun, ended.random, recorded.random
        start = rewound(*told, further)
        if start is None or (tried > 2 and time.monotonic() > ends):
            break
        again = replace(attempt, random=start)
        outcome = run_attempt(watch, target, again)
        tried += 1
    # As many draws, and yet other values: other threads drew in between.
    return (outcome, again) if outcome.exact or outcome is first else (first, attempt)


def _attempt(watch: Watch, frame: FrameType, region: Region) -> tuple[Attempt, bool]:
    """The attempt for a region, and whether every value it starts from is known."""
    state = watch.state
    values: dict[str, Any] = {}
    renewals: tuple[ast.stmt, ...] = ()
    complete = True
    if region.rebound:
        bound: dict[str, Any] = {}
        fetched = region.target is not None and state.fetched is not None
        if fetched and bind_target(region.target, state.fetched, bound):
            values.update({name: bound[name] for name in region.rebound if name in bound})
        complete = region.rebound <= set(values)
    boundary = _start_of(watch, frame, region)
    carried = boundary.carried_in(region) if boundary is not None else None
    if carried is not None:
        values.update(carried.values)
        renewals = tuple(_renewals(carried.region))
    run = bind(region, [*renewals, *replacement_tree(region)], frame, values)
    random_state = boundary.random if boundary is not None else None
    until = run.code, place_of(frame.f_code, frame.f_lasti)[0]
    return Attempt(run, random_state, region, frame, until, tuple(values.items()), renewals), complete


def attempt_with(watch: Watch, attempt: Attempt, filename: str, fixed: ast.Module) -> Attempt:
    """The same attempt with the text of `filename` replaced; as it is where the region is of another."""
    region, frame = attempt.region, attempt.frame
    if region is None or frame is None or region.code.co_filename != filename:
        return attempt
    body = replacement_tree(region, fixed)
    run = bind(region, [*copy.deepcopy(list(attempt.renewals)), *body], frame, dict(attempt.values))
    if region.chosen:
        return replace(attempt, run=run)
    row = attempt.until[1] if attempt.until is not None else 0
    # Statements that a fix inserts stand before the alarm: count from the end.
    later = sum(1 for statement in region.body if statement.lineno > row)
    alarm = body[-1 - later] if later < len(body) else body[-1]
    return replace(attempt, run=run, until=(run.code, alarm.lineno))


def endless(
    watch: Watch, attempt: Attempt, filename: str, fixed: ast.Module
) -> tuple[Callable[[], object], bool]:
    """The loop that holds the step, with the fix, from the present pass on; True where it only repeats a batch."""
    region, frame = attempt.region, attempt.frame
    if region is None or frame is None:
        return attempt.run, True
    values = dict(attempt.values)
    body = replacement_tree(region, fixed if region.code.co_filename == filename else None)
    state = watch.state
    names = {**frame.f_globals, **frame.f_locals, **values}
    items = items_from(region, names, state.fetched, state.fetched_from())
    repeats = region.loop is None or (isinstance(region.loop, ast.For) and items is None)
    before = copy.deepcopy(list(attempt.renewals))
    if repeats:
        return bind(region, [*before, *body], frame, values), True
    return bind_loop(region, before, body, frame, values, items or ()), False


def _start_of(watch: Watch, frame: FrameType, region: Region) -> Boundary | None:
    """Where the pass under way began: the last boundary not behind the present place in the same pass."""
    here = place_of(frame.f_code, frame.f_lasti)
    for boundary in reversed(watch.state.boundaries):
        place = boundary.place_in(region.code)
        if place is None or place >= here:
            return boundary
    return None


def _renewals(region: Region) -> list[ast.stmt]:
    """Plain assignments after the step that renew a carried name: they belong to the pass under way."""
    renewals: list[ast.stmt] = []
    for statement in region.tail:
        if not isinstance(statement, (ast.Assign, ast.AugAssign)):
            continue
        names = names_in(statement, ast.Store)
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        plain = all(isinstance(call.func, ast.Attribute) and call.func.attr in _PLAIN for call in calls)
        if names and names <= region.carried and plain:
            renewals.append(statement)
    return renewals


_PLAIN = frozenset({"detach", "clone", "data", "item", "to", "float", "mean", "sum"})


@contextmanager
def _steps_skipped(watch: Watch, replay: Replay) -> Iterator[None]:
    """Optimizers do not write while a step is replayed; reaching the guilty one ends the replay.

    Where an update is looked for, those that the program has written do.
    """
    updating = bool(replay.target.updated)

    def step(of: Any, _: Any, closure: Callable[[], object] | None = None, **__: object) -> object:
        replay.on_step(of)
        return closure() if callable(closure) else None

    with ExitStack() as stack:
        for optimizer in watch.optimizers:
            if updating and is_written_by_program(optimizer):
                continue
            own = in_own_thread(partial(step, optimizer))
            stack.enter_context(replaced(optimizer, "step", own))
        yield


@contextmanager
def scalers_reset(watch: Watch) -> Iterator[None]:
    """A scaler that has unscaled this step already may do so again in the replay."""
    held = [(scaler, getattr(scaler, "_per_optimizer_states", None)) for scaler in list(watch.scalers)]
    for scaler, states in held:
        if states is not None:
            fresh = type(states)(states.default_factory)
            scaler._per_optimizer_states = fresh
    try:
        yield
    finally:
        for scaler, states in held:
            if states is not None:
                scaler._per_optimizer_states = states
