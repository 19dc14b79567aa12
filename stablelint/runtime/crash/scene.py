"""Where an exception left the program: its frames, the failing expression, and what took part in it."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
from torch import nn

from stablelint.runtime.crash.deduced import deduced
from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import member, node_at, operands, value_of
from stablelint.runtime.crash.frame import Frame, frames_of, is_of_program
from stablelint.runtime.crash.provenance.origins import Origins
from stablelint.runtime.crash.provenance.statements import located
from stablelint.runtime.crash.source import statement_at
from stablelint.runtime.crash.trail import Trail
from stablelint.runtime.program.frames import parse_file, resolve
from stablelint.runtime.program.location import Location

_LIBRARIES = f"{os.sep}site-packages{os.sep}"


@dataclass(slots=True)
class Scene:
    """An exception and its traceback."""

    error: BaseException
    trail: Trail
    frames: list[Frame] = field(init=False)  # outermost first
    origins: Origins = field(init=False)
    known: dict[str, Any] = field(default_factory=dict)  # what was computed of it, once

    def __post_init__(self) -> None:
        self.frames = list(frames_of(self.error.__traceback__))
        self.origins = Origins(self.frames)

    @property
    def message(self) -> str:
        """What the exception says."""
        return str(self.error)

    @property
    def of_script(self) -> list[Frame]:
        """The frames from the script on; all where there is none."""
        starts = [i for i, one in enumerate(self.frames) if one.site.code.co_name == "<module>"]
        mains = [i for i in starts if self.frames[i].frame.f_globals.get("__name__") == "__main__"]
        return self.frames[mains[-1] if mains else 0 :]

    @property
    def user(self) -> Frame:
        """The innermost frame of the program's own code, of which there has to be one."""
        return [one for one in self.frames if one.mine][-1]

    @property
    def node(self) -> ast.expr | ast.stmt | None:
        """What failed there, as syntax."""
        return node_at(self.user.site)

    @property
    def location(self) -> Location:
        """The expression of the program that failed."""
        site, node = self.user.site, self.node
        return located(node, site.code.co_filename) if isinstance(node, ast.For) else resolve(site)

    @property
    def statement(self) -> ast.stmt | None:
        """The statement of the program that failed."""
        return statement_at(self.location)

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

    def globals_of(self, filename: str) -> dict[str, Any]:
        """The names of a file of the program."""
        for one in self.frames:
            if one.site.code.co_filename == filename:
                return one.frame.f_globals
        found = (vars(one) for one in list(sys.modules.values()) if getattr(one, "__file__", "") == filename)
        return next(found, {})

    def nodes(self) -> Iterator[tuple[ast.AST, str]]:
        """The syntax of the program's files."""
        files = dict.fromkeys(one.site.code.co_filename for one in self.frames if one.mine)
        loaded = (getattr(one, "__file__", None) or "" for one in list(sys.modules.values()))
        own = f"{self.trail.folder}{os.sep}"
        files |= dict.fromkeys(
            one for one in loaded if one.startswith(own) and is_of_program(one) and _LIBRARIES not in one
        )
        return ((node, file) for file in files for node in ast.walk(parse_file(file) or ast.Module([], [])))

    def calls(self, pattern: re.Pattern[str]) -> list[Location]:
        """The one call of the program's files that is written so."""
        calls = ((node, file) for node, file in self.nodes() if isinstance(node, ast.Call))
        found = [Location.of(node, file) for node, file in calls if pattern.search(ast.unparse(node))]
        return found if len(found) == 1 else []

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
            if isinstance(owner, nn.Module) and not is_compiled(owner):
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
        return tuple(one for _, one in self.operand_tensors())

    def operand_tensors(self) -> list[tuple[torch.Tensor, Operand]]:
        """The same with the tensors themselves; like them, where they are gone."""
        for frame in self._inner_frames():
            found: dict[int, tuple[str, torch.Tensor]] = {}
            gone = deduced if frame.mine else None
            for text, tensor in operands(node_at(frame.site), frame.names, gone):
                found.setdefault(id(tensor), (text, tensor))
            if found:
                held = next(self.module.parameters(recurse=False), None) if self.module is not None else None
                if held is not None and not any(isinstance(one, nn.Parameter) for _, one in found.values()):
                    found[id(held)] = "weight", held  # which meets what the layer is given
                return [(tensor, self.operand(tensor, text, frame)) for text, tensor in found.values()]
        return []

    def _inner_frames(self) -> Iterator[Frame]:
        """The frame of the module that failed, the program's own where that is none, and then those between."""
        module, below = self.module, []
        for frame in reversed(self.frames):
            below.append(frame)
            if frame.mine:
                break
        owned = [one for one in below if module is not None and one.frame.f_locals.get("self") is module]
        yield from (one for one in owned if not one.site.code.co_name.startswith("_call"))
        yield from below[::-1] if module is None else below

    def operand(self, tensor: torch.Tensor, text: str, within: Frame | None = None) -> Operand:
        """A tensor by the program's name for it, and the statement that gave it that name.

        `text` is what it is called in a frame, by default the innermost one.
        """
        user = self.user
        module = self.module
        if module is not None:
            for name, one in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
                if one is tensor:
                    path, made = self.module_path(), self.origins.of_module(module)
                    return Operand.of(tensor, f"{name} of {path}", made, held=True)
        for name, value in user.frame.f_locals.items():
            if value is tensor:
                return self._computed(tensor, name, ast.Name(name, ast.Load()))
        if isinstance(tensor, nn.Parameter) and (found := self._path(tensor)) is not None:
            held = module is not None and any(one is tensor for one in module.parameters())
            return Operand.of(tensor, *found, held=held)
        node = node_at(user.site)
        named = text if (within or self.frames[-1]) is user else None
        shown = list(operands(node, user.names))
        named = next((name for name, value in shown if _same(value, tensor)), named)
        called = value_of(node.func, user.names) if isinstance(node, ast.Call) else None
        if named is None and called is module is not None:  # a view that the layer took of what it was given
            whole = next(((name, value) for name, value in shown if _is_view(tensor, value)), None)
            named, tensor = whole or (named, tensor)
        if named is not None:
            return self._computed(tensor, named, ast.parse(named, mode="eval").body)
        if (given := self._given(user, node, tensor)) is not None:
            return self._computed(tensor, ast.unparse(given), given)
        if module is not None and isinstance(called, nn.Module) and called is not module:
            # A layer within what the program calls.
            return Operand.of(tensor, f"{text} of {self.module_path()}")
        taken = list(inspect.signature(module.forward).parameters) if module is not None else []
        place = taken.index(text) if text in taken else 0
        if isinstance(node, ast.Call) and place < len(node.args) and len(node.args) in (1, len(taken)):
            known = value_of(node.args[place], user.names)
            other = isinstance(known, torch.Tensor) and not _same(known, tensor)
            if not other and not isinstance(node.args[place], ast.List | ast.Tuple | ast.ListComp):
                return self._computed(tensor, ast.unparse(node.args[place]), node.args[place])
        if module is None and (alike := _alike(node, user, tensor)) is not None:
            return self._computed(tensor, alike, ast.parse(alike, mode="eval").body)
        return Operand.of(tensor, f"`{text}` of {self.frames[-1].site.code.co_name}")

    def _computed(self, tensor: torch.Tensor, name: str, node: ast.expr) -> Operand:
        """An operand that the failing expression gives or is given, with the places of what it is computed of."""
        subject, places = self.origins.told(self.user, node)
        return Operand.of(tensor, name, places, subject=subject)

    def _path(self, parameter: nn.Parameter) -> tuple[str, tuple[Location, ...]] | None:
        """The path of a parameter from a name of the program, and the statement that made it."""
        for name, value in models_of(self.frames):
            for path, one in value.named_parameters():
                if one is parameter:
                    owner, _, attribute = path.rpartition(".")
                    module = value.get_submodule(owner)
                    made = self.origins.of_attribute(module, attribute) or self.origins.of_module(module)
                    return member(name, path), made
        return None

    def parameter_name(self, parameter: torch.Tensor) -> str | None:
        """The path of a parameter from a name of the program."""
        found = self._path(parameter) if isinstance(parameter, nn.Parameter) else None
        return found[0] if found is not None else None

    def _given(self, user: Frame, node: ast.AST | None, tensor: torch.Tensor) -> ast.expr | None:
        """The argument of the program's call that is this tensor, as the frame below received it."""
        below = self.frames[self.frames.index(user) + 1 :]
        if (
            not isinstance(node, ast.Call)
            or not below
            or any(isinstance(one, ast.Starred) for one in node.args)
        ):
            return None
        names, more, further, values = inspect.getargvalues(below[0].frame)
        received = [values.get(one) for one in names if one != "self"]
        received.extend(values[more] if more else ())
        pairs = list(zip(node.args, received, strict=False))
        named = {**values, **(values[further] if further else {})}
        pairs += [(one.value, named.get(str(one.arg))) for one in node.keywords]
        return next((one for one, value in pairs if value is tensor), None)


