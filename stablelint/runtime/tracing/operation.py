"""What is fixed about an operation of torch, and what one call of it reads, writes and returns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from stablelint.runtime.process.traceback import frames_from
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.syntax import operations

_SILENT = frozenset({"profiler", "prim", "prims", "debugprims", "_c10d_functional"})
_OVERWRITING = frozenset("copy zero fill set resize".split())
# Operations that hand their gradient the memory they worked in, which they do not fill: how many results come first.
_RESULTS = {"_ctc_loss": 1, "_cudnn_ctc_loss": 1, "mkldnn_rnn_layer": 3}
_DROPOUTS = frozenset(
    one.__code__
    for one in vars(torch.nn.functional).values()
    if "dropout" in getattr(one, "__name__", "") and hasattr(one, "__code__")
)
_FRAMES_OF_A_DRAW = 6  # from the mode outwards, in which a function for dropout stands


class Operation(NamedTuple):
    """What is fixed about an operation."""

    name: str
    silent: bool  # computes nothing
    view: bool
    makes_memory: bool  # whose content is not its own
    draws: bool
    pointwise: bool
    overwrites: bool  # what it writes it does not read
    written: tuple[int, ...]  # arguments that it writes
    written_names: tuple[str, ...]


@cache
def operation_of(func: Any) -> Operation:
    """What an overload of torch does, from its schema and tags."""
    name = canonical(str(func.overloadpacket.__name__))
    arguments = func._schema.arguments
    writes = [bool(one.alias_info is not None and one.alias_info.is_write) for one in arguments]
    tags = getattr(func, "tags", ())
    draws = torch.Tag.nondeterministic_seeded in tags
    return Operation(
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


def canonical(operation: str) -> str:
    """A readable name for an ATen operation: `_log_softmax` is log_softmax, `linalg_det` det."""
    name = operation.strip("_")
    for prefix in ("native_", "linalg_", "special_", "cudnn_", "mkldnn_"):
        name = name.removeprefix(prefix)
    return name.removesuffix("_forward")


@cache
def has(operation: str, *traits: str) -> bool:
    """Whether the table of operations gives one of the traits to what ATen calls by that readable name."""
    row = operations.canonical(operation)
    for name in (operation, operation.removesuffix("_copy")):  # `to_copy` is a cast by `to`
        if row is None and (method := operations.method(name)) is not None:
            row = method[0]
    return row is not None and row.name in operations.having(*traits)


def results_of(operation: Any, returned: Any) -> Any:
    """What an operation returned, without memory that it may have left as it found it."""
    count = _RESULTS.get(operation.overloadpacket.__name__)
    return returned if count is None else returned[:count]


def leaves_of(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[torch.Tensor], tuple[object, ...]]:
    """The tensors among the arguments, and the Python numbers.

    With the numbers, where in their memory operands begin that do not begin at its start.
    """
    tensors: list[torch.Tensor] = []
    numbers: list[object] = []
    offsets: list[str] = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            tensors.append(value)
            if offset := value.storage_offset() if value.layout is torch.strided else 0:
                offsets.append(f"offset {offset}")
        elif isinstance(value, int | float):
            numbers.append(value)
        elif isinstance(value, list | tuple | dict):
            tensors.extend(tensors_in(value))
    return tensors, (*numbers, *offsets)


def written_by(operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments that an operation writes."""
    written = [args[place] for place in operation.written if place < len(args)]
    return written + [kwargs[name] for name in operation.written_names if name in kwargs]


def storage_of(tensor: torch.Tensor) -> Any:
    """The memory of a tensor; None where it has none of its own, as sparse, fake and wrapped tensors."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def updated_by(func: Any, args: Sequence[Any]) -> list[torch.Tensor]:
    """Running statistics that a normalisation in training writes though its schema does not tell."""
    given = dict(zip((one.name for one in func._schema.arguments), args, strict=False))
    if not (given.get("training") or given.get("train")):
        return []
    return [
        one for name in ("running_mean", "running_var") if isinstance(one := given.get(name), torch.Tensor)
    ]


def outputs_of(func: Any, result: Any, written: Sequence[Any]) -> list[torch.Tensor]:
    """What an operation returned and what it wrote, each tensor once."""
    if not written and isinstance(result, torch.Tensor):
        return [result]
    found = {id(one): one for one in tensors_in((results_of(func, result), written))}
    return list(found.values())


def traits_of_a_draw() -> list[str]:
    """Whether a draw is a dropout's, and whether it happens where no gradient is asked for."""
    traits = [] if torch.is_grad_enabled() else ["no-grad"]
    around = islice(frames_from(sys._getframe(2)), _FRAMES_OF_A_DRAW)
    return [*traits, "dropout"] if any(frame.f_code in _DROPOUTS for frame in around) else traits


class Mode(TorchDispatchMode):
    """Hands every operation to a function that runs it."""

    def __init__(self, run: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._run = run

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation as the function does."""
        return self._run(func, args, kwargs or {})
