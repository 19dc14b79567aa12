"""Inside a command that is compiled: every graph, when it first runs, against the same graph run as it is written."""

from __future__ import annotations

import atexit
import functools
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule

from stablelint.runtime.compare.compiling import script
from stablelint.runtime.compare.compiling.graph import (
    judge_graph,
    module_of,
    name_of,
    place_of,
    without_attributes_shared,
)
from stablelint.runtime.compare.compiling.minimise import Minimiser, Reduced, operations_of
from stablelint.runtime.compare.outcome import Cause, Difference, Side
from stablelint.runtime.compare.parting.align import Kind
from stablelint.runtime.compare.recording import remedies, sources
from stablelint.runtime.compare.recording.child import facts
from stablelint.runtime.compare.tensors.tolerance import Tolerances, compare_tensors
from stablelint.runtime.plain import plain
from stablelint.runtime.process.start import Plan, named
from stablelint.runtime.program.location import place_json
from stablelint.runtime.tensors.measure import statistics_of, sum_of
from stablelint.runtime.tracing import hooks
from stablelint.runtime.tracing.hooks import Observer

_CALLS = 2  # of each graph that are judged in a step
_SECONDS = 120.0  # for cutting a graph down
# What each of torch's own backends adds to the one before.
STAGES = {
    "eager": "the capture of the graph",
    "aot_eager": "tracing through autograd",
    "aot_eager_decomp_partition": "a decomposition of the compiler",
    "inductor": "a kernel that the compiler generated",
}


def start(plan: Plan) -> None:
    """Compile what this process computes, and judge every graph; leave at the first that is wrong.

    With the option `eager`, run what it compiles as it is written. Either way its losses are kept.
    """
    remedies.apply(plan.options["remedies"], early=False)
    sources.hand_over(lambda *_: None)
    judges = Judges(plan)
    hooks.attach(judges)
    main = os.getpid()
    atexit.register(lambda: judges.end() if os.getpid() == main else None)
    if plan.options["eager"]:
        setattr(torch, "compile", _uncompiled)  # noqa: B010
    else:
        _compile_everything(judges, plan.options["backend"])


def _uncompiled(model: Any = None, **_: Any) -> Any:
    return model if model is not None else lambda function: function


