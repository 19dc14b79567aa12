"""stablelint: a linter for the numbers in PyTorch code."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_GUARDING = ("NonFiniteError", "audit", "find_first_bad_batch", "find_first_bad_checkpoint", "guard")


def __getattr__(name: str) -> Any:
    # What needs torch is loaded on first use: `check` never pays for it.
    if name in _GUARDING:
        from importlib import import_module

        return getattr(import_module("stablelint.workspace.guarding"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_GUARDING])
