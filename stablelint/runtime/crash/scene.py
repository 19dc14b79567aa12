"""Where an exception left the program: its frames, the failing expression, and what took part in it."""

from __future__ import annotations

import ast
import inspect
import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch
from torch import nn

from stablelint.diagnostic import Span
from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import given_by_name, node_at, operands, value_of
from stablelint.runtime.crash.trail import Trail
from stablelint.runtime.program.frames import Site, is_library, parse_file, resolve
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import owner_of

_PYTHON = sysconfig.get_path("stdlib")
_NUMPY = f"{os.sep}site-packages{os.sep}numpy{os.sep}"


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the traceback, with the instruction it had reached."""

    frame: FrameType
    site: Site

    @property
    def names(self) -> dict[str, Any]:
        """The values of all names, local ones first."""
        return {**self.frame.f_globals, **self.frame.f_locals}

    @property
    def mine(self) -> bool:
        """Whether it is the program's own code: neither torch's, nor Python's, nor NumPy's."""
        name = self.site.code.co_filename
        of_python = name.startswith(_PYTHON) and "site-packages" not in name
        return not (is_library(name) or of_python or self.of_numpy)

    @property
    def of_numpy(self) -> bool:
        """Whether it is code of NumPy."""
        return _NUMPY in self.site.code.co_filename


@dataclass(slots=True)
class Scene:
    """An exception and its traceback."""

    error: BaseException
    trail: Trail
    frames: list[Frame] = field(init=False)  # outermost first

    def __post_init__(self) -> None:
        self.frames = list(_frames(self.error.__traceback__))

    @property
    def message(self) -> str:
        """What the exception says."""
        return str(self.error)

    @property
    def user(self) -> Frame | None:
        """The innermost frame of the program's own code."""
        return next((one for one in reversed(self.frames) if one.mine), None)

    @property
    def location(self) -> Location | None:
        """The expression of the program that failed."""
        return resolve(self.user.site) if self.user is not None else None

    @property
    def module(self) -> nn.Module | None:
        """The innermost module of torch that was being called from the program's expression."""
        for one in reversed(self.frames):
            if one.mine or one.site.code.co_name == "__init__":  # nothing is called while it is made
                return None
            owner = one.frame.f_locals.get("self")
            if isinstance(owner, nn.Module) and type(owner).__module__.startswith("torch.nn.modules"):
                return owner
        return None

    def called(self, name: str) -> Frame | None:
        """The frame of a function of that name below the program's expression."""
        for one in reversed(self.frames):
            if one.mine:
                return None
            if one.site.code.co_name == name:
                return one
        return None

    def module_name(self) -> str:
        """What the program calls `module`, and its kind."""
        path, module = self.module_path(), self.module
        return path if module is None or path == kind_of(module) else f"{path} ({kind_of(module)})"

    def module_path(self) -> str:
        """What the program calls `module`: its path in the model, or a name."""
        module = self.module
        if module is None:
            return "the layer"
        for one in self.frames:
            owner = one.frame.f_locals.get("self")
            if isinstance(owner, nn.Module):
                for path, child in owner.named_modules():
                    if child is module and path:
                        return str(path)
        for one in reversed(self.frames):
            for name, value in one.names.items() if one.mine else ():
                if value is module:
                    return name
        return kind_of(module)

    def operands(self) -> tuple[Operand, ...]:
        """The tensors of the failing operation, named as the program names them."""
        for frame in self._inner_frames():
            found: dict[int, tuple[str, torch.Tensor]] = {}
            gone = deduced if frame.mine else None
            for text, tensor in operands(node_at(frame.site), frame.names, gone):
                found.setdefault(id(tensor), (text, tensor))
            if found:
                return tuple(self.operand(tensor, text, frame) for text, tensor in found.values())
        return ()

    def _inner_frames(self) -> Iterator[Frame]:
        """The frames below the program's expression, that of the module first, and then the program's own."""
        module, below = self.module, []
        for frame in reversed(self.frames):
            below.append(frame)
            if frame.mine:
                break
        owned = [one for one in below if module is not None and one.frame.f_locals.get("self") is module]
        yield from (one for one in owned if not one.site.code.co_name.startswith("_call"))
        yield from below

    def operand(self, tensor: torch.Tensor, text: str, within: Frame | None = None) -> Operand:
        """A tensor by the program's name for it, and the statement that gave it that name.

        `text` is what it is called in a frame, by default the innermost one.
        """
        user = self.user
        module = self.module
        if module is not None:
            for name, one in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
                if one is tensor:
                    path, made = self.module_path(), self._made_module(module)
                    return Operand.of(tensor, f"{name} of {path}", *made, held=True)
        if user is None:
            return Operand.of(tensor, text)
        for name, value in user.frame.f_locals.items():
            if value is tensor:
                return Operand.of(tensor, name, *self._origin(user, name))
        if isinstance(tensor, nn.Parameter) and (found := self._path(tensor)) is not None:
            held = module is not None and any(one is tensor for one in module.parameters())
            return Operand.of(tensor, *found, held=held)
        node = node_at(user.site)
        named = text if (within or self.frames[-1]) is user else None
        shown = operands(node, user.names)
        named = next((name for name, value in shown if _same(value, tensor)), named)
        if named is not None:
            return Operand.of(tensor, named, *self._made(user, ast.parse(named, mode="eval").body))
        if (given := self._given(user, node, tensor)) is not None:
            return Operand.of(tensor, ast.unparse(given), *self._made(user, given))
        called = value_of(node.func, user.names) if isinstance(node, ast.Call) else None
        if module is not None and isinstance(called, nn.Module) and called is not module:
            return Operand.of(
                tensor, f"{text} of {self.module_path()}"
            )  # a layer within what the program calls
        taken = list(inspect.signature(module.forward).parameters) if module is not None else []
        place = taken.index(text) if text in taken else 0
        if isinstance(node, ast.Call) and (len(node.args) == 1 or place < len(node.args) == len(taken)):
            known = value_of(node.args[place], user.names)
            other = isinstance(known, torch.Tensor) and not _same(known, tensor)
            if not other and not isinstance(node.args[place], ast.List | ast.Tuple | ast.ListComp):
                return Operand.of(tensor, ast.unparse(node.args[place]))
        return Operand.of(tensor, f"`{text}` of {self.frames[-1].site.code.co_name}")

    def _path(self, parameter: nn.Parameter) -> tuple[str, str | None, Location | None] | None:
        """The path of a parameter from a name of the program, and the statement that made it."""
        for frame in reversed(self.frames):
            for name, value in frame.names.items() if frame.mine else ():
                for path, one in value.named_parameters() if isinstance(value, nn.Module) else ():
                    if one is parameter:
                        owner, _, attribute = path.rpartition(".")
                        made = self._made_in_init(value.get_submodule(owner), attribute)
                        return f"{name}.{path}", *made
        return None

    def _given(self, user: Frame, node: ast.AST | None, tensor: torch.Tensor) -> ast.expr | None:
        """The argument of the program's call that is this tensor, as the frame below received it."""
        below = self.frames[self.frames.index(user) + 1 :]
        if (
            not isinstance(node, ast.Call)
            or not below
            or any(isinstance(one, ast.Starred) for one in node.args)
        ):
            return None
        names, more, _, values = inspect.getargvalues(below[0].frame)
        received = [values.get(one) for one in names if one != "self"]
        received.extend(values[more] if more else ())
        return next((one for one, value in zip(node.args, received, strict=False) if value is tensor), None)

    def made(self, whole: ast.expr) -> tuple[str | None, Location | None]:
        """The last statement that gave a name within an expression of the program its value."""
        return self._made(self.user, whole) if self.user is not None else (None, None)

    def _made(self, frame: Frame, whole: ast.expr) -> tuple[str | None, Location | None]:
        """The last statement that gave a name, or an attribute of `self`, within an expression its value."""
        root = whole
        while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
            inner = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Call) and callable(value_of(inner, frame.names)):
                return None, None  # made by the call itself
            if isinstance(root, ast.Attribute) and isinstance(inner, ast.Name) and inner.id == "self":
                return self._made_in_init(frame.frame.f_locals.get("self"), root.attr)
            root = inner
        return self._origin(frame, root.id) if isinstance(root, ast.Name) else (None, None)

    def _made_in_init(self, owner: object, name: str) -> tuple[str | None, Location | None]:
        """The statement `self.name = …` in the class of an object."""
        code = getattr(type(owner).__init__, "__code__", None)
        at = assigned(code, name, 1 << 30) if code else None
        return (f"made in {type(owner).__name__}", at) if at is not None else (None, None)

    def _origin(self, frame: Frame, name: str) -> tuple[str | None, Location | None]:
        """The last statement before the failing line that gives a name of a frame its value."""
        row = resolve(frame.site).row
        found = assigned(frame.site.code, name, row)
        if found is not None:
            return f"{name} = …", found
        if name in inspect.getargs(frame.site.code).args:
            return f"argument of {frame.site.code.co_name}", self._passed(frame, name)
        return None, None

    def _passed(self, frame: Frame, name: str) -> Location | None:
        """The statement that gave its value to what a caller of a frame passed as its argument `name`."""
        value = frame.frame.f_locals.get(name)
        outer = next((one for one in reversed(self.frames[: self.frames.index(frame)]) if one.mine), None)
        if outer is None:
            return None
        same = next((key for key, held in outer.frame.f_locals.items() if held is value), None)
        if same is not None:
            return self._origin(outer, same)[1]
        node = node_at(outer.site)
        given = given_by_name(node, outer.names).get(name) if isinstance(node, ast.Call) else None
        return self._made(outer, given)[1] if given is not None else None

    def _made_module(self, module: nn.Module) -> tuple[str | None, Location | None]:
        """The statement `self.name = …` in the class of the module that holds `module`."""
        for one in self.frames:
            owner = one.frame.f_locals.get("self")
            if not isinstance(owner, nn.Module):
                continue
            for name, child in owner._modules.items():
                if child is module:
                    return self._made_in_init(owner, name)
        return None, None


