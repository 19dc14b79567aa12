"""The rest of a step that failed, run on with repairs in a forked copy of the process, to see how far it goes.

The copy writes no file, reaches no network, prints nothing, and hands back only what it met.
"""

from __future__ import annotations

import ast
import functools
import math
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile
from typing import Any, NamedTuple

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from stablelint.runtime.crash.explanation import Operand
from stablelint.runtime.crash.expression import node_at, parsed, value_of
from stablelint.runtime.crash.provenance.anew import by_script, rest_of_step
from stablelint.runtime.crash.provenance.history import History, Past, history
from stablelint.runtime.crash.provenance.scopes import converted
from stablelint.runtime.crash.repairs.constructors import constructed, line_of
from stablelint.runtime.crash.repairs.edits import Edit, Revision, Setting, make
from stablelint.runtime.crash.repairs.search import Repair
from stablelint.runtime.crash.scene import Scene, is_broadcast
from stablelint.runtime.crash.source import expression_at, function_at, statement_at
from stablelint.runtime.process.confined import confine, is_effect
from stablelint.runtime.process.copies import Budget, can_copy, said_by_copy
from stablelint.runtime.program.frames import user_frames
from stablelint.runtime.program.location import Location
from stablelint.runtime.tensors.measure import dtype_name

_PICKED = re.compile(r"[\w.]+\[[a-z]\w*\]")  # one of several, which a name tells
_SECONDS = 8.0  # for all copies
_MOST_CHAINED = 4  # repairs of errors that follow upon each other
_LONGEST = 160  # characters of an error
_MOST_FOLLOWED = 3  # repairs of each error that follows
_MOST_PLACES = 4  # where the same is tried instead

Repairs = Callable[[Scene], list[Repair]]


class Met(NamedTuple):
    """What the rest of a step met."""

    error: str = ""  # nothing where it went through backward, or to its end
    row: int = 0
    repairs: tuple[Repair, ...] = ()  # of that error
    idle: int = 0  # parameters that an optimizer stepped without a gradient, at most
    spread: int = 0  # lines where two tensors gave more elements than either has


