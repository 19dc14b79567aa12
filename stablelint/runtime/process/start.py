"""Arms what a plan names in a process of a command; loads nothing but the standard library.

What is armed needs torch, and is loaded when the command has imported torch, so that a command without it
starts as it always does.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import shutil
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, cast

VARIABLE = "STABLELINT_GUARD"
COUNTER = struct.Struct("=Q")
"""Steps that a process has seen, in a file of its own."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the processes of a command are told.

    `child` is the module whose `start(plan)` is called once torch is there, `early` ("module:name") is called before
    the command's own code, and `options` are theirs. `folder` takes the reports.
    """

    folder: str
    child: str
    early: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Store the plan for the processes of the command."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    def tell(self, kind: str, facts: object, name: str = "") -> None:
        """Leave facts of this process in the folder, whole or not at all; `name` tells several of a kind apart."""
        path = Path(self.folder, f"{kind}-{os.getpid()}{name}.json")
        try:
            part = path.with_suffix(".part")
            part.write_text(json.dumps(facts), encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            sys.stderr.write(f"stablelint: cannot store {path}: {error.strerror}\n")


def reports_of(folder: Path, kind: str) -> list[Any]:
    """What the processes of a command left in a folder, of one kind, by name; what is damaged is left out."""
    found = []
    for path in sorted(folder.glob(f"{kind}-*.json")):
        with contextlib.suppress(OSError, ValueError):
            found.append(json.loads(path.read_text(encoding="utf-8")))
    return found


def current_plan() -> Plan | None:
    """The plan named in the environment, or None where there is none to be read."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    try:
        return Plan(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def arm(package: str | None = None) -> None:
    """Start the guard as soon as torch has been imported; nothing without a plan.

    `package` is the folder of this package for an interpreter that has it not.
    """
    plan = current_plan()
    if plan is None or "torch" in sys.modules:
        return
    finders = [_PackageFinder(package)] if package is not None else []
    _keep_standard_input()
    if plan.early is not None:
        sys.meta_path += finders
        named(plan.early)(plan)

    def start() -> None:
        sys.meta_path.extend(finder for finder in finders if finder not in sys.meta_path)
        _start(plan)

    sys.meta_path.insert(0, After("torch", start, lambda: plan.tell("missing", {"python": sys.executable})))


def _keep_standard_input() -> None:
    """A program that comes on standard input is kept where tracebacks look for lines, and handed on as it came."""
    if sys.argv[:1] not in (["-"], [""]) or sys.stdin is None or sys.stdin.isatty():
        return
    import linecache
    import tempfile

    with tempfile.TemporaryFile() as file, open(0, "rb", closefd=False) as given:
        shutil.copyfileobj(given, file)
        file.seek(0)
        text = file.read().decode("utf-8", errors="replace")
        file.seek(0)
        os.dup2(file.fileno(), 0)
    linecache.cache["<stdin>"] = (len(text), None, text.splitlines(keepends=True), "<stdin>")


class _PackageFinder(importlib.abc.MetaPathFinder):
    """Finds this package where it stands, and nothing else of what is installed beside it."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of the package itself; what lies in it is found by its path."""
        if fullname != "stablelint":
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, [os.path.dirname(self._package)])


def named(name: str) -> Callable[..., object]:
    """What "module:name" stands for. Raises ImportError and AttributeError."""
    module, _, attribute = name.partition(":")
    return cast("Callable[..., object]", getattr(importlib.import_module(module), attribute))


class After(importlib.abc.MetaPathFinder):
    """Does something once a module has been executed, whoever imports it, or where it is asked for and absent."""

    def __init__(
        self, name: str, then: Callable[[], None], absent: Callable[[], None] = lambda: None
    ) -> None:
        self._name, self._then, self._absent = name, then, absent
        self._asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's own spec, with something to do after its execution; None for any other module."""
        if fullname != self._name or self._asking:
            return None
        self._asking = True
        try:
            # By whatever finder has it: an editable install has its own.
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking = False
        if spec is None or spec.loader is None:
            self._absent()
            return spec
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            # Not before: many a library asks for the spec, to see whether there is a torch, and leaves it at that.
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self._then()

        setattr(loader, "exec_module", exec_module)  # noqa: B010
        return spec


def _start(plan: Plan) -> None:
    try:
        importlib.import_module(plan.child).start(plan)
    except Exception as error:  # the command must run, guarded or not
        plan.tell("unguarded", {"error": f"{type(error).__name__}: {error}"})
