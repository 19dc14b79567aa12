"""Watches losses and optimizer steps of a process: the series, and where it stops being finite."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from stablelint.runtime.process.start import Plan
from stablelint.runtime.tensors.names import gradients_of, parameters_of
from stablelint.runtime.verify.probe.series import Series

_FLUSH_SECONDS = 2.0
_SCALER = {"scale": "scale", "unscale_": "unscale_", "step": "scaler.step", "update": "scaler.update"}


SERIES = Series()
_state: dict[str, Any] = {"folder": None, "flushed": time.perf_counter()}


def forked() -> None:
    """In a forked child: a series of its own."""
    global SERIES
    SERIES = Series()


def start(plan: Plan) -> None:
    """Begin watching; called once, right after torch was imported."""
    _state["folder"] = plan.folder
    _wrap(torch.Tensor, "backward", _on_backward)
    for owner, name, event in (
        *((torch.amp.GradScaler, name, event) for name, event in _SCALER.items()),
        (torch.optim.Optimizer, "zero_grad", "zero_grad"),
        *((torch.nn.utils, name, name) for name in ("clip_grad_norm_", "clip_grad_value_")),
    ):
        _wrap(owner, name, lambda *_, _event=event, **__: SERIES.note(_event))
    register_optimizer_step_pre_hook(_on_step)


def _wrap(owner: Any, name: str, before: Callable[..., None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        if not torch.compiler.is_compiling():
            try:
                before(*arguments, **keywords)
            except Exception:  # watching must not change what the command does
                SERIES.note("unwatched")
        return original(*arguments, **keywords)

    setattr(owner, name, wrapped)


def _on_backward(tensor: torch.Tensor, *_: Any, **__: Any) -> None:
    SERIES.note("backward")
    if tensor.numel() == 1:
        SERIES.loss(float(tensor.detach()))
    if time.perf_counter() - _state["flushed"] > _FLUSH_SECONDS:
        flush()


def _on_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    SERIES.note("step")
    gradients = [one.detach() for one in gradients_of(parameters_of(optimizer)) if not one.is_sparse]
    if gradients:
        # sums, for they are one pass; an overflow of the sum alone is told apart
        total = torch.stack([gradient.sum().float().cpu() for gradient in gradients])
        finite = bool(torch.isfinite(total).all()) or all(bool(torch.isfinite(g).all()) for g in gradients)
        if not finite:
            SERIES.bad_steps += 1
            if SERIES.first_bad_step is None:
                SERIES.first_bad_step = SERIES.steps
    SERIES.steps += 1


def flush() -> None:
    """Write the series; keeps quiet when that fails."""
    folder = _state["folder"]
    _state["flushed"] = time.perf_counter()
    if folder is None or not (SERIES.backwards or SERIES.steps or SERIES.events):
        return
    path = Path(folder) / f"series-{os.getpid()}.json"
    with contextlib.suppress(OSError):
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(SERIES)), encoding="utf-8")
        partial.replace(path)
