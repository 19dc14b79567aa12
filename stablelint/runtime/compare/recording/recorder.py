"""The mode under which a run is recorded: every operation below autograd, forward, backward and optimizer."""

from __future__ import annotations

import ast
import multiprocessing
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch.nn.modules import module as torch_module
from torch.utils._python_dispatch import TorchDispatchMode

from stablelint.diagnostic import Position, Span
from stablelint.runtime.compare.recording import judge
from stablelint.runtime.compare.recording.digest import result_of
from stablelint.runtime.compare.recording.trace import Place, Result, Writer
from stablelint.runtime.guard.replay.modules import ModuleStack
from stablelint.runtime.guard.replay.places import Places
from stablelint.runtime.guard.replay.replay import backward_codes
from stablelint.runtime.guard.replay.trace import canonical, results_of
from stablelint.runtime.guard.reporting.event import Location
from stablelint.runtime.guard.source.frames import Site, parse_file, resolve, user_frame
from stablelint.runtime.guard.tensors.measure import statistics_of, sum_of, tensors_in
from stablelint.runtime.guard.watching.hooks import IdleObserver

_LONGEST_TEXT = 300
_MARK = "_stablelint_made"  # on storages: the stretch of recording, and the record that wrote it last
_UNWRITTEN = -1  # instead of a record: memory that was asked for and never written
_FRAMES = 3  # of the user's and of the standard library's, to find one of the user's
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_TRANSPORT = os.path.dirname(multiprocessing.__file__) + os.sep
_NOWHERE = Place("", 0, None, "", "")
_SILENT = frozenset({"profiler", "prim", "prims", "debugprims", "_c10d_functional"})
_OVERWRITING = frozenset("copy_ zero_ fill_ set_ resize_".split())
_DROPOUTS = frozenset(
    one.__code__
    for one in vars(torch.nn.functional).values()
    if "dropout" in getattr(one, "__name__", "") and hasattr(one, "__code__")
)


@dataclass(frozen=True, slots=True)
class Options:
    """Which steps are recorded (from `start`, before `stop`, every `every`th), and how.

    `judge` replays each operation in double precision on its own operands; `fill` writes zeros into memory that is
    asked for; `capture` is the index of the record whose operands and results are kept.
    """

    start: int = 0
    stop: int | None = None
    every: int = 1
    judge: bool = False
    fill: bool = False
    capture: int | None = None

    def covers(self, step: int) -> bool:
        """Whether a step is recorded."""
        return self.start <= step and (step - self.start) % self.every == 0 and not self.over(step)

    def over(self, step: int) -> bool:
        """Whether no later step is."""
        return self.stop is not None and step >= self.stop


class Captured(NamedTuple):
    """The operation that `Options.capture` named."""

    operation: str
    operands: list[dict[str, Any]]
    results: list[torch.Tensor]
    local: judge.Local | None


class _Shape(NamedTuple):
    """What is fixed about an operation."""

    name: str
    silent: bool
    view: bool
    makes_memory: bool
    draws: bool
    pointwise: bool
    overwrites: bool
    written: tuple[int, ...]  # arguments that it writes
    written_names: tuple[str, ...]


@lru_cache(maxsize=4096)
def _shape_of(func: Any) -> _Shape:
    name = str(func.overloadpacket.__name__)
    arguments = func._schema.arguments
    writes = [bool(one.alias_info is not None and one.alias_info.is_write) for one in arguments]
    tags = getattr(func, "tags", ())
    draws = torch.Tag.nondeterministic_seeded in tags
    return _Shape(
        name,
        func.namespace in _SILENT or name in ("detach", "alias"),
        bool(getattr(func, "is_view", False)),
        name.startswith(("empty", "new_empty")),
        draws,
        torch.Tag.pointwise in tags,
        draws or name in _OVERWRITING or func._overloadname.endswith("out"),
        tuple(place for place, one in enumerate(arguments) if writes[place] and not one.kwarg_only),
        tuple(one.name for place, one in enumerate(arguments) if writes[place] and one.kwarg_only),
    )


class _Calls(ModuleStack):
    """The module calls that are active, in a run that goes on as it would."""

    def follow(self) -> Callable[[], None]:
        """Follow every call from now on; what is returned ends it."""
        entered = torch_module.register_module_forward_pre_hook(lambda module, _: self._enter(module))
        left = torch_module.register_module_forward_hook(
            lambda module, _, result: self._leave(module), always_call=True
        )

        def stop() -> None:
            entered.remove()
            left.remove()

        return stop


