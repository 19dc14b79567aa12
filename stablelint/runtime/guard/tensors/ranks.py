"""Several processes that train together: whether one of them has gone wrong, and which expression did it.

A replay is run by each rank on its own, so nothing in it may wait for the others. What ranks tell each other
goes through the store that brought them together, which never blocks for longer than it is told to.
"""

from __future__ import annotations

import pickle
import sys
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import torch
from torch import distributed

from stablelint.runtime.guard.reporting.event import Event, Origin
from stablelint.runtime.tracing.patches import replaced

_PATIENCE = timedelta(seconds=20)
_exchanges: Counter[int] = Counter()  # how often the ranks had something to tell of a step of that number


def are_several() -> bool:
    """Whether this process is one of a group."""
    return distributed.is_available() and distributed.is_initialized()


def own_rank() -> int | None:
    """The rank of this process, or None where it trains alone."""
    return distributed.get_rank() if are_several() else None


def are_sharded(parameters: Iterable[torch.Tensor]) -> bool:
    """Whether any parameter is spread over the ranks, so that each holds a part of its gradient."""
    sharded = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", ())
    return any(isinstance(parameter, sharded) or is_wrapped_part(parameter) for parameter in parameters)


def local(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """This rank's part of each tensor."""
    return [tensor.to_local() if hasattr(tensor, "to_local") else tensor for tensor in tensors]


def all_well(well_here: bool, parameters: Sequence[torch.Tensor]) -> bool:
    """Whether the step went well on every rank that holds a part of the parameters; all of them must ask."""
    meshes = {id(mesh): mesh for one in parameters if (mesh := getattr(one, "device_mesh", None)) is not None}
    bad = None
    part = next((one for one in parameters if is_wrapped_part(one)), None)
    if part is not None:
        bad = torch.tensor(0.0 if well_here else 1.0, device=part.device)
        distributed.all_reduce(bad, op=distributed.ReduceOp.MAX)
    for mesh in meshes.values():
        if bad is None:
            bad = torch.tensor(0.0 if well_here else 1.0, device=mesh.device_type)
        for dimension in range(mesh.ndim):
            distributed.all_reduce(bad, op=distributed.ReduceOp.MAX, group=mesh.get_group(dimension))
    return well_here if bad is None else not bool(bad)


@contextmanager
def gathered(modules: Iterable[torch.nn.Module]) -> Iterator[None]:
    """Modules that are sharded hold their parameters whole, and run without a word to other ranks.

    Every rank must enter and leave.
    """
    modules = list(modules)
    parts = _parts_of("FSDPModule", modules) if are_several() else []
    held: list[tuple[Any, dict[str, Any]]] = []
    for part in parts:
        part.unshard()
        for group in _groups_of(part):
            held.append((group, {name: getattr(group, name) for name in _FLAGS if hasattr(group, name)}))
        part.set_requires_gradient_sync(False, recurse=False)
        part.set_reshard_after_backward(False, recurse=False)
        part.set_reshard_after_forward(False, recurse=False)
    try:
        with wrapped_modules_whole(modules):
            yield
    finally:
        for part in parts:
            for parameter in part.parameters(recurse=True):
                if not hasattr(parameter, "to_local"):
                    parameter.grad = None
        for group, flags in held:
            for name, value in flags.items():
                setattr(group, name, value)
        for part in parts:
            part.reshard()


# What `fully_shard` keeps of the three settings; there is no public way to read them.
_FLAGS = ("reduce_grads", "all_reduce_grads", "reshard_after_backward", "post_forward_mesh_info")


def _groups_of(part: Any) -> list[Any]:
    state = part._get_fsdp_state()
    groups = getattr(state, "_fsdp_param_groups", None)
    if groups is None:
        group = getattr(state, "_fsdp_param_group", None)
        groups = [group] if group is not None else []
    return list(groups)


def agreed(event: Event) -> Event:
    """The event that all ranks report: that of the first rank whose own expression is at fault."""
    if not are_several():
        return event
    for rank, other in sorted(_exchanged(event).items()):
        if other.origin is Origin.UNKNOWN:
            continue
        if rank == own_rank() or event.origin is not Origin.UNKNOWN:
            return event
        note = f"Found by rank {rank}; the step of rank {own_rank()} itself is finite."
        taken = {name: getattr(other, name) for name in _ADOPTED}
        return replace(event, **taken, stack=(), rank=rank, note=note)
    return event


_ADOPTED = ("kind", "phase", "origin", "mechanism", "location", "operation", "module", "parameter")


def _exchanged(event: Event) -> dict[int, Event]:
    """What each rank says of this step; those that stay silent too long are missing."""
    found: dict[int, Event] = {}
    _exchanges[event.step] += 1
    # The store still holds what an earlier guard said.
    key_of = f"stablelint/{event.step}/{_exchanges[event.step]}/{{}}".format
    try:
        store = distributed.distributed_c10d._get_default_store()
        store.set(key_of(distributed.get_rank()), b64encode(pickle.dumps(event)).decode())
        for rank in range(distributed.get_world_size()):
            key = key_of(rank)
            store.wait([key], _PATIENCE)
            found[rank] = pickle.loads(b64decode(store.get(key)))
    except Exception:  # a rank that is gone must not take this one along
        return found
    return found


def is_wrapped_part(parameter: torch.Tensor) -> bool:
    """Whether a parameter is this rank's part of a flat one; torch has no public way to ask."""
    return bool(getattr(parameter, "_fsdp_flattened", False))


@contextmanager
def wrapped_modules_whole(modules: Iterable[torch.nn.Module]) -> Iterator[None]:
    """Until the end of the context wrappers among `modules` hold whole parameters without gradients.

    Every rank must enter and leave. What is written to the parameters meanwhile is lost.
    """
    parts = _parts_of("FullyShardedDataParallel", modules)
    if not parts:
        yield
        return
    parameters = [parameter for part in parts for parameter in part.parameters()]
    gradients = [parameter.grad for parameter in parameters]
    inner = {child for part in parts for child in part.modules() if child is not part}
    for parameter in parameters:
        parameter.grad = None
    try:
        with ExitStack() as stack:
            for part in parts:
                if part not in inner:
                    stack.enter_context(type(part).summon_full_params(part, writeback=False))
            for part in parts:
                stack.enter_context(replaced(part, "forward", partial(_passing_on, part)))
            yield
    finally:
        # With `use_orig_params` the parameters are the same objects, and the replay left gradients in them.
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient


def _passing_on(part: Any, _: object) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        return part.module(*args, **kwargs)

    return forward


def _parts_of(kind: str, modules: Iterable[torch.nn.Module]) -> list[Any]:
    """The modules among these and below them that are of a class of torch's own sharding, each once."""
    sharded = getattr(sys.modules.get("torch.distributed.fsdp"), kind, ())
    every = dict.fromkeys(part for module in modules for part in module.modules())
    return [part for part in every if isinstance(part, sharded)]
