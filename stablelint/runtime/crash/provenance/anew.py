"""The script that failed, or the step that failed alone, once more in a forked copy of the process: revised, or watched."""

from __future__ import annotations

import ast
import copy
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn import functional

from stablelint.runtime.crash.frame import Frame, is_of_program
from stablelint.runtime.crash.repairs.edits import Edit, edited, make
from stablelint.runtime.crash.repairs.failing import BROADCAST
from stablelint.runtime.crash.scene import Scene, models_of
from stablelint.runtime.crash.source import function_at
from stablelint.runtime.process.confined import confine, is_effect
from stablelint.runtime.process.copies import Budget, can_copy, said_by_copy
from stablelint.runtime.process.mirror import mirrored
from stablelint.runtime.process.workers import without_workers
from stablelint.runtime.program.carried import written_names
from stablelint.runtime.program.frames import parse_file, raw_position, resolve, site_of, user_frames
from stablelint.runtime.program.location import Location
from stablelint.runtime.program.nodes import blocks_around, owner_of
from stablelint.runtime.program.region import Region
from stablelint.runtime.tracing.bound import BoundRegion, bind

_MOST_CALLS = 6
Places = tuple[Location, ...]  # calls of the program that led to one another, the innermost first


@dataclass
class Makers:
    """The calls of the program that made each module, in a copy of the process."""

    places: dict[int, Places] = field(default_factory=dict)  # by the module's identity

    def watch(self) -> None:
        """From now on."""
        original = nn.Module.__init__

        def __init__(module: nn.Module, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            frames = user_frames(sys._getframe(1), _MOST_CALLS)
            self.places[id(module)] = tuple(resolve(site_of(one)) for one in frames)
            original(module, *args, **kwargs)

        setattr(nn.Module, "__init__", __init__)  # noqa: B010

    def by_path(self, frames: list[Frame]) -> dict[str, Places]:
        """The same by the places of the modules in what the frames hold."""
        return {path: self.places[id(one)] for path, one in modules_of(frames) if id(one) in self.places}


def modules_of(frames: list[Frame]) -> Iterator[tuple[str, nn.Module]]:
    """The modules that the program's frames hold, each by a path that is the same in another run."""
    for count, frame in enumerate(one for one in reversed(frames) if one.mine):
        for name, value in models_of([frame], local=True):
            yield from ((f"{count}/{name}/{path}", module) for path, module in value.named_modules())


_LOOPS = ast.For | ast.While
_ENDS = (".backward(", ".step(")


def rest_of_step(frames: list[Frame], *, resized: bool) -> Iterator[BoundRegion]:
    """What is left of the step, in the innermost frame that goes backward then, and the whole of it."""
    mine = [one for one in frames if one.mine]
    stops = [place for place, one in enumerate(frames) if one.site.code.co_name == "_call_impl"]
    outer = [one for one in frames[: min(stops, default=0)] if one.mine]
    rests = [(frame, *rest) for frame in reversed(mine) for rest in _rests(frame)]
    ends = [rest for rest in rests if any(mark in ast.unparse(one) for one in rest[1] for mark in _ENDS)]
    calls = [rest for rest in rests if rest[0] is (outer or mine)[-1]]
    for frame, statements, around in (ends or calls)[:1]:
        whole = _again(around)
        if not whole or not resized:  # else what the step did before was another
            yield bound(frame, statements)
        if whole:
            yield bound(frame, whole)


def _again(around: ast.AST | None) -> list[ast.stmt]:
    """The body of a loop or a function, where it can be run once more: it gives no name of its header another value."""
    match around:
        case ast.For(target, body=body):
            header = written_names([target])
        case ast.FunctionDef(args=taken, body=body):
            header = frozenset(one.arg for one in ast.walk(taken) if isinstance(one, ast.arg))
        case ast.While(body=body):
            header = frozenset()
        case _:
            return []
    return body if not header & written_names(body) else []


def _rests(frame: Frame) -> Iterator[tuple[list[ast.stmt], ast.AST | None]]:
    """What is left of the body of the innermost loop around an instruction, of the next, and of the function."""
    tree, code = parse_file(frame.site.code.co_filename), frame.site.code
    row, _, column, _ = raw_position(code, frame.site.offset)
    found = owner_of(tree, code) if tree is not None else None
    blocks = blocks_around(found[0], row, column or 0) if found is not None and row is not None else []
    rest: list[ast.stmt] = []
    for place, (block, index) in reversed(list(enumerate(blocks))):
        match block[index]:
            case ast.stmt() as first if place == len(blocks) - 1 or isinstance(first, ast.Try | _LOOPS):
                inner: list[ast.stmt] = [first]  # begins anew
            case ast.With(items) as first:
                inner = [ast.copy_location(ast.With(items, rest), first)]
            case _:
                inner = rest
        rest = [*inner, *block[index + 1 :]]
        around = blocks[place - 1][0][blocks[place - 1][1]] if place else None
        if around is None or (isinstance(around, _LOOPS) and block is around.body):
            yield rest, around or found[0] if found is not None else around


def bound(frame: Frame, statements: list[ast.stmt]) -> BoundRegion:
    """Statements of a frame as a function of its names, that a `break` or a `return` leaves."""
    code = frame.site.code
    tree = parse_file(code.co_filename) or ast.Module([], [])
    owner, inside_class = owner_of(tree, code) or (tree, None)
    loop, none = ast.While(ast.Constant(True), [], []), frozenset[str]()
    region = Region(code, tree, tuple(statements), loop, owner, inside_class, none, none, ())
    return bind(region, copy.deepcopy(statements), frame.frame, {})


_LONGEST = 30.0  # seconds of the processor that a script may have taken to be run once more
_SECONDS = 15.0  # for all copies
_OF_MODULES = ("__file__", "__package__", "__spec__")


_Watch = TypeVar("_Watch", bound=AbstractContextManager[object])


def by_script(
    scene: Scene,
    told: Callable[[Scene | None, _Watch], bytes],
    watch: Callable[[], _Watch],
    edits: Iterable[Edit] = (),
) -> bytes:
    """What is told of the exception that the script ends with in the copy, or of None at its end, and of what watched it.

    Empty where it cannot be run, takes too long, or was about to do more than compute.
    """
    scripts = [one for one in scene.frames if one.mine and one.frame.f_globals.get("__name__") == "__main__"]
    code = next((one.site.code for one in scripts[::-1] if one.site.code.co_name == "<module>"), None)
    budget: Budget = scene.known.setdefault("budget", Budget(_SECONDS))
    if code is None or not can_copy() or process_time() - scene.trail.began > _LONGEST or not budget.left:
        return b""
    filename, like = code.co_filename, scripts[-1].frame.f_globals
    started_in, makers = scene.trail.folder, Makers()

    def work() -> bytes:
        confine(folder)
        mirrored(started_in, Path(folder, "started"), scene.trail.since)
        os.chdir(Path(folder, "started"))
        _as_at_the_start()
        makers.watch()
        changes = [*edits]
        others = [one for one in changes if one.filename != filename]
        if any(function_at(Location(one.filename, one.span[0], None, "", "")) is None for one in others):
            _import_anew(others, started_in)
        else:
            make(others, scene.frames)
        module = ModuleType("__main__")
        of_module = {name: like.get(name) for name in _OF_MODULES}
        if Path(filename).is_relative_to(started_in):
            of_module["__file__"] = str(Path.cwd() / Path(filename).relative_to(started_in))
        vars(module).update(of_module, torch=torch, nn=torch.nn, F=functional)
        sys.modules["__main__"] = module
        runs = [lambda: exec(edited(filename, changes), vars(module))]
        return _ending(scene, told, watch(), runs, makers)

    with TemporaryDirectory() as folder:
        return said_by_copy(work, budget.left)


def _import_anew(edits: list[Edit], folder: Path) -> None:
    """From now on the files in a folder are imported as they are edited: what they compute once, they compute again."""
    files, plain = {one.filename for one in edits}, SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> Any:
        return edited(loader.path, edits) if loader.path in files else plain(loader, name)

    setattr(SourceFileLoader, "get_code", get_code)  # noqa: B010
    for name, module in [*sys.modules.items()]:
        home = getattr(module, "__file__", None) or ""
        if name != "__main__" and Path(home).is_relative_to(folder) and is_of_program(home):
            del sys.modules[name]


def by_step(
    scene: Scene, told: Callable[[Scene | None, _Watch], bytes], watch: Callable[[], _Watch]
) -> bytes:
    """The same of the step that failed alone, with what its names hold."""

    def work() -> bytes:
        confine(os.devnull)
        torch.set_num_threads(1)
        return _ending(scene, told, watch(), rest_of_step(scene.frames, resized=True))

    return said_by_copy(work, _SECONDS) if can_copy() else b""


def _ending(
    scene: Scene,
    told: Callable[[Scene | None, _Watch], bytes],
    watched: _Watch,
    runs: Iterable[Callable[[], object]],
    makers: Makers | None = None,
) -> bytes:
    """What is told of how some runs end, one after the other."""
    try:
        for run in runs:
            with watched:
                run()
    except MemoryError:
        return b""
    except Exception as error:  # whatever the program raises
        then = Scene(error, scene.trail)
        then.known["makers"] = makers.places if makers is not None else {}
        return b"" if is_effect(error) else told(then, watched)
    except SystemExit:
        pass
    return told(None, watched)


def _has_warned(module: ModuleType) -> bool:
    """Whether a program has been told in a module of what a repair must not lead to."""
    told = vars(module).get("__warningregistry__", {})
    return any(str(key[0]).startswith(BROADCAST) for key in told if isinstance(key, tuple))


def _as_at_the_start() -> None:
    """What a script may have set for the whole process is as it was."""
    os.environ["TORCH_COMPILE_DISABLE"] = "1"  # read where the compiler is imported
    without_workers()
    torch.set_num_threads(1)  # the threads of the original are not in the copy
    torch.manual_seed(torch.initial_seed())
    torch.set_grad_enabled(True)
    if not any(map(_has_warned, list(sys.modules.values()))):
        warnings.filterwarnings("error", BROADCAST)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
