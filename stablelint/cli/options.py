"""Options that commands share, and the session that they describe."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from stablelint.cli.exit_codes import FAILED
from stablelint.config import ConfigError, load, override
from stablelint.diagnostic import Level, Problem, Severity
from stablelint.syntax.content import NOTEBOOK
from stablelint.workspace.result import CheckResult
from stablelint.workspace.selection import Selectors
from stablelint.workspace.session import Request, session_of
from stablelint.workspace.session import Session as Session
from stablelint.workspace.suppress import UNUSED_CODE, UNUSED_NAME

if TYPE_CHECKING:
    from stablelint.catalog import Rule
    from stablelint.report.context import Context


N = TypeVar("N", int, float)


def codes(text: str) -> tuple[str, ...]:
    """`SL101,SL2` as a tuple."""
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _rules(text: str) -> tuple[str, ...]:
    """The selectors of `--select`; none of them would switch off everything, as an unset variable of a shell does."""
    if not (named := codes(text)):
        raise argparse.ArgumentTypeError("no rule is named")
    return named


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


def add_paths(parser: argparse.ArgumentParser) -> None:
    """The files and folders to look at, and which of them to leave out."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: this folder)")
    group = parser.add_argument_group("files")
    _add_list(group, "--exclude", "GLOBS", "exclude these instead of the defaults")
    _add_list(group, "--extend-exclude", "GLOBS", "exclude these as well")
    group.add_argument(
        "--force-exclude", action="store_true", default=None, help="exclude also files that are named here"
    )
    group.add_argument(
        "--no-respect-gitignore", action="store_true", help="check also files that .gitignore names"
    )


def _add_list(
    group: argparse._ArgumentGroup,
    name: str,
    metavar: str,
    text: str,
    read: Callable[[str], tuple[Any, ...]] = codes,
) -> None:
    """An option that holds several values with commas between them; given again, it holds those as well."""
    group.add_argument(name, type=read, action="extend", metavar=metavar, help=text)


def add_selection(parser: argparse.ArgumentParser, levels: str) -> None:
    """Which rules are on. A selector is a code, the start of one, a name, or ALL; `levels` says what each level does."""
    group = parser.add_argument_group(
        "rules", "RULES are codes (SL101), beginnings of codes (SL1), names or ALL, with commas between them"
    )
    _add_list(group, "--select", "RULES", "enable only these rules", _rules)
    _add_list(group, "--extend-select", "RULES", "enable these rules as well")
    _add_list(group, "--ignore", "RULES", "disable these rules")
    # what ruff calls it, too, for those whose fingers know it
    group.add_argument("--extend-ignore", type=codes, action="extend", dest="ignore", help=argparse.SUPPRESS)
    _add_list(group, "--per-file-ignores", "GLOB:RULE,…", "disable these rules in these files", _per_file)
    group.add_argument("--level", choices=[level.value for level in Level], help=levels)
    group.add_argument(
        "--min-confidence",
        type=number(float, lambda share: 0 <= share <= 1, "a number from 0 to 1"),
        metavar="P",
        help="leave out findings below this confidence (0 to 1)",
    )


def add_running(parser: argparse.ArgumentParser) -> None:
    """Settings, cache, processes."""
    group = parser.add_argument_group("running")
    group.add_argument("--config", type=Path, metavar="FILE", help="read the settings from here")
    group.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    group.add_argument("--cache-dir", type=Path, metavar="FOLDER", help="keep the cache here")
    group.add_argument(
        "--jobs",
        "-j",
        type=number(int, lambda count: count >= 1, "a number of processes"),
        metavar="N",
        help="number of processes (default: one for each processor)",
    )


def _per_file(text: str) -> tuple[tuple[str, str], ...]:
    """`tests/*:SL101,tests/*:SL102` as pairs of glob and rule; a rule alone goes with the glob before."""
    pairs: list[tuple[str, str]] = []
    for part in codes(text):
        glob, colon, rule = part.rpartition(":")
        if not colon and not pairs:
            raise argparse.ArgumentTypeError(f"{part!r} is not of the form GLOB:RULE")
        pairs.append((glob if colon else pairs[-1][0], rule))
    return tuple(pairs)


def program_rules() -> dict[str, Rule]:
    """The rules of the program itself, by code: their pages state no pattern."""
    from stablelint.catalog import Rule
    from stablelint.catalog.page import split

    path = Path(__file__).parent / "pages" / f"{UNUSED_NAME}.md"
    text = path.read_text("utf-8")
    head = split(text)
    rule = Rule(UNUSED_CODE, head.name, "program", head.summary, str(path), text, Severity.WARNING)
    return {rule.code: rule}


