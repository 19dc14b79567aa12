"""Which edits of the program get past what failed, each tried by running the program again with it."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import parent_process
from typing import Any

import torch

from stablelint.runtime.crash.expression import node_at
from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.crash.rerun.edits import Pool
from stablelint.runtime.crash.rerun.hooked import Hooks, Place, places_of
from stablelint.runtime.crash.rerun.run import Outcome
from stablelint.runtime.crash.rerun.slices import Sources
from stablelint.runtime.crash.rerun.trials import SHORT, Program, as_it_is, compiled, edited
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.program.frames import is_library, raw_position

_SHORT_SECONDS = 8.0
_SECONDS = 2.0  # of the processor, for a stage
_MOST_FILES = 20
_MOST_TOLD = 6
_ERRORS = (RuntimeError, ValueError, IndexError, TypeError, AssertionError)
_STAGES = (0, 1, 2, 3, 9)  # hops behind what failed
_BEYOND = 0.15  # seconds of the processor after what failed


@dataclass(frozen=True)
class Found:
    """An edit with which what failed is passed."""

    place: Place
    outcome: Outcome
    spreads: bool  # whether arithmetic spreads its operands over each other

    @property
    def text(self) -> str:
        """The statement as it is with the edit."""
        kind, changes = self.outcome.kind, self.outcome.changes
        if kind == "without":
            return self.place.with_less(of_owner=changes)
        return (
            self.place.with_text(changes) if isinstance(changes, str) else self.place.with_arguments(*changes)
        )

    @property
    def ends(self) -> bool:
        """Whether the program ended well, or was still running."""
        return self.outcome.end in ("ended", "time")


def explored(scene: Scene) -> list[Found]:
    """The edits of one expression that get past what failed, in the order of the program."""
    if "explored" not in scene.known:
        try:
            scene.known["explored"] = list(_explored(scene)) if _may_run_again(scene) else []
        except Exception:  # what fails here must not cost what is known
            if os.environ.get("STABLELINT_TRACEBACK"):
                raise
            scene.known["explored"] = []
    found: list[Found] = scene.known["explored"]
    return found


def _may_run_again(scene: Scene) -> bool:
    alone = parent_process() is None and hasattr(os, "fork")
    several = torch.distributed.is_available() and torch.distributed.is_initialized()
    if not alone or several or scene.user is None or not isinstance(scene.error, _ERRORS):
        return False
    own = isinstance(
        node_at(scene.user.site), ast.Raise | ast.Assert
    )  # what it asks for itself is its own business
    numeric = any(
        is_library(one.site.code.co_filename) for one in scene.frames[scene.frames.index(scene.user) :]
    )
    return not own and "memory" not in scene.message and (numeric or bool(scene.operands()))


def _explored(scene: Scene) -> Iterator[Found]:
    first = next((one for one in reversed(scene.frames) if _is_main(one)), None)
    if first is None:
        return
    main, within = first.site.code.co_filename, scene.frames[scene.frames.index(first) :]
    trees = {name: tree for name in _files(scene, main) if (tree := _parsed(name)) is not None}
    if main not in trees:
        return
    seeds = [seed for one in within if one.mine and (seed := _seed(trees, one.site)) is not None]
    if not seeds:
        return
    parts = Sources(trees).behind(seeds[::-1])
    places = places_of(parts, trees)
    hooked = _hooked(trees, places, seeds[-1][2])
    keys = ("__name__", "__file__", "__package__", "__spec__", "__loader__", "__builtins__")
    names = {key: first.frame.f_globals[key] for key in keys if key in first.frame.f_globals}
    program = Program(compiled(hooked), main, names)
    pool = pool_of(scene)
    plain = as_it_is(program, pool)
    if plain is None or not _is_same(plain, scene):
        return
    given = {number: (one.is_written, one.is_along) for number, one in enumerate(places) if one.is_given}
    failed, most = seeds[-1][2], max((len(one.shape) for one in scene.operands()), default=0)
    arithmetic = isinstance(failed, ast.BinOp) and not isinstance(failed.op, ast.MatMult)
    hops = {number: one.part.hops for number, one in enumerate(places)}
    for near, far in pairwise(_STAGES if plain.seconds > SHORT else (0, _STAGES[-1])):
        found = list[Found]()
        limits = {
            number: plain.seconds - at + _BEYOND
            for number, at in ((int(key), at) for key, at in plain.reached.items())
            if near <= places[number].part.hops < far
        }
        seconds = _SECONDS if plain.seconds > SHORT else _SHORT_SECONDS
        for outcome in edited(program, pool, plain, limits, given, hops, seconds):
            enough = outcome.passed > plain.passed or (
                outcome.kind == "switch" and outcome.passed == plain.passed > 0
            )
            if enough and outcome.end in ("ended", "time"):
                warned = outcome._replace(warned=outcome.warned - plain.warned)
                found.append(Found(places[outcome.place], warned, arithmetic and outcome.dimensions > most))
        yield from found


def _is_main(one: Frame) -> bool:
    return (
        one.mine and one.site.code.co_name == "<module>" and one.frame.f_globals.get("__name__") == "__main__"
    )


def _is_same(plain: Outcome, scene: Scene) -> bool:
    kind, _, message = plain.end.partition(": ")
    return kind in (type(scene.error).__name__, *scene.message.split()[:2]) and message[:30] in scene.message


def pool_of(scene: Scene) -> Pool:
    """What the operands of what failed are."""
    shown = scene.operands()
    sizes = dict.fromkeys(size for one in shown for size in one.shape if size > 1)
    for one in shown:
        rest = 1
        for size in one.shape[1:]:
            rest *= size
        if len(one.shape) > 1:
            sizes[rest] = None
    dtypes = dict.fromkeys(getattr(torch, one.dtype) for one in shown)
    devices = dict.fromkeys(torch.device(one.device) for one in shown)
    told = dict.fromkeys(int(one) for one in re.findall(r"-?\b\d+\b", scene.message[:500]))
    several = tuple(devices) if len(devices) > 1 else ()
    images = dict.fromkeys(one.shape[2:] for one in shown if len(one.shape) == 4 and not one.held)
    return Pool(tuple(sizes), tuple(dtypes), several, tuple(told)[:_MOST_TOLD], tuple(images))


def _files(scene: Scene, main: str) -> Iterator[str]:
    """The program's files: those of the failing frames, and the modules beside the main one."""
    folder = os.path.join(os.path.dirname(os.path.abspath(main)), "")
    names = [one.site.code.co_filename for one in scene.frames if one.mine]
    held = (getattr(one, "__file__", None) for one in list(sys.modules.values()))
    near = [one for one in held if isinstance(one, str) and one.startswith(folder) and one.endswith(".py")]
    near = [one for one in near if "site-packages" not in one]
    found = {os.path.abspath(one): one for one in reversed([main, *names, *near])}
    yield from list(reversed(found.values()))[:_MOST_FILES]


