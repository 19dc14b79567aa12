"""The call of torch that failed, as it can be made again: on copies of its operands, or on tensors without elements."""

from __future__ import annotations

import ast
import copy
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

from stablelint.runtime.audit.replayed import copy_of, undisturbed
from stablelint.runtime.crash.deduced import deduced, is_known, is_plain, without_hooks
from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import UNKNOWN, given_by_name, node_at, value_of
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.repairs.edits import Edit, Revision
from stablelint.runtime.crash.scene import Scene, is_compiled

_MOST = 1 << 22  # elements that are copied
# A warning of torch: a loss goes on with what it was hardly meant to be given.
BROADCAST = "Using a target size"
X = re.compile(r"\bx\b")  # in a template: the value that is changed
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.Invert: operator.invert,
    ast.USub: operator.neg, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_IN_PLACE: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul, ast.Div: operator.itruediv,
    ast.Pow: operator.ipow, ast.Mod: operator.imod, ast.FloorDiv: operator.ifloordiv,
    ast.BitAnd: operator.iand, ast.BitOr: operator.ior, ast.BitXor: operator.ixor,
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """What was called, of what; the values may be changed and the call be tried again."""

    function: Callable[..., Any]
    values: tuple[Any, ...]  # the leaves of its arguments
    spec: Any  # how they are put together
    # What the program writes for the tensors, by identity.
    texts: dict[int, str] = field(default_factory=dict)
    spots: dict[int, Edit] = field(default_factory=dict)  # where they are written, by identity
    whole: tuple[str, ast.Call] | None = None  # the call as it is written, and its file
    # With which the program makes this call; None where it cannot.
    revisions: tuple[Revision, ...] | None = None
    hollow: bool = False  # on tensors without elements
    small: bool = False  # whether its tensors may be copied
    channels_first: bool = False  # in what a convolution gave: the last dimension counts no features

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, by position and by name."""
        given, named = tree_unflatten(list(self.values), self.spec)
        return tuple(given), named

    def given(self, place: int, value: Any, template: str = "") -> Call:
        """The call with another value at a place, as the program makes it with `x` in a template being the one there."""
        found = replace(self, values=(*self.values[:place], value, *self.values[place + 1 :]))
        spot = self.spots.get(id(self.values[place])) if template and not self.is_written else None
        if spot is None:
            return found
        edit = replace(spot, text=self.named(X.sub(lambda _: f"({spot.text})", template)))
        others = (one for one in self.revisions or () if one != spot)  # which it is made of
        return replace(found, revisions=(*others, edit), spots={**self.spots, id(value): edit})

    def named(self, text: str) -> str:
        """A text with the names of operands in place of their sizes."""
        for name, one in self.placed.items():
            if isinstance(one, torch.Tensor) and id(one) in self.texts:
                text = text.replace(name, self.texts[id(one)])
                sizes = f".expand({', '.join(map(str, one.shape))})"
                text = text.replace(sizes, f".expand_as({self.texts[id(one)]})")
        return text

    @property
    def placed(self) -> dict[str, Any]:
        """The values by what stands for them in a template."""
        return {f"values_{place}_": one for place, one in enumerate(self.values)}

    def size_of(self, tensor: torch.Tensor, size: int, dim: int | None = None) -> str:
        """A size of a tensor in a template, which the program writes by the tensor's name if it has one."""
        place = next(place for place, one in enumerate(self.values) if one is tensor)
        named = self.texts.get(id(tensor), "").isidentifier()
        dim = [*tensor.shape].index(size) if dim is None else dim
        return f"values_{place}_.shape[{dim}]" if named else str(size)

    def naming(self, name: str, value: Any) -> Call:
        """The call with a further argument."""
        given, named = self.arguments
        values, spec = _flat(given, {**named, name: value})
        found = replace(self, values=values, spec=spec)
        if self.whole is None:
            return found
        filename, node = self.whole
        kept = [one for one in node.keywords if one.arg != name]
        anew = ast.Call(node.func, node.args, [*kept, ast.keyword(name, ast.Constant(value))])
        return replace(found, revisions=(Edit.of(node, filename, ast.unparse(anew)),))

    def written(self, place: int) -> str:
        """What the program writes for the value at a place, as what stands before a method."""
        return Operand(self.texts.get(id(self.values[place]), "input"), (), "", "").owner

    def evaluated(self) -> Call | None:
        """The call of a model in evaluation, where it is one in training."""
        if not isinstance(self.function, nn.Module) or not self.function.training or self.whole is None:
            return None
        filename, node = self.whole
        edit = Edit.of(node.func, filename, f"{ast.unparse(node.func)}.eval()")
        function = copy.deepcopy(self.function).eval()
        return replace(self, function=function, revisions=(*(self.revisions or ()), edit))

    @property
    def is_in_place(self) -> bool:
        """Whether it writes its result into its first operand."""
        name = getattr(self.function, "__name__", "")
        return self.function in _IN_PLACE.values() or (name.endswith("_") and not name.endswith("__"))

    @property
    def is_written(self) -> bool:
        """Whether it writes a part of its first operand."""
        return self.function is operator.setitem

    @property
    def is_loss(self) -> bool:
        """Whether it makes one number of what its operands give."""
        return self.unreduced() is not self

    def unreduced(self) -> Call:
        """The call with one number for each element, where it would reduce them."""
        if isinstance(self.function, nn.Module):
            if not hasattr(self.function, "reduction"):
                return self
            loss = copy.copy(self.function)
            vars(loss)["reduction"] = "none"
            return replace(self, function=loss)
        try:
            takes = "reduction" in inspect.signature(self.function).parameters
        except ValueError:  # of C++
            return self
        return self.naming("reduction", "none") if takes else self

    def result(self) -> Any:
        """What it gives. Raises whatever it raises."""
        try:
            return self._result()
        except (RuntimeError, NotImplementedError) as error:
            if self.hollow and self.small and "meta" in str(error).lower():  # it asks for the elements
                return replace(self, hollow=False)._result()
            raise

    def _result(self) -> Any:
        given, named = tree_map_only(torch.Tensor, self._copied, self.arguments)
        with undisturbed(), warnings.catch_warnings(), torch.device("meta") if self.hollow else nullcontext():
            warnings.simplefilter("ignore")  # the program has been warned by the call itself
            warnings.filterwarnings("error", BROADCAST)
            if isinstance(self.function, nn.Module):
                state = (*self.function.named_parameters(), *self.function.named_buffers())
                held = {name: self._copied(one.detach()) for name, one in state}
                return torch.func.functional_call(self.function, held, given, named)
            return self.function(*given, **named)

    def _copied(self, one: torch.Tensor) -> torch.Tensor:
        if self.hollow and 0 in one.stride():  # a stand-in, whose elements share one place
            return torch.empty(one.shape, dtype=one.dtype, device="meta")
        if self.hollow:
            return torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="meta")
        spread = [size > 1 and stride == 0 for size, stride in zip(one.shape, one.stride(), strict=True)]
        part = one.detach()[tuple(slice(1) if each else slice(None) for each in spread)]
        copied = one.detach().clone() if all(spread) else part.clone().expand(one.shape)
        return copied.requires_grad_(one.requires_grad and one.is_leaf)


