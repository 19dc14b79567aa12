"""Cross entropy over targets that are all ignored."""

from __future__ import annotations

from stablelint.analysis.values.indexing import parts_of
from stablelint.analysis.values.lists import leaves
from stablelint.analysis.values.views import stripped
from stablelint.matchers.common import Kind, Review, Rule, Sites, Value, make_site, observed, observes

_TAKEN = frozenset({"input", "target", "ignore_index", "weight", "label_smoothing", "reduction"})
_DEPTH = 8


@observes("cross_entropy|nll_loss")
def all_ignored(review: Review, rule: Rule) -> Sites:
    """Means over targets of which some are ignored; likely where the program shows that all of them can be."""
    for value, frame in observed(review, "cross_entropy", "nll_loss"):
        ignored, target = value.operands.get("ignore_index"), value.operands.get("target")
        if ignored is None or target is None or not _is_mean(value):
            continue
        shown = any(_all_ignored(leaf, ignored, _DEPTH) for leaf in leaves(stripped(target)))
        name = "x" if value.op == "cross_entropy" else "logp"
        bindings = {name: value.operands["input"], "y": target, "i": ignored}
        yield make_site(review, rule, (value, frame), bindings, shown=shown)


def _is_mean(loss: Value) -> bool:
    """Whether the loss is divided by the number of targets that count, and no argument is a deprecated one."""
    given = {name for name, v in loss.operands.items() if v.kind is not Kind.NONE}
    reduction = loss.operands.get("reduction")
    return given <= _TAKEN and (reduction is None or reduction.constant() == "mean")


def _all_ignored(target: Value, ignored: Value, depth: int, cut: bool = False) -> bool:
    """Whether targets are literally all ignored, or were ignored up to a length that a later cut may not reach."""
    target = stripped(target)
    if depth == 0:
        return False
    if target.op in ("tensor", "full") and target.interval.is_point:
        return target.interval == ignored.interval
    if target.op == "phi":
        return any(_all_ignored(leaf, ignored, depth - 1, cut) for leaf in leaves(target))
    if target.op == "index":
        ends = _ends(target.operands["index"])
        return _all_ignored(target.operands["input"], ignored, depth - 1, cut or bool(ends))
    if target.op == "overwritten" and cut and isinstance(target.data, Value):
        prefix = any(not end.is_constant for end in _ends(target.data))
        return prefix and target.operands["value"].key == ignored.key
    return False


def _ends(index: Value) -> list[Value]:
    """The upper bounds of an index's slices, other than those that count from the end."""
    uppers = [part.data[1] for part in parts_of(index) if part.op == "slice"]
    return [u for u in uppers if u.kind is not Kind.NONE and not u.interval.hi < 0]
