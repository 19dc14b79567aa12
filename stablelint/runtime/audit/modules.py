"""The modules that are called: their names, their parameters before the first step, and what layers give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from stablelint.runtime.audit.calls import own_frame
from stablelint.runtime.audit.record import LayerFacts, ParameterFacts, Run
from stablelint.runtime.audit.taps import shielded
from stablelint.runtime.audit.values import sample_of, summary_of, uniform_dimensions

MATRICES = (nn.Linear, nn.modules.conv._ConvNd)
NORMALISING = (nn.modules.batchnorm._BatchNorm, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)

Call = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], None]


class ModuleBook:
    """Hooks for all modules of the process, and the names that they lead to."""

    def __init__(self, run: Run, on_forward: Call) -> None:
        self._run = run
        self.trouble = run.trouble
        self._on_forward = on_forward
        self.stack: list[nn.Module] = []  # that are being called
        self._paths: dict[int, str] = {}
        self._first: str | None = None  # the model that is called first, while its name is left out

    @shielded
    def enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A module is about to be called."""
        if torch.compiler.is_compiling():
            return
        # Within another module it is one that this one does not know of: in a plain list, say.
        if id(module) not in self._paths and not (self.stack and self._run.steps):
            self._learn(*_named(module))
        self.stack.append(module)

    @shielded
    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any = None
    ) -> None:
        """A module was called; where it raised, torch gives no result (and no keywords)."""
        if torch.compiler.is_compiling() or not self.stack:
            return
        while self.stack and self.stack.pop() is not module:
            pass
        for parameter in module._parameters.values():
            if parameter is not None and torch.is_grad_enabled() and id(parameter) in self._run.parameters:
                self._run.parameters[id(parameter)].called = True
        given = result[0] if isinstance(result, tuple) and result else result  # that of a recurrent layer
        if isinstance(given, torch.Tensor) and not module._modules:
            self._layer(module, args, given)
        if not self.stack and result is not None:
            self._on_forward(module, args, kwargs, result)

    def names_of(self, parameters: Iterable[torch.Tensor]) -> dict[int, str]:
        """What parameters are called, by identity."""
        known = self._run.parameters
        return {
            id(one): known[id(one)].name if id(one) in known else f"parameter {index} of the optimizer"
            for index, one in enumerate(parameters)
        }

    def _learn(self, root: nn.Module, called: str) -> None:
        if next(root.parameters(), None) is None:
            return
        if self._first is not None and not self._run.steps:
            self._rename(f"{self._first}.")  # it is one of several
        lead = "" if not self._paths and not isinstance(root, nn.Sequential) else f"{called}."
        self._first = None if lead else called
        for path, module in root.named_modules():
            path = path.removeprefix("module.").replace("_orig_mod.", "")
            self._paths.setdefault(id(module), f"{lead}{path}".rstrip(".") or type(module).__name__)
            for name, parameter in module._parameters.items():
                if parameter is None or id(parameter) in self._run.parameters:
                    continue
                full = f"{lead}{path}.{name}" if path else f"{lead}{name}"
                if isinstance(parameter, nn.parameter.UninitializedParameter):
                    continue
                start, uniform = summary_of(parameter), uniform_dimensions(parameter)
                site = self._run.home(parameter, module)
                facts = ParameterFacts(full, parameter, module, start, uniform, site)
                self._run.parameters[id(parameter)] = facts

    def _rename(self, lead: str) -> None:
        """The modules and parameters so far, as those of a model of this name."""
        self._paths = {key: f"{lead}{path}" for key, path in self._paths.items()}
        known: list[ParameterFacts | LayerFacts] = [
            *self._run.parameters.values(),
            *self._run.layers.values(),
        ]
        for one in known:
            one.name = f"{lead}{one.name}"
        self._run.layers = {one.name: one for one in self._run.layers.values()}

    def _layer(self, module: nn.Module, args: tuple[Any, ...], result: torch.Tensor) -> None:
        name = self._paths.get(id(module))
        if name is None or not result.is_floating_point() or not result.numel():
            return
        facts = self._run.layers.get(name)
        given = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if facts is None:
            first = sample_of(given) if given is not None and module._parameters else None
            facts = self._run.layers[name] = LayerFacts(name, module, first, self._run.home(module))
        low, high = torch.aminmax(result.detach())
        facts.half = facts.half or result.dtype is torch.float16
        facts.low, facts.high = min(facts.low, float(low)), max(facts.high, float(high))
        if module.training and torch.is_grad_enabled():
            facts.train_calls += 1
            if isinstance(module, NORMALISING) and given is not None and given.dim() > 1:
                count = given.numel() // max(given.shape[1], 1)
                facts.smallest_count = min(facts.smallest_count or count, count)


def _named(module: nn.Module) -> tuple[nn.Module, str]:
    """The module whose method calls `module` as a part of it, or itself; and the name by which it is called there."""
    frame = own_frame()
    scope = frame.f_locals if frame is not None else {}
    caller = next(iter(scope.values()), None)  # the first argument of a method
    if isinstance(caller, nn.Module) and any(module is one for one in caller.modules()):
        return caller, type(caller).__name__
    for names in (scope, getattr(caller, "__dict__", {}), frame.f_globals if frame is not None else {}):
        if (name := next((name for name, value in names.items() if value is module), None)) is not None:
            return module, name
    return module, type(module).__name__
