"""Runs one function over many files, in this process or in several.

A file whose worker dies or whose function raises yields a Problem; the others are answered all the same.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from stablelint.diagnostic import Problem
from stablelint.workspace.files.discover import Candidate

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

# Takes the path of a file, and more of it on demand; what it returns must be picklable.
Task = Callable[..., Any]
Results = list[tuple[str, Any]]
Setup = Callable[[], Task]  # builds the task in each process; must be picklable itself

# Starting processes costs about as much as looking at this much source text.
_WORTH_A_POOL_BYTES = 150_000
_WORTH_A_POOL_FILES = 8
_CHUNKS_PER_JOB = 32
_AHEAD = 2  # chunks for each process that it has got or will get next
_LIMIT_SECONDS = 60.0  # of processor time, for one file


def default_jobs() -> int:
    """One process per processor that this one may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(setup: Setup, files: Sequence[Candidate], jobs: int) -> Iterator[tuple[Candidate, Any]]:
    """Each file with the task's result or a Problem, in the order in which they are finished."""
    with Workers(setup, jobs) as workers:
        yield from workers.run(files)


class Workers:
    """Processes that stay for as many runs as the block has, with what they have loaded; started once that is worth it.

    `prepare` is given the task before processes part from this one, so that they share what it loads.
    """

    def __init__(self, setup: Setup, jobs: int, prepare: Callable[[Any], None] | None = None) -> None:
        self._setup = setup
        self._jobs = jobs
        self._prepare = prepare
        self._stack = ExitStack()
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def run(
        self, files: Sequence[Candidate], more: Callable[[], Any] | None = None
    ) -> Iterator[tuple[Candidate, Any]]:
        """Each file with the task's result or a Problem, in the order in which they are finished.

        With `more`, the task also takes what that yields when the turn of the file comes.
        """
        small = len(files) < _WORTH_A_POOL_FILES or sum(file.size for file in files) < _WORTH_A_POOL_BYTES
        if self._jobs <= 1 or small:
            with _without_collector():
                task = self._setup()
                for file in files:
                    yield file, _guarded(task, file.path, *_now(more))
            return
        left = {file.path: file for file in files}
        for path, result in self._parallel(_chunks(files, self._jobs), more):
            yield left.pop(path), result
        if left:
            self._stack.close()  # a worker died, and with it the others
            self._executor = None
            for path, result in _isolated(self._setup, list(left), more):
                yield left[path], result

    def _parallel(
        self, chunks: Sequence[list[str]], more: Callable[[], Any] | None
    ) -> Iterator[tuple[str, Any]]:
        """Hands out a few chunks ahead: what comes later is given more."""
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        if self._executor is None:
            workers = min(self._jobs, len(chunks))
            self._executor = self._stack.enter_context(_executor(self._setup, workers, self._prepare))
        waiting = iter(chunks)
        running: set[Future[Results]] = set()
        # Where a worker dies, what it held is run again, file by file.
        with suppress(BrokenProcessPool):
            while True:
                for chunk in islice(waiting, self._jobs * _AHEAD - len(running)):
                    running.add(self._executor.submit(_run_chunk, chunk, *_now(more)))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                while done:
                    yield from done.pop().result()


@contextmanager
def _without_collector() -> Iterator[None]:
    """No search for garbage: an analysis parts its cycles itself, and what is loaded lives as long as the process."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _TookTooLongError(Exception):
    """A file has used up its processor time."""


@contextmanager
def _time_limit() -> Iterator[None]:
    """Stops the work on one file after a while; only where the system can interrupt it."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _TookTooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _guarded(task: Task, path: str, *more: Any) -> Any:
    try:
        with _time_limit():
            return task(path, *more)
    except _TookTooLongError:
        hint = "leave it out with `exclude`, and please report it"
        return Problem(f"given up after {_LIMIT_SECONDS:g} seconds of processor time", path, hint=hint)
    except Exception as error:  # the boundary: one file's failure must not cost the others their answer
        if os.environ.get("STABLELINT_TRACEBACK"):
            raise
        return failure(error, path)


def failure(error: Exception, path: str) -> Problem:
    """Why the analysis of a file has come to no end."""
    if isinstance(error, RecursionError):
        return Problem("the code is nested too deeply to be analysed", path)
    if isinstance(error, MemoryError):
        return Problem("there is not enough memory to analyse this file", path)
    reason = str(error).splitlines()[0] if str(error) else ""
    message = f"internal error: {type(error).__name__}: {reason}".rstrip(": ")
    return Problem(message, path, hint="this is a bug in stablelint; STABLELINT_TRACEBACK=1 shows where")


def _chunks(files: Sequence[Candidate], jobs: int) -> list[list[str]]:
    """Big files first, so that none is left to run alone at the end.

    What is handed out at once is one file each: the rest is given more when its turn comes.
    """
    ordered = sorted(files, key=lambda file: (-file.size, file.path))
    limit = sum(file.size for file in files) // (jobs * _CHUNKS_PER_JOB) + 1
    chunks: list[list[str]] = []
    room = 0
    for file in ordered:
        if room <= 0:
            chunks.append([])
            room = limit if len(chunks) > jobs * _AHEAD else 0
        chunks[-1].append(file.path)
        room -= file.size + 500
    return chunks


def _now(more: Callable[[], Any] | None) -> tuple[Any, ...]:
    return () if more is None else (more(),)


def _isolated(
    setup: Setup, files: Sequence[str], more: Callable[[], Any] | None
) -> Iterator[tuple[str, Any]]:
    """One file at a time, so that a worker's death names its file."""
    from concurrent.futures.process import BrokenProcessPool

    pending = list(reversed(files))
    while pending:
        with _executor(setup, 1) as executor:
            while pending:
                path = pending.pop()
                try:
                    yield from executor.submit(_run_chunk, [path], *_now(more)).result()
                except BrokenProcessPool:
                    hint = "it may have run out of memory, or met a fault of the interpreter"
                    yield path, Problem("the process that analysed this file died", path, hint=hint)
                    break


@contextmanager
def _executor(
    setup: Setup, workers: int, prepare: Callable[[Any], None] | None = None
) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that are gone when the block is left, at once if it is left by an exception."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # A forked worker starts with everything already imported. Elsewhere than on Linux forking is not safe.
    if sys.platform == "linux":
        _initialise(setup, worker=False)
        if prepare is not None:
            prepare(_task)
    method = "fork" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method)
    others = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_initialise, initargs=(setup,))
    try:
        yield executor
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


_task: Task | None = None
_task_setup: Setup | None = None


def _initialise(setup: Setup, worker: bool = True) -> None:
    global _task, _task_setup
    if worker:
        # The parent answers Ctrl-C for all of them.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # What is loaded by now lives as long as the worker: the collector need not look at it again and again.
        gc.freeze()
        gc.disable()
    if _task_setup is not setup and _task_setup != setup:
        _task, _task_setup = setup(), setup


def _run_chunk(files: list[str], *more: Any) -> Results:
    if _task is None:
        raise RuntimeError("the process was not set up")  # the executor reports why
    results = [(path, _guarded(_task, path, *more)) for path in files]
    if any(isinstance(result, Problem) for _, result in results):
        gc.collect(1)  # an analysis parts its cycles itself, unless it is cut off
    return results