class Judges(Observer):
    """Judges graphs, and keeps the losses of the steps."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.script = Path(plan.options["script"])
        self.spec: str | None = plan.options["backend"]
        self.stop = plan.options["record"]["stop"]
        self.losses: list[tuple[int, float]] = []
        self.step = self.graphs = self.judged = 0
        self._counts: dict[int, int] = {}
        self._judging = False

    def watched(self, backend: Any) -> Callable[[GraphModule, list[Any]], Callable[..., Any]]:
        """A backend that compiles as `backend` does, and judges what it makes."""
        compile_graph = torch._dynamo.lookup_backend(backend) if isinstance(backend, str) else backend

        @functools.wraps(compile_graph)
        def watching(graph: GraphModule, inputs: list[Any], **_: Any) -> Callable[..., Any]:
            original = without_attributes_shared(graph)
            compiled = compile_graph(graph, inputs)
            self.graphs += 1
            calls: dict[int, int] = {}

            def call(*args: Any) -> Any:
                calls[self.step] = calls.get(self.step, 0) + 1
                if calls[self.step] <= _CALLS and self.step in (0, 1) and len(calls) <= _CALLS:
                    self._judge(original, compiled, compile_graph, backend, args)
                return compiled(*args)

            return call

        return watching

    def before_backward(self, losses: tuple[torch.Tensor, ...]) -> None:
        """Keep the loss."""
        if losses and not self._judging:
            self.losses.append((self.step, sum_of(losses)))

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """A step is over when the optimizer that steps most often has stepped."""
        count = self._counts[id(optimizer)] = self._counts.get(id(optimizer), 0) + 1
        self.step = max(self.step, count)
        if self.stop is not None and self.step >= self.stop:
            raise SystemExit(0)

    def end(self) -> None:
        """Tell what was judged."""
        found = {
            "graphs": self.graphs,
            "judged": self.judged,
            "losses": self.losses,
            "steps": self.step,
            "facts": facts(),
        }
        self.plan.tell(f"compiled-{time.time_ns():020}", plain(found))

    def _judge(
        self,
        graph: GraphModule,
        compiled: Callable[..., Any],
        compile_graph: Callable[..., Any],
        backend: Any,
        args: tuple[Any, ...],
    ) -> None:
        self._judging = True
        try:
            found = judge_graph(graph, compiled, args)
            self.judged += 1
            if found is None or not found.wrong:
                return
        finally:
            self._judging = False
        self._judging = True  # to the end: what runs from here on looks for the fault
        reduced = Minimiser(graph, args, compile_graph, _SECONDS).run()
        if reduced is None:  # it went wrong once: the whole graph is what there is to show
            reduced = Reduced(graph, args, operations_of(graph)[-1], found)
        self._report(reduced, backend)
        raise SystemExit(0)

    def _report(self, found: Reduced, backend: Any) -> None:
        node = found.node
        place = place_of(node)
        name = str(
            backend if isinstance(backend, str) else self.spec or getattr(backend, "__name__", backend)
        )
        title = f"`{place.expression}` in {Path(place.filename).name}:{place.row} compiled by {name}"
        lines = script.write(found, backend, self.spec, self.script, title)
        judged = found.judged
        side = Side(**place_json(place), operation=name_of(node), error=judged.eager, allowed=judged.allowed)
        operands = (one for one in enumerate(found.inputs) if isinstance(one[1], torch.Tensor))
        difference = Difference(
            Kind.GRAPH,
            self.step,
            "backward" if "gradient" in judged.place else "forward",
            module=module_of(node),
            summary=f"`{place.expression}` has another result when {name} compiles it",
            first=side,
            second=replace(side, error=judged.compiled),
            operands=tuple(statistics_of(one, f"x{index}").as_json() for index, one in operands),
            values=plain(compare_tensors(judged.place, *judged.values, Tolerances())),
            note=f"the difference is in {judged.place}",
        )
        cause = _cause(name, self._stage(found, backend))
        report = {"difference": difference, "cause": cause, "graph": lines}
        self.plan.tell("fault", plain(report))

    def _stage(self, found: Reduced, backend: Any) -> str | None:
        """The first of torch's own backends that goes wrong, for one of them."""
        if backend not in STAGES:
            return None
        for name in STAGES:
            if name == backend:
                return name
            shorter = Minimiser(found.graph, found.inputs, torch._dynamo.lookup_backend(name), 30.0)
            if shorter.run() is not None:
                return name
        return None


def _cause(backend: str, stage: str | None) -> Cause:
    if stage is None:
        text = f"the backend {backend} computes something else"
        return Cause("backend", text, advice="report it with the script")
    names = list(STAGES)
    before = names[: names.index(stage)]
    evidence = (f"{', '.join(before)} agree with eager",) if before else ()
    advice = "report it with the script; until then torch.compiler.disable keeps the function eager"
    return Cause(stage, f"{STAGES[stage]} ({stage})", evidence, advice)


def _compile_everything(judges: Judges, chosen: str | None) -> None:
    """Let `torch.compile` use a watched backend; a program that never calls it has its outermost modules compiled."""
    compile_function = torch.compile
    if hasattr(torch._inductor, "config"):
        torch._inductor.config.fallback_random = True  # the draws of eager
    own = False

    def compile(model: Any = None, *, backend: Any = "inductor", **options: Any) -> Any:
        nonlocal own
        own = True
        for name in ("mode", "options"):
            options.pop(name, None)
        watched = judges.watched(_backend(chosen) if chosen is not None else backend)
        return compile_function(model, backend=watched, **options)

    setattr(torch, "compile", compile)  # noqa: B010
    call = torch.nn.Module.__call__
    active = False

    @functools.wraps(call)
    def __call__(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        nonlocal active
        if active or own or torch.compiler.is_compiling():
            return call(self, *args, **kwargs)
        active = True
        try:
            if self._compiled_call_impl is None:
                watched = judges.watched(_backend(chosen or "inductor"))
                self._compiled_call_impl = compile_function(self._call_impl, backend=watched)
            return call(self, *args, **kwargs)
        finally:
            active = False

    setattr(torch.nn.Module, "__call__", __call__)  # noqa: B010


def _backend(name: str) -> Any:
    """A backend by its registered name, or "module:function". Raises ImportError and AttributeError."""
    return named(name) if ":" in name else name
