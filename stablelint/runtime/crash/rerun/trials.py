"""The program run again in forked children that can only compute: as it is, and with one edit each."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib.machinery
import inspect
import json
import os
import signal
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from stablelint.runtime.crash.rerun.edits import Pool
from stablelint.runtime.crash.rerun.hooked import CALL, PASSED, VALUE
from stablelint.runtime.crash.rerun.run import Outcome, Run, Stop, limit, spent
from stablelint.runtime.process.confined import LEAVING, confine

_LONGEST = 6.0  # seconds of the processor, up to the failure
_WAITING = 4.0  # times them that a run may wait
_KEPT_OPEN = 3
_MOST_ENDED = 4  # processes that a run has ended, before no more are started
_MEMORY = 4 << 30  # bytes of data that they may hold
SHORT = 0.1
"""Seconds up to the failure, below which each run with an edit starts from the start."""


@dataclass
class Program:
    """A program to be run again: its files, hooked, and which of them is the main one."""

    codes: dict[str, types.CodeType]
    main: str
    names: dict[str, Any]  # of the main file before it runs


def as_it_is(program: Program, pool: Pool) -> Outcome | None:
    """What becomes of the program as it is; None where that takes too long."""
    for _ in range(2):  # what another thread held when the process was forked is held for good
        for found in _outcomes(program, lambda report: Run(report, pool), _WAITING * _LONGEST):
            return found
    return None


def edited(
    program: Program,
    pool: Pool,
    plain: Outcome,
    limits: dict[int, float],
    given: dict[int, tuple[bool, bool]],
    hops: dict[int, int],
    seconds: float,
) -> Iterator[Outcome]:
    """What becomes of it with each edit at some places, as long as there is time."""

    anew, until, turn = plain.seconds < SHORT, time.monotonic() + 2 * _WAITING * seconds, 0

    def made(report: int) -> Run:
        run = Run(report, pool, limits, given, spent() + seconds, plain.end, plain.passed, anew, hops=hops)
        run.turn = turn
        return run

    for _ in range(_MOST_ENDED if anew else 1):
        last = None
        for last in _outcomes(program, made, until - time.monotonic()):
            yield last
        if last is None or last.place == -1:
            return
        turn = last.turn + 2  # the one behind it ended the process


def _outcomes(program: Program, made: Callable[[int], Run], seconds: float) -> Iterator[Outcome]:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                _work(program, made(_confined(writing, folder)))
            finally:
                os._exit(1)
        os.close(writing)
        try:
            yield from _read(reading, time.monotonic() + seconds)
        finally:
            os.close(reading)
            for end in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    end(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _read(reading: int, until: float) -> Iterator[Outcome]:
    rest = b""
    os.set_blocking(reading, False)
    while time.monotonic() < until:
        try:
            part = os.read(reading, 1 << 16)
        except BlockingIOError:
            time.sleep(0.005)
            continue
        if not part:
            return
        *lines, rest = (rest + part).split(b"\n")
        yield from (Outcome(*json.loads(line)) for line in lines)


def _confined(writing: int, folder: str) -> int:
    """Leave this process no way to the outside but one file descriptor."""
    os.setpgid(0, 0)
    kept = os.dup2(writing, _KEPT_OPEN) if writing != _KEPT_OPEN else writing
    nothing = os.open(os.devnull, os.O_RDWR)
    for one in range(3):
        os.dup2(nothing, one)
    os.closerange(_KEPT_OPEN + 1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") > 0 else 4096)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    confine(folder, leaving=tuple(one for one in LEAVING if one != "os.fork"))
    return kept


def _work(program: Program, run: Run) -> None:
    """Run the program in this process, and tell how it ended."""
    _as_in_a_new_process(program, run)
    for name, hook in ((VALUE, run.value), (CALL, run.call), (PASSED, run.pass_by)):
        setattr(builtins, name, hook)
    if run.anew:
        run.each_anew(lambda: _executed(program))
        os._exit(0)
    limit(_LONGEST if run.limits is None else 1e6, run.stop)
    end = _executed(program)
    run.tell(end)
    os._exit(run.code(end))


def _executed(program: Program) -> str:
    """How a run of the program ends."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    _import_hooked(program)
    main = types.ModuleType("__main__")
    vars(main).update(program.names)
    sys.modules["__main__"] = main
    try:
        exec(program.codes[program.main], vars(main))  # the program, which this process was to run
    except SystemExit as error:
        return "ended" if not error.code else f"SystemExit: {error.code}"
    except Stop:
        raise
    except BaseException as error:  # whatever it raises
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "ended"


def _as_in_a_new_process(program: Program, run: Run) -> None:
    """What a program may have set for its process, as it is in a new one; one thread alone survives a fork."""
    torch.set_num_threads(1)
    setattr(torch.cuda, "is_available", lambda: False)  # noqa: B010 - which no forked process can use
    torch.autograd.set_detect_anomaly(False)
    warnings.resetwarnings()
    warnings.simplefilter("always")

    def showwarning(message: Any, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
        if issubclass(category, UserWarning):
            run.warned.add(f"{str(message)[:60]} {lineno}")

    setattr(warnings, "showwarning", showwarning)  # noqa: B010
    loader = torch.utils.data.DataLoader
    setattr(loader, "__init__", _alone(loader.__init__))  # noqa: B010
    importer = importlib.machinery.SourceFileLoader
    setattr(importer, "get_code", _hooking(program, importer.get_code))  # noqa: B010


def _alone(init: Callable[..., None]) -> Callable[..., None]:
    """A loader without workers."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def made(*given: Any, **named: Any) -> None:
        bound = signature.bind(*given, **named).arguments
        for name in (
            "num_workers",
            "prefetch_factor",
            "persistent_workers",
            "multiprocessing_context",
            "timeout",
        ):
            bound.pop(name, None)
        init(**bound)

    return made


def _import_hooked(program: Program) -> None:
    """Let the program's other files be imported anew, hooked."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in program.codes and name != "__main__":
            del sys.modules[name]


def _hooking(program: Program, plain: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def get_code(self: Any, fullname: str) -> Any:
        return program.codes.get(self.path) or plain(self, fullname)

    return get_code


def compiled(trees: dict[str, ast.Module]) -> dict[str, types.CodeType]:
    """The code of files."""
    return {name: compile(ast.fix_missing_locations(tree), name, "exec") for name, tree in trees.items()}