def failing(scene: Scene) -> Call | None:
    """The call that fails again where it is made anew; None where that cannot be done."""
    if "call" not in scene.known:
        scene.known["call"] = _failing(scene)
    found: Call | None = scene.known["call"]
    return found


def _failing(scene: Scene) -> Call | None:
    call = called(scene)
    if call is None:
        return None
    tensors = [one for one in call.values if isinstance(one, torch.Tensor)]
    if isinstance(call.function, nn.Module):
        tensors += call.function.parameters()
    known = all(one.device.type == "cpu" for one in tensors)
    small = sum(one.numel() for one in tensors) <= _MOST
    for hollow in (True, False) if known and small else (True,):
        tried = replace(call, hollow=hollow, small=known and small)
        try:
            tried.result()
        except Exception as error:  # whatever torch says
            if type(error) is type(scene.error) and _same(str(error), scene.message, hollow):
                return tried
    return None


def result_of(scene: Scene) -> torch.Tensor | nn.Module | None:
    """What the call would have given, without its elements; None where that cannot be told."""
    try:
        call = called(scene)
        result = replace(call, hollow=True).result() if call is not None else None
    except Exception:  # whatever torch says of it
        return None
    return result if isinstance(result, torch.Tensor | nn.Module) else None


def _same(one: str, other: str, hollow: bool) -> bool:
    """Whether two messages are of one error; those of tensors without elements may be worded otherwise."""
    return one[:30] == other[:30] or (hollow and "meta" not in one.lower())


def called(scene: Scene) -> Call | None:
    """The outermost layer of torch that was being called, or the function in the program's expression."""
    user = scene.user
    below = scene.frames[scene.frames.index(user) + 1 :]
    first = next((one for one in below if one.site.code.co_name == "_call_impl"), None)
    for one in below:
        owner = one.frame.f_locals.get("self")
        if one.site.code.co_name == "_call_impl" and isinstance(owner, nn.Module):
            if not isinstance(owner, nn.Sequential | nn.ModuleList) and not is_compiled(owner):
                plain = all(map(is_plain, owner.modules()))
                names = one.frame.f_locals
                spots = _spots(user, first.frame.f_locals["args"]) if first is not None else {}
                texts = {key: one.text for key, one in spots.items()}
                made = Call(owner, *_flat(names["args"], names["kwargs"]), texts, spots)
                return made if plain else None
    try:
        node = scene.node
        written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        reader = _Reader(user, below, scene.known.get("gone", {}))
        return reader.call(scene.statement if written else node)
    except LookupError:
        return None


