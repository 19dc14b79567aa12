"""Records a run: every operation below autograd, forward, backward and optimizer, or the results of modules alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple, Self

import torch

from stablelint.runtime.compare.recording import judge
from stablelint.runtime.compare.recording.digest import result_of
from stablelint.runtime.compare.recording.trace import Writer
from stablelint.runtime.compare.recording.where import Here, Whereabouts
from stablelint.runtime.tensors.measure import statistics_of, sum_of, tensors_in
from stablelint.runtime.tracing import hooks
from stablelint.runtime.tracing.hooks import Observer
from stablelint.runtime.tracing.operation import (
    Mode,
    Operation,
    leaves_of,
    operation_of,
    outputs_of,
    storage_of,
    traits_of_a_draw,
    written_by,
)


@dataclass(frozen=True, slots=True)
class Options:
    """Which steps are recorded (from `start`, before `stop`, every `every`th), and how.

    `judge` replays each operation in double precision on its own operands; `fill` writes zeros into memory that is
    asked for; `capture` is the index of the record whose operands and results are kept; with `modules` only what
    modules return is recorded; with `statistics` more than digests is told of results
    that are no inputs.
    """

    start: int = 0
    stop: int | None = None
    every: int = 1
    judge: bool = False
    fill: bool = False
    capture: int | None = None
    modules: bool = False
    statistics: bool = False

    def covers(self, step: int) -> bool:
        """Whether a step is recorded."""
        return self.start <= step and (step - self.start) % self.every == 0 and not self.over(step)

    def over(self, step: int) -> bool:
        """Whether no later step is."""
        return self.stop is not None and step >= self.stop


_MARK = "_stablelint_made"  # on storages: the stretch of recording, and the record that wrote it last
_UNWRITTEN = -1  # instead of a record: memory that was asked for and never written


class Captured(NamedTuple):
    """The operation that `Options.capture` named."""

    operation: str
    operands: list[dict[str, Any]]
    results: list[torch.Tensor]
    local: judge.Local | None


class Computed(NamedTuple):
    """What is known of an operation besides its results."""

    traits: Sequence[str] = ()
    numbers: Sequence[object] = ()
    operands: Sequence[int] = ()  # the records that made what it reads
    local: judge.Local | None = None


_GIVEN = Computed()  # of what no operation made


class Recorder(Observer):
    """Writes what runs inside its context to a trace.

    `on_over` is called when the last step that was asked for is over.
    """

    def __init__(
        self,
        writer: Writer,
        options: Options,
        on_over: Callable[[], None] = lambda: None,
        on_capture: Callable[[Captured], None] = lambda _: None,
    ) -> None:
        self.step = 0
        self._writer = writer
        self._options = options
        self._on_over, self._on_capture = on_over, on_capture
        self._where = Whereabouts()
        self._mode = Mode(self._run)
        self._optimizing = False
        self._counts: dict[int, int] = {}
        self._active = options.covers(0)
        self._stretch = 1  # what was made in an earlier one may have been written unseen

    def __enter__(self) -> Self:
        """Record from now on."""
        self._unfollow = self._where.follow(self._on_result if self._options.modules else None)
        hooks.attach(self)
        if not self._options.modules or self._options.fill:
            self._mode.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *_: object) -> None:
        """Record no more, and end the trace."""
        if not self._options.modules or self._options.fill:
            self._mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        hooks.detach(self)
        self._unfollow()
        self._writer.end({"steps": self.step})

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
        self._writer.forget()

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Write the loss."""
        if self._active and losses:
            with self.resting():
                self._writer.loss(self.step, sum_of(losses))

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
        self.step = count
        self._where.nodes.forget()
        self._writer.flush()
        if self._options.over(count):
            self._active = False
            self._on_over()
        else:
            active = self._options.covers(count) and not self._writer.full
            self._stretch += active and not self._active
            self._active = active

    def on_fetch(self, iterator: object, batch: object) -> None:
        """A loader handed out a batch: its tensors enter here."""
        if self._active:
            with self.resting():
                here = self._where.here()[0]._replace(module="")
                self._write("batch", "input", here, list(tensors_in(batch)))

    def on_source(self, name: str, code: CodeType, offset: int, value: int) -> None:
        """The program asked a clock, a generator or the system."""
        if self._active:
            self._writer.source(name, self._where.resolved(code, offset), value)

    def _on_result(self, path: str, module: torch.nn.Module, result: Any) -> None:
        """A module returned: recorded where no operations are."""
        if self._active:
            with self.resting():
                here = self._where.here()[0]
                self._write(type(module).__name__, "forward", here, list(tensors_in(result)))

    def _run(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run an operation, and write it down where its step is recorded."""
        operation = operation_of(func)
        if not self._active or self._options.modules:
            result = func(*args, **kwargs)
            if self._options.fill and operation.makes_memory:
                _fill(result)
            return result
        node = torch._C._current_autograd_node()
        here = self._where.nodes.label(node) if node is None or torch.is_grad_enabled() else None
        tensors, numbers = leaves_of(args, kwargs)
        written = written_by(operation, args, kwargs)
        made = self._made_by(operation, tensors, written, node, here)
        if operation.silent or operation.view:
            return func(*args, **kwargs)
        if operation.makes_memory:
            result = func(*args, **kwargs)
            if self._options.fill:
                _fill(result)
            self._mark(tensors_in(result), self._writer.count if self._options.fill else _UNWRITTEN)
            return result
        captured = self._writer.count == self._options.capture
        operands = list(map(_described, range(1, len(tensors) + 1), tensors)) if captured else []
        is_judged = (self._options.judge or captured) and not operation.draws
        wide = judge.widened(args, kwargs) if is_judged else None
        result = func(*args, **kwargs)
        outputs = outputs_of(func, result, written)
        if not isinstance(result, torch.Tensor):
            self._mark(tensors_in(result), self._writer.count)  # working memory too: it is no input later
        local = judge.judged(func, operation, wide, outputs) if wide is not None else None
        if captured:
            self._on_capture(Captured(operation.name, operands, outputs, local))
        traits = ["draw", *traits_of_a_draw()] if operation.draws else []
        traits += ["unwritten"] if _UNWRITTEN in made else []
        phase = "backward" if node is not None else "optimizer" if self._optimizing else "forward"
        place, known = self._place(node, here), sorted(made - {_UNWRITTEN})
        self._write(operation.name, phase, place, outputs, Computed(traits, numbers, known, local))
        return result

    def _place(self, node: Any, here: Here | None) -> Here:
        """That of the forward operation for one of the backward pass."""
        forward = self._where.nodes.made(node) if node is not None else None
        return forward or here or self._where.here()[0]

    def _made_by(
        self,
        operation: Operation,
        tensors: Sequence[torch.Tensor],
        written: Sequence[Any],
        node: Any,
        here: Here | None,
    ) -> set[int]:
        """The records that made the operands; a tensor that none made is written down first."""
        found: set[int] = set()
        for tensor in tensors:
            storage = storage_of(tensor)
            if storage is None or (operation.overwrites and any(tensor is one for one in written)):
                continue
            stretch, made = getattr(storage, _MARK, (0, 0))
            if stretch != self._stretch:
                made = self._writer.count
                name = "tensor" if operation.name.startswith("lift") else "input"
                self._write(name, "input", self._place(node, here), [tensor])
            if made != _UNWRITTEN or not operation.view:
                found.add(made)
        return found

    def _mark(self, tensors: Iterable[torch.Tensor], record: int) -> None:
        for tensor in tensors:
            storage = storage_of(tensor)
            if storage is not None:
                setattr(storage, _MARK, (self._stretch, record))

    def _write(
        self, name: str, phase: str, here: Here, outputs: Sequence[torch.Tensor], computed: Computed = _GIVEN
    ) -> None:
        if here.sent:
            return  # what another process sent, in the order of arrival: an input where it is used
        statistics = self._options.statistics or phase == "input"
        results = [one for output in outputs if (one := result_of(output, statistics)) is not None]
        self._mark(outputs, self._writer.count)
        if results:
            record = (self.step, phase, name, here.module, *computed[:3], results, computed.local)
            self._writer.operation(record, here.place)


def _described(number: int, tensor: torch.Tensor) -> dict[str, Any]:
    one = result_of(tensor)
    return {**statistics_of(tensor, f"operand {number}").as_json(), "digest": one.digest if one else None}


def _fill(result: Any) -> None:
    for tensor in tensors_in(result):
        tensor.zero_()
