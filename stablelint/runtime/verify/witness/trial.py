"""The sites of one file, tried: its functions are called with made arguments, healthy ones first."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import torch

from stablelint.runtime.process.confined import limited
from stablelint.runtime.verify.outcome import FunctionShown
from stablelint.runtime.verify.probe.install import resolved
from stablelint.runtime.verify.probe.plan import REGISTRY, Target
from stablelint.runtime.verify.probe.recorder import RECORDER, Watched
from stablelint.runtime.verify.replay.evaluate import SEED, flatten
from stablelint.runtime.verify.replay.function import judged, rebuilt
from stablelint.runtime.verify.witness.arguments import Arguments, options, with_argument, written
from stablelint.runtime.verify.witness.objects import Maker, namespace
from stablelint.runtime.verify.witness.part import part_around
from stablelint.runtime.verify.witness.search import NO_GRADIENT, Failure, accepted, failure_of
from stablelint.runtime.verify.witness.stand_in import is_absent, supplied
from stablelint.runtime.verify.witness.subject import Around, Subject, UnmadeError, around, subjects
from stablelint.runtime.verify.witness.uses import uses_of
from stablelint.runtime.verify.witness.variants import simplified, variants

_FUNCTION_SECONDS = 6.0
_PART_SECONDS = 1.5
_FAILING = 4  # statements of a part that are left out, for they raise
_CALL_SECONDS = 2.0
_TRIED = 120  # assignments that are tried for one that is accepted
UNENDED = "no time was left"  # is said of a function for as long as it is tried
_HEALTHY = 2  # healthy calls of a site that are kept


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call with made arguments, evaluated anew each time."""

    subject: Subject
    arguments: Arguments
    grad: bool = True

    @property
    def line(self) -> str:
        """The call as it can be pasted."""
        if self.subject.part is not None:
            spelled = self.subject.part.spelled
            given = ", ".join(f"{spelled.get(each.name, each.name)}={each.text}" for each in self.arguments)
            return f"{self.subject.part.rows} with {given}" if given else self.subject.part.rows
        return f"{self.subject.head}({written(self.arguments)})"

    def __call__(self, function: Callable[..., object]) -> tuple[object, Mapping[str, object]]:
        """What the function returns, and its arguments by name."""
        scope = namespace(self.subject.function.__globals__)
        own = {"self": self.subject.owner()} if self.subject.owner is not None else {}
        torch.default_generator.manual_seed(SEED)
        values = {each.name: self._requiring_grad(eval(each.text, scope)) for each in self.arguments}
        positional = [values[each.name] for each in self.arguments if not each.keyword]
        named = {each.name: values[each.name] for each in self.arguments if each.keyword}
        return function(*own.values(), *positional, **named), own | values

    def _requiring_grad(self, value: object) -> object:
        match value:
            case torch.Tensor() if value.is_floating_point() and self.grad:
                return value.detach().clone().requires_grad_()
            case list():
                return [self._requiring_grad(item) for item in value]
        return value


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file that was loaded to have its sites tried."""

    module: ModuleType
    source: str
    fixes: Mapping[str, str]  # by site, the file that holds the whole text with its fix
    maker: Maker
    deadline: float


def try_sites(file: Loaded, targets: Sequence[Target], report: Path) -> None:
    """Try the sites of a loaded module; what is seen is recorded by the probes, and judged in `report`."""
    tree = ast.parse(file.source)
    shown: dict[str, object] = {}
    groups: dict[Around | None, list[Target]] = {}
    for target in targets:
        groups.setdefault(around(tree, target.start[0]), []).append(target)
    for place, group in groups.items():
        report.write_text(json.dumps(shown | without_call(group, UNENDED)), encoding="utf-8")
        try:
            shown |= _Trial(file, place, group).run()
        except Exception as error:  # one function that cannot be tried must not cost the others
            shown |= without_call(group, f"internal error: {type(error).__name__}: {error}")
        report.write_text(json.dumps(shown), encoding="utf-8")
        RECORDER.flush()


def without_call(targets: Sequence[Target], why: str) -> dict[str, object]:
    """What is shown of sites for which nothing was called."""
    return {target.id: asdict(FunctionShown(why=why)) for target in targets}


class _Trial:
    """One function and its sites."""

    def __init__(self, file: Loaded, place: Around | None, targets: Sequence[Target]) -> None:
        self._file, self._place, self._sites = file, place, targets
        self._until = time.process_time() + _FUNCTION_SECONDS
        self._witness: dict[str, MadeCall] = {}
        self._felt: dict[str, MadeCall] = {}  # calls with a bad gradient alone
        # Calls that came by, and all was well.
        self._well: dict[str, list[MadeCall]] = {target.id: [] for target in targets}
        self._furthest = Failure("")  # of the call that came furthest
        decorators = " ".join(ast.unparse(each) for each in place.function.decorator_list) if place else ""
        self._grad = not ("no_grad" in decorators or "inference_mode" in decorators)

    def run(self) -> dict[str, object]:
        """What was seen of each site."""
        if self._place is not None:
            self._explore_function(self._place)
        for site in self._sites:
            if not self._shows(site):
                self._explore_parts(site)
        return {site.id: asdict(self._judged(site)) for site in self._sites}

    def _shows(self, site: Target) -> bool:
        return bool(self._well[site.id]) or site.id in self._witness or site.id in self._felt

    def _explore_function(self, place: Around) -> None:
        try:
            for subject in subjects(place, self._file.module, self._file.maker):
                self._explore(subject)
                if self._is_over() or self._is_reached():
                    break
        except UnmadeError as error:
            self._furthest = Failure(str(error))

    def _explore_parts(self, site: Target) -> None:
        """Call the statements that make a site's value by themselves, without those of them that fail."""
        path, scope, whole = str(self._file.module.__file__), vars(self._file.module), self._furthest
        tree = REGISTRY.trees.get(resolved(path))
        known = {name for name, value in scope.items() if not is_absent(value)}
        row, failing = site.start[0], set[int]()
        while tree is not None and not self._shows(site) and row not in failing:
            part = part_around(tree, row, known, failing)
            if part is None or len(failing) > _FAILING:
                break
            code = compile(ast.Module([part.node], []), path, "exec", dont_inherit=True)
            made = FunctionType(next(each for each in code.co_consts if isinstance(each, CodeType)), scope)
            self._until, self._furthest = time.process_time() + _PART_SECONDS, Failure("")
            self._explore(Subject("", made, part.bare, part=part))
            before = len(failing)
            failing |= {*self._furthest.rows[:1]}
            if len(failing) == before:
                break
        self._furthest = whole if whole.message else self._furthest

    def _is_over(self) -> bool:
        out_of_time = time.process_time() > self._until or time.perf_counter() > self._file.deadline
        return out_of_time or self._witness.keys() >= self._well.keys()

    def _is_reached(self) -> bool:
        """Whether some call came to every site."""
        return all(well or name in self._witness for name, well in self._well.items())

    def _explore(self, subject: Subject) -> None:
        """Healthy calls and their variants; where a site lies in another branch, calls with another option."""
        uses = uses_of(subject.node, subject.takes_self)
        known = self._file.maker.known
        guesses = self._file.maker.guesses(subject.name, uses)
        tried = accepted(uses, guesses, lambda each: self._try_first(subject, each), _TRIED, known)
        first = next(tried, None)
        if first is None:
            return
        self._vary(subject, first)
        others = list(options(uses, known))
        for chosen in (*([each] for each in others), {each.name: each for each in reversed(others)}.values()):
            if self._is_over() or self._is_reached():
                return
            changed = reduce(with_argument, chosen, first)
            if self._try(MadeCall(subject, changed, self._grad)) is None:
                self._vary(subject, changed)

    def _vary(self, subject: Subject, arguments: Arguments) -> None:
        for changed in variants(arguments):
            if self._is_over():
                return
            self._try(MadeCall(subject, changed, self._grad), "varied")

    def _try_first(self, subject: Subject, arguments: Arguments) -> Failure | None:
        """The failure of a call with these arguments; once the time is over all of them fail."""
        if self._is_over():
            return Failure("no time is left")
        failure = self._try(MadeCall(subject, arguments, self._grad))
        if failure is not None and any(text in failure.message for text in NO_GRADIENT):
            self._grad = False  # it writes into its arguments, or leaves torch with them
            failure = self._try(MadeCall(subject, arguments, self._grad))
        if failure is not None and (not self._furthest.message or failure.rows > self._furthest.rows):
            self._furthest = failure
        return failure

    def _try(self, call: MadeCall, origin: str = "made") -> Failure | None:
        """Call the function under the probes; the failure that it raised. Sites that go wrong get their witness."""
        origin = "part" if call.subject.part is not None else origin
        RECORDER.frames.clear()  # of what earlier calls have raised
        before = {each.id: (each.calls, _failed(each), each.bad_gradients) for each in _targets()}
        RECORDER.origin, RECORDER.mocked = origin, False
        error = None
        try:
            silent = contextlib.redirect_stdout(io.StringIO())
            with limited(_CALL_SECONDS, call.line), silent, _in_new_folder():
                _backpropagate(call(call.subject.function)[0])
        except (Exception, SystemExit) as raised:
            error = failure_of(raised, self._file.maker.project.lines)
            if supplied(error.message):
                return self._try(call, origin)
            if isinstance(raised, ArithmeticError):
                RECORDER.note_raised()  # a division of Python's by zero is one like any other
        if error is None and RECORDER.mocked:
            error = Failure("nothing is computed of a stand-in")
        for watched in _targets():
            calls, results, gradients = before.get(watched.id, (0, 0, 0))
            bad = _failed(watched) > results, watched.bad_gradients > gradients
            self._note(watched, call, *bad)
            well = self._well.get(watched.id)
            if well is not None and error is None and watched.calls > calls and not any(bad):
                well += [call] if len(well) < _HEALTHY else []
        return error

    def _note(self, watched: Watched, call: MadeCall, result: bool, gradient: bool) -> None:
        """A bad result is the site's own; a bad gradient may have come from behind it, and is no reason to stop."""
        failing = watched.sample.failing
        if result and failing and watched.id not in self._witness:
            self._witness[watched.id] = call
            failing[:] = failing[-1:]
        elif gradient and failing:
            self._felt.setdefault(watched.id, call)
            del failing[1:]

    def _judged(self, site: Target) -> FunctionShown:
        witness, well = self._witness.get(site.id) or self._felt.get(site.id), self._well[site.id]
        if witness is None and not well:
            return FunctionShown(why=self._furthest.message or "no call of its function came here")
        shown = FunctionShown()
        subject = (witness or well[0]).subject
        original = rebuilt(subject.function, self._file.source.encode())
        if original is not None:
            file = self._file.fixes.get(site.id)
            fixed = rebuilt(subject.function, Path(file).read_bytes()) if file else None
            RECORDER.listen(Watched())
            try:
                shown = judged(original, fixed, witness, well)
                witness = (witness and self._simpler(witness, original, shown)) or witness
            finally:
                RECORDER.listen(None)
        line = witness.line if witness is not None else None
        return replace(shown, line=line, healthy_line=well[0].line if well else None)

    def _simpler(
        self, witness: MadeCall, original: Callable[..., object], shown: FunctionShown
    ) -> MadeCall | None:
        """The witness with ones for what was drawn, where the function gives the same with it."""
        simple = replace(witness, arguments=simplified(witness.arguments))
        same = judged(original, None, simple, ())
        alike = (same.original, same.original_text) == (shown.original, shown.original_text)
        return simple if alike and shown.original != "finite" else None


@contextlib.contextmanager
def _in_new_folder() -> Iterator[None]:
    """Work where nothing is: a call may ask whether what an earlier one has written is there."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.chdir(folder):
        yield


def _targets() -> list[Watched]:
    return list(RECORDER.targets.values())


def _failed(watched: Watched) -> int:
    """How often the site gave no finite result."""
    return watched.bad_results + watched.raised


def _backpropagate(result: object) -> None:
    """Take the gradient of what the function returned, so that the probes see it."""
    outputs = [item for item in flatten(result) if item.is_floating_point() and item.requires_grad]
    if outputs:
        torch.stack([item.double().sum() for item in outputs]).sum().backward()