@dataclass
class Onward:
    """Tries repairs on the rest of a step, each in a copy of the process."""

    scene: Scene
    repairs: Repairs  # those of an error
    budget: Budget = field(default_factory=lambda: Budget(_SECONDS))

    def through(self, found: Iterable[Repair]) -> list[Repair]:
        """Those of some repairs with which the step goes on."""
        return [met for one in found if can_copy() and isinstance(met := self._tried((one,)), Repair)]

    def likely(self, found: Iterable[Repair]) -> list[Repair]:
        """Those with which the step goes on; else those of which nothing can be told."""
        tried = [(one, self._tried((one,)) if can_copy() else None) for one in found]
        passed = [met for _, met in tried if isinstance(met, Repair)]
        return passed or [replace(one, untried=True) for one, met in tried if met is None]

    def confirmed(self, found: list[Repair]) -> list[Repair]:
        """The repairs with which the program may go on, and what it takes further; else all, with what fails then."""
        if not can_copy():
            return found
        likely, further, short = list[Repair](), list[Repair](), list[Repair]()
        for one in found:
            if one.kind == "target":  # which is not to be another tensor where it is written
                made = next(filter(None, map(self.alone, _elsewhere(self.scene, one))), None)
                likely.append(made or replace(one, revisions=()))
                continue
            ways = chain(constructed(self.scene, one), _told_there(self.scene, one))
            written = next(filter(None, map(self.alone, ways)), None)
            met = written or self._tried((one,))
            asks = met is not None and (getattr(met, "revisions", ()) != one.revisions or met.spread > 0)
            several = any(_PICKED.fullmatch(getattr(each, "original", "")) for each in one.revisions)
            others = _elsewhere(self.scene, one) if (asks or several) and written is None else ()
            met = self._better(met, filter(None, map(self.alone, others)))
            if isinstance(met, Met):
                short.append(replace(one, until=f"; then line {met.row} fails: {met.error}"))
            else:
                is_chain = met is not None and len(met.revisions) > len(one.revisions)
                (further if is_chain else likely).append(met or one)
        return sorted(likely or further, key=lambda one: one.idle) or short

    @staticmethod
    def _better(met: Repair | Met | None, others: Iterable[Repair]) -> Repair | Met | None:
        """The first of other repairs after which no more lines spread tensors; of one that needs no other, fewer."""
        if not isinstance(met, Repair):
            return next(iter(others), met)
        most = met.spread - (len(met.revisions) == 1 and met.spread > 0)
        return next((one for one in others if one.spread <= most), met)

    def alone(self, one: Repair) -> Repair | None:
        """A repair, if the program goes on with nothing else."""
        met = self._tried((one,))
        return met if isinstance(met, Repair) and met.revisions == one.revisions else None

    def ends_the_step(self, revisions: Iterable[Revision]) -> bool:
        """Whether the rest of the step goes on to its end."""
        said = self._to_the_end_of_the_step([*revisions])
        met: Met | None = pickle.loads(said) if said else None
        return met is not None and not met.error

    def _tried(self, chain: tuple[Repair, ...]) -> Repair | Met | None:
        """All repairs of a chain as one, where the program goes on with them; None where that cannot be told."""
        revisions = [one for repair in chain for one in repair.revisions]
        if not all(one.revisions for one in chain):
            return None
        said = self._to_the_end(revisions) or self._to_the_end_of_the_step(revisions)
        met: Met | None = pickle.loads(said) if said else None
        if met is None or not met.error:
            whole = _joined(self.scene, chain)
            return replace(whole, idle=met.idle, spread=met.spread) if met is not None else None
        alike = sorted(met.repairs, key=lambda one: one.kind != chain[0].kind)[:_MOST_FOLLOWED]
        for one in alike if len(chain) < _MOST_CHAINED else ():
            again = {*map(_spot, one.revisions)} & {*map(_spot, revisions)}
            further = self._tried((*chain, one)) if not again else None
            if isinstance(further, Repair):
                return further
        return met

    def _to_the_end(self, revisions: list[Revision]) -> bytes:
        """What the whole script meets, revised; nothing where that cannot be told."""
        edits = [one for one in revisions if isinstance(one, Edit)]

        def told(then: Scene | None, steps: _Steps) -> bytes:
            met = _met(self.scene, then, self.repairs) if then is not None else None
            ended = Met(idle=steps.idle, spread=len(steps.spread))
            return pickle.dumps(met or ended) if then is None or met is not None else b""

        return by_script(self.scene, told, _Steps, edits) if len(edits) == len(revisions) else b""

    def _to_the_end_of_the_step(self, revisions: list[Revision]) -> bytes:
        left = self.budget.left
        work = functools.partial(_run_on, self.scene, revisions, self.repairs)
        return said_by_copy(lambda: pickle.dumps(work()), left) if left else b""


