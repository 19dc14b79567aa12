"""What the `__init__` of a base class sets, remembered for the next class that inherits it.

The classes of a file often share a base from another file, with a long `__init__` that sets the same for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from stablelint.analysis.files.modules import ClassInfo, FunctionInfo
from stablelint.analysis.interpret.calls import inline, summaries
from stablelint.analysis.interpret.objects import classes
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Value

_Look = tuple[Hashable, ...]


def set_by_base(
    function: FunctionInfo, arguments: dict[str, Value], instance: Value, frame: Frame
) -> dict[str, Value] | None:
    """The attributes that a base's `__init__` sets on an instance; None where it was not run."""
    look = _look(function, arguments, instance, frame)
    known = frame.session.inherited.get(look) if look is not None else None
    if known is not None:
        return _handed_on(known, list(arguments.values()), instance, frame)
    inner = inline.run_function(function, arguments, instance, frame)
    if inner is None:
        return None
    own = classes.set_on(instance, inner)
    if look is not None and frame.session.budget > 0:
        position = {value.key: place for place, value in enumerate(arguments.values())}
        frame.session.inherited[look] = {attr: position.get(v.key, v) for attr, v in own.items()}
    return own


def _handed_on(
    known: dict[str, Value | int], arguments: list[Value], instance: Value, frame: Frame
) -> dict[str, Value]:
    """What was set before, for another instance: its own arguments, and values of the same sort."""
    renewed: dict[int, Value] = {}
    own: dict[str, Value] = {}
    for attr, found in known.items():
        if isinstance(found, int):
            own[attr] = arguments[found]
            continue
        if found.key not in renewed:
            renewed[found.key] = summaries.renewed(found, instance.node, frame)
        own[attr] = renewed[found.key]
    return own


def _look(function: FunctionInfo, arguments: dict[str, Value], instance: Value, frame: Frame) -> _Look | None:
    """What decides on the outcome: the arguments, and what the attributes that the base asks for are in the class."""
    session = frame.session
    if not session.is_elsewhere(function.module) or any(
        key == instance.key for key, _ in frame.state.attributes
    ):
        return None
    alike = summaries.profile(arguments, None, frame)
    if alike is None:
        return None
    return (id(function.node), alike, *_looked_up(function, instance.data[0], frame))


def _looked_up(function: FunctionInfo, info: ClassInfo, frame: Frame) -> Iterator[int]:
    """Identities of the methods and of the defaults that a method, and the methods that it may call, find in a class."""
    pending, seen = [function], {function.name}
    for method in pending:  # grows while it is walked
        for attr in sorted(method.reads - seen):
            seen.add(attr)
            found = classes.find_method(info, attr, frame)
            if found is not None:
                pending.append(found)
                yield id(found.node)
            else:
                yield from (id(c.fields[attr]) for c in classes.ancestors(info, frame) if attr in c.fields)