def open_session(options: argparse.Namespace, paths: Sequence[str]) -> Session:
    """Reads the settings that hold for `paths` and resolves the options against them.

    Raises ConfigError where settings or selectors are wrong; a malformed rule page becomes a problem of it.
    """
    settings = load(_common_folder(paths), options.config)
    settings = override(
        settings,
        exclude=_given(options.exclude),
        extend_exclude=(*settings.extend_exclude, *(options.extend_exclude or ())),
        force_exclude=options.force_exclude,
        respect_gitignore=False if options.no_respect_gitignore else None,
        level=Level(options.level) if options.level else None,
        min_confidence=options.min_confidence,
        cache_dir=_cache_folder(options),
    )
    selectors = Selectors(
        _given(options.select),
        _given(options.ignore) or (),
        _given(options.extend_select) or (),
        _grouped(options.per_file_ignores or ()),
    )
    return session_of(settings, selectors)


def _given(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _cache_folder(options: argparse.Namespace) -> Path | None:
    if options.cache_dir is not None:
        return Path(os.path.abspath(options.cache_dir))
    named = os.environ.get("STABLELINT_CACHE_DIR")
    return Path(os.path.abspath(named)) if named else None


def _grouped(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    grouped: dict[str, tuple[str, ...]] = {}
    for glob, rule in pairs:
        grouped[glob] = (*grouped.get(glob, ()), rule)
    return grouped


def _common_folder(paths: Sequence[str]) -> Path:
    absolute = [os.path.abspath(path) for path in paths]
    try:
        return Path(os.path.commonpath(absolute) if absolute else os.getcwd())
    except ValueError:  # on different drives
        return Path(absolute[0])


def request_of(options: argparse.Namespace, session: Session, **more: Any) -> Request:
    """What the options and the session ask of a check."""
    return Request(
        settings=session.settings,
        selection=session.selection,
        use_cache=not options.no_cache,
        jobs=options.jobs,
        **more,
    )


def add_stdin(parser: argparse.ArgumentParser) -> None:
    """What the standard input is called, where the source comes from there."""
    parser.add_argument(
        "--stdin-filename", metavar="FILE", help="name of the file that is read from standard input (`-`)"
    )


def named_paths(options: argparse.Namespace) -> list[str]:
    """The files and folders to look at, or what the standard input stands for."""
    return [options.stdin_filename or "-"] if reads_stdin(options) else list(options.paths) or ["."]


def reads_stdin(options: argparse.Namespace) -> bool:
    """Whether the source comes from the standard input: a path of `-`, or a name for it and no path."""
    return options.paths == ["-"] or (not options.paths and options.stdin_filename is not None)


def stdin_source(options: argparse.Namespace) -> tuple[bytes, str]:
    """The source that the standard input holds, and its name. Raises ConfigError for a notebook."""
    (name,) = named_paths(options)
    if name.endswith(NOTEBOOK):
        raise ConfigError([Problem("a notebook is not read from standard input: name the file", name)])
    return sys.stdin.buffer.read(), name


def print_problems(problems: Iterable[Problem]) -> None:
    """Writes problems to the standard error stream."""
    from stablelint.report.summary import problem_lines

    context = context_of(sys.stderr)
    for problem in problems:
        print("\n".join(problem_lines(problem, context)), file=sys.stderr)


def context_of(stream: TextIO, plain: bool = False, **more: Any) -> Context:
    """What a report for a stream may draw on; `plain` where it ends up in a file."""
    from stablelint.report.context import Context
    from stablelint.report.style import PIPED_WIDTH, PLAIN, Style, wants_colour, width_of

    if plain:
        return Context(os.getcwd(), PLAIN, PIPED_WIDTH, **more)
    return Context(os.getcwd(), Style(wants_colour(stream)), width_of(stream), **more)


def reported(work: Callable[[], int]) -> int:
    """The exit code of `work`; what keeps it from its work is told."""
    try:
        return work()
    except ConfigError as error:
        print_problems(error.problems)
        return FAILED


def add_baseline(group: argparse._ArgumentGroup, wish: str) -> None:
    """The options on the file of known findings; without them, the settings name it."""
    group.add_argument("--baseline", metavar="FILE", help=f"{wish} only what this file does not hold")
    group.add_argument(
        "--no-baseline",
        dest="baseline",
        action="store_const",
        const="",
        help=f"{wish} also what the baseline holds",
    )


def known_findings(options: argparse.Namespace, session: Session) -> frozenset[str]:
    """The fingerprints of the baseline that is to be used; none where there is no baseline.

    Raises ConfigError where the file cannot be used.
    """
    named = session.settings.baseline if options.baseline is None else options.baseline
    if not named:
        return frozenset()
    from stablelint.workspace import baseline

    return baseline.read(os.fspath(named))


def without_known(result: CheckResult, known: frozenset[str], session: Session) -> CheckResult:
    """The result without the known findings, which it counts."""
    if not known:
        return result
    from stablelint.workspace import baseline

    new = tuple(baseline.unknown(known, result.diagnostics, os.fspath(session.settings.root)))
    return replace(result, diagnostics=new, baselined=len(result.diagnostics) - len(new))
