"""The script that failed, or the step that failed alone, once more in a forked copy of the process: revised, or watched."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from types import ModuleType
from typing import TypeVar

import torch
from torch.nn import functional

from stablelint.runtime.crash.provenance.made import Makers
from stablelint.runtime.crash.provenance.rest import rest_of_step
from stablelint.runtime.crash.repairs.edits import Edit, edited, make
from stablelint.runtime.crash.repairs.failing import BROADCAST
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.process.confined import confine, is_effect
from stablelint.runtime.process.copies import Budget, can_copy, said_by_copy
from stablelint.runtime.process.mirror import mirrored
from stablelint.runtime.process.workers import without_workers

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
        make([one for one in changes if one.filename != filename], scene.frames)
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
