"""The `stablelint` command. A module in `cli/commands` is a command; only the one that is named is imported.

A command module has `NAME`, `HELP`, `configure(parser)` and `run(options) -> int`. One that sets
`TAKES_COMMAND = True` finds what stands behind the first `--` in `options.command`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from stablelint import __version__

CLEAN, FINDINGS, FAILED, INTERRUPTED = 0, 1, 2, 130

_DESCRIPTION = "A linter for the numbers in PyTorch code: finds, fixes and proves what turns training NaN."
_EXIT_CODES = "Exit codes: 0 clean, 1 findings, 2 the tool could not do its work."
_SHELLS = ("bash", "zsh", "tcsh")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line. Returns 0 if all is clean, 1 for findings, 2 if the tool could not do its work."""
    _make_printable()
    if argv is None and sys.argv[1:2] == ["check"]:
        gc.disable()  # an analysis parts its own cycles; what is imported lives to the end of the process
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except Exception as error:  # the boundary of the process: no traceback reaches a user
        if os.environ.get("STABLELINT_TRACEBACK"):
            raise
        print(f"error: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("  = help: this is a bug in stablelint; STABLELINT_TRACEBACK=1 shows where", file=sys.stderr)
        return FAILED


def command_names() -> list[str]:
    """The commands there are: the modules of the folder `commands`."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "commands")
    names = [name[:-3] for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_")]
    return sorted(name.replace("_", "-") for name in names)


def command(name: str) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(f"stablelint.cli.commands.{name.replace('-', '_')}")


def _run(argv: list[str]) -> int:
    if argv and argv[0] in command_names():
        module = command(argv[0])
        parser = _command_parser(module)
        rest, behind = _split(argv[1:]) if getattr(module, "TAKES_COMMAND", False) else (argv[1:], [])
        options = parser.parse_args(rest)
        if getattr(module, "TAKES_COMMAND", False):
            options.command = behind
        code: int = module.run(options)
        sys.stdout.flush()
        return code
    parser = _whole_parser()
    parser.parse_args(argv)
    parser.print_help()
    return CLEAN


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in argv:
        return argv, []
    place = argv.index("--")
    return argv[:place], argv[place + 1 :]


def _command_parser(module: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        f"stablelint {module.NAME}", description=_sentence(module.HELP), allow_abbrev=False
    )
    module.configure(parser)
    return parser


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _whole_parser() -> argparse.ArgumentParser:
    """The parser of everything, for help, completion and the message about an unknown command."""
    parser = argparse.ArgumentParser(
        "stablelint", description=_DESCRIPTION, epilog=_EXIT_CODES, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"stablelint {__version__}")
    parser.add_argument(
        "--print-completion",
        choices=_SHELLS,
        action=_PrintCompletion,
        help="print a completion script",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in command_names():
        module = command(name)
        module.configure(commands.add_parser(name, help=module.HELP, description=_sentence(module.HELP)))
    return parser


class _PrintCompletion(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        import shtab

        print(shtab.complete(parser, shell=str(values)))
        parser.exit()


def _make_printable() -> None:
    """What the terminal's encoding cannot show is escaped instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
