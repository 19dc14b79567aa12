"""How a command that runs a program hands its report over: options, numbers, files, and one error where that fails."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from stablelint.cli.main import FAILED
from stablelint.cli.options import print_problems
from stablelint.diagnostic import Problem

if TYPE_CHECKING:
    from stablelint.report.context import Context

N = TypeVar("N", int, float)


def add_report(parser: argparse.ArgumentParser, page: str) -> argparse._ArgumentGroup:
    """The options for the form of a report, and for its page, which is a page with `page`."""
    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=("full", "json"), default="full", help="default: full")
    output.add_argument("--html", metavar="FILE", help=f"write a page with {page}")
    return output


def number(kind: type[N], is_one: Callable[[N], bool], wanted: str) -> Callable[[str], N]:
    """A type of options: numbers of a kind for which `is_one` holds; else the error says that it is not `wanted`."""

    def read(text: str) -> N:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not is_one(value):
            raise argparse.ArgumentTypeError(f"not {wanted}: {text}")
        return value

    return read


def context_of(stream: TextIO, plain: bool = False, **more: Any) -> Context:
    """What a report for a stream may draw on; `plain` where it ends up in a file."""
    from stablelint.report.context import Context
    from stablelint.report.style import PLAIN, Style, wants_colour, width_of

    style = PLAIN if plain else Style(wants_colour(stream))
    return Context(folder=os.getcwd(), style=style, width=width_of(stream), **more)


def write_file(path: str, text: str, problems: list[Problem], mode: str = "w") -> None:
    """Writes a file; one that cannot be written becomes a problem."""
    try:
        with open(path, mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        problems.append(Problem(f"cannot write {path}: {error.strerror}"))


def failed(message: str, hint: str | None = None) -> int:
    """Says what kept the command from its work. Returns the exit code."""
    print_problems([Problem(message, hint=hint)])
    return FAILED
