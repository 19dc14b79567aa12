"""The words of the user's command, as they are handed to the system."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path


class CommandNotFoundError(Exception):
    """The command does not exist or cannot be started; the message names it."""


def command_line(command: Sequence[str]) -> list[str]:
    """The words to execute: `-m pkg`, `-c code` and a bare script are run by this interpreter.

    `python` stands for the current interpreter where no other is on the path. Raises `CommandNotFoundError`.
    """
    first = command[0]
    if first in ("-m", "-c") or (first.endswith(".py") and Path(first).is_file()):
        return [sys.executable, *command]
    if shutil.which(first) is not None:
        return list(command)
    if first in ("python", "python3"):
        return [sys.executable, *command[1:]]
    beside = Path(sys.executable).parent / first
    if beside.is_file():
        return [str(beside), *command[1:]]
    if Path(first).exists():
        raise CommandNotFoundError(f"cannot run {first}: it is not executable, or not on the path")
    raise CommandNotFoundError(f"no such {'file' if first.endswith('.py') else 'command'}: {first}")
