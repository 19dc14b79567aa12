"""What was seen of a run: plain facts, in the order in which they happened."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from stablelint.runtime.audit.allocations import Peak
from stablelint.runtime.audit.graph import GraphFacts
from stablelint.runtime.audit.replayed import Tape
from stablelint.runtime.audit.values import Summary
from stablelint.runtime.program.frames import Site, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.names import parameters_of
from stablelint.runtime.tracing.graph import Row

Place = Site | Row | Location | None


@dataclass(slots=True, eq=False)
class Forward:
    """One call of an outermost module that holds parameters."""

    root: torch.nn.Module
    training: bool
    grad: bool  # gradients were enabled
    site: Site | None
    fetched_from: LoaderFacts | None  # the loader of the batch under way
    inputs: tuple[torch.Tensor, ...]  # copies of the first rows
    fingerprint: bytes | None
    trained: bool = False  # a backward pass went through it
    scored: bool = False  # a loss was computed from it with gradients disabled
    pair: tuple[tuple[Any, ...], dict[str, Any]] | None = None  # the arguments themselves, of the first ones


@dataclass(slots=True, eq=False)
class LossCall:
    """One call of a loss function of `torch.nn.functional`."""

    kind: str
    arguments: Mapping[str, Any]
    input: torch.Tensor  # copies of the first rows
    target: torch.Tensor
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    value: float | None
    grad: bool
    site: Site | None
    forward: Forward | None = None  # whose output the input is
    maker: str | None = None  # the operation that made the input
    target_maker: str | None = None  # the operation that made the target
    rows: tuple[torch.Tensor, torch.Tensor] | None = None  # which of the output it takes, and their targets
    best_constant: float | None = None  # the least loss of an output that is the same for all samples

    def option(self, name: str) -> Any:
        """An argument of the call."""
        return self.arguments.get(name)


@dataclass(slots=True, eq=False)
class Backward:
    """One backward call."""

    value: float
    site: Site | None
    root: str | None  # the autograd node of the loss
    repeated: bool  # the same graph was walked before
    fetches: int  # batches that were handed out since the backward call before
    fresh: bool = False  # no optimizer held a gradient when it began
    scaled: bool = False
    taped: tuple[Tape, int] | None = None  # how its loss came about, and which of the tape's it is
    facts: GraphFacts | None = None

    def reaches(self, held: set[int]) -> bool:
        """Whether it gives gradients to any of these parameters, by identity."""
        return self.facts is not None and not held.isdisjoint(self.facts.reached)


@dataclass(slots=True, eq=False)
class Step:
    """One optimizer step, with what led to it."""

    optimizer: int
    backwards: list[Backward]
    site: Site | None
    rates: tuple[float, ...]
    stale: bool  # a backward pass added to gradients that a step had used already
    has_gradients: bool
    zero_gradients: bool  # there are gradients, and all of them are zero
    clips: list[tuple[float, Site | None]] = field(default_factory=list)  # norm and place, before the step
    clipped_after: Site | None = None
    clipped_scaled: Site | None = None  # clipped while the gradients were still multiplied by the scaler
    norms: dict[str, float] = field(default_factory=dict)  # of the gradients, by parameter
    moved: dict[str, float] = field(default_factory=dict)  # update over weight, by parameter

    @property
    def loss(self) -> float | None:
        """The loss of the last backward call."""
        return self.backwards[-1].value if self.backwards else None


@dataclass(slots=True, eq=False)
class ParameterFacts:
    """A parameter of a module that was called, as it was before the first step."""

    name: str
    tensor: torch.Tensor
    owner: torch.nn.Module | None
    start: Summary
    uniform: tuple[int, ...]  # the dimensions along which all slices of the matrix were the same
    site: Site | None = None  # where it is made
    gradients: int = 0  # steps with a gradient
    nonzero: int = 0  # steps with a gradient that is not zero
    called: bool = False  # its module was called in a pass that was trained


@dataclass(slots=True)
class LayerFacts:
    """A module without children: what it took first, and the range of what it gave."""

    name: str
    module: torch.nn.Module
    first: torch.Tensor | None  # a copy of the first rows of its first input
    site: Site | None = None  # where it is made
    low: float = 0.0
    high: float = 0.0
    half: bool = False  # gave float16
    train_calls: int = 0
    smallest_count: int | None = None  # values a channel is normalised over, at least


@dataclass(slots=True, eq=False)
class LoaderFacts:
    """A DataLoader and what became of its batches."""

    loader: Any
    site: Site | None  # where it was made
    trained: bool = False
    batches: int = 0
    iterators: int = 0
    samples: set[bytes] = field(default_factory=set)  # fingerprints of those that its first pass handed out
    repeats: int = 0  # samples that this pass handed out again
    telling: bool = False  # samples of its first batch are not equal by chance

    @property
    def batch_size(self) -> int | None:
        """Samples of a full batch; None where another makes the batches."""
        of_sampler = getattr(getattr(self.loader, "batch_sampler", None), "batch_size", None)
        return of_sampler or getattr(self.loader, "batch_size", None)


@dataclass(slots=True)
class Run:
    """Everything a check may look at."""

    forwards: list[Forward] = field(default_factory=list)
    losses: list[LossCall] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    seconds: float = 0.0  # from the first step to the last
    optimizers: list[torch.optim.Optimizer] = field(default_factory=list)
    parameters: dict[int, ParameterFacts] = field(default_factory=dict)
    layers: dict[str, LayerFacts] = field(default_factory=dict)  # in the order of their first calls
    loaders: list[LoaderFacts] = field(default_factory=list)
    made_at: dict[int, Site | None] = field(default_factory=dict)  # by the identity of an optimizer
    built_at: dict[int, Site | None] = field(default_factory=dict)  # by the identity of a module or parameter
    evaluated_at: dict[int, Site | None] = field(default_factory=dict)  # calls of eval(), by that of a module
    given: set[int] = field(default_factory=set)  # parameters an optimizer was made of, or that were loaded
    schedules: int = 0  # steps of schedulers
    early_schedule: Site | None = None  # one that stepped before any optimizer
    seeded: set[str] = field(default_factory=set)
    seeded_again: list[Site | None] = field(default_factory=list)  # calls since the first backward pass
    live_dropout: Site | None = None  # dropout within a model in evaluation mode
    drawn: set[str] = field(default_factory=set)  # generators whose state moved
    unseeded: dict[str, Site | None] = field(default_factory=dict)  # first draws, or makings, without a seed
    functions: dict[Any, tuple[Any, ...]] = field(default_factory=dict)  # custom functions, and arguments
    holders: tuple[str, ...] = ()  # names that hold tensors with their graph, at the end
    holder_at: Location | None = None
    growing: tuple[str, ...] = ()  # names that take a tensor with every step
    growing_at: Location | None = None
    peak: Peak | None = None  # of the GPU's memory, from the second step on
    trouble: list[str] = field(default_factory=list)  # what could not be watched, and why
    initial: dict[int, torch.Tensor] = field(default_factory=dict)  # parameters before the first step

    @property
    def roots(self) -> list[torch.nn.Module]:
        """The outermost modules that were called, in order."""
        return list({id(one.root): one.root for one in self.forwards}.values())

    @property
    def trained(self) -> list[Forward]:
        """The calls through which a backward pass went."""
        return [one for one in self.forwards if one.trained]

    def trained_losses(self, *kinds: str) -> list[LossCall]:
        """Loss calls with gradients, of these kinds."""
        return [one for one in self.losses if one.kind in kinds and one.grad]

    def class_losses(self) -> list[LossCall]:
        """Classification losses with gradients, and with class numbers for targets."""
        calls = self.trained_losses("cross_entropy", "nll_loss")
        return [one for one in calls if not one.target.is_floating_point()]

    def held(self) -> set[int]:
        """Identities of the parameters that optimizers hold."""
        return {id(one) for each in self.optimizers for one in parameters_of(each)}

    def home(self, *built: object) -> Site | None:
        """Where the first of these modules and parameters is made of which that is known."""
        return next((self.built_at[id(one)] for one in built if id(one) in self.built_at), None)

    def taught(self) -> Iterator[tuple[torch.optim.Optimizer, Step, Backward]]:
        """The optimizers with the first step of each, and the last backward call before it that reaches its parameters."""
        for key, optimizer in enumerate(self.optimizers):
            step = next((one for one in self.steps if one.optimizer == key), None)
            held = set(map(id, parameters_of(optimizer)))
            backwards = step.backwards if step is not None else []
            last = next((one for one in reversed(backwards) if one.reaches(held)), None)
            if step is not None and last is not None:
                yield optimizer, step, last

    def facts(self) -> Iterator[GraphFacts]:
        """What was read from the graphs of the losses."""
        return (one.facts for one in self.backwards if one.facts is not None)


def place(at: Place) -> Location | None:
    """The expression of a site; the line, where file and row are all that is known."""
    if isinstance(at, Site):
        return resolve(at)
    return Location(*at, None, linecache.getline(*at).strip(), "") if isinstance(at, tuple) else at
