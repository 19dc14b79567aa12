"""Hooks the import system of a process so that planned files run with probes, or with replaced text.

Only the standard library is loaded here: the command's own start must not change by more than it has to.
"""

from __future__ import annotations

import ast
import atexit
import copy
import importlib.machinery
import os
import runpy
import sys
from pathlib import Path
from types import CodeType
from typing import Any

from stablelint.runtime.process import start
from stablelint.runtime.process.traceback import hide_own_frames
from stablelint.runtime.verify.probe.plan import REGISTRY, Function, Plan, plan_of
from stablelint.runtime.verify.probe.transform import insert_probes

_RELAUNCHED = "STABLELINT_PROBE_RELAUNCHED"
_TESTS = "stablelint.runtime.verify.probe.tests"


def install(given: start.Plan) -> None:
    """Install the hooks that a plan asks for; once per process."""
    if REGISTRY.plan is not None:
        return
    REGISTRY.plan = plan = plan_of(given)
    hide_own_frames()
    _relaunch_script(plan)
    _hook_loader(plan)
    _hook_run_path(plan)
    sys.meta_path.insert(0, start.After("torch._dynamo", _mark_constant))
    _ask_pytest(plan)
    atexit.register(_finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)


def _ask_pytest(plan: Plan) -> None:
    """Options for a pytest that is started from here on: it tells which tests fail, and leaves planned files alone."""
    options = os.environ.get("PYTEST_ADDOPTS", "")
    if _TESTS not in options:
        options += f" -p {_TESTS}"
    written = any(os.path.basename(path).startswith(("test_", "conftest")) for path in plan.files)
    if written and "--assert" not in options:
        options += " --assert=plain"  # it compiles test modules itself in order to rewrite their assertions
    os.environ["PYTEST_ADDOPTS"] = options.strip()


def resolved(path: str) -> str:
    """The name under which a plan knows a file."""
    return os.path.realpath(path)


def code_of(path: str, plan: Plan) -> CodeType:
    """The code to run for a planned file: its replaced text, or its own with probes.

    Raises what compiling the text on disk would raise.
    """
    name = resolved(path)
    replaced = plan.sources.get(name)
    source = Path(replaced or path).read_bytes()
    targets = plan.targets.get(name, ())
    if not targets:
        return compile(_defining(ast.parse(source, path), plan, name, True), path, "exec", dont_inherit=True)
    first = max(REGISTRY.functions, default=-1) + 1
    probed = insert_probes(source, path, targets, max(REGISTRY.placed, default=-1) + 1, first)
    for placed in probed.placed:
        REGISTRY.placed[placed.number] = placed
    for offset, function in enumerate(probed.functions):
        REGISTRY.functions[first + offset] = Function(name, function)
    if plan.defines(name):
        REGISTRY.trees[name] = copy.deepcopy(probed.tree)
    return compile(_defining(probed.tree, plan, name), path, "exec", dont_inherit=True)


def _defining(tree: ast.Module, plan: Plan, name: str, whole: bool = False) -> ast.Module:
    if plan.defines(name):
        from stablelint.runtime.verify.probe.definitions import only_definitions

        only_definitions(tree, whole)
    return tree


def _hook_loader(plan: Plan) -> None:
    loader = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        if (name := resolved(path)) in plan.files or plan.defines(name):
            return code_of(path, plan)
        return original(self, fullname)

    setattr(loader, "get_code", get_code)  # noqa: B010


def _hook_run_path(plan: Plan) -> None:
    """`runpy.run_path`, which spawned workers use for the main module, reads files past the loaders."""
    original = getattr(runpy, "_get_code_from_file", None)
    if original is None:
        return

    def get_code(*arguments: str) -> object:
        path = arguments[-1]
        if resolved(path) in plan.files:
            code = code_of(path, plan)
            return (code, path) if len(arguments) > 1 else code
        return original(*arguments)

    setattr(runpy, "_get_code_from_file", get_code)  # noqa: B010


def _relaunch_script(plan: Plan) -> None:
    """Start `python script.py` again through the launcher: the interpreter reads a main script by itself."""
    argv: list[str] = getattr(sys, "argv", [])
    if not argv or argv[0] in ("-c", "-m", "") or os.environ.get(_RELAUNCHED) == str(os.getpid()):
        return
    if resolved(argv[0]) not in plan.files or not os.path.isfile(argv[0]):
        return
    launcher = str(Path(__file__).with_name("launch.py"))
    options = sys.orig_argv[1 : len(sys.orig_argv) - len(argv)]
    os.environ[_RELAUNCHED] = str(os.getpid())
    os.execv(sys.executable, [sys.orig_argv[0], *options, launcher, *argv])


def _mark_constant() -> None:
    if (calls := _loaded("calls")) is not None:
        calls.mark_constant()


def _finish() -> None:
    plan = REGISTRY.plan
    if plan is None or "torch" not in sys.modules:
        return
    try:
        _finished(plan)
    except KeyboardInterrupt:
        return
    except Exception as error:  # at exit nothing is left to handle it
        sys.stderr.write(f"stablelint: what this process recorded is incomplete: {error}\n")


def _finished(plan: Plan) -> None:
    """Judge the functions, search for bad operands where that is wanted, and write everything that was recorded."""
    if (watch := _loaded("watch")) is not None:
        watch.flush()
    if (recorder := _loaded("recorder")) is None:
        return
    recorder.RECORDER.note_raised()
    recorder.RECORDER.flush()  # first, lest a search that is killed loses what the command showed
    from stablelint.runtime.verify.probe.judge import call_again

    call_again(plan)


def _loaded(name: str) -> Any:
    """A module of the probe, where this process has come to need it."""
    return sys.modules.get(f"{__package__}.{name}")


def _forked() -> None:
    if (recorder := _loaded("recorder")) is not None:
        recorder.RECORDER.forked()
    if (watch := _loaded("watch")) is not None:
        watch.forked()
    # children of multiprocessing leave by os._exit and run their own finalizers only
    from multiprocessing import util

    util.register_after_fork(REGISTRY, lambda _: util.Finalize(None, _finish, exitpriority=0))