def models_of(frames: list[Frame], *, local: bool = False) -> Iterator[tuple[str, nn.Module]]:
    """The modules that have names, or that objects with names have as attributes."""
    for frame in reversed(frames):
        names = frame.frame.f_locals if local else frame.names
        for name, value in names.items() if frame.mine else ():
            if isinstance(value, nn.Module):
                yield name, value
            elif not isinstance(value, type) and not inspect.ismodule(value):
                held = getattr(value, "__dict__", {}).items()
                yield from ((f"{name}.{key}", one) for key, one in held if isinstance(one, nn.Module))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a tensor is another one: of the same elements in the same shape, or broadcast from it."""
    alike = is_broadcast(one.shape, other.shape)
    return one is other or (alike and one.device == other.device and 0 != one.data_ptr() == other.data_ptr())


def _is_view(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a tensor has all elements of another one, in another shape or order."""
    return (
        one.numel() == other.numel()
        and one.device == other.device
        and 0 != one.data_ptr() == other.data_ptr()
    )


def _alike(node: ast.AST | None, user: Frame, tensor: torch.Tensor) -> str | None:
    """The one operand of the program's expression that is as a tensor is, or was broadcast to it; None where several are."""
    shown = operands(node, user.names, deduced)
    kin = [(text, one) for text, one in shown if (one.dtype, one.device) == (tensor.dtype, tensor.device)]
    same = [text for text, one in kin if one.shape == tensor.shape]
    wider = [text for text, one in kin if 0 in tensor.stride() and is_broadcast(one.shape, tensor.shape)]
    found = same or wider
    return found[0] if len(found) == 1 else None


