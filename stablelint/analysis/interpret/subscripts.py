"""Elements and selections: `base[index]`."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from stablelint.analysis.files.counters import least_entry
from stablelint.analysis.files.modules import ClassInfo
from stablelint.analysis.interpret.calls import inline
from stablelint.analysis.interpret.objects.classes import as_sequence
from stablelint.analysis.interpret.objects.lineage import ancestors, inherits_from
from stablelint.analysis.interpret.operations import layers
from stablelint.analysis.interpret.operations.apply import apply
from stablelint.analysis.interpret.operations.decompositions import part_at
from stablelint.analysis.interpret.operations.sizes import size_of
from stablelint.analysis.interpret.paths.conditions import narrowed_by, picks_something
from stablelint.analysis.interpret.paths.narrowing import kept_by, narrowed_value, open_to_callers
from stablelint.analysis.values import lists
from stablelint.analysis.values.annotations import annotated_element
from stablelint.analysis.values.indexing import adds_dimensions, keeps_all
from stablelint.analysis.values.masks import truth_of
from stablelint.analysis.values.paths import Assumption
from stablelint.analysis.values.selections import picks_rows, selector
from stablelint.analysis.values.state import Frame
from stablelint.analysis.values.value import Attained, Belief, Kind, Value, join
from stablelint.analysis.values.views import behind
from stablelint.numerics.interval import Interval


def subscript(base: Value, index: Value, node: ast.AST, frame: Frame) -> Value:
    """`base[index]`: an element of a sequence, a selection of a tensor, a shape's size."""
    constant = index.constant()
    base = as_sequence(base, node, frame)
    element = _element(base, constant, frame)
    if element is not None:
        return element
    if base.op == "shape":
        return size_of(base.operands["input"], node, frame, index.key, index.constant())
    if base.kind in (Kind.STRING, Kind.FOREIGN):
        return frame.graph.foreign(node)
    if isinstance(constant, int) and (part := part_at(base, constant, node, frame)) is not None:
        return part
    if base.kind is Kind.LAYER:
        return layers.element(base, constant, frame)
    if base.kind in (Kind.TENSOR, Kind.ARRAY, Kind.UNKNOWN, Kind.NUMBER):
        return _part_of_tensor(base, index, node, frame)
    kind = Kind.ARRAY if _holds_arrays(base) else Kind.UNKNOWN
    return frame.graph.unknown(node=node, kind=kind, among=[base])


def _holds_arrays(base: Value) -> bool:
    """Whether an array, or a part of one, was stored in a mapping of which not all is known."""
    held = behind(base, lambda one: one.kind is not Kind.MAPPING and one.op != "index")
    return base.kind is Kind.MAPPING and any(part.kind is Kind.ARRAY for part in held)


def _element(base: Value, constant: object, frame: Frame) -> Value | None:
    """What a sequence or a mapping of known length holds at a known place, and which of its numbers at another."""
    if base.kind is Kind.SEQUENCE and isinstance(constant, int):
        held: list[Value] = base.data
        return held[constant] if -len(held) <= constant < len(held) else None
    if base.kind is not Kind.MAPPING or not isinstance(base.data, dict):
        return None
    entries: dict[object, Value] = base.data
    if constant in entries:
        return entries[constant]
    values = list(entries.values())
    numbers = all(v.is_constant and v.kind is Kind.NUMBER for v in values)
    alike = numbers or all(v.kind in lists.CALLABLE for v in values)
    return join(frame.graph, values) if constant is None and alike and values else None


