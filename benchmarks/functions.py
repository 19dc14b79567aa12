"""Functions of real packages before and after their fixes, called with made arguments and compared.

Each function is taken that the safe fixes of a release change, and then each that the others change. The released
module is imported, the function is built anew from the fixed text in the same module, and both are called with the same
arguments (`stablelint.runtime.verify.witness` makes them) in several element types; `tests.codemod.differential.judge`
compares what they give. What a package imports and is not installed is replaced by an empty stand-in, so that functions
of tensors can be called without it.
"""

import ast
import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import torch
from diffs import edit_of

from stablelint.codemod.text.edits import apply_edits, select
from stablelint.diagnostic import UNMET, Applicability, Fix
from stablelint.runtime.verify.replay.function import rebuilt
from stablelint.runtime.verify.witness.__main__ import load
from stablelint.runtime.verify.witness.arguments import Argument, Arguments, written
from stablelint.runtime.verify.witness.objects import Maker, namespace
from stablelint.runtime.verify.witness.project import Project
from stablelint.runtime.verify.witness.search import NO_GRADIENT, Failure, accepted, failure_of
from stablelint.runtime.verify.witness.stand_in import OnCpu, supplied
from stablelint.runtime.verify.witness.subject import Around, Subject, UnmadeError, around, subjects
from stablelint.runtime.verify.witness.uses import uses_of
from tests.codemod.differential.judge import Case, Difference, compared, outcome

# What a safe fix must leave alone, and an unsafe one, whose page tells of integers.
_SORTS = {
    True: ("float32", "float64", "float16", "bfloat16", "int64", "complex64"),
    False: ("float32", "float64", "bfloat16", "float16"),
}
_SECONDS = 3.0  # of a function, for finding arguments that it takes and for all comparisons
_FILE_SECONDS = 90.0  # of the processor
_WAITING = 8  # times as long may a file take, for the machine may be busy
_TRIED = 60
_CALLS = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One function that fixes change: `verdict` is equal, different, refuses (integers), uncalled or unloadable."""

    package: str
    file: str
    function: str
    safe: bool
    codes: tuple[str, ...]
    verdict: str
    calls: int = 0
    cases: int = 0
    note: str = ""


Fixed = dict[
    str, tuple[bytes, frozenset[str]]
]  # a file's text with its fixes, and the rules that have made them


def fixes(tree: Path) -> dict[bool, Fixed]:
    """The files of a release with the fixes that `check` offers, by whether they have got the safe ones alone."""
    command = [sys.executable, "-m", "stablelint", "check", "--level", "possible", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--cache-dir", f"{tree}.cache", "."], cwd=tree, capture_output=True, text=True
    )
    offered: dict[bool, dict[str, list[dict[str, Any]]]] = {True: {}, False: {}}
    for item in json.loads(done.stdout):
        fix = item["fix"] or {"edits": []}
        # A function is of one file, and none of a notebook is imported.
        here = "cell" not in item and not any("filename" in edit for edit in fix["edits"])
        given = fix.get("applicability", "display") if here else "display"
        given = "unsafe" if here and fix.get("caution") == UNMET else given
        for safe in (True, False) if given == "safe" else (False,) if given == "unsafe" else ():
            name = os.path.relpath(tree / item["filename"], tree)
            offered[safe].setdefault(name, []).append(item)
    return {
        safe: {name: _fixed(tree / name, items) for name, items in offered[safe].items()} for safe in offered
    }


def _fixed(path: Path, items: list[dict[str, Any]]) -> tuple[bytes, frozenset[str]]:
    made = [
        Fix(Applicability(item["fix"]["applicability"]), "", tuple(map(edit_of, item["fix"]["edits"])))
        for item in items
    ]
    taken, _ = select(made)
    edits = [edit for index in taken for edit in made[index].edits]
    return apply_edits(path.read_bytes(), edits), frozenset(items[index]["code"] for index in taken)


def changed(before: str, after: str) -> list[Around]:
    """The outermost functions of `before` that `after` has otherwise."""
    tree = ast.parse(before)
    old = {_name(place): place for place in _functions(tree)}
    new = {_name(place): place for place in _functions(ast.parse(after))}
    return [
        place
        for name, place in old.items()
        if name in new and ast.dump(place.function) != ast.dump(new[name].function)
    ]


def _functions(tree: ast.Module) -> Iterator[Around]:
    rows = (
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    seen: set[str] = set()
    for row in rows:
        place = around(tree, row)
        if place is not None and _name(place) not in seen:
            seen.add(_name(place))
            yield place


def _name(place: Around) -> str:
    """A function's name, behind that of its class."""
    return f"{place.owner.name}.{place.function.name}" if place.owner else place.function.name


