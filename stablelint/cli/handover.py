"""How a command that runs a program hands its report over: options, numbers, files, and one error where that fails."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from stablelint.cli.options import context_of
from stablelint.config import ConfigError
from stablelint.diagnostic import Problem

if TYPE_CHECKING:
    from stablelint.report.context import Context


def add_report(parser: argparse.ArgumentParser, page: str) -> argparse._ArgumentGroup:
    """The options for the form of a report, and for its page, which is a page with `page`."""
    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=("full", "json"), default="full", help="default: full")
    output.add_argument("--html", metavar="FILE", help=f"write a page with {page}")
    output.add_argument(
        "--output-file", metavar="FILE", help="write the report to this file, in either of its forms"
    )
    return output


def add_words(parser: argparse.ArgumentParser) -> None:
    """A command that may stand without `--` before it: with the first word that is no option it begins."""
    parser.usage = f"{parser.prog} [OPTIONS] [--] COMMAND ..."
    parser.epilog = f"for example: {parser.prog} -- python train.py"
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def command_of(options: argparse.Namespace, name: str) -> list[str]:
    """The command that is to be run. Raises ConfigError where there is none."""
    command = [*options.words, *(["--"] if options.words and options.command else []), *options.command]
    if not command:
        raise ConfigError([Problem("no command to run", hint=f"stablelint {name} -- python train.py")])
    return command


def hand_over(
    options: argparse.Namespace,
    data: Any,
    text: Callable[[Context], str],
    page: Callable[[], str],
    stream: TextIO,
    silent: bool = False,
) -> list[Problem]:
    """Writes `data` as JSON or as `text`, and the page, where they are wanted; a `silent` report to files alone.

    One that cannot be written is a problem, and the other is.
    """
    problems: list[Problem] = []
    context = context_of(stream, plain=bool(options.output_file))
    written = json.dumps(data, indent=2) + "\n" if options.output_format == "json" else text(context)
    if options.output_file:
        write_file(options.output_file, written, problems)
    elif not silent:
        stream.write(written)
        stream.flush()
    if options.html:
        write_file(options.html, page(), problems)
    return problems


def write_file(path: str, text: str, problems: list[Problem], mode: str = "w") -> None:
    """Writes a file; one that cannot be written becomes a problem."""
    try:
        with open(path, mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        problems.append(Problem(f"cannot write {path}: {error.strerror}"))


def failed(message: str, hint: str | None = None) -> ConfigError:
    """What kept a command from its work."""
    return ConfigError([Problem(message, hint=hint)])