class Recorder(TorchDispatchMode, IdleObserver):
    """Writes what runs to a trace. `on_over` is called when the last step that was asked for is over."""

    def __init__(
        self,
        writer: Writer,
        options: Options,
        on_over: Callable[[], None] = lambda: None,
        on_capture: Callable[[Captured], None] = lambda _: None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.writer = writer
        self.step = 0
        self.steps_seen = 0
        self.calls = _Calls()
        self._options = options
        self._on_over, self._on_capture = on_over, on_capture
        self._places = Places(self.calls, backward_codes(), depth=_FRAMES)
        self._resolved: dict[Site, Place] = {}
        self._optimizing = False
        self._counts: dict[int, int] = {}
        self._active = options.covers(0)
        self._stretch = 1  # what was made in an earlier one may have been written unseen
        self._process = os.getpid()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation and write it down."""
        keywords = kwargs or {}
        shape = _shape_of(func)
        if not self._active:
            result = func(*args, **keywords)
            if self._options.fill and shape.makes_memory:
                _fill(result)
            return result
        node = torch._C._current_autograd_node()
        if node is None or torch.is_grad_enabled():
            self._places.label(node)
        made = self._look_at_inputs(shape, node, args, keywords)
        if shape.silent or shape.view:
            return func(*args, **keywords)
        wide = None
        if self._wants_judgement and not shape.draws and not shape.makes_memory:
            wide = judge.widened(args), judge.widened(dict(keywords))
        operands = self._operands(args, keywords)
        result = func(*args, **keywords)
        outputs = _outputs(func, shape, args, keywords, result)
        if shape.makes_memory:
            if self._options.fill:
                _fill(result)
            self._mark(outputs, self.writer.count if self._options.fill else _UNWRITTEN)
            return result
        self._mark(list(tensors_in(result)), self.writer.count)  # working memory too: it is no input later
        local = None
        if wide is not None:
            unit = judge.unit_of((args, dict(keywords)))
            local = judge.judged(func, *wide, outputs, name=shape.name, pointwise=shape.pointwise, unit=unit)
        traits = [word for word, true in (("draw", shape.draws), ("unwritten", _UNWRITTEN in made)) if true]
        if shape.draws:
            traits += _about_a_draw()
        if operands is not None:
            self._on_capture(Captured(canonical(shape.name), operands, outputs, local))
        self._write(shape.name, node, traits, _numbers_in(args, keywords), outputs, local, made=made)
        return result

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Until the end of the context operations are not recorded."""
        active, self._active = self._active, False
        try:
            yield
        finally:
            self._active = active

    def leave_to_child(self) -> None:
        """In a forked process: record nothing, write nothing."""
        self._active = False
        self._options = Options(stop=0)
        self.writer.forget()

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Write the loss."""
        if self._active and losses:
            with self.resting():
                self.writer.loss(self.step, sum_of(losses))

    def before_step(
        self, optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """What runs from now on belongs to the optimizer."""
        self._optimizing = True

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """A step is over when the optimizer that steps most often has stepped."""
        self._optimizing = False
        count = self._counts[id(optimizer)] = self._counts.get(id(optimizer), 0) + 1
        if count <= self.step:
            return
        self.step = self.steps_seen = count
        self._places.forget()
        self.writer.flush()
        if self._options.over(count):
            self._active = False
            self._on_over()
        else:
            active = self._options.covers(count) and not self.writer.full
            self._stretch += active and not self._active
            self._active = active

    def on_fetch(self, iterator: object, batch: object) -> None:
        """A loader handed out a batch: its tensors enter here."""
        if self._active:
            with self.resting():
                tensors = list(tensors_in(batch))
                place = self._here()
                self._write_at(place, "input", "batch", [], (), tensors, None)

    def on_source(self, name: str, code: CodeType, offset: int, value: int) -> None:
        """The program asked a clock, a generator or the system."""
        if self._active and os.getpid() == self._process:
            self.writer.source(name, self._resolve(Site(code, offset)), value)

    @property
    def _wants_judgement(self) -> bool:
        return self._options.judge or self.writer.count == self._options.capture

    def _operands(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        if self.writer.count != self._options.capture:
            return None
        found = []
        for place, tensor in enumerate(tensors_in((args, dict(kwargs)))):
            one = result_of(tensor)
            statistics = statistics_of(tensor, f"operand {place + 1}").as_json()
            found.append({**statistics, "digest": one.digest if one else None})
        return found

    def _look_at_inputs(
        self, shape: _Shape, node: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> set[int]:
        """The records that made the operands; a tensor that none made is written down first."""
        found: set[int] = set()
        overwritten = (
            [args[place] for place in shape.written if place < len(args)] if shape.overwrites else ()
        )
        for tensor in tensors_in((args, kwargs)):
            storage = _storage(tensor)
            if storage is None or any(tensor is one for one in overwritten):
                continue
            stretch, made = getattr(storage, _MARK, (0, 0))
            if stretch != self._stretch:
                made = self.writer.count
                name = "tensor" if shape.name.startswith("lift") else "input"
                self._write(name, node, [], (), [tensor], None, phase="input")
            if made != _UNWRITTEN or not shape.view:
                found.add(made)
        return found

    def _mark(self, tensors: Sequence[torch.Tensor], record: int) -> None:
        for tensor in tensors:
            storage = _storage(tensor)
            if storage is not None:
                setattr(storage, _MARK, (self._stretch, record))

    def _write(
        self,
        name: str,
        node: Any,
        traits: list[str],
        numbers: Sequence[object],
        outputs: Sequence[torch.Tensor],
        local: judge.Local | None,
        phase: str | None = None,
        made: Iterable[int] = (),
    ) -> None:
        modules = tuple(self.calls.active)
        if phase is None:
            phase = "backward" if node is not None else "optimizer" if self._optimizing else "forward"
        forward = self._places.made(node) if node is not None else None
        if forward is not None:
            sites, modules = forward.sites, forward.modules
        else:
            sites = self._places.look_around()[0]
        if any(site.code.co_filename.startswith(_TRANSPORT) for site in sites[:1]):
            return  # what another process sent, in the order of arrival: an input where it is used
        own = next((site for site in sites if not site.code.co_filename.startswith(_STANDARD)), None)
        place = self._resolve(own or sites[0]) if sites else _NOWHERE
        self._write_at(place, phase, name, traits, numbers, outputs, local, modules, made)

    def _write_at(
        self,
        place: Place,
        phase: str,
        name: str,
        traits: list[str],
        numbers: Sequence[object],
        outputs: Sequence[torch.Tensor],
        local: judge.Local | None,
        modules: Sequence[str] = (),
        made: Iterable[int] = (),
    ) -> None:
        results: list[Result] = [one for one in map(result_of, outputs) if one is not None]
        self._mark(outputs, self.writer.count)
        if results:
            module = modules[-1] if modules else ""
            operands = sorted(one for one in made if one != _UNWRITTEN)
            name = canonical(name)
            self.writer.operation(
                [self.step, phase, name, module, traits, numbers, operands, results, local], place
            )

    def _here(self) -> Place:
        frame = user_frame()
        return self._resolve(Site(frame.f_code, frame.f_lasti)) if frame is not None else _NOWHERE

    def _resolve(self, site: Site) -> Place:
        place = self._resolved.get(site)
        if place is None:
            found = resolve(site)
            span = found.span
            if span is not None and span.end.row > span.start.row:
                found = _header(found, span)
                span = found.span
            extent = (span.start.row, span.start.column, span.end.row, span.end.column) if span else None
            text = " ".join(found.expression.split())[:_LONGEST_TEXT]
            place = Place(found.filename, found.row, extent, text, found.function)
            self._resolved[site] = place
        return place


def _header(found: Location, span: Span) -> Location:
    """Of a loop, which is one instruction to the interpreter, what it iterates over; anything else as it is."""
    tree = parse_file(found.filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.For) and (node.lineno, node.end_lineno) == (span.start.row, span.end.row):
            source = node.iter
            inner = Span(
                Position(source.lineno, source.col_offset + 1),
                Position(source.end_lineno or source.lineno, (source.end_col_offset or 0) + 1),
            )
            return Location(found.filename, source.lineno, inner, ast.unparse(source), found.function)
    return found


def _outputs(
    func: Any, shape: _Shape, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
) -> list[torch.Tensor]:
    """What an operation returned and what it wrote, each tensor once."""
    written = [args[place] for place in shape.written if place < len(args)]
    written += [kwargs[name] for name in shape.written_names if name in kwargs]
    found: dict[int, torch.Tensor] = {}
    for tensor in tensors_in((results_of(func, result), written)):
        found.setdefault(id(tensor), tensor)
    return list(found.values())


def _storage(tensor: torch.Tensor) -> Any:
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # sparse and wrapped tensors have none
        return None


def _fill(result: Any) -> None:
    for tensor in tensors_in(result):
        tensor.zero_()


def _numbers_in(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[object, ...]:
    """Python numbers among the arguments, and where in their memory the operands begin, if not at its start."""
    numbers = [value for value in (*args, *kwargs.values()) if isinstance(value, int | float | bool)]
    offsets = [
        tensor.storage_offset()
        for tensor in args
        if isinstance(tensor, torch.Tensor) and tensor.storage_offset()
    ]
    return (*numbers, *(f"offset {offset}" for offset in offsets))


def _about_a_draw() -> list[str]:
    """Whether a draw is a dropout's, and whether it happens where no gradient is asked for."""
    traits = [] if torch.is_grad_enabled() else ["no-grad"]
    frame = sys._getframe(2)
    for _ in range(4):
        if frame is None or frame.f_back is None:
            break
        frame = frame.f_back
        if frame.f_code in _DROPOUTS:
            return [*traits, "dropout"]
    return traits
