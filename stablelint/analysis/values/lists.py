"""Lists that grow: what their elements are, and which is the last.

A list whose length is known is a sequence; one that grows in a loop is a `list_of`, whose operand is what any of
its elements can be and whose data is the last one, where that is known.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Kind, Value, join

GROWING = frozenset({"append", "extend", "insert"})
SHRINKING = frozenset({"pop", "remove", "clear", "reverse", "sort"})
CALLABLE = frozenset({Kind.LAYER, Kind.INSTANCE, Kind.FUNCTION, Kind.CLASS, Kind.NAMESPACE})
_LONGEST = 40


def leaves(value: Value) -> list[Value]:
    """What a value is on one path or another, each once: paths part and meet again and again."""
    if value.op != "phi":
        return [value]
    found, pending, seen = [], [value], {id(value)}
    while pending:
        known = pending.pop()
        if known.op != "phi":
            found.append(known)
            continue
        new = {id(path): path for path in known.operands.values() if id(path) not in seen}
        seen.update(new)
        pending += reversed(new.values())
    return found


def is_list(value: Value) -> bool:
    """Whether a value is a list on every path."""
    if value.op != "phi":
        return value.kind is Kind.SEQUENCE or value.op == "list_of"
    first = _first_leaf(value)
    return first.op != "phi" and is_list(first) and all(map(is_list, leaves(value)))


def _first_leaf(value: Value) -> Value:
    """What a value is on its first path, which tells of most that they are no lists."""
    while value.op == "phi" and value.first is not None:
        value = value.first
    return value


def held_by(value: Value) -> dict[object, Value]:
    """What a tuple, list or mapping of known length holds, by place."""
    if value.kind is Kind.SEQUENCE and isinstance(value.data, list):
        return dict(enumerate(value.data))
    return value.data if value.kind is Kind.MAPPING and isinstance(value.data, dict) else {}


def holding(container: Value, parts: dict[object, Value], key: int) -> Value:
    """The container with other parts at its places."""
    return replace(container, key=key, data=parts if container.kind is Kind.MAPPING else list(parts.values()))


def elements_of(value: Value) -> list[Value]:
    """What the elements can be; empty where nothing is known of them."""
    return [element for leaf in leaves(value) for element in _held(leaf)]


def innermost(value: Value) -> list[Value]:
    """What a list of lists holds, or the value itself where it is none."""
    elements = elements_of(value) if is_list(value) else []
    return [inner for element in elements for inner in innermost(element)] or [value]


def _held(leaf: Value) -> list[Value]:
    if leaf.kind is Kind.SEQUENCE:
        return list(leaf.data)
    element = leaf.operands.get("element") if leaf.op == "list_of" else None
    return [element] if element is not None else []


def last_of(value: Value) -> Value | None:
    """The last element, where it is the same on every path."""
    ends = [_last(leaf) for leaf in leaves(value)]
    return ends[0] if len({end.key if end else 0 for end in ends}) == 1 else None


def _last(leaf: Value) -> Value | None:
    if leaf.kind is Kind.SEQUENCE:
        return leaf.data[-1] if leaf.data else None
    return leaf.data if isinstance(leaf.data, Value) else None


def repeated(value: Value, times: Value, node: ast.AST, frame: Frame) -> Value:
    """`value * times`: a list, or tuple, of the same elements again and again."""
    number = times.constant()
    if not isinstance(number, int) or number * len(value.data) > _LONGEST:
        return list_of(list(value.data), None, node, frame)
    made = frame.graph.sequence(list(value.data) * max(number, 0), node)
    return replace(made, key=frame.graph.fresh(), name=value.name)


def grown(receiver: Value, method: str, arguments: list[Value], node: ast.AST, frame: Frame) -> Value:
    """The list after `receiver.method(arguments)`."""
    if method in SHRINKING:
        return list_of(elements_of(receiver), None, node, frame, receiver)
    added = arguments[-1] if arguments else frame.graph.unknown(node=node)
    if method == "extend":
        return concatenated(receiver, added, node, frame)
    if method == "insert":
        return list_of([*elements_of(receiver), added], last_of(receiver), node, frame, receiver)
    return concatenated(receiver, frame.graph.sequence([added], node), node, frame)


def concatenated(left: Value, right: Value, node: ast.AST, frame: Frame) -> Value:
    """`left + right`: exact where both lengths are known and no loop repeats it."""
    exact = left.kind is Kind.SEQUENCE and right.kind is Kind.SEQUENCE and frame.loop_depth == 0
    if exact and len(left.data) + len(right.data) <= _LONGEST:
        result = frame.graph.sequence([*left.data, *right.data], node)
        result.key, result.name = frame.graph.fresh(), "list"
        return result
    if not is_list(right):
        return list_of([frame.graph.unknown(node=node, among=[left, right])], None, node, frame, left)
    last = last_of(left) if right.kind is Kind.SEQUENCE and not right.data else last_of(right)
    return list_of([*elements_of(left), *elements_of(right)], last, node, frame, left)


def may_stay_empty(listed: Value) -> bool:
    """Whether a path adds nothing to a list or a mapping that was made empty, though each loop on it has a turn."""
    if listed.op != "phi":
        return False
    pending, seen = [listed], set[int]()
    while pending:
        part = pending.pop()
        if part.op == "phi" and part.key not in seen:
            seen.add(part.key)
            paths = list(part.operands.values())
            pending += paths if part.data is not None else paths[1:]  # what was before a loop stands first
        elif part.op in ("sequence", "mapping") and not part.data and not part.operands:
            return True
    return False


def list_of(
    elements: list[Value], last: Value | None, node: ast.AST, frame: Frame, origin: Value | None = None
) -> Value:
    """A list of unknown length."""
    operands = {"element": join(frame.graph, elements[:_LONGEST])} if elements else {}
    name = origin.name if origin is not None and origin.name != "list" else ""
    return Value(
        "list_of", frame.graph.fresh(), Kind.UNKNOWN, operands, node=node, module=frame.module, data=last, name=name,
        zero=Attained.COINCIDENCE,
    )  # fmt: skip
