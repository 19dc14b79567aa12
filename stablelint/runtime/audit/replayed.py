"""A loss computed anew on its batch, by copies of the models; the run itself is not touched."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from stablelint.runtime.program.frames import Site, site_of
from stablelint.runtime.tensors.measure import tensors_in
from stablelint.runtime.tensors.state import current_state

_Copied = TypeVar("_Copied")
_MEASURES = {"pow": "mse_loss", "square": "mse_loss", "abs": "l1_loss"}  # what the mean of it is
_GRADIENT = vars(torch._C.TensorBase)["grad"].__get__  # what asks for it, as zero_grad does


def detached(value: Any) -> Any:
    """`value` with copies of its tensors, cut from their graphs."""
    return tree_map_only(
        torch.Tensor, lambda one: one.detach().clone().requires_grad_(one.requires_grad), value
    )


@dataclass(frozen=True, slots=True)
class _Result:
    """A tensor among those that a call of a tape gave."""

    call: int
    place: int


@dataclass(frozen=True, slots=True)
class _Call:
    function: Callable[..., Any]  # a model, or a function of torch's
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    cut: Site | None  # where it took what passes gradients, and gave what does not


class Tape(TorchFunctionMode):
    """How a loss comes of parameters: the calls of models, and of torch's functions on what these give."""

    def __init__(
        self,
        under_way: list[nn.Module],
        frame: Callable[[], FrameType | None],
        told: Callable[[str, torch.Tensor, torch.Tensor], object],
    ) -> None:
        super().__init__()
        self._told = told  # of a loss that is written out: its kind, an output and a target
        self._differences: dict[int, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}
        self.losses: list[Any] = []  # what backward was called on, where calls on the tape gave it
        self.open = not torch._C._len_torch_function_stack()  # a mode of the program's own would end first
        self._under_way, self._frame = under_way, frame
        self._calls: list[_Call] = []
        self._known: dict[int, tuple[torch.Tensor, _Result]] = {}
        if self.open:
            torch.overrides._push_mode(self)

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call the function as ever, and write it down."""
        # Who observes it has seen the call already.
        function, kwargs = getattr(function, "observed", function), dict(kwargs or {})
        walks = getattr(function, "__name__", "") == "backward"
        if not self.open or self._under_way or walks or function == _GRADIENT:
            return function(*args, **kwargs)
        given = self._given(function, args, kwargs)  # before it is written to
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = function(*args, **kwargs)
        for one in told:  # where it would warn without this frame between
            if (frame := self._frame()) is None:
                break
            place = frame.f_code.co_filename, frame.f_lineno
            registry = frame.f_globals.setdefault("__warningregistry__", {})
            warnings.warn_explicit(one.message, one.category, *place, registry=registry)
        self._note(function, given, args, kwargs, result)
        if given is not None:
            self._look(getattr(function, "__name__", ""), args, result)
        return result

    def _look(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        """Tell of the difference of an output and a target that is squared, or taken without its sign."""
        if name == "sub" and len(args) == 2 and all(isinstance(one, torch.Tensor) for one in args):
            learned = [one for one in args if one.grad_fn is not None]
            if len(learned) == 1 and args[0].shape == args[1].shape:
                target = args[1] if learned[0] is args[0] else args[0]
                self._differences[id(result)] = result, learned[0], target
        elif name in _MEASURES and id(args[0]) in self._differences and (name != "pow" or args[1] == 2):
            self._told(_MEASURES[name], *self._differences.pop(id(args[0]))[1:])

    def note(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: object) -> None:
        """A call of a model that ended."""
        self._note(model, self._given(model, args, kwargs), args, kwargs, result)

    def _given(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Arguments as the tape keeps them; None for what does not depend on a parameter, or cannot be copied."""
        if not self.open or not torch.is_grad_enabled():
            return None
        learned = any(id(one) in self._known or _is_learned(one) for one in tensors_in((args, kwargs)))
        with suppress(Exception):  # as a tensor of the program's own may raise, too
            if learned or isinstance(function, nn.Module):
                return tree_map_only(torch.Tensor, self._packed, (args, kwargs))
        return None

    def _note(self, function: Any, given: Any, args: Any, kwargs: Any, result: object) -> None:
        if given is None or not self.open:
            return
        made = _made(args, result)
        passes = [
            any(one.requires_grad and not one.is_leaf for one in some)
            for some in (tensors_in((args, kwargs)), made)
        ]
        frame = self._frame() if made and passes == [True, False] else None
        self._calls.append(_Call(function, given[0], given[1], site_of(frame) if frame is not None else None))
        for place, one in enumerate(made):
            self._known[id(one)] = one, _Result(len(self._calls) - 1, place)

    def _packed(self, tensor: torch.Tensor) -> Any:
        if id(tensor) in self._known:
            return self._known[id(tensor)][1]
        if tensor.grad_fn is not None:
            raise LookupError  # it comes of what no call gave, such as a distribution that a model returned
        return tensor if _is_learned(tensor) else tensor.detach().clone()

    def mark(self, losses: tuple[torch.Tensor, ...]) -> int | None:
        """Backward is called on these: the place of the first among the losses; None where other calls gave one."""
        if not self.open or not losses or not all(id(one) in self._known for one in losses):
            return None
        self.losses.append(self._packed(losses[0]))
        return len(self.losses) - 1

    def end(self) -> None:
        """Write no more."""
        self.open, self._known, self._differences = False, {}, {}

    def leave(self) -> None:
        """Torch's functions are no longer shown to it, whatever modes of the program stand above."""
        modes = []
        while self in torch.overrides._get_current_function_mode_stack():
            modes.append(torch.overrides._pop_mode())
        for mode in reversed(modes):
            if mode is not self:
                torch.overrides._push_mode(mode)

    @property
    def models(self) -> list[nn.Module]:
        """What was called on the way to the loss, beside functions."""
        return [one.function for one in self._calls if isinstance(one.function, nn.Module)]

    def cut(self, place: int) -> Site | None:
        """Where gradients are cut off last on the way to one of the losses."""
        waiting, seen = [self.losses[place]], set()
        while waiting:
            at = waiting.pop().call
            call = self._calls[at]
            inner = tree_leaves((call.args, call.kwargs)) if at not in seen else []
            waiting += [one for one in inner if isinstance(one, _Result)]
            seen.add(at)
        return next((site for at in sorted(seen, reverse=True) if (site := self._calls[at].cut)), None)

    def __call__(self, place: int, copies: Mapping[int, Any]) -> torch.Tensor:
        """One of the losses, of copies, by the identities of what they are of."""
        results: list[list[torch.Tensor]] = []

        def given(one: Any) -> Any:
            if isinstance(one, _Result):
                return results[one.call][one.place]
            return copies[id(one)] if id(one) in copies else detached(one)

        for call in self._calls[: self.losses[place].call + 1]:
            args, kwargs = tree_map_only((_Result, torch.Tensor), given, (call.args, call.kwargs))
            function = copies.get(id(call.function), call.function)
            results.append(_made(args, function(*args, **kwargs)))
        loss: torch.Tensor = given(self.losses[place])
        return loss.sum()


def _is_learned(tensor: torch.Tensor) -> bool:
    return tensor.is_leaf and tensor.requires_grad


def _made(args: tuple[Any, ...], result: object) -> list[torch.Tensor]:
    """The tensors that a call gave, or the one that it wrote to."""
    return list(tensors_in(args[:1] if result is None else result))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Afterwards the random generators stand where they stood; what is computed meanwhile warns of nothing again."""
    state = current_state()
    try:
        with torch.enable_grad(), warnings.catch_warnings(action="ignore"):
            yield
    finally:
        state.restore()


def copy_of(model: _Copied, memo: dict[int, Any] | None = None) -> _Copied | None:
    """A copy of a model, or of several with an optimizer, that shares nothing; None where it cannot be copied."""
    try:
        return copy.deepcopy(model, memo)
    except Exception:  # whatever a module of the program raises there: then there is no copy
        return None
