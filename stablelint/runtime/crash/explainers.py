"""Who explains which errors."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

import torch

from stablelint.runtime.crash import explain
from stablelint.runtime.crash.batches import with_short_batch
from stablelint.runtime.crash.explanation import Explanation, Operand
from stablelint.runtime.crash.general import advised, general, operands_of_call, written_out
from stablelint.runtime.crash.scene import Scene
from stablelint.runtime.crash.traced import with_history

SAMPLE = re.compile(r"stablelint: (sample .+ of \w+)")
"""The note that tells for which sample a data set raised an exception."""

Explain = Callable[[Scene, re.Match[str]], Explanation | None]


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains the errors whose message matches."""

    pattern: re.Pattern[str]
    explain: Explain = field(repr=False)


def explains(pattern: str) -> Callable[[Explain], Explainer]:
    """Make an explainer of a function: `pattern` is searched in the error's message."""
    return lambda explain: Explainer(re.compile(pattern), explain)


class Loss(NamedTuple):
    """The input and the target of a loss function that failed, and what the program calls them."""

    given: torch.Tensor
    target: torch.Tensor
    scores: Operand
    labels: Operand
    function: str  # of torch
    scene: Scene

    def explained(self, kind: str, summary: str, *advice: str) -> Explanation:
        """What is said of the two."""
        return Explanation(kind, summary, advice=advice, operands=(self.scores, self.labels))


def explains_loss(
    pattern: str, *functions: str
) -> Callable[[Callable[[Loss, re.Match[str]], Explanation]], Explainer]:
    """Make an explainer of a function of a loss: the first of these `functions` of torch that was called."""

    def made(explain: Callable[[Loss, re.Match[str]], Explanation]) -> Explainer:
        @explains(pattern)
        def explained(scene: Scene, match: re.Match[str]) -> Explanation | None:
            calls = ((name, scene.called(name)) for name in functions)
            name, frame = next((one for one in calls if one[1] is not None), ("", None))
            if frame is None:
                return None
            given, target = (frame.frame.f_locals[one] for one in ("input", "target"))
            operands = scene.operand(given, "input"), scene.operand(target, "target")
            return explain(Loss(given, target, *operands, name, scene), match)

        return explained

    return made


@cache
def all_explainers() -> tuple[Explainer, ...]:
    """Every explainer in the folder `explain`."""
    return tuple(_walk())


def _walk() -> Iterator[Explainer]:
    for found in pkgutil.iter_modules(explain.__path__):
        module = importlib.import_module(f"{explain.__name__}.{found.name}")
        yield from (value for value in vars(module).values() if isinstance(value, Explainer))


def _asked(explain: Callable[..., Explanation | None], *given: object) -> Explanation | None:
    """What is said; None where it fails, which must not cost what others know."""
    try:
        return explain(*given)
    except Exception:
        if os.environ.get("STABLELINT_TRACEBACK"):
            raise
        return None


def _sample(scene: Scene) -> str | None:
    """Which sample a data set of this process was asked for when it raised."""
    found = SAMPLE.search("\n".join(getattr(scene.error, "__notes__", ())))
    return found[1] if found is not None else None


def _of_sample(scene: Scene, found: Explanation) -> Explanation:
    """The explanation of what a data set raised, with the sample."""
    if (name := _sample(scene)) is None or name in found.summary:
        return found
    because = (*filter(None, (found.summary,)), *found.because)
    return replace(found, kind="data", summary=f"{name}: {scene.message}", because=because)


def explanation_of(scene: Scene) -> Explanation | None:
    """What the first explainer that knows the error says of it; None where none does.

    It is about the expression that failed, unless the explainer names another place.
    """
    has_user = any(one.mine for one in scene.frames)  # not where a worker joins samples
    for one in all_explainers():
        match = one.pattern.search(scene.message)
        if match is not None and (found := _asked(one.explain, scene, match)) is not None:
            break
    else:
        found = general(scene) or (Explanation("data", "") if _sample(scene) else None) if has_user else None
    if found is None or not has_user:
        return found
    if not found.operands:
        found = replace(found, operands=operands_of_call(scene))
    found = _asked(with_short_batch, scene, found) or found
    if not found.advice:
        found = advised(scene).onto(found)
    found = _asked(written_out, scene, found) or found
    found = _of_sample(scene, _asked(with_history, scene, found) or found)
    because, advice = (
        dict.fromkeys(found.because),
        dict.fromkeys(_imported(scene, one) for one in found.advice),
    )
    other, at = {one: what for what, one in found.other[::-1]}, found.location or scene.location
    told = tuple((what, one) for one, what in other.items())[::-1]  # no place twice
    return replace(found, because=(*because,), advice=(*advice,), other=told, location=at)


def _imported(scene: Scene, advice: str) -> str:
    """Advice with the names that modules of torch have in the file where it is to be written."""
    elsewhere = re.search(r" of (\w+\.py)\b", advice)
    files = (one for _, one in scene.nodes() if elsewhere and one.endswith(f"{os.sep}{elsewhere[1]}"))
    names = scene.globals_of(next(files, scene.location.filename))
    for name, whole in (("F", "nn.functional"), ("nn", "torch.nn")):
        advice = advice if name in names else re.sub(rf"(?<![\w.'\"]){name}\.(?=\w)", f"{whole}.", advice)
    return advice
