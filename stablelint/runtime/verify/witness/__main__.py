"""The process that calls functions with made arguments: `python -m stablelint.runtime.verify.witness SECONDS`.

It runs under a plan of probes, as any command does, and tries the targets of that plan. Each file is loaded and tried in
a forked child of its own, with limits on time and memory; a file is loaded for its definitions alone.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import torch

from stablelint.runtime.process.confined import confine, in_child
from stablelint.runtime.verify.probe.plan import REGISTRY, Plan, Target
from stablelint.runtime.verify.probe.recorder import RECORDER
from stablelint.runtime.verify.witness import stand_in
from stablelint.runtime.verify.witness.objects import Maker
from stablelint.runtime.verify.witness.project import Project, read_project
from stablelint.runtime.verify.witness.stand_in import OnCpu
from stablelint.runtime.verify.witness.trial import UNENDED, Loaded, try_sites, without_call

_MEMORY = 6 << 30  # bytes of data that a child may hold
_FILE_SECONDS = 60  # of the processor
_SHARES = 3  # of the time that is left, divided among the files that are left, that one of them may take
_LEAST_SECONDS = 10.0
_WAITING = 4  # times its share of the processor that a file may take, for the machine may be busy


def main(seconds: float) -> int:
    """Try all targets of the plan; what a child could not do, its report says. Returns 0."""
    torch.set_num_threads(1)
    # what the first optimizer loads takes longer than a call may: it is there for all files
    torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)
    plan = REGISTRY.plan
    assert plan is not None
    project = read_project(plan.targets, plan.definitions)
    deadline = time.perf_counter() + seconds
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as nowhere:
        os.chdir(nowhere)  # what a function writes by a relative name is not the project's
        for left, path in zip(range(len(plan.targets), 0, -1), plan.targets, strict=True):
            now = time.perf_counter()
            if now > deadline:
                break
            share = max(_LEAST_SECONDS, _SHARES * (deadline - now) / left)
            _try_isolated(path, plan, project, min(deadline, now + share))
    return 0


def _try_isolated(path: str, plan: Plan, project: Project, deadline: float) -> None:
    """Try one file in a child, and once more without the functions of which a call did not end."""
    targets = plan.targets[path]
    limit = min(deadline, time.perf_counter() + _WAITING * _FILE_SECONDS)
    if not hasattr(os, "fork"):
        _try_file(path, targets, plan, project, deadline=limit, report=_new_report(plan.folder))
        return
    late: str | None = ""
    while targets and late is not None and time.perf_counter() < limit:
        report = _new_report(plan.folder)

        def work(left: Sequence[Target] = targets, report: Path = report) -> None:
            _bounded()
            _try_file(path, left, plan, project, deadline=limit, report=report)

        late = in_child(work, limit)
        shown = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        for each in shown.values():
            if late and each["why"] == UNENDED:
                each["why"] = f"a call did not come to its end: {late}"
        report.write_text(json.dumps(shown), encoding="utf-8")
        targets = tuple(target for target in targets if target.id not in shown) if shown else ()


def _new_report(folder: str) -> Path:
    """A file of its own for what is seen of functions."""
    return Path(folder, f"function-{len(list(Path(folder).glob('function-*.json')))}.json")


def _bounded() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        seconds = int(time.process_time()) + _FILE_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _try_file(
    path: str, targets: Sequence[Target], plan: Plan, project: Project, *, deadline: float, report: Path
) -> None:
    root = plan.definitions
    confine(os.getcwd(), plan.folder)
    stand_in.stand_in_for_all()
    try:
        with _linked_folder(root), OnCpu():
            module = load(path, root)
        with OnCpu():
            maker = Maker(vars(module), project)
            file = Loaded(module, project.sources[path], plan.fixes, maker, deadline)
            try_sites(file, targets, report)
    except (Exception, SystemExit) as error:  # a module may raise anything while it is loaded
        first = str(error).partition("\n")[0]
        why = f"its module could not be loaded: {type(error).__name__}: {first}"
        report.write_text(json.dumps(without_call(targets, why)), encoding="utf-8")
    RECORDER.flush()


@contextlib.contextmanager
def _linked_folder(root: str) -> Iterator[None]:
    """Work in a folder through which the files of the project are read, and in which new ones are written."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for entry in os.scandir(root):
            with contextlib.suppress(OSError):
                os.symlink(entry.path, os.path.join(folder, entry.name))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def load(path: str, root: str) -> ModuleType:
    """The module of a file, under the name that its packages give it. Raises what loading it raises.

    Modules beside it are found, and those in the folders up to `root`: a script there may be what imports it.
    """
    folder, names = os.path.dirname(path), [os.path.splitext(os.path.basename(path))[0]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    folders = [folder]
    while folders[-1].startswith(root + os.sep):
        folders.append(os.path.dirname(folders[-1]))
    sys.path[:0] = [*folders, os.path.dirname(path)]
    sys.argv = [path]
    local = {entry.removesuffix(".py") for each in folders for entry in os.listdir(each)}
    stand_in.stand_in_for_absent(
        frozenset({names[0]} | {name for name in local if name.isidentifier()}), root
    )
    if names[-1] == "__init__":
        names.pop()
    with open(os.devnull, "w", encoding="utf-8") as quiet, contextlib.redirect_stdout(quiet):
        try:
            return importlib.import_module(".".join(names))
        except Exception:
            if len(names) == 1:
                raise
            return _alone(path, names[-1])


def _alone(path: str, name: str) -> ModuleType:
    """The file without its packages, whose own modules may need what is not there."""
    spec = importlib.util.spec_from_file_location(f"_stablelint_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1])))
