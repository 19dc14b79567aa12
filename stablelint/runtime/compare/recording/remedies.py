"""What may make a command repeat itself, and how it is tried: in the environment, or in the process.

Loads nothing but the standard library: the clock and the system's entropy are set before the command's own code.
"""

from __future__ import annotations

import datetime
import itertools
import os
import random
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from stablelint.runtime.process.traceback import OWN, frames_from
from stablelint.runtime.process.workers import without_workers
from stablelint.runtime.program.threads import is_installed

_SEED = 0
_EPOCH = 1_700_000_000
_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change of how a command runs: `cause` is what it rules out, `advice` what a user would write.

    `prefix` stands before the command; `early` is applied before the command's own code, `late` once torch has
    been imported.
    """

    name: str
    cause: str
    advice: str
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: Sequence[str] = ()
    early: Callable[[], object] | None = None
    late: Callable[[], object] | None = None


def _seed() -> None:
    import torch

    random.seed(_SEED)
    torch.manual_seed(_SEED)
    setattr(torch, "seed", lambda: torch.manual_seed(_SEED).initial_seed())  # noqa: B010
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(_SEED)


def _entropy() -> None:
    source = random.Random(_SEED)
    setattr(os, "urandom", source.randbytes)  # noqa: B010
    setattr(random, "_urandom", source.randbytes)  # noqa: B010 - secrets, SystemRandom, NumPy's fresh generators
    number = os.getpid
    setattr(os, "getpid", lambda: 1 if _called_by_program() else number())  # noqa: B010


def _called_by_program() -> bool:
    """Whether the function that asks this was called by code of the user's, if through this package."""
    frames = frames_from(sys._getframe(2))
    caller = next((frame for frame in frames if not frame.f_code.co_filename.startswith(OWN)), None)
    return caller is not None and not in_library(caller)


def _clock() -> None:
    ticks = itertools.count()
    for name in _CLOCKS:
        setattr(time, name, lambda: _EPOCH + next(ticks) * 1e-3)
        setattr(time, f"{name}_ns", lambda: _EPOCH * 10**9 + next(ticks) * 10**6)

    class Frozen(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(_EPOCH, tz)

        utcnow = today = now

    setattr(datetime, "datetime", Frozen)  # noqa: B010


def _files() -> None:
    listdir, scandir = os.listdir, os.scandir

    class Sorted(Iterator[Any], AbstractContextManager[Any]):
        """Entries by name, to be closed as the system's own."""

        def __init__(self, path: Any) -> None:
            with scandir(path) as entries:
                self._entries = iter(sorted(entries, key=lambda entry: entry.name))

        def __next__(self) -> Any:
            return next(self._entries)

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            """Nothing is open."""

    setattr(os, "listdir", lambda path=".": sorted(listdir(path)))  # noqa: B010
    setattr(os, "scandir", lambda path=".": Sorted(path))  # noqa: B010


def _deterministic() -> None:
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)
    setattr(torch.utils.deterministic, "fill_uninitialized_memory", False)  # noqa: B010 - a remedy of its own
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True


def _no_dropout_in_evaluation() -> None:
    import torch

    for name, original in list(vars(torch.nn.functional).items()):
        if "dropout" in name and callable(original) and not name.startswith("_"):
            setattr(torch.nn.functional, name, _off_without_gradients(original))


def _off_without_gradients(original: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    def dropout(input: Any, *args: Any, **kwargs: Any) -> Any:
        return original(input, *args, **kwargs) if torch.is_grad_enabled() else input

    return dropout


def _full_precision() -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")


def _plain_attention() -> None:
    import torch

    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)


_EARLY = {"entropy": _entropy, "clock": _clock, "files": _files}
_LATE = {
    "seed": _seed,
    "dropout": _no_dropout_in_evaluation,
    "deterministic": _deterministic,
    "workers": without_workers,
    "tf32": _full_precision,
    "attention": _plain_attention,
}
_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
REMEDIES = {
    name: Remedy(name, **row, early=_EARLY.get(name), late=_LATE.get(name)) for name, row in _ROWS.items()
}
"""Every remedy by name."""


def in_library(frame: FrameType) -> bool:
    """Whether a frame runs code of Python, of an installed package or of this one."""
    return frame.f_code.co_filename.startswith(OWN) or is_installed(frame.f_code.co_filename)


def prefix_of(names: Iterable[str]) -> tuple[str, ...]:
    """What stands before the command under these remedies."""
    return tuple(word for name in names for word in REMEDIES[name].prefix)


def available() -> frozenset[str]:
    """The remedies whose prefix this system has."""
    return frozenset(
        name for name, one in REMEDIES.items() if not one.prefix or shutil.which(one.prefix[0]) is not None
    )


def environment_of(names: Iterable[str]) -> dict[str, str]:
    """The variables that these remedies set."""
    return {key: value for name in names for key, value in REMEDIES[name].environment.items()}


def apply(names: Iterable[str], *, early: bool) -> None:
    """Apply what these remedies change before the command's own code, or once torch is there."""
    for name in names:
        change = REMEDIES[name].early if early else REMEDIES[name].late
        if change is not None:
            change()
