"""`stablelint server`: the language server, for editors."""

from __future__ import annotations

import argparse
import gc
import os
import sys

from stablelint.cli.exit_codes import CLEAN
from stablelint.config import ConfigError
from stablelint.diagnostic import Problem

NAME = "server"
HELP = "language server: findings, fixes and the range of each value as you type"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument(
        "--stdio", action="store_true", help="communicate through standard input and output (the default)"
    )


def run(options: argparse.Namespace) -> int:
    """Serves until the editor leaves. Returns the exit code."""
    gc.disable()  # while what is loaded lives as long as the process
    try:
        from stablelint.server.answers import create

        server = create()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        hint = "pip install 'stablelint[server]'"
        raise ConfigError([Problem("the language server is not installed", hint=hint)]) from None
    if sys.stdin.isatty():
        print(
            "This command is started by an editor, which writes to its standard input; Ctrl-C ends it.",
            file=sys.stderr,
        )
    gc.freeze()
    gc.enable()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:  # the server closes what it writes to
        server.start_io(stdout=output)
    return CLEAN
