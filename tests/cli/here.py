"""A command line in this process: what it runs is a process all the same, and torch is imported but once."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import BinaryIO

from cli.conftest import Outcome
from stablelint.cli.main import main


def run_here(folder: Path, *words: str) -> Outcome:
    """Runs a command line in `folder`; the outcome holds what the processes that it starts print as well."""
    with _kept(1) as output, _kept(2) as errors, chdir(folder):
        with (
            open(1, "w", encoding="utf-8", closefd=False) as stdout,
            open(2, "w", encoding="utf-8", closefd=False) as stderr,
            redirect_stdout(stdout),
            redirect_stderr(stderr),
        ):
            try:
                code = main(words)
            except SystemExit as error:
                code = int(error.code or 0)
        texts = [_text(kept) for kept in (output, errors)]
    assert "Traceback" not in texts[1], texts[1]
    return Outcome(code, *texts)


@contextmanager
def _kept(descriptor: int) -> Iterator[BinaryIO]:
    """What is written to a file descriptor, by this process and by those that it starts."""
    with tempfile.TemporaryFile() as kept:
        before = os.dup(descriptor)
        os.dup2(kept.fileno(), descriptor)
        try:
            yield kept
        finally:
            os.dup2(before, descriptor)
            os.close(before)


def _text(kept: BinaryIO) -> str:
    kept.seek(0)
    return kept.read().decode("utf-8", "replace")