def around(scene: Scene) -> Iterator[Call]:
    """The calls of whole models around what failed, the innermost first, each of a copy."""
    for frame, below in reversed([*pairwise(scene.frames)]):
        names, filename = below.frame.f_locals, frame.site.code.co_filename
        model, node = names.get("self"), node_at(frame.site) if frame.mine else None
        if not isinstance(node, ast.Call) or not isinstance(model, nn.Module) or "kwargs" not in names:
            continue
        if [*model.children()] and sum(one.numel() for one in model.parameters()) <= _MOST:
            copied, spots = without_hooks(copy_of(model)), _spots(frame, names["args"])
            texts, whole = {key: one.text for key, one in spots.items()}, (filename, node)
            if copied is not None:
                given = _flat(names["args"], names["kwargs"])
                yield Call(copied, *given, texts, spots, whole, small=True)


def _spots(user: Frame, given: tuple[Any, ...]) -> dict[int, Edit]:
    """What the program writes for the arguments of the module that it calls, by identity."""
    node, filename = node_at(user.site), user.site.code.co_filename
    written = node.args if isinstance(node, ast.Call) and len(node.args) == len(given) else []
    pairs = zip(written, given, strict=False)
    return {id(value): Edit.of(one, filename, ast.unparse(one)) for one, value in pairs}


def _flat(given: Any, named: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    values, spec = tree_flatten((list(given), named))
    return tuple(values), spec


@dataclass(frozen=True)
class _Reader:
    """Reads the call that an expression of a frame stands for. Its methods raise LookupError for an unknown value."""

    user: Frame
    below: list[Frame]
    gone: dict[str, torch.Tensor]  # tensors like those of another run that have no name
    texts: dict[int, str] = field(default_factory=dict)
    spots: dict[int, Edit] = field(default_factory=dict)

    def call(self, node: ast.AST | None) -> Call | None:
        """The call of an expression or a statement."""
        match node:
            case ast.BinOp(left, kind, right) | ast.Compare(left, [kind], [right]) if (
                type(kind) in _OPERATORS
            ):
                return self._made(_OPERATORS[type(kind)], left, right)
            case ast.AugAssign(left, kind, right) if type(kind) in _IN_PLACE:
                return self._made(_IN_PLACE[type(kind)], left, right)
            case ast.UnaryOp(kind, operand) if type(kind) in _OPERATORS:
                return self._made(_OPERATORS[type(kind)], operand)
            case ast.Subscript(value, index):
                return self._made(operator.getitem, value, index)
            case ast.Assign([ast.Subscript(value, index)], source):
                return self._made(operator.setitem, value, index, source)
            case ast.Assign(_, value) | ast.Expr(value) | ast.Return(value) if value is not None:
                return self.call(value)
            case ast.Call(function, arguments, keywords):
                made = self._of_call(function, arguments, keywords)
                whole = self.user.site.code.co_filename, node
                return replace(made, whole=whole) if made is not None else None
        return None

    def _of_call(
        self, function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword]
    ) -> Call | None:
        called = value_of(function, self.user.names)
        if called is UNKNOWN and isinstance(function, ast.Attribute):
            method: Any = getattr(type(self.value(function.value)), function.attr, None)
            arguments, called = [function.value, *arguments], inspect.unwrap(method)  # of the guard
        if self.below and getattr(called, "__code__", None) is self.below[0].site.code:
            names, more, _, values = inspect.getargvalues(self.below[0].frame)
            if not more and is_known(called):
                written = given_by_name(ast.Call(function, arguments, keywords), self.user.names, called)
                spots = {
                    id(values[name]): Edit.of(one, self.user.site.code.co_filename, ast.unparse(one))
                    for name, one in written.items()
                }
                given = {one: values[one] for one in names}
                return Call(called, *_flat([], given), {key: one.text for key, one in spots.items()}, spots)
        named = {str(one.arg): one.value for one in keywords}
        return self._made(called, *arguments, **named) if is_known(called) else None

    def _made(self, function: Callable[..., Any], *given: ast.expr, **named: ast.expr) -> Call:
        parts = [self.value(one) for one in given], {key: self.value(one) for key, one in named.items()}
        return Call(function, *_flat(*parts), self.texts, self.spots)

    def value(self, node: ast.expr) -> Any:
        """The value of an operand, or a tensor like it."""
        match node:
            case ast.List(parts):
                return [self.value(one) for one in parts]
            case ast.Tuple(parts):
                return tuple(self.value(one) for one in parts)
            case ast.Slice(lower, upper, step):
                return slice(*(None if one is None else self.value(one) for one in (lower, upper, step)))
            case ast.Starred():
                raise LookupError
        found, text = value_of(node, self.user.names), ast.unparse(node)
        if found is UNKNOWN:
            likely = deduced(node, self.user.names)
            found = self.gone.get(text) if likely is None else likely
            if found is None:
                raise LookupError
        self.texts[id(found)] = text
        self.spots[id(found)] = Edit.of(node, self.user.site.code.co_filename, text)
        if isinstance(found, list | tuple):
            self.texts.update({id(one): f"{text}[{place}]" for place, one in enumerate(found)})
        return found