class _Steps(TorchFunctionMode):
    """The steps of optimizers in a copy of the process, and the lines where tensors met that spread each other."""

    def __init__(self) -> None:
        super().__init__()
        self.idle, self.spread = 0, set[tuple[str, int]]()

    def __enter__(self) -> _Steps:
        register_optimizer_step_pre_hook(self._count)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        met = [one.shape for one in args[:2] if isinstance(one, torch.Tensor)]
        if len(met) == 2 and met[0] != met[1] and isinstance(result, torch.Tensor):
            larger = result.numel() > max(map(math.prod, met))
            fit = larger and all(is_broadcast(one, result.shape) for one in met)
            if fit and torch.broadcast_shapes(*met) == result.shape:
                frames = user_frames(sys._getframe(1), 1)
                self.spread.update((one.f_code.co_filename, one.f_lineno) for one in frames)
        return result

    def _count(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        held = [one for group in optimizer.param_groups for one in group["params"]]
        self.idle = max(self.idle, sum(one.grad is None and one.requires_grad for one in held))


def changed(scene: Scene, operand: Operand, template: str, kind: str) -> Iterator[str]:
    """How an operand of what failed is changed so that the program goes on: there, or where it is made."""
    for repair in as_written(scene, operand, template, kind):
        yield from (one.told for one in Onward(scene, lambda _: []).confirmed([repair]))


def counted_anew(scene: Scene, operand: Operand, template: str) -> str | None:
    """How other numbers are made of an operand so that the program goes on: as far back as can be, for all readers."""
    onward, user = Onward(scene, lambda _: []), scene.user
    local = [*as_written(scene, operand, template, "cast")]
    whole = ast.parse(operand.name, mode="eval").body if local else ast.Constant(None)
    ways = scene.origins.expressions(user, whole)[::-1] if local else []
    tensors = chain.from_iterable(_elsewhere(scene, one) for one in local)
    cut = (
        _fractions(scene)
        if any((cast := cast_of(one)) and not cast[1].is_floating_point for one in local)
        else ()
    )
    ways = [one for one in ways if (one[1], one[0].lineno) not in cut]
    for repair in chain((as_of(scene, template, *way) for way in ways), tensors, local):
        if (found := onward.alone(repair)) is not None:
            return found.told
    return None


def by_edit(scene: Scene, edit: Edit) -> Repair:
    """An edit as a repair."""
    return Repair(edit.text, None, revisions=(edit,), where=line_of(scene, edit))


def before(scene: Scene, at: Location, text: str) -> list[Repair]:
    """Statements before the one at a place."""
    statement = statement_at(at)
    if statement is None:
        return []
    edit = Edit.of(statement, at.filename, f"{text}\n{ast.unparse(statement)}")
    return [Repair(text, None, revisions=(edit,), where=line_of(scene, edit).replace("in", "before", 1))]


def likely(scene: Scene, found: Iterable[Repair]) -> list[str]:
    """What is told of repairs, but for those with which the program fails."""
    return [one.told for one in Onward(scene, lambda _: []).likely(found)]


def passed(scene: Scene, found: Iterable[Repair]) -> list[str]:
    """What is told of those with which the program goes on."""
    return [one.told for one in Onward(scene, lambda _: []).through(found)]


def as_of(scene: Scene, template: str, node: ast.expr, filename: str) -> Repair:
    """An expression of the program in a template."""
    anew = template.replace("{}", f"({ast.unparse(node)})")
    text, edit = ast.unparse(ast.parse(anew, mode="eval")), Edit.of(node, filename, anew)
    return Repair(text, None, "cast", revisions=(edit,), where=line_of(scene, edit))


def as_written(scene: Scene, operand: Operand, template: str, kind: str) -> Iterator[Repair]:
    """An operand in a template, where it is written in what failed."""
    node, user = scene.node, scene.user
    parts = (one for one in ast.walk(node) if isinstance(one, ast.expr)) if node is not None else ()
    part = next((one for one in parts if ast.unparse(one) == operand.name), None)
    if part is not None:
        edit = Edit.of(part, user.site.code.co_filename, template.format(f"({operand.name})"))
        yield Repair(template.format(operand.owner), None, kind, revisions=(edit,))


def _spot(one: Revision) -> object:
    """What is revised."""
    return (one.filename, one.span) if isinstance(one, Edit) else one.layer


def _joined(scene: Scene, chain: tuple[Repair, ...]) -> Repair:
    """Several repairs as one, each with its line."""
    if len(chain) == 1:
        return chain[0]
    places = [one.where for one in chain]
    for place, one in enumerate(chain) if any(places) else ():  # else all are in the expression that failed
        edit = one.revisions[0]
        places[place] = one.where or (line_of(scene, edit) if isinstance(edit, Edit) else "")
    text = " and ".join(dict.fromkeys(one.text + at for one, at in zip(chain, places, strict=True)))
    revisions = tuple(each for one in chain for each in one.revisions)
    return replace(chain[0], text=text, revisions=revisions, where="")


def _elsewhere(scene: Scene, repair: Repair) -> Iterator[Repair]:
    """The same where an operand was handed on, and of what it was made of that has its dtype, or its shape."""
    past = history(scene) if len(repair.revisions) == 1 and isinstance(repair.revisions[0], Edit) else None
    for edit in repair.revisions if past is not None else ():
        assert isinstance(edit, Edit)
        assert past is not None
        way = past.way(edit.original, _like(past, edit.original, repair))
        order = way if repair.kind == "target" else way[::-1]
        places = [at for one in order if one.at is not None for at in _given_on((one.at, *one.callers))]
        places = [at for at in dict.fromkeys(places) if at != scene.location][:_MOST_PLACES]
        nodes = [(node, at.filename) for at in places if (node := expression_at(at)) is not None]
        template = edit.text.replace(f"({edit.original})", "{}")
        if repair.kind == "view":
            yield from _of_each_sample(scene, edit.original, template)
        for node, filename in (*nodes, *(_handed_on(scene, edit.original) if repair.kind == "view" else ())):
            yield replace(as_of(scene, template, node, filename), kind=repair.kind, shape=repair.shape)


def _of_each_sample(scene: Scene, name: str, template: str) -> Iterator[Repair]:
    """A view of a batch as one of each sample, where the data set makes it: for all that go over the data."""
    code = parsed(template.format("x"))
    for one in ast.walk(code or ast.Pass()):
        if isinstance(one, ast.Constant) and type(one.value) is int:
            if one.value == 0:
                return
            one.value -= 1
    for made, filename in scene.origins.expressions(scene.user, ast.parse(name, mode="eval").body)[::-1]:
        around = function_at(Location.of(made, filename))
        if code is not None and getattr(around, "name", "") == "__getitem__":
            each = ast.unparse(code).replace("x", "{}", 1)
            yield as_of(scene, each, made, filename)


def cast_of(repair: Repair) -> tuple[str, torch.dtype, str] | None:
    """What a repair casts, to what, and how that is written."""
    match repair.revisions if repair.kind == "cast" else ():
        case (Edit(text=text, original=name),):
            template, names = text.replace(f"({name})", "{}"), {"x": torch.ones(0).char(), "torch": torch}
            to = getattr(
                value_of(ast.parse(template.format("x"), mode="eval").body, names), "dtype", torch.int8
            )
            return (name, to, template) if to != torch.int8 else None
    return None


def _told_there(scene: Scene, repair: Repair) -> Iterator[Repair]:
    """A cast where an operand comes from: where its dtype is told, or an array that has it is made a tensor."""
    cast, user = cast_of(repair), scene.user
    node = ast.parse(cast[0], mode="eval").body if cast is not None else None
    value = value_of(node, user.names) if node is not None else None
    if cast is None or node is None or not isinstance(value, torch.Tensor):
        return
    own, to = dtype_name(value.dtype), cast[1]
    ways = scene.origins.expressions(user, node)[::-1]
    calls = ((one, file) for whole, file in ways for one in ast.walk(whole) if isinstance(one, ast.Call))
    cut = _fractions(scene) if not to.is_floating_point else ()
    for call, filename in (one for one in calls if (one[1], one[0].lineno) not in cut):
        given = (*call.args, *(one.value for one in call.keywords))
        for kind in (one for one in given if isinstance(one, ast.Attribute)):
            told = value_of(kind, scene.globals_of(filename))
            if getattr(told, "__name__", str(told).removeprefix("torch.")) == own:
                anew = ast.unparse(ast.Attribute(kind.value, dtype_name(to)))
                edit = Edit.of(call, filename, ast.unparse(call).replace(ast.unparse(kind), anew))
                yield Repair(edit.text, None, "cast", revisions=(edit,), where=line_of(scene, edit))
    past = history(scene)
    way = past.way(cast[0], _like(past, cast[0], repair)) if past is not None else []
    for at in (one.at for one in way[-1:] if one.at is not None):
        made, names = expression_at(at) or ast.Constant(None), scene.globals_of(at.filename)
        if any(isinstance(one, ast.Name) for one in ast.walk(converted(made, names) or ast.Pass())):
            yield as_of(scene, cast[2], made, at.filename)


def _fractions(scene: Scene) -> set[tuple[str, int]]:
    """The files and rows where numbers that are not whole were made."""
    past = history(scene)
    made = (one for one in past.pasts if one.at is not None and not one.whole) if past is not None else ()
    return {(one.at.filename, one.at.row) for one in made if one.at is not None}


def _given_on(calls: tuple[Location, ...]) -> list[Location]:
    """An operation, and of the calls around it, the innermost first, those that give what it gave."""
    return list(calls[: 1 + sum(1 for _ in takewhile(_is_given, calls))])


def _is_given(at: Location) -> bool:
    """Whether the function around an expression returns it, or a name that it is part of."""
    statement, whole = statement_at(at), function_at(at)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {ast.unparse(one) for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    returns = [one for one in ast.walk(whole) if isinstance(one, ast.Return)] if whole is not None else []
    read = {ast.unparse(one) for given in returns for one in ast.walk(given) if isinstance(one, ast.Name)}
    return statement in returns or bool(names & read)


def _handed_on(scene: Scene, name: str) -> Iterator[tuple[ast.expr, str]]:
    """The arguments of the calls around what failed that are an operand of it, the nearest first."""
    mine = [one for one in reversed(scene.frames) if one.mine]
    value = value_of(ast.parse(name, mode="eval").body, mine[0].names)
    for frame in mine[1:]:
        node = node_at(frame.site)
        given = [*node.args, *(one.value for one in node.keywords)] if isinstance(node, ast.Call) else []
        yield from (
            (one, frame.site.code.co_filename) for one in given if value_of(one, frame.names) is value
        )


def _like(past: History, name: str, repair: Repair) -> Callable[[Past], bool]:
    """Whether the past of an operand is to be changed as it is: a cast where its dtype is, else its shape.

    No fraction is cast away.
    """
    cast = cast_of(repair)
    keeps = cast is None or cast[1].is_floating_point or cast[1] == torch.bool

    def is_like(one: Past) -> bool:
        own = past.pasts[past.operands[name]]
        same = one.dtype == own.dtype if repair.kind in ("cast", "target") else one.shape == own.shape
        return same and one.has_graph >= own.has_graph and (keeps or one.whole)

    return is_like


def _run_on(scene: Scene, revisions: list[Revision], repairs: Repairs) -> Met | None:
    """In the copy: make the revisions and run the rest of the step."""
    torch.set_num_threads(1)  # the threads of the original are not in the copy
    confine(os.devnull)
    before = [*scene.trail.backwards][-1:]
    try:
        make(revisions, scene.frames)
    except (LookupError, SyntaxError, ValueError):
        return None
    resized = any(isinstance(one, Setting) for one in revisions)
    parts = list(rest_of_step(scene.frames, resized=resized))
    for again, run in enumerate(parts):
        then = _error_of(run, scene)
        if then is not None and (again or [*scene.trail.backwards][-1:] != before):
            same = (
                then.location.filename == scene.location.filename
                and then.location.span == scene.location.span
            )
            then = then if same or _is_revised(then, revisions) else None
        if then is not None:
            return _met(scene, then, repairs)
    return Met() if parts else None


def _error_of(run: Callable[[], object], scene: Scene) -> Scene | None:
    """What a part of the step raises, unless it was about to do more than compute."""
    try:
        run()
    except Exception as error:  # whatever the program raises
        return None if is_effect(error) else Scene(error, scene.trail)
    return None


def _is_revised(scene: Scene, revisions: list[Revision]) -> bool:
    """Whether an error comes from a function that was revised."""
    at = scene.location
    rows = [one.span[0] for one in revisions if isinstance(one, Edit) and one.filename == at.filename]
    return any(function_at(replace(at, row=row)) is function_at(at) for row in rows)


def _met(scene: Scene, then: Scene, repairs: Repairs) -> Met:
    """What the rest of the step met, and the repairs of that."""
    row = then.location.row
    told = " ".join(f"{type(then.error).__name__}: {then.message}".split())[:_LONGEST]
    here = row == scene.location.row
    found = repairs(then)
    if not here:
        edits = [next((each for each in one.revisions if isinstance(each, Edit)), None) for one in found]
        found = [
            replace(one, where=one.where or ("" if edit is None else line_of(scene, edit)))
            for one, edit in zip(found, edits, strict=True)
        ]
    return Met(told, row, tuple(one for one in found if one.revisions))
