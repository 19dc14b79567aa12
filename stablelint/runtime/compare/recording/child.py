"""A recorded process of a command: from the import of torch to its end."""

from __future__ import annotations

import atexit
import os
import platform
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from stablelint.runtime import supported  # noqa: F401
from stablelint.runtime.compare.recording import remedies, sources
from stablelint.runtime.compare.recording.digest import DIGEST
from stablelint.runtime.compare.recording.recorder import Captured, Options, Recorder
from stablelint.runtime.compare.recording.trace import Writer
from stablelint.runtime.plain import plain
from stablelint.runtime.process.start import Plan


def start(plan: Plan) -> None:
    """Record this process from now to its end, as the plan's options say."""
    options = plan.options
    remedies.apply(options["remedies"], early=False)
    if options["dtype"] is not None:
        _compute_in(getattr(torch, options["dtype"]))
    if options["device"] is not None:
        torch.set_default_device(options["device"])
    record = Options(**options["record"])
    path = Path(plan.folder) / f"trace-{time.time_ns():020}-{os.getpid()}.jsonl"
    recorder = Recorder(
        Writer(path, options["limit"], facts()), record, _leave, partial(_keep, plan)
    ).__enter__()
    sources.hand_over(recorder.on_source)
    main = os.getpid()
    atexit.register(lambda: recorder.__exit__() if os.getpid() == main else None)
    os.register_at_fork(after_in_child=recorder.leave_to_child)


def facts() -> dict[str, Any]:
    """What the numbers of a process depend on besides its code."""
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "digest": DIGEST,
        "rank": os.environ.get("RANK"),
        "words": sys.argv,
    }


def _leave() -> None:
    """End the command where the last step that was asked for is over."""
    if threading.current_thread() is threading.main_thread():
        raise SystemExit(0)


def _keep(plan: Plan, captured: Captured) -> None:
    results = Path(plan.folder) / f"captured-{os.getpid()}.pt"
    torch.save([one.detach().cpu().contiguous().clone() for one in captured.results], results)
    plan.tell("captured", plain({**captured._asdict(), "results": str(results)}))
    _leave()


def _compute_in(dtype: torch.dtype) -> None:
    """Autocast to `dtype` from now on, on whatever device there is."""
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    # Without its memory of cast weights, which only leaving the context would empty.
    torch.autocast(kind, dtype, cache_enabled=False).__enter__()