def compare(package: str, tree: Path) -> Iterator[Row]:
    """The rows of a release; each file is tried in a child of its own."""
    files = sorted(tree.rglob("*.py"))[:400]
    project = Project({os.fspath(path): path.read_text("utf-8", "replace") for path in files})
    taken: set[tuple[str, str]] = set()
    for safe, fixed in fixes(tree).items():
        for name, (source, codes) in sorted(fixed.items()):
            places = changed((tree / name).read_text("utf-8"), source.decode("utf-8"))
            places = [place for place in places if (name, _name(place)) not in taken]
            taken.update((name, _name(place)) for place in places)
            if places:
                with contextlib.suppress(BaseException), _limited(60.0):
                    _imported(tree / name, tree)  # once for all children
                trial = Trial(package, name, tree, source, safe, tuple(sorted(codes)), places, project)
                yield from _apart(trial)


@dataclass(frozen=True, slots=True)
class Trial:
    """One file: its text with fixes, the functions that they change, and the release that it is of."""

    package: str
    name: str
    tree: Path
    source: bytes
    safe: bool
    codes: tuple[str, ...]
    places: list[Around]
    project: Project

    def row(self, place: Around, verdict: str, note: str = "") -> Row:
        """What was seen of a function."""
        return Row(self.package, self.name, _name(place), self.safe, self.codes, verdict, note=note[:120])


def _imported(path: Path, tree: Path) -> ModuleType:
    with OnCpu():
        return load(os.fspath(path), os.fspath(tree))