def _part_of_tensor(base: Value, index: Value, node: ast.AST, frame: Frame) -> Value:
    """A part of what may be a tensor: what was stored there, the whole in another shape, or a selection."""
    place = f"[{index.key}]"
    stored = frame.state.attributes.get((base.key, place))
    forgotten = stored is not None and stored.op == "unknown" and stored.name == place
    if stored is not None and not forgotten:
        return stored
    if base.kind is Kind.UNKNOWN and index.kind is Kind.STRING:
        key = stored.key if stored is not None else frame.graph.part("item", base.key, index.key)
        item = Value("item", key, node=node, module=frame.module, data=base, name=str(index.data))
        return _of_optimizer(item, str(index.data), frame)
    if (
        base.op == "attribute" and base.name == "state" and _optimizer(frame) is not None
    ):  # what it keeps of each tensor
        key = frame.graph.part("item", base.key, index.key)
        return Value("item", key, node=node, module=frame.module, data=base)
    if base.kind is Kind.UNKNOWN and type(index.constant()) is int:
        counted = annotated_element(base, f"{base.name}[{index.constant()}]", node, frame.graph)
        if counted is not None:
            return replace(counted, key=frame.graph.part("item", base.key, index.key))
    if base.kind is Kind.TENSOR and keeps_all(index):
        if adds_dimensions(index):
            return apply("unsqueeze", {"input": base, "dim": index}, node, frame)
        return apply("view", {"input": base}, node, frame)
    chosen = _selection(base, index, node, frame)
    if base.kind is Kind.UNKNOWN:  # perhaps a list, which others change
        frame.graph.parts.setdefault(base.key, set()).add(chosen.key)
    return chosen


def _of_optimizer(item: Value, key: str, frame: Frame) -> Value:
    """What an optimizer keeps: `group["eps"]`, the default that its constructor hands on, or `state["step"]`, a count."""
    owner = _optimizer(frame)
    if owner is None:
        return item
    builder, least = owner.methods.get("__init__"), least_entry(ancestors(owner, frame), key)
    if least is not None:
        zero = Attained.COINCIDENCE if least <= 0 else Attained.NONE
        counted = replace(item, interval=Interval(float(least), math.inf, hi_open=True), zero=zero)
        return open_to_callers(counted, item.key, f"`{owner.name}` alone counts {key!r}", ())
    setting = inline.setting(builder, key, frame) if builder is not None else None
    if setting is None:
        return item
    return setting if setting.kind is Kind.SEQUENCE else replace(item, belief=setting.belief)


def _optimizer(frame: Frame) -> ClassInfo | None:
    """The class of an optimizer whose method runs."""
    owner = frame.function.owner if frame.function is not None else None
    if owner is None or inherits_from(owner, "torch.optim.lr_scheduler.", frame):
        return None
    return owner if inherits_from(owner, "torch.optim.", frame) else None


def _selection(base: Value, index: Value, node: ast.AST, frame: Frame) -> Value:
    """What an index takes out of a tensor; a mask tells of the values that it takes."""
    mask = index.op not in ("const", "slice") and index.kind is not Kind.SEQUENCE
    known = frame.state.effective(base)
    if base.kind is Kind.UNKNOWN and known.nonzero and not base.interval.nonzero:
        # Perhaps a list, of which a test says that it is not empty, and nothing of what it holds.
        known = replace(known, nonzero=False)
        key = frame.graph.key("held", base.key)
        base = replace(base, key=key, interval=known, origin=base.origin | {base.key})
    told = narrowed_by(index, True, base, frame, by_row=True) if mask else known
    of_rows = mask and told != known and base.kind is not Kind.ARRAY and picks_rows(index)
    taken = mask and not of_rows
    selected = kept_by(index, True, base, frame, by_row=True) if taken else narrowed_value(base, known, frame)
    chosen = apply("index", {"input": selected, "index": index}, node, frame)
    if of_rows:
        alone = Assumption(f"{base.name or 'what is selected from'} has one dimension")
        chosen.belief = Belief(told, Attained.NONE, Attained.COINCIDENCE, (alone,))
    if mask and picks_something(index, frame.state):
        frame.state.selecting |= {index.key}
        frame.state.nonempty |= {chosen.key}
    elif mask and frame.state.selecting and truth_of(selector(index)).key in frame.state.selecting:
        frame.state.nonempty |= {chosen.key}
    return chosen
