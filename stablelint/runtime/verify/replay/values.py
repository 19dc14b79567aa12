"""Captured values: what is kept of them, and how they are written as data that nothing has to be executed for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from stablelint.runtime.tensors.measure import dtype_name

Value = object
_CONTAINERS = (torch.nn.ParameterDict, torch.nn.ParameterList)  # more than their parameters


@dataclass(frozen=True, slots=True)
class Opaque:
    """Stands for a value that cannot be stored; `type_name` is the name of its type."""

    type_name: str


@dataclass(frozen=True, slots=True)
class Context:
    """The modes under which a site was evaluated."""

    autocast: str | None = None  # element type of the enabled autocast, "float16"
    device: str = "cpu"
    grad: bool = True  # a gradient was asked of at least one operand


@dataclass(frozen=True, slots=True)
class Call:
    """Operands of one evaluation of a site, by source text."""

    operands: Mapping[str, Value]
    context: Context = field(default_factory=Context)
    origin: str = "captured"  # "captured", "search"; boundary operands carry their own names
    inputs: Mapping[str, Value] = field(default_factory=dict)  # of the enclosing function: a search's witness
    needs: frozenset[str] | None = None  # operands whose gradient was asked for (None: unknown, so all)


def dtype_of(name: str) -> torch.dtype:
    """The element type called `name`; raises ValueError when there is none."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"no element type is called {name!r}")
    return found


def stored(value: Value) -> object:
    """What stands for `value` in a file: plain values and tensors without a graph; a marker for what has no such form."""
    match value:
        case torch.Tensor():
            return _stored_tensor(value)
        case None | bool() | torch.dtype():
            return value
        case str() | int() | float():  # subclasses of them, as numpy has, are no plain values
            return next(kind(value) for kind in (str, int, float) if isinstance(value, kind))
        case torch.device():
            return {"device": str(value)}
        case tuple() | list():
            return (tuple if isinstance(value, tuple) else list)(map(stored, value))
        case Opaque():
            return {"opaque": value.type_name}
        case torch.nn.Module():
            return _stored_module(value)
    return {"opaque": type(value).__name__}


def _stored_tensor(value: torch.Tensor) -> object:
    plain = value.detach()
    if plain.layout != torch.strided or plain.is_complex() or plain.is_quantized:
        return {"opaque": f"{dtype_name(value.dtype)} tensor"}
    try:
        held = plain.as_subclass(torch.Tensor).cpu().contiguous().clone()
        held.untyped_storage().data_ptr()
    except (RuntimeError, TypeError):  # no elements of its own: a wrapper, or on the meta device
        return {"opaque": type(value).__name__}
    return {"tensor": held, "on": str(value.device)}


def _stored_module(value: torch.nn.Module) -> object:
    kind = type(value)
    own = kind.__module__.startswith("torch.nn.modules.")
    if not own or any(True for _ in value.children()) or isinstance(value, _CONTAINERS):
        return {"opaque": kind.__name__}
    held = {name: item for name, item in vars(value).items() if not name.startswith("_")}
    buffers = dict(value.named_buffers(recurse=False)) | dict(value.named_parameters(recurse=False))
    return {"module": kind.__name__, "state": _each(stored, held), "buffers": _each(stored, buffers)}


def _each(change: Callable[[Any], Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: change(value) for name, value in values.items()}


def available(device: str) -> str:
    """Where what was on `device` is replayed: there, or on the first GPU, or else on the CPU."""
    if not device.startswith("cuda") or not torch.cuda.is_available():
        return "cpu"
    index = torch.device(device).index
    return device if index is None or index < torch.cuda.device_count() else "cuda:0"


def restored(data: object) -> Value:
    """The value that `stored` was given."""
    match data:
        case {"tensor": torch.Tensor() as tensor, "on": str(device)}:
            return tensor.to(available(device))
        case {"device": str(name)}:
            return torch.device(available(name))
        case {"opaque": str(name)}:
            return Opaque(name)
        case {"module": str(name), "state": dict(state), "buffers": dict(buffers)}:
            return _restored_module(name, _each(restored, state), _each(restored, buffers))
        case tuple() | list():
            return type(data)(map(restored, data))
    return data


def _restored_module(name: str, state: Mapping[str, object], buffers: Mapping[str, object]) -> Value:
    kind = getattr(torch.nn, name, None)
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        return Opaque(name)
    module = kind.__new__(kind)
    torch.nn.Module.__init__(module)
    for key, item in state.items():
        setattr(module, key, item)
    for key, item in buffers.items():
        if isinstance(item, torch.Tensor):
            module.register_buffer(key, item)
    return module


def stored_call(call: Call) -> dict[str, object]:
    """What stands for a call in a file."""
    held = {item.name: getattr(call, item.name) for item in fields(call)}
    held |= {name: _each(stored, held[name]) for name in ("operands", "inputs")}
    needs = None if call.needs is None else sorted(call.needs)
    return held | {"context": asdict(call.context), "needs": needs}


def restored_call(data: Mapping[str, Any]) -> Call:
    """The call that `stored_call` was given. Raises KeyError and TypeError where it is no such thing."""
    tensors = {name: _each(restored, data[name]) for name in ("operands", "inputs")}
    context = Context(**data["context"])
    needs = None if data["needs"] is None else frozenset(data["needs"])
    context = replace(context, device=available(context.device))
    return Call(**{**data, **tensors, "context": context, "needs": needs})


def write(path: Path, document: object) -> None:
    """Write a document of what `stored` gives; readers never see half of it."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        torch.save(document, file)
    partial.replace(path)


def read(path: Path) -> Any:
    """What `write` wrote; nothing in the file is executed. Raises OSError or ValueError where it is damaged."""
    try:
        return torch.load(path, weights_only=True)
    except (RuntimeError, EOFError, UnpicklingError) as error:
        raise ValueError(f"damaged capture: {error}") from error
