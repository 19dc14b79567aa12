"""The settings of a project: `[tool.stablelint]` of the nearest `pyproject.toml`.

A leaf: it imports nothing of stablelint but the types of `diagnostic`, and nothing heavy.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stablelint.diagnostic import Level, Position, Problem
from stablelint.records import dataclass, field, replace

SECTION = "tool.stablelint"

OUTPUT_FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab")


class ConfigError(Exception):
    """The settings cannot be used; `problems` says where and why."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project asks for. Paths are absolute; selectors are not yet resolved against a catalogue."""

    root: Path
    source: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    level: Level = Level.LIKELY  # from which on findings are shown in full
    fail_on: Level = Level.LIKELY  # from which on they make the exit code 1
    min_confidence: float = 0.0  # below which they are left out
    rules: tuple[Path, ...] = ()
    cache_dir: Path | None = None
    baseline: Path | None = None
    output_format: str = "full"
    jobs: int | None = None
    unsafe_fixes: bool = False
    lines: Mapping[str, int] = field(default_factory=dict)  # line of each key in `source`

    def place(self, key: str) -> tuple[str | None, Position | None]:
        """Where `key` was set: the file and the position, as far as they are known."""
        if self.source is None:
            return None, None
        line = self.lines.get(key)
        return os.fspath(self.source), Position(line, 1) if line else None


def load(start: Path, explicit: Path | None = None) -> Settings:
    """The settings that hold for `start`: a file or folder that is about to be checked.

    `explicit` names the file to read (`--config`). Raises ConfigError when the file is not readable, not
    TOML, or holds a key or value that stablelint does not know.
    """
    if explicit is not None:
        path = explicit.absolute()
        table, text = _read(path)
        return _settings(path, table, text)
    folder = start if os.path.isdir(start) else start.parent
    for candidate in (folder, *folder.parents):
        path = candidate / "pyproject.toml"
        if os.path.isfile(path):
            table, text = _read(path)
            if "stablelint" in _tools(table):
                return _settings(path, table, text)
    return Settings(root=_project_root(folder))


def override(settings: Settings, **changes: object) -> Settings:
    """`settings` with those of `changes` that are not None."""
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(settings, **given)  # type: ignore[arg-type]


def _project_root(folder: Path) -> Path:
    """The folder that paths are relative to when no settings say so: the repository, else `folder`."""
    for candidate in (folder, *folder.parents):
        if is_project(candidate):
            return candidate
    return folder


def is_project(folder: Path) -> bool:
    """Whether a repository or a project begins in a folder."""
    return any(os.path.exists(folder / name) for name in (".git", "pyproject.toml"))


def _read(path: Path) -> tuple[dict[str, object], str]:
    try:
        text = path.read_text("utf-8")
        return tomllib.loads(text), text
    except OSError as error:
        raise ConfigError([Problem(f"cannot read the settings: {error.strerror}", str(path))]) from None
    except UnicodeDecodeError as error:
        message = f"the settings are not UTF-8 (byte {error.start})"
        raise ConfigError([Problem(message, str(path))]) from None
    except tomllib.TOMLDecodeError as error:
        message, position = _toml_place(str(error))
        raise ConfigError([Problem(f"malformed TOML: {message}", str(path), position)]) from None


def _toml_place(message: str) -> tuple[str, Position | None]:
    found = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if found is None:
        return message, None
    return message[: found.start()], Position(int(found[1]), int(found[2]))


class _Shape(NamedTuple):
    """What a value is to be, as an error says it, and what is made of one."""

    wanted: str
    fits: Callable[[Any], bool]
    read: Callable[[Any], object]


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _choice(values: Iterable[str], wanted: str, read: Callable[[str], object] = str) -> _Shape:
    return _Shape(wanted, lambda value: isinstance(value, str) and value in values, read)


