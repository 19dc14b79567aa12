"""Captured values: what is kept of them, and how they are written without pickling."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

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
    sliced: bool = False
    inputs: Mapping[str, Value] = field(default_factory=dict)  # of the enclosing function: a search's witness
    line: str = ""  # the call of the enclosing function, where it was made for this
    needs: frozenset[str] | None = None  # operands whose gradient was asked for (None: unknown, so all)


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def dtype_of(name: str) -> torch.dtype:
    """The element type called `name`; raises ValueError when there is none."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"no element type is called {name!r}")
    return found


class Encoder:
    """Turns values into JSON, and collects their tensors under short keys."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}

    def encode(self, value: Value) -> object:
        """JSON for `value`; what cannot be stored becomes an opaque marker."""
        match value:
            case torch.Tensor():
                return self._tensor(value)
            case None | bool() | str():
                return value
            case int():
                return value if abs(value) < 2**53 else {"int": str(value)}
            case float():
                return value if math.isfinite(value) else {"float": repr(value)}
            case torch.dtype():
                return {"dtype": dtype_name(value)}
            case torch.device():
                return {"device": str(value)}
            case tuple() | list():
                return {
                    "tuple" if isinstance(value, tuple) else "list": [self.encode(item) for item in value]
                }
            case Opaque():
                return {"opaque": value.type_name}
            case torch.nn.Module():
                return self._module(value)
        return {"opaque": type(value).__name__}

    def call(self, call: Call) -> dict[str, object]:
        """JSON for a call."""
        return {
            **asdict(call.context),
            "operands": {name: self.encode(value) for name, value in call.operands.items()},
            "inputs": {name: self.encode(value) for name, value in call.inputs.items()},
            "origin": call.origin,
            "sliced": call.sliced,
            "line": call.line,
            "needs": None if call.needs is None else sorted(call.needs),
        }

    def _tensor(self, value: torch.Tensor) -> object:
        plain = value.detach()
        if plain.layout != torch.strided or plain.is_complex() or plain.is_quantized:
            return {"opaque": f"{dtype_name(value.dtype)} tensor"}
        try:
            stored = plain.as_subclass(torch.Tensor).cpu().contiguous().clone()
            stored.untyped_storage().data_ptr()
        except (RuntimeError, TypeError):  # no elements of its own: a wrapper, or on the meta device
            return {"opaque": type(value).__name__}
        key = f"t{len(self.tensors)}"
        self.tensors[key] = stored
        return {"tensor": key, "device": str(value.device)}

    def _module(self, value: torch.nn.Module) -> object:
        kind = type(value)
        own = kind.__module__.startswith("torch.nn.modules.")
        if not own or any(True for _ in value.children()) or isinstance(value, _CONTAINERS):
            return {"opaque": kind.__name__}
        state = {name: item for name, item in vars(value).items() if not name.startswith("_")}
        buffers = dict(value.named_buffers(recurse=False)) | dict(value.named_parameters(recurse=False))
        return {
            "module": kind.__name__,
            "state": {name: self.encode(item) for name, item in state.items()},
            "buffers": {name: self.encode(item) for name, item in buffers.items()},
        }


def available(device: str) -> str:
    """Where what was on `device` is replayed: there, or on the first GPU, or else on the CPU."""
    if not device.startswith("cuda") or not torch.cuda.is_available():
        return "cpu"
    index = torch.device(device).index
    return device if index is None or index < torch.cuda.device_count() else "cuda:0"


def decode(data: object, tensors: Mapping[str, torch.Tensor]) -> Value:
    """The value that `Encoder.encode` wrote."""
    if not isinstance(data, dict):
        return data
    match data:
        case {"tensor": str(key)}:
            tensor = tensors[key]
            return tensor.to(available(str(data.get("device", "cpu"))))
        case {"int": str(text)}:
            return int(text)
        case {"float": str(text)}:
            return float(text)
        case {"dtype": str(name)}:
            return dtype_of(name)
        case {"device": str(name)}:
            return torch.device(available(str(name)))
        case {"tuple": list(items)}:
            return tuple(decode(item, tensors) for item in items)
        case {"list": list(items)}:
            return [decode(item, tensors) for item in items]
        case {"module": str(name), "state": dict(state), "buffers": dict(buffers)}:
            return _module(name, state, buffers, tensors)
    return Opaque(str(data.get("opaque", "value")))


def decode_call(data: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> Call:
    """The call that `Encoder.call` wrote. Raises KeyError and TypeError where it is no such thing."""
    context = Context(data["autocast"], available(data["device"]), data["grad"])
    operands, inputs = (
        {name: decode(value, tensors) for name, value in data[key].items()} for key in ("operands", "inputs")
    )
    needs = None if data["needs"] is None else frozenset(data["needs"])
    return Call(operands, context, data["origin"], data["sliced"], inputs, data["line"], needs)


def _module(
    name: str, state: Mapping[str, object], buffers: Mapping[str, object], tensors: Mapping[str, torch.Tensor]
) -> Value:
    kind = getattr(torch.nn, name, None)
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        return Opaque(name)
    module = kind.__new__(kind)
    torch.nn.Module.__init__(module)
    for key, item in state.items():
        setattr(module, key, decode(item, tensors))
    for key, item in buffers.items():
        tensor = decode(item, tensors)
        if isinstance(tensor, torch.Tensor):
            module.register_buffer(key, tensor)
    return module


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor], document: object) -> None:
    """Write `document` as JSON to `path` and its tensors beside it; readers never see half of either."""
    from safetensors.torch import save_file

    weights = path.with_suffix(".safetensors")
    partial = weights.with_suffix(".partial")
    save_file(dict(tensors), partial)
    text = path.with_suffix(".json.partial")
    text.write_text(json.dumps(document), encoding="utf-8")
    partial.replace(weights)
    text.replace(path)


def read_tensors(path: Path) -> tuple[object, dict[str, torch.Tensor]]:
    """What `write_tensors` wrote; raises OSError or ValueError when it is missing or damaged."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return json.loads(path.read_text(encoding="utf-8")), load_file(path.with_suffix(".safetensors"))
    except SafetensorError as error:
        raise ValueError(f"damaged capture: {error}") from error
