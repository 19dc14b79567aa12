"""Writes down what a program makes before and while it trains: optimizers, modules, and the seeds of its generators."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy.random
import torch

from stablelint.runtime.audit.calls import TAPES, CallRecorder, here
from stablelint.runtime.audit.taps import shielded
from stablelint.runtime.tensors.names import parameters_of
from stablelint.runtime.tensors.state import current_state

# Of an object, the name of a function, and who observes it.
Taps = list[tuple[Any, str, Callable[..., object]]]


class MakingRecorder(CallRecorder):
    """The part of a recorder that follows what is made, and where, and which generators were seeded first."""

    def __init__(self) -> None:
        super().__init__()
        self.random = current_state()  # of the generators, at the start

    def making(self) -> Taps:
        """What to listen at."""
        taps: Taps = [
            (torch.optim.Optimizer, "__init__", self.on_optimizer),
            (torch.nn.Module, "__init__", self.on_module),
            (torch.nn.Module, "register_parameter", self.on_parameter),
            (torch.nn.Module, "load_state_dict", self.on_load),
            (torch.nn.Module, "eval", self.on_eval),
            (torch, "manual_seed", functools.partial(self.on_seed, "torch")),
            (torch.random, "manual_seed", functools.partial(self.on_seed, "torch")),
            (random, "seed", functools.partial(self.on_seed, "random")),
            (numpy.random, "seed", functools.partial(self.on_seed, "numpy")),
            (numpy.random, "default_rng", self.on_generator),
        ]
        generators = ("random", random, random._inst), ("numpy", numpy.random, numpy.random.mtrand._rand)
        for kind, module, own in generators:
            of_own = [name for name, one in vars(module).items() if getattr(one, "__self__", None) is own]
            draws = [name for name in of_own if name != "seed" and "state" not in name]
            taps += [(module, name, functools.partial(self.on_draw, kind)) for name in draws]
        return taps

    @shielded
    def on_optimizer(self, _: None, optimizer: Any, *__: object, **___: object) -> None:
        """Note where it is made, and of what; it may never step."""
        self.tapes += TAPES if self.run.made_at else 0
        self.run.made_at[id(optimizer)] = here()
        self.run.given.update(map(id, parameters_of(optimizer)))

    @shielded
    def on_module(self, _: None, module: object, *__: object, **___: object) -> None:
        """Note where it is made."""
        self.run.built_at[id(module)] = here(module)

    @shielded
    def on_parameter(self, _: None, module: object, name: str, parameter: object) -> None:
        """Note where it is made, and whether those before it were drawn without a seed."""
        self.run.built_at[id(parameter)] = here()
        if not torch.equal(torch.default_generator.get_state(), self.random.default):
            self.on_draw("torch")

    @shielded
    def on_load(self, _: object, module: torch.nn.Module, *__: object, **___: object) -> None:
        """Note what was learned elsewhere."""
        self.run.given.update(map(id, module.parameters()))

    @shielded
    def on_eval(self, _: object, module: object) -> None:
        """Note where it is put into evaluation mode."""
        self.run.evaluated_at[id(module)] = here()

    @shielded
    def on_draw(self, generator: str, *_: object, **__: object) -> None:
        """Note the first draw without a seed."""
        if generator not in self.run.seeded and generator not in self.run.unseeded:
            self.run.unseeded[generator] = here()

    @shielded
    def on_generator(self, _: object, seed: object = None) -> None:
        """Note a generator that NumPy seeds from the system."""
        if seed is None:
            self.run.unseeded.setdefault("numpy.random.default_rng()", here())

    @shielded
    def on_seed(self, generator: str, *_: object, **__: object) -> None:
        """Note a seed."""
        self.run.seeded.add(generator)
        if self.run.backwards and not self.elsewhere():
            self.run.seeded_again.append(here())