def _parsed(filename: str) -> ast.Module | None:
    try:
        with open(filename, encoding="utf-8") as file:
            return ast.parse(file.read())
    except (OSError, ValueError, SyntaxError):
        return None


def _seed(trees: dict[str, ast.Module], site: Any) -> tuple[str, ast.stmt, ast.AST] | None:
    """The statement of a frame, and the expression in it that was being computed."""
    name = site.code.co_filename
    row, end_row, column, end_column = raw_position(site.code, site.offset)
    found: ast.AST | None = None
    statement: ast.stmt | None = None
    for node in ast.walk(trees[name]) if name in trees else ():
        if isinstance(node, ast.stmt) and row is not None and node.lineno <= row <= (node.end_lineno or 0):
            statement = node  # the innermost comes last
        extent = [
            getattr(node, key, None) for key in ("lineno", "end_lineno", "col_offset", "end_col_offset")
        ]
        if extent == [row, end_row, column, end_column] and (
            found is None or not isinstance(found, ast.expr)
        ):
            found = node
    if statement is None:
        return None
    if isinstance(getattr(found, "ctx", None), ast.Store):
        found = statement
    return name, statement, found if found is not None else statement


def _hooked(trees: dict[str, ast.Module], places: list[Place], failed: ast.AST) -> dict[str, ast.Module]:
    """Copies of the files in which the expressions at some places are hooked."""
    wanted: dict[int, list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        for node in place.nodes:
            wanted[id(node)].append(number)
    made: dict[str, ast.Module] = {}
    for name, tree in trees.items():
        with open(name, encoding="utf-8") as file:
            other = ast.parse(file.read())
        pairs = list(zip(ast.walk(tree), ast.walk(other), strict=True))
        numbers = {id(two): wanted[id(one)] for one, two in pairs if id(one) in wanted}
        at = next((two for one, two in pairs if one is failed), None)
        Hooks(numbers, at).visit(other)
        made[name] = other
    return made