def _apart(trial: Trial) -> Iterator[Row]:
    """The rows of a file, made by a child: what it imports, and what ends it, stays there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with contextlib.suppress(BaseException), os.fdopen(writing, "w") as pipe:
            resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + _FILE_SECONDS),) * 2)
            for row in _rows(trial):
                pipe.write(json.dumps(asdict(row)) + "\n")
                pipe.flush()
        os._exit(0)
    os.close(writing)
    # What is called may wait for ever.
    end = threading.Timer(_WAITING * _FILE_SECONDS, os.kill, (child, signal.SIGKILL))
    end.start()
    with os.fdopen(reading) as pipe:
        told = [Row(**json.loads(line)) for line in pipe]
    end.cancel()
    os.waitpid(child, 0)
    yield from told
    yield from (trial.row(place, "unloadable", "the process ended") for place in trial.places[len(told) :])


def _rows(trial: Trial) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    sys.stdout = sys.stderr = io.StringIO()
    try:
        module = _imported(trial.tree / trial.name, trial.tree)
    except BaseException as error:
        yield from (trial.row(place, "unloadable", _said(error)) for place in trial.places)
        return
    maker = Maker(vars(module), trial.project)
    for place in trial.places:
        try:
            with OnCpu():
                row = _tried(trial.row(place, "uncalled"), place, module, trial.source, maker)
            yield row
        except UnmadeError as error:
            yield trial.row(place, "uncalled", str(error))
        except Exception as error:
            yield trial.row(place, "uncalled", _said(error))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _tried(row: Row, place: Around, module: ModuleType, source: bytes, maker: Maker) -> Row:
    until = time.process_time() + _SECONDS
    calls = cases = 0
    failures: list[Failure] = []
    for subject in subjects(place, module, maker):
        new = rebuilt(subject.function, source)
        if new is None:
            return replace(row, verdict="unloadable", note="it cannot be built from the fixed text")
        for call in _accepted(subject, maker, until, failures):
            calls += 1
            for sort in _SORTS[row.safe]:
                for found in _case(call, new, sort):
                    cases += 1
                    if found is not None:
                        text = f"{found.what} for {sort}: {call.line}: {found.note}"
                        verdict = (
                            "refuses" if found.what == "refuses integers" and not row.safe else "different"
                        )
                        return replace(row, verdict=verdict, calls=calls, cases=cases, note=text[:300])
            if cases and calls >= _CALLS:
                break
        if cases:
            return replace(row, verdict="equal", calls=calls, cases=cases)
    note = "no result was finite" if calls else _furthest(failures)
    return replace(row, calls=calls, note=note[:120])


def _furthest(failures: list[Failure]) -> str:
    """What the call raised that came furthest."""
    best = max(failures, key=lambda each: each.rows, default=None)
    return best.message.partition("\n")[0] if best else "no arguments were found that it takes"


@dataclass(frozen=True, slots=True)
class Call:
    """A function with arguments; `scaled` is what becomes of those that are drawn, `grad` whether they want one."""

    subject: Subject
    arguments: Arguments
    scaled: str = "{0}"
    grad: bool = True

    @property
    def line(self) -> str:
        """The call as it can be pasted."""
        return f"{self.subject.head}({written(tuple(map(self._drawn, self.arguments)))})"

    def _drawn(self, one: Argument) -> Argument:
        drawn = one.kind == "tensor" and one.floating and self.scaled != "{0}"
        return replace(one, given=self.scaled.format(one.text)) if drawn else one

    def given(self, sort: str) -> list[object]:
        """The values of the arguments in an element type."""
        scope = namespace(self.subject.function.__globals__)
        torch.default_generator.manual_seed(0)
        return [_as_sort(eval(self._drawn(each).text, scope), sort, self.grad) for each in self.arguments]

    def __call__(self, function: Callable[..., object], sort: str, *values: object) -> object:
        """What a function gives for the values, an object made anew in their element type; a constructor the object."""
        owner = [] if self.subject.owner is None else [self.subject.owner()]
        starts = self.subject.node.name == "__init__"
        if owner and not starts and isinstance(owner[0], torch.nn.Module) and "float" in sort:
            owner[0].to(getattr(torch, sort))
        pairs = list(zip(self.arguments, values, strict=True))
        named = {each.name: value for each, value in pairs if each.keyword}
        given = function(*owner, *(value for each, value in pairs if not each.keyword), **named)
        return owner[0] if starts and owner else given


# Where the result of numbers in [0, 1] is not finite, small, large and signed ones may be of the domain.
_SCALED = ("{0}", "0.1 * {0}", "1 + {0}", "{0} - 0.5")


def _accepted(subject: Subject, maker: Maker, until: float, failures: list[Failure]) -> Iterator[Call]:
    grad = True

    def attempt(arguments: Arguments) -> Failure | None:
        nonlocal grad
        if time.process_time() > until:
            return Failure("no time is left")
        call = Call(subject, arguments, grad=grad)
        try:
            with _limited(2.0):
                call(subject.function, "float32", *map(_passed, call.given("float32")))
        except Exception as error:  # a function may raise anything
            failure = failure_of(error, maker.project.lines)
            if supplied(failure.message):
                return attempt(arguments)
            if grad and any(text in failure.message for text in NO_GRADIENT):
                grad = False
                return attempt(arguments)
            failures.append(failure)
            return failure
        return None

    uses = uses_of(subject.node, subject.takes_self)
    for taken in accepted(uses, maker.guesses(subject.name, uses), attempt, _TRIED, maker.known):
        yield from (Call(subject, taken, scaled, grad) for scaled in _SCALED)


def _passed(value: object) -> object:
    """A tensor as the result of an operation, so that it may be written."""
    return value * 1 if isinstance(value, torch.Tensor) and value.requires_grad else value


def _as_sort(value: object, sort: str, grad: bool) -> object:
    match value:
        case torch.Tensor() if value.is_floating_point():
            if sort == "int64":
                return (value * 4 + 1).long()
            if sort == "complex64":
                return torch.complex(value, 0.5 * value)
            return value.to(getattr(torch, sort)).requires_grad_(grad)
        case list():
            return [_as_sort(item, sort, grad) for item in value]
    return value


def _case(call: Call, new: Callable[..., object], sort: str) -> Iterator[Difference | None]:
    """The comparison for one element type; nothing where the old function refuses it or is not the same twice."""
    case, old = Case(sort, ()), call.subject.function

    def run(function: Callable[..., object], double: bool = False) -> tuple[list[object], str | None]:
        kind = "float64" if double else sort
        with _limited(2.0), contextlib.redirect_stdout(io.StringIO()):
            return outcome(lambda *values: call(function, kind, *values), call.given(kind))

    try:
        before, failed = run(old)
        if failed is not None or not all(map(_is_finite, before)):
            return  # the operands are not healthy ones
        again, _ = run(old)
        if next(compared(before, again, before, case), None) is not None:
            return
        after, failed = run(new)
        exact = run(old, double=True)[0] if "float" in sort else before
    except TimeoutError:
        return
    if failed is not None:
        integers = any(each.kind == "labels" for each in call.arguments)
        # There is no `torch.finfo` of integers, and no softplus.
        refuses = integers and failed in ("TypeError", "NotImplementedError")
        yield Difference("refuses integers" if refuses else "raises", case, failed)
        return
    yield next(compared(before, after, exact if len(exact) == len(before) else before, case), None)


def _is_finite(value: object) -> bool:
    return not isinstance(value, torch.Tensor) or bool(torch.isfinite(value).all())


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
