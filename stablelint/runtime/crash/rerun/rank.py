"""Which of the edits that get past what failed a program most likely means."""

from __future__ import annotations

import ast
from dataclasses import replace

from torch import nn

from stablelint.runtime.crash.explanation import Advice, Explanation
from stablelint.runtime.crash.rerun.edits import COSTS
from stablelint.runtime.crash.rerun.explore import Found, explored
from stablelint.runtime.crash.rerun.slices import last_name
from stablelint.runtime.crash.scene import Scene

_TOLD = 3
_WARNED = 3.0
_SPREADS = 2.5
_OF_A_LAYER = 2.0  # less, for a size that a layer or a new tensor is given
_BESIDE = ("shape", "dtype", "call", "index", "target")  # kinds of error that tell of values
_DOUBTED = 3.5  # from which on what the kind of error tells comes first
_LOSES = 5.0  # beside other advice
_NUMBERS = ("size", "number", "setting")
_NEAR = 0.4  # more than the least, that is told as well
_WEIGHTED = (
    "linear",
    "conv",
    "rnn",
    "sparse",
    "batchnorm",
    "instancenorm",
    "normalization",
    "transformer",
    "activation",
)
_HOP = 0.1  # less, for each hop: nearer to where a value was made


def tried(scene: Scene) -> Advice:
    """The likeliest edits, as the program would be written."""
    found = sorted(explored(scene), key=_cost)
    texts: dict[str, None] = {}
    seen = set[tuple[int, bool]]()
    for one in found:
        key = (id(one.place), one.outcome.kind in _NUMBERS)
        if _cost(one) <= _cost(found[0]) + _NEAR and not (key[1] and key in seen):  # of numbers the nearest
            seen.add(key)
            texts[f"line {one.place.row}: {one.text}"] = None
    return Advice(tuple(texts)[:_TOLD])


def tried_first(scene: Scene, found: Explanation) -> Explanation:
    """An explanation with advice of its own, and before it, or behind, the edits that get past what failed."""
    if found.kind not in _BESIDE:
        return found
    likely = [one for one in tried(scene).texts if one not in found.advice]
    best = min(map(_cost, explored(scene)), default=0.0)
    own = found.kind == "target" or best > _DOUBTED
    if best > _LOSES:
        return found
    return replace(found, advice=(*found.advice, *likely) if own else (*likely, *found.advice))


def _cost(one: Found) -> float:
    outcome = one.outcome
    cost = (
        COSTS[outcome.kind]
        + _WARNED * (outcome.warned > 0)
        + _SPREADS * one.spreads
        - _HOP * one.place.part.hops
    )
    if outcome.kind in ("size", "number"):
        cost += _distance(one)
        if outcome.kind == "size" and _of_a_layer(one):
            cost -= _OF_A_LAYER
    return cost


def _distance(one: Found) -> float:
    """How far a number is from the one that it replaces, up to 1."""
    node, text = one.place.node, str(one.outcome.changes)
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int) or not text.isdigit():
        return 0.25
    return min(0.5, abs(int(text) - node.value) / max(1.0, float(node.value)))


def _of_a_layer(one: Found) -> bool:
    """Whether a number is given to a layer with weights."""
    for node in ast.walk(one.place.part.statement):
        if isinstance(node, ast.Call) and any(one.place.node in ast.walk(part) for part in node.args):
            name = last_name(node.func)
            home = getattr(getattr(nn, name, None), "__module__", "").rpartition(".")[2]
            if home in _WEIGHTED:
                return True
    return False
