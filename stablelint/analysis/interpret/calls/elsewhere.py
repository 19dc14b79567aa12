"""What other files pass, and what this one passes to them."""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from stablelint.analysis.files.callsites import is_number
from stablelint.analysis.files.modules import ClassInfo, FunctionInfo, ModuleInfo
from stablelint.analysis.files.passing import CRITICAL, target_of
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.state import Frame, quiet_frame
from stablelint.analysis.values.value import NUMERIC, Attained, Kind, Value, believed
from stablelint.analysis.values.views import stripped
from stablelint.diagnostic import Passed
from stablelint.numerics.interval import Interval

_ENDS = "{!r} {!r}"  # the ends of a range
_BELOW_0 = math.nextafter(0.0, -1.0)  # the lower end of what may be 0
_VISITED = 60  # operations of a body in another file that are looked at


def passed_elsewhere(
    thing: FunctionInfo | ClassInfo | tuple[ModuleInfo, str], name: str, frame: Frame
) -> Iterator[tuple[Value, Assumption]]:
    """What other files pass for a parameter, give to an attribute, or enter in a table."""
    project = frame.session.project
    for passed in project.passed_to(target_of(thing), name):
        node = ast.parse(passed.text, mode="eval").body
        module = frame.module if is_number(node) else project.read_by(passed.path, passed.text)
        if module is not None:
            ast.increment_lineno(node, passed.row - 1)
            value = frame.session.interpreter.evaluate(node, quiet_frame(module, frame))
            yield value, Assumption(f"{name}={passed.text}", passed.row, passed.path)


def numbers_passed_elsewhere(
    thing: FunctionInfo | ClassInfo, name: str, frame: Frame
) -> list[tuple[float, Assumption]]:
    """The numbers among them."""
    found = ((value.constant(), where) for value, where in passed_elsewhere(thing, name, frame))
    return [(number, where) for number, where in found if type(number) in (int, float)]


def note_critical(function: FunctionInfo, bound: Mapping[str, Value], node: ast.AST, frame: Frame) -> None:
    """Notes where the arguments of a call lie that stand for critical parameters of a function of another file."""
    home = frame.session.home
    for name in function.critical.intersection(bound):
        value = bound[name]
        if home is None or value.kind not in NUMERIC:
            continue
        lies = frame.state.believed(value)
        closed = believed(value).zero >= Attained.SATURATION
        passed = Passed(str(home.path), getattr(node, "lineno", 1), _ends_of(lies, closed))
        frame.session.passed.setdefault((target_of(function), CRITICAL + name), set()).add(passed)


def _ends_of(lies: Interval, closed: bool) -> str:
    """The ends of a range, of which a lower one of 0 is no element; "" where nothing is known."""
    if lies.nan or (lies.lo == -math.inf and lies.hi == math.inf):
        return ""
    low = _BELOW_0 if lies.lo == 0 and (closed or not lies.lo_open) else lies.lo
    return _ENDS.format(low, lies.hi)


def critical_passed(function: FunctionInfo, frame: Frame) -> Iterator[tuple[str, Interval, Assumption]]:
    """The parameters of which all calls in sight, none of which stands in its own file, tell where they lie."""
    target, root = target_of(function), frame.session.project.root
    for name in sorted(function.critical):
        passed = frame.session.project.passed_to(target, CRITICAL + name)
        numbers = [number for number, _ in numbers_passed_elsewhere(function, name, frame)]
        if passed and all(one.text for one in passed):
            ends = [tuple(map(float, one.text.split())) for one in passed]
            ends += [(n or _BELOW_0, n) for n in numbers]
            low, high = min(lo for lo, _ in ends), max(hi for _, hi in ends)
            files = ", ".join(dict.fromkeys(os.path.relpath(one.path, root or None) for one in passed))
            yield (
                name,
                Interval(low, high, low in (0, -math.inf), high == math.inf),
                Assumption(f"{name} is what {files} passes"),
            )


def objects_passed_elsewhere(target: Value, frame: Frame) -> list[tuple[Value, Assumption]]:
    """What a parameter or an attribute that is called may be, as other files pass it."""
    things: list[FunctionInfo | ClassInfo] = []
    if target.op == "argument" and isinstance(target.data, FunctionInfo):
        owner = target.data.owner
        things = [target.data, *([owner] if owner is not None else [])]
    elif target.op == "attribute" and target.operands["input"].kind is Kind.INSTANCE:
        things = [target.operands["input"].data[0]]
    found = (pair for thing in things for pair in passed_elsewhere(thing, target.name, frame))
    return [
        (value, where) for value, where in found if value.kind in (Kind.INSTANCE, Kind.LAYER, Kind.FUNCTION)
    ]


def observe_beyond(result: Value, since: int, node: ast.AST, frame: Frame) -> None:
    """Shows, at a call, the operations of a body in another file that are applied to what the call passes.

    What was made in the body has a key beyond `since`. The call stands for the operation, which is kept as its `data`.
    """
    pending, seen = [result], {result.key}
    for value in pending:  # grows while it is walked
        if len(pending) > _VISITED:
            return
        operands = list(value.operands.values())
        computed = value.kind in NUMERIC and value.data is None and value.module is not frame.module
        if computed and any(stripped(v).key <= since and v.operands for v in operands):
            frame.session.observe(replace(value, node=node, data=value), frame)
        inner = [v for v in operands if v.key > since and v.key not in seen]
        seen.update(v.key for v in inner)
        pending.extend(inner)