def is_broadcast(one: torch.Size, other: torch.Size) -> bool:
    """Whether a shape becomes another one by broadcasting."""
    return len(one) <= len(other) and all(a in (1, b) for a, b in zip(one[::-1], other[::-1], strict=False))


def name_of(value: torch.device | int, frames: list[Frame], called: str = "") -> str | None:
    """What the program calls a device, or a number: a name, or an attribute, which may have to be called so."""
    kinds = int if type(value) is int else torch.device | str
    for frame in (one for one in reversed(frames) if one.mine):
        local = frame.frame.f_locals  # what this call was given comes before a class and its defaults
        for name, held in {**local, **frame.names}.items():
            for path, one in _held(name, held):
                known = isinstance(one, kinds) and type(one) is not bool and str(one) == str(value)
                if known and called in ("", path.rpartition(".")[2]):
                    return path
    return None


def _held(name: str, value: object, depth: int = 2) -> Iterator[tuple[str, object]]:
    """A value and what it has as attributes, as deep as settings are kept."""
    yield name, value
    if depth and not isinstance(value, torch.Tensor | ModuleType):
        held = {**getattr(type(value), "__dict__", {}), **getattr(value, "__dict__", {})}
        for key, one in held.items():
            if key[:1] != "_":
                yield from _held(f"{name}.{key}", one, depth - 1)


def is_compiled(module: nn.Module) -> bool:
    """Whether a module is what `torch.compile` put around one of the program."""
    return type(module).__module__.startswith("torch._dynamo.")


def kind_of(module: nn.Module, longest: int = 80) -> str:
    """What a module says of itself in a line, or its class: one that is half made may not know more."""
    try:
        text = str(module)
    except Exception:  # whatever is missing
        return type(module).__name__
    return text if "\n" not in text and len(text) < longest else type(module).__name__
