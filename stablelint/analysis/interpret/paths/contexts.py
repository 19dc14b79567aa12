"""Context managers and settings that change how tensors are computed: autocast, gradients, the default dtype."""

from __future__ import annotations

import ast

from stablelint.analysis.files.decorators import records_gradient
from stablelint.analysis.files.modules import FunctionInfo
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import Value
from stablelint.syntax.names import called_name
from stablelint.syntax.operations import having

CREATIONS = having("default-type")
TENSOR_TYPES = {
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "Tensor": "",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
}


def enter_context(node: ast.expr, context: Value, frame: Frame) -> None:
    """What holds within a `with`."""
    recorded = records_gradient(node)
    if recorded or (recorded is False and context.op.startswith("torch.")):
        frame.state.gradient = recorded
    elif called_name(node) == "autocast":
        frame.state.autocast = autocast_dtype(context)


def autocast_dtype(context: Value) -> str | None:
    """The dtype to which an `autocast(…)` casts; None where it is switched off."""
    enabled = context.operands.get("enabled")
    if enabled is not None and enabled.constant() is False:
        return None
    dtypes = [v.dtype for v in context.operands.values() if v.dtype is not None]
    if dtypes:
        return dtypes[0]
    device = context.operands.get("device_type") or context.operands.get("argument0")
    on_cpu = context.op.startswith("torch.cpu.") or (device is not None and device.constant() == "cpu")
    return "bfloat16" if on_cpu else "float16"


def decorate(function: FunctionInfo, frame: Frame) -> None:
    """What holds within a function that is decorated with a context manager."""
    if function.has_decorator("autocast"):
        for decorator in getattr(function.node, "decorator_list", ()):
            if called_name(decorator) == "autocast":
                context = frame.session.interpreter.evaluate(decorator, quiet_frame(function.module, frame))
                frame.state.autocast = autocast_dtype(context)


def set_default(method: str, positional: list[Value], frame: Frame) -> bool:
    """`torch.set_default_dtype(…)` and the like; False where the call is none of them."""
    if method == "set_grad_enabled" and positional:
        recorded = positional[0].constant() is not False
        frame.state.gradient = frame.state.gradient or recorded
    if method not in ("set_default_dtype", "set_default_tensor_type") or not positional:
        return False
    given = positional[0]
    named = given.data if isinstance(given.data, str) else ""
    frame.session.default_dtype = given.dtype or TENSOR_TYPES.get(named.rpartition(".")[2]) or None
    return True
