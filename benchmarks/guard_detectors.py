"""What the guard is compared with: other ways to notice a NaN, each as a context manager over training."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec

import torch
from torch import nn
from torch.nn.modules import module as torch_module

from stablelint.runtime.guard import Guard


class FoundError(RuntimeError):
    """A detector raised its alarm; `place` is what it names."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


@contextmanager
def plain() -> Iterator[None]:
    yield


@contextmanager
def guard() -> Iterator[None]:
    with Guard():
        yield


@contextmanager
def detect_anomaly() -> Iterator[None]:
    with torch.autograd.set_detect_anomaly(True):
        yield


@contextmanager
def naive_hooks() -> Iterator[None]:
    """`isnan().any()` and `isinf().any()` on every module's output."""

    def look(module: nn.Module, _: object, result: object) -> None:
        for tensor in _tensors(result):
            if torch.isnan(tensor).any() or torch.isinf(tensor).any():
                raise FoundError(type(module).__name__)

    handle = torch_module.register_module_forward_hook(look)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def module_detector() -> Iterator[None]:
    """Smallest and largest magnitude of every module's inputs, weights and outputs, kept for the last calls.

    The design of the detector in the transformers library, written for any module.
    """
    frames: list[str] = []

    def describe(kind: str, tensor: torch.Tensor) -> None:
        if tensor.numel() == 0 or not tensor.is_floating_point():
            return
        magnitude = tensor.detach().abs()
        frames.append(f"{magnitude.min().item():8.2e} {magnitude.max().item():8.2e} {kind}")
        if torch.isnan(tensor).any().item() or torch.isinf(tensor).any().item():
            raise FoundError(kind)

    def look(module: nn.Module, inputs: object, result: object) -> None:
        name = type(module).__name__
        for path, parameter in module.named_parameters(recurse=False):
            describe(f"{name}.{path}", parameter)
        for tensor in _tensors(inputs):
            describe(f"{name} input", tensor)
        for tensor in _tensors(result):
            describe(f"{name} output", tensor)
        del frames[:-21]

    handle = torch_module.register_module_forward_hook(look)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def transformers_detector() -> Iterator[None]:
    """The `DebugUnderflowOverflow` of the transformers library itself, on every module that is called first."""
    from transformers.debug_utils import DebugUnderflowOverflow

    known: dict[nn.Module, DebugUnderflowOverflow] = {}

    def enter(module: nn.Module, _: object) -> None:
        if not any(module in debug.module_names for debug in known.values()):
            known[module] = DebugUnderflowOverflow(module)

    handle = torch_module.register_module_forward_pre_hook(enter)
    try:
        yield
    except ValueError as error:
        if "DebugUnderflowOverflow" not in str(error):
            raise
        raise FoundError(str(error)).with_traceback(error.__traceback__) from None
    finally:
        handle.remove()
        for model, debug in known.items():
            for module in model.modules():
                for key, hook in list(module._forward_hooks.items()):
                    if getattr(hook, "__self__", None) is debug:
                        del module._forward_hooks[key]


Detector = Callable[[], AbstractContextManager[None]]
DETECTORS: dict[str, Detector] = {
    "guard": guard,
    "detect_anomaly": detect_anomaly,
    "transformers": transformers_detector,
    "module hooks": module_detector,
    "naive isnan hooks": naive_hooks,
}
SKIPPED = () if find_spec("transformers") else ("transformers",)
for _name in SKIPPED:
    del DETECTORS[_name]


def _tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors(item)]
    return []


if __name__ == "__main__":
    sys.exit("a module of guard_overhead.py and guard_accuracy.py")