def assigned(code: CodeType, name: str, before: int) -> Location | None:
    """The last assignment to `name` or `self.name` in a function (or module) above row `before`."""
    tree = parse_file(code.co_filename)
    if tree is None:
        return None
    scope, _ = owner_of(tree, code) or (tree, None)
    best: ast.stmt | None = None
    for node in ast.walk(scope):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)) and node.lineno < before:
            if any(_is(target, name) for target in _targets(node)) and (
                best is None or node.lineno > best.lineno
            ):
                best = node
    if best is None:
        return None
    found = Location.of(best, code.co_filename)
    if not isinstance(best, ast.For) or found.span is None:
        return found
    header = Location.of(best.iter, code.co_filename)
    text = f"for {ast.unparse(best.target)} in {header.expression}"
    end = header.span.end if header.span else found.span.end
    return replace(found, span=Span(found.span.start, end), expression=text)


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For) -> Iterator[ast.expr]:
    waiting = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    while waiting:
        one = waiting.pop()
        if isinstance(one, (ast.Tuple, ast.List)):
            waiting.extend(one.elts)
        else:
            yield one.value if isinstance(one, ast.Starred) else one


def _is(target: ast.expr, name: str) -> bool:
    match target:
        case ast.Name(found) | ast.Attribute(ast.Name("self"), found):
            return found == name
    return False


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a tensor is another one: of the same elements in the same shape, or broadcast from it."""
    alike = one.shape == other.shape or 0 in other.stride()
    return one is other or (alike and one.device == other.device and 0 != one.data_ptr() == other.data_ptr())


def kind_of(module: nn.Module, longest: int = 80) -> str:
    """What a module says of itself in a line, or its class: one that is half made may not know more."""
    try:
        text = str(module)
    except Exception:  # whatever is missing
        return type(module).__name__
    return text if "\n" not in text and len(text) < longest else type(module).__name__


def _frames(trace: TracebackType | None) -> Iterator[Frame]:
    while trace is not None:
        yield Frame(trace.tb_frame, Site(trace.tb_frame.f_code, trace.tb_lasti))
        trace = trace.tb_next
