"""What is left of a step that failed, as code that can be run."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from stablelint.runtime.crash.frame import Frame
from stablelint.runtime.program.carried import written_names
from stablelint.runtime.program.frames import parse_file, raw_position
from stablelint.runtime.program.nodes import blocks_around, owner_of
from stablelint.runtime.program.region import Region
from stablelint.runtime.tracing.bound import BoundRegion, bind

_LOOPS = ast.For | ast.While
_ENDS = (".backward(", ".step(")


def rest_of_step(frames: list[Frame], *, resized: bool) -> Iterator[BoundRegion]:
    """What is left of the step, in the innermost frame that goes backward then, and the whole of it."""
    mine = [one for one in frames if one.mine]
    stops = [place for place, one in enumerate(frames) if one.site.code.co_name == "_call_impl"]
    outer = [one for one in frames[: min(stops, default=0)] if one.mine]
    rests = [(frame, *rest) for frame in reversed(mine) for rest in _rests(frame)]
    ends = [rest for rest in rests if any(mark in ast.unparse(one) for one in rest[1] for mark in _ENDS)]
    calls = [rest for rest in rests if rest[0] is (outer or mine)[-1]]
    for frame, statements, around in (ends or calls)[:1]:
        whole = _again(around)
        if not whole or not resized:  # else what the step did before was another
            yield bound(frame, statements)
        if whole:
            yield bound(frame, whole)


def _again(around: ast.AST | None) -> list[ast.stmt]:
    """The body of a loop or a function, where it can be run once more: it gives no name of its header another value."""
    match around:
        case ast.For(target, body=body):
            header = written_names([target])
        case ast.FunctionDef(args=taken, body=body):
            header = frozenset(one.arg for one in ast.walk(taken) if isinstance(one, ast.arg))
        case ast.While(body=body):
            header = frozenset()
        case _:
            return []
    return body if not header & written_names(body) else []


def _rests(frame: Frame) -> Iterator[tuple[list[ast.stmt], ast.AST | None]]:
    """What is left of the body of the innermost loop around an instruction, of the next, and of the function."""
    tree, code = parse_file(frame.site.code.co_filename), frame.site.code
    row, _, column, _ = raw_position(code, frame.site.offset)
    found = owner_of(tree, code) if tree is not None else None
    blocks = blocks_around(found[0], row, column or 0) if found is not None and row is not None else []
    rest: list[ast.stmt] = []
    for place, (block, index) in reversed(list(enumerate(blocks))):
        match block[index]:
            case ast.stmt() as first if place == len(blocks) - 1 or isinstance(first, ast.Try | _LOOPS):
                inner: list[ast.stmt] = [first]  # begins anew
            case ast.With(items) as first:
                inner = [ast.copy_location(ast.With(items, rest), first)]
            case _:
                inner = rest
        rest = [*inner, *block[index + 1 :]]
        around = blocks[place - 1][0][blocks[place - 1][1]] if place else None
        if around is None or (isinstance(around, _LOOPS) and block is around.body):
            yield rest, around or found[0] if found is not None else around


def bound(frame: Frame, statements: list[ast.stmt]) -> BoundRegion:
    """Statements of a frame as a function of its names, that a `break` or a `return` leaves."""
    code = frame.site.code
    tree = parse_file(code.co_filename) or ast.Module([], [])
    owner, inside_class = owner_of(tree, code) or (tree, None)
    loop, none = ast.While(ast.Constant(True), [], []), frozenset[str]()
    region = Region(code, tree, tuple(statements), loop, owner, inside_class, none, none, ())
    return bind(region, copy.deepcopy(statements), frame.frame, {})
