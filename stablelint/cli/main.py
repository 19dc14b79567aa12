"""The `stablelint` command. A module in `cli/commands` is a command; only the one that is named is imported.

A command module has `NAME`, `HELP`, `configure(parser)` and `run(options) -> int`. One that sets
`TAKES_COMMAND = True` finds what stands behind the first `--` in `options.command`.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from stablelint import __version__
from stablelint.cli.exit_codes import CLEAN, FAILED, FINDINGS, INTERRUPTED

# What fails for want of room, files or memory is no bug.
_OF_THE_MACHINE = frozenset(
    getattr(errno, name, 0) for name in "ENOSPC EDQUOT EIO EMFILE ENFILE ENOMEM EROFS".split()
)
_DESCRIPTION = (
    "A linter for numerics in PyTorch code: finds, fixes and verifies expressions that produce NaN or Inf."
)
_EXIT_CODES = "Exit codes: 0 clean, 1 findings, 2 the tool could not do its work."
_SHELLS = ("bash", "zsh", "tcsh")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line. Returns 0 if all is clean, 1 for findings, 2 if the tool could not do its work."""
    _make_printable()
    if argv is None and sys.argv[1:2] == ["check"]:
        gc.disable()  # an analysis parts its own cycles; what is imported lives to the end of the process
        atexit.register(gc.freeze)  # which need not look for garbage among it
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()  # the reader has gone (`| head`)
        return FINDINGS
    except MemoryError:
        print("error: not enough memory", file=sys.stderr)
        return FAILED
    except Exception as error:  # the boundary of the process: no traceback reaches a user
        if os.environ.get("STABLELINT_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
            print(f"error: {error.strerror}", file=sys.stderr)
            _forget_output()
            return FAILED
        print(f"error: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("  = help: this is a bug in stablelint; STABLELINT_TRACEBACK=1 shows where", file=sys.stderr)
        return FAILED


def _forget_output() -> None:
    """What standard output did not take Python would try to write once more at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
        if not _has_folder():
            print("error: the current folder is gone, or cannot be read", file=sys.stderr)
            return FAILED
        module = command(argv[0])
        parser = command_parser(module)
        rest, behind = _split(argv[1:]) if getattr(module, "TAKES_COMMAND", False) else (argv[1:], [])
        options = parser.parse_args(rest)
        if getattr(module, "TAKES_COMMAND", False):
            options.command = behind
        from stablelint.cli.options import reported

        code = reported(lambda: module.run(options))
        sys.stdout.flush()
        return code
    if not argv and _has_folder():
        from stablelint.cli.welcome import welcome

        sys.stdout.write(welcome())
        return CLEAN
    if argv and not argv[0].startswith("-"):
        return _unknown(argv[0])
    parser = _whole_parser()
    parser.parse_args(argv)
    parser.print_help()
    return CLEAN


def _failed(message: str, hint: str | None = None) -> int:
    from stablelint.cli.options import print_problems
    from stablelint.diagnostic import Problem

    print_problems([Problem(message, hint=hint)])
    return FAILED


def _unknown(name: str) -> int:
    """Says that there is no such command, and which is close."""
    from difflib import get_close_matches

    near = get_close_matches(name, command_names(), n=1) or [f"check {name}"] * os.path.exists(name)
    hint = (
        f"did you mean `stablelint {near[0]}`?" if near else f"the commands are {', '.join(command_names())}"
    )
    return _failed(f'there is no command "{name}"', hint)


def _has_folder() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in argv:
        return argv, []
    place = argv.index("--")
    return argv[:place], argv[place + 1 :]


def command_parser(module: ModuleType) -> argparse.ArgumentParser:
    """The parser of one command, named in full."""
    parser = _Parser(f"stablelint {module.NAME}", description=_sentence(module.HELP), allow_abbrev=False)
    module.configure(parser)
    return parser


class _Parser(argparse.ArgumentParser):
    """Answers a command line that it cannot use with one error and what to do, not with its usage."""

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            from difflib import get_close_matches

            option = unknown[0].partition("=")[0]
            near = get_close_matches(option, self._option_string_actions, n=1) if option[0] == "-" else []
            what = "option" if option[0] == "-" else "argument"
            self.error(f'unknown {what} "{option}"', *(f"did you mean `{name}`?" for name in near))
        return options

    def error(self, message: str, hint: str | None = None) -> NoReturn:
        hint = hint or f"`{self.prog} --help` lists the options"
        self.exit(_failed(message.removeprefix("argument "), hint))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _whole_parser() -> argparse.ArgumentParser:
    """The parser of everything, for help, completion and the message about an unknown command."""
    parser = _Parser("stablelint", description=_DESCRIPTION, epilog=_EXIT_CODES, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"stablelint {__version__}")
    parser.add_argument(
        "--print-completion", choices=_SHELLS, action=_PrintCompletion, help="print a completion script"
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
    """What the terminal's encoding cannot show is escaped instead of raising; a closed stream is an empty one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - till the process ends
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
