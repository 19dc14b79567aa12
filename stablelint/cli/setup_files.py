"""What `stablelint init` writes into a project: each file as it is, and as it would be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from stablelint import __version__
from stablelint.codemod.text.apply import WriteRefused, write
from stablelint.config import ConfigError
from stablelint.diagnostic import Problem
from stablelint.records import dataclass

BASELINE = ".stablelint-baseline.json"
REPOSITORY = "https://github.com/stablelint/stablelint"
_HEADER = re.compile(r"^\[tool\.stablelint\][^\n]*\n", re.MULTILINE)
_HOOK = """\
- repo: {repository}
  rev: v{version}
  hooks:
    - id: stablelint
"""
_WORKFLOW = """\
name: stablelint
on: [push, pull_request]
jobs:
  stablelint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: {action}@v{version}
"""


@dataclass(frozen=True, slots=True)
class Change:
    """A file that would be written. `before` is None where there is none; `why` says what it is for."""

    path: Path
    before: str | None
    after: str
    why: str

    def write(self) -> None:
        """Writes the file, whole or not at all, with the line ends it had. Raises WriteRefused."""
        if self.before is not None:
            ends = "\r\n" if self.before.endswith("\r\n") else "\n"
            write(self.path, self.before.encode(), re.sub("\r?\n", ends, self.after).encode())
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(self.after, encoding="utf-8")
        except OSError as error:
            self.path.unlink(missing_ok=True)
            raise WriteRefused(f"not written: {error.strerror}", self.path) from None


def changes(root: Path, findings: int) -> Iterator[Change]:
    """What the project lacks. With findings, the settings name a baseline. Raises ConfigError."""
    pyproject = root / "pyproject.toml"
    text = _read(pyproject)
    if not _is_set_up(text or ""):
        why = "the project's settings; `stablelint rules` lists what can be selected"
        yield Change(pyproject, text, _joined(text or "", _section(findings)), why)
    hooks = root / ".pre-commit-config.yaml"
    text = _read(hooks)
    if text is None or "id: stablelint" not in text:
        why = "checks what is committed, for those who use pre-commit"
        yield Change(hooks, text, with_hook(text or ""), why)
    workflow = root / ".github" / "workflows" / "stablelint.yml"
    if _read(workflow) is None:
        action = REPOSITORY.removeprefix("https://github.com/")
        text = _WORKFLOW.format(action=action, version=__version__)
        yield Change(workflow, None, text, "annotates pull requests with what is found")


def setting_added(pyproject: Path, setting: str) -> Change | None:
    """One more setting in a pyproject.toml; None where its section is written in an unusual way. Raises ConfigError."""
    before = _read(pyproject)
    after = _with_setting(before or "", setting)
    return None if after is None else Change(pyproject, before, after, "")


def _with_setting(text: str, setting: str) -> str | None:
    if header := _HEADER.search(text):
        return f"{text[: header.end()]}{setting}\n{text[header.end() :]}"
    return None if _is_set_up(text) else _joined(text, f"[tool.stablelint]\n{setting}\n")


def with_hook(text: str) -> str:
    """A pre-commit configuration with the hook at the end of its list, indented as the others are."""
    hook = _HOOK.format(repository=REPOSITORY, version=__version__)
    lines = text.splitlines(keepends=True)
    entries = [row for row, line in enumerate(lines) if re.match(r"\s*- repo:", line)]
    if not entries:
        return (
            _joined(text, "repos:\n" + _indented(hook, "  ")) if "repos:" not in text else _into(text, hook)
        )
    indent = re.match(r"\s*", lines[entries[0]])
    width = indent[0] if indent else ""
    last = entries[-1] + 1
    while last < len(lines) and (not lines[last].strip() or lines[last].startswith(f"{width} ")):
        last += 1
    while not lines[last - 1].strip():
        last -= 1
    if not lines[last - 1].endswith("\n"):
        lines[last - 1] += "\n"
    return "".join([*lines[:last], _indented(hook, width), *lines[last:]])


def _into(text: str, hook: str) -> str:
    """An empty list gets its first entry."""
    return re.sub(r"^repos:.*\n?", f"repos:\n{_indented(hook, '  ')}", text, count=1, flags=re.MULTILINE)


def _indented(text: str, indent: str) -> str:
    return "".join(indent + line for line in text.splitlines(keepends=True))


def _is_set_up(pyproject: str) -> bool:
    """Whether a pyproject.toml has settings for stablelint, however they are written. Raises TOMLDecodeError."""
    return "stablelint" in tomllib.loads(pyproject).get("tool", {})


def _section(findings: int) -> str:
    baseline = (
        f'baseline = "{BASELINE}"  # findings recorded when stablelint was introduced\n' if findings else ""
    )
    return f"[tool.stablelint]\n{baseline}" + '# per-file-ignores = { "tests/*" = ["SL1"] }\n'


def _joined(text: str, section: str) -> str:
    if not text.strip():
        return section
    return text.rstrip("\n") + "\n\n" + section


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError([Problem(f"cannot read this file: {error.strerror}", str(path))]) from None
    except UnicodeDecodeError:
        raise ConfigError([Problem("not UTF-8", str(path))]) from None