_STRINGS = _Shape("a list of strings", _are_strings, tuple)
_STRING = _Shape("a string", lambda value: isinstance(value, str), str)
_BOOLEAN = _Shape("true or false", lambda value: isinstance(value, bool), bool)
_COUNT = _Shape("an integer of 1 or more", lambda value: type(value) is int and value > 0, int)
_SHARE = _Shape("a number from 0 to 1", lambda value: type(value) in (int, float) and 0 <= value <= 1, float)
_TABLE = _Shape(
    "a table of lists of strings",
    lambda value: isinstance(value, dict) and all(map(_are_strings, value.values())),
    lambda value: {str(key): tuple(item) for key, item in value.items()},
)
_LEVEL = _choice(tuple(Level), " or ".join(f'"{level}"' for level in Level), Level)
_FORMAT = _choice(OUTPUT_FORMATS, "one of " + ", ".join(f'"{name}"' for name in OUTPUT_FORMATS))

_SHAPES = {
    "select": _STRINGS,
    "ignore": _STRINGS,
    "extend-select": _STRINGS,
    "per-file-ignores": _TABLE,
    "exclude": _STRINGS,
    "extend-exclude": _STRINGS,
    "force-exclude": _BOOLEAN,
    "respect-gitignore": _BOOLEAN,
    "level": _LEVEL,
    "fail-on": _LEVEL,
    "min-confidence": _SHARE,
    "rules": _STRINGS,
    "cache-dir": _STRING,
    "baseline": _STRING,
    "output-format": _FORMAT,
    "jobs": _COUNT,
    "unsafe-fixes": _BOOLEAN,
}
KEYS = tuple(_SHAPES)


def _tools(table: Mapping[str, object]) -> Mapping[str, object]:
    tools = table.get("tool")
    return tools if isinstance(tools, dict) else {}


def _settings(path: Path, table: Mapping[str, object], text: str) -> Settings:
    root = path.parent
    section = _tools(table).get("stablelint", {})
    if not isinstance(section, dict):
        raise ConfigError([Problem(f"[{SECTION}] must be a table", str(path))])
    lines = _key_lines(text)
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for key, value in section.items():
        position = Position(lines[key], 1) if key in lines else None
        shape = _SHAPES.get(key)
        if shape is None:
            problems.append(Problem(f'unknown key "{key}" in [{SECTION}]', str(path), position, _hint(key)))
        elif not shape.fits(value):
            problems.append(Problem(f'"{key}" in [{SECTION}] must be {shape.wanted}', str(path), position))
        else:
            values[key.replace("-", "_")] = shape.read(value)
    if problems:
        raise ConfigError(problems)
    _make_absolute(values, root)
    return Settings(root=root, source=path, lines=lines, **values)  # type: ignore[arg-type]


def _make_absolute(values: dict[str, object], root: Path) -> None:
    for key in ("cache_dir", "baseline"):
        if key in values:
            values[key] = root / str(values[key])
    rules = values.get("rules")
    if isinstance(rules, tuple):
        values["rules"] = tuple(root / folder for folder in rules)


def _hint(key: str) -> str:
    from difflib import get_close_matches

    if key == "extend-ignore":
        return "`ignore` is the same, as in ruff"
    near = get_close_matches(key.replace("_", "-"), KEYS, n=1)
    return f'did you mean "{near[0]}"?' if near else "known keys: " + ", ".join(sorted(KEYS))


_HEADER = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*["']?([A-Za-z0-9_-]+)["']?\s*(?:=|\.)""")


def _key_lines(text: str) -> dict[str, int]:
    """The line of each key of the section. tomllib gives values only, so the text is read once more."""
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = re.sub(r"\s*\.\s*|[\"']", lambda found: "." if "." in found[0] else "", header[1])
            if section.startswith(SECTION + "."):
                lines.setdefault(section[len(SECTION) + 1 :].split(".")[0], number)
        elif section == SECTION and (key := _KEY.match(line)):
            lines.setdefault(key[1], number)
    return lines
