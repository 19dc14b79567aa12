"""The operation-level mode of a replay: every operation whose result is not finite, and what fed it.

Below autograd one mode sees forward and backward operations alike, also those inside composite functions
and custom autograd functions. Finite results cost one `sum` and leave no record.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any

import torch

from stablelint.runtime.guard.replay.operands import first_bad, name_of, names_in, operands_named
from stablelint.runtime.guard.replay.places import ForwardSite, ModuleStack, Places
from stablelint.runtime.guard.replay.writes import Writes, storage_key
from stablelint.runtime.tensors.measure import (
    FINE,
    Badness,
    OperandStats,
    badness_of,
    statistics_of,
    tensors_in,
)
from stablelint.runtime.tracing.operation import Mode, canonical, results_of, updated_by

_MEASURED_FAULTS = 128  # later ones are consequences; their operands are not worth a pass over memory
_NOTHING: tuple[tuple[()], tuple[()], tuple[()], frozenset[str]] = ((), (), (), frozenset())


@dataclass(slots=True, eq=False)
class Source:
    """A non-finite input of a faulty operation: made by another operation, or handed in from outside."""

    badness: Badness
    fault: Fault | None
    leaf: torch.Tensor | None


@dataclass(slots=True, eq=False)
class Fault:
    """An executed operation with a non-finite result."""

    index: int
    operation: str
    place: ForwardSite
    in_backward: bool
    result: Badness
    sources: tuple[Source, ...]
    operands: tuple[OperandStats, ...]
    written: bool  # the value was placed by the program, not computed
    uninitialised: bool
    in_place: bool
    shape: tuple[int, ...] = ()  # of the result
    first: tuple[int, ...] = ()  # index of the first non-finite element of the result
    elements: tuple[float | None, ...] = ()  # of the operands, from which it was made
    named: frozenset[str] = frozenset()  # what the frame had names for
    node: str = ""  # of the backward pass


class Trace(Mode):
    """Records faults while a step is replayed.

    `backward_code` are the code objects that enter the autograd engine: user frames inside them run as part
    of the backward pass.
    """

    def __init__(self, modules: ModuleStack, backward_code: frozenset[CodeType], writes: Writes) -> None:
        super().__init__(self._look)
        self.modules = modules
        self.faults: list[Fault] = []
        self._places = Places(modules, backward_code)
        self._by_tensor: dict[int, tuple[weakref.ref[torch.Tensor], Fault, Badness]] = {}
        self._by_storage: dict[int, Fault] = {}
        self._last_in: dict[int, Fault] = {}  # memory, whether or not it was another tensor's since
        self._casts: list[tuple[weakref.ref[torch.Tensor], weakref.ref[torch.Tensor]]] = []  # and of what
        self._resting = False
        self._writes = writes

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Until the end of the context operations are not looked at: they measure the step and are no part of it."""
        self._resting = True
        try:
            yield
        finally:
            self._resting = False

    def _look(self, func: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Run the operation and record it if its result is not finite."""
        if self._resting:
            return func(*args, **keywords)
        node = torch._C._current_autograd_node()
        if node is None or torch.is_grad_enabled():
            self._places.label(node)
        self._writes.before(func, args, keywords)
        result = func(*args, **keywords)
        outputs = [
            tensor
            for tensor in tensors_in(results_of(func, result))
            if tensor.is_floating_point() or tensor.is_complex()
        ]
        if func.overloadpacket is torch.ops.aten._to_copy:
            self._casts.append((weakref.ref(result), weakref.ref(args[0])))
        tainted = False
        if node is not None:
            known = self._known_of(args) if self._by_tensor else FINE
            tainted = bool(known & Badness.NAN)
            if not known and getattr(func, "is_view", False):
                return result  # what the backward pass looks at anew was looked at when it was made
        # Behind a NaN of the backward pass come but more of them: that there is one is enough to know.
        bad = [(tensor, badness) for tensor in outputs if (badness := badness_of(tensor, tainted))]
        in_place = str(func.overloadpacket.__name__).endswith("_")
        if bad:
            self._record(func, args, keywords, node, bad, in_place, tainted)
        elif self._by_tensor:
            self._forget(outputs, in_place)
        return result

    def _known_of(self, args: Sequence[Any]) -> Badness:
        found = FINE
        for tensor in tensors_in(args):
            known = self._by_tensor.get(id(tensor))
            if known is not None and known[0]() is tensor:
                found |= known[2]
        return found

    def fault_of(self, tensor: torch.Tensor) -> Fault | None:
        """The operation that made a non-finite tensor, if it ran under this trace."""
        known = self._by_tensor.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        return self._by_storage.get(storage_key(tensor) or id(tensor))

    def fault_in(self, bad: torch.Tensor) -> Fault | None:
        """The last operation that made a non-finite tensor in the memory of one that is known not to be finite."""
        return self.fault_of(bad) or self._last_in.get(storage_key(bad))

    def _record(
        self,
        func: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        node: Any,
        bad: list[tuple[torch.Tensor, Badness]],
        in_place: bool,
        tainted: bool,
    ) -> None:
        badness = bad[0][1]
        for _, other in bad[1:]:
            badness = badness | other
        written_into = {id(tensor) for tensor in updated_by(func, args)}
        if in_place:
            written_into |= {id(tensor) for tensor, _ in bad}
        inputs = list(tensors_in((args, kwargs)))
        sources = tuple(self._sources(inputs, written_into, tainted))
        operation = str(func.overloadpacket.__name__)
        place, in_hook = self._place(node, tainted)
        operands, first, elements, named = self._operands(
            bad[0][0], inputs, written_into, sources, None if in_hook else node
        )
        fault = Fault(
            index=len(self.faults),
            operation=canonical(operation),
            place=place,
            in_backward=node is not None,
            result=badness,
            sources=sources,
            operands=operands,
            written=writes_literal(operation, args, kwargs),
            uninitialised=operation.startswith(("empty", "new_empty")),
            in_place=in_place,
            shape=tuple(bad[0][0].shape),
            first=first,
            elements=elements,
            named=named,
            node=node.name() if node is not None else "",
        )
        self.faults.append(fault)
        for tensor, own in bad:
            self._by_tensor[id(tensor)] = (weakref.ref(tensor), fault, own)
            self._last_in[storage_key(tensor)] = fault
            if in_place:
                self._by_storage[storage_key(tensor) or id(tensor)] = fault

    def _place(self, node: Any, tainted: bool) -> tuple[ForwardSite, bool]:
        """Where the running operation is written, and whether that is a hook of the backward pass.

        An operation of the backward pass is told by the forward operation whose gradient it is.
        """
        made = self._places.made(node) if node is not None else None
        if made is not None and tainted:
            return replace(made, in_custom=False), False  # never the root: no need to look
        here, unhooked = self._places.here()
        if node is not None and unhooked:
            return replace(made or replace(here, sites=()), in_custom=here.in_custom), False
        return here, not unhooked

    def _sources(self, inputs: list[torch.Tensor], overwritten: set[int], tainted: bool) -> Iterator[Source]:
        for tensor in inputs:
            fault = self.fault_of(tensor)
            if id(tensor) in overwritten:
                # The old contents are gone; what the trace knew of them is all there is.
                if fault is not None:
                    yield Source(fault.result, fault, None)
                continue
            known = self._by_tensor.get(id(tensor))
            if known is not None and known[0]() is tensor:
                badness = known[2]
            elif tainted and fault is None:
                continue  # a NaN among the operands explains the result; others need no look
            else:
                badness = badness_of(tensor)
            if badness:
                yield Source(badness, fault, None if fault is not None else tensor)

    def _operands(
        self,
        result: torch.Tensor,
        inputs: list[torch.Tensor],
        overwritten: set[int],
        sources: tuple[Source, ...],
        node: Any,
    ) -> tuple[tuple[OperandStats, ...], tuple[int, ...], tuple[float | None, ...], frozenset[str]]:
        """The operands under the names that the program has for them, the first bad place, and all those names."""
        # What only hands on a NaN that another operation made is never at fault.
        handed_on = any(source.fault is not None and source.badness & Badness.NAN for source in sources)
        if handed_on or len(self.faults) >= _MEASURED_FAULTS:
            return _NOTHING
        known = names_in(sys._getframe(2))
        taken = [tensor for tensor in inputs if id(tensor) not in overwritten]
        place, elements = first_bad(result, taken)
        names = (known, self.modules.tensors)
        casts = {name_of(source, *names): cast for cast, source in self._living_casts()}
        named = operands_named(taken, node, *names, casts)
        operands = tuple(statistics_of(one, name) for name, one in named)
        return operands, place, elements, frozenset(known)

    def _living_casts(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Casts, and what they are of: under autocast an operation has the cast in the place of what the program names."""
        for pair in self._casts:
            cast, source = (one() for one in pair)
            if cast is not None and source is not None:
                yield cast, source

    def _forget(self, outputs: list[torch.Tensor], in_place: bool) -> None:
        for tensor in outputs:
            self._by_tensor.pop(id(tensor), None)
            if in_place:
                self._by_storage.pop(storage_key(tensor) or id(tensor), None)


def writes_literal(operation: str, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether the operation places a non-finite Python number into a tensor instead of computing one."""
    scalars = [value for value in (*args, *kwargs.values()) if isinstance(value, float)]
    if any(value != value or value in (float("inf"), float("-inf")) for value in scalars):
        return True
    return operation in ("lift_fresh", "lift_fresh_copy")
