"""Is the model in the mode that it is used in?"""

from __future__ import annotations

from collections import Counter

from torch import nn

from stablelint.runtime.audit.modules import NORMALISING
from stablelint.runtime.audit.outcome import Outcome, all_of, check, failed, warned
from stablelint.runtime.audit.record import Forward, Run, place

ORDER = 5


def _switchable(root: nn.Module) -> list[nn.Module]:
    """The layers that act otherwise in training than in evaluation."""
    return [
        one
        for one in root.modules()
        if (isinstance(one, nn.modules.dropout._DropoutNd) and one.p > 0)
        or (isinstance(one, NORMALISING) and one.track_running_stats)
        or (isinstance(one, (nn.RNNBase, nn.MultiheadAttention)) and one.dropout > 0)
    ]


@check(needs="a trained pass of a model with dropout or batch norm")
def trained_in_training_mode(run: Run) -> Outcome | None:
    """The model is in training mode while it is trained."""
    calls = [one for one in run.trained if _switchable(one.root)]
    evaluated = {id(one.root) for one in run.forwards if not one.grad}
    late = any(id(one.root) in evaluated for one in calls if not one.training)
    remedy = "model.train() after each evaluation" if late else "model.train() before the loop"
    sites = (place(run.evaluated_at.get(id(one.root))) for one in calls if not one.training)
    if (at := next(sites, None)) is not None:
        remedy += f": line {at.row} puts it into evaluation mode"
    return _in_mode(calls, True, remedy)


def _in_mode(calls: list[Forward], training: bool, remedy: str) -> Outcome | None:
    """Whether the passes are made in training mode, or in evaluation mode."""
    if wrong := [one for one in calls if one.training is not training]:
        kinds = sorted({type(one).__name__ for one in _switchable(wrong[0].root)})
        mode, other = ("evaluation", "training") if training else ("training", "evaluation")
        text = f"{len(wrong)} of {len(calls)} passes of {other} in {mode} mode, of a model with {', '.join(kinds)}"
        return failed(text, remedy, type(wrong[0].root).__name__, at=wrong[0].site)
    return all_of(len(calls), "pass")


@check(needs="an evaluation of a model with dropout or batch norm (`--batches` brings it near)")
def evaluated_in_evaluation_mode(run: Run) -> Outcome | None:
    """The model is in evaluation mode while it is evaluated."""
    if run.live_dropout is not None:
        text = "dropout is told to be on within a model that is in evaluation mode"
        return failed(text, "training=self.training, or a module nn.Dropout", at=run.live_dropout)
    calls = [one for one in _evaluations(run) if _switchable(one.root)]
    return _in_mode(calls, False, "model.eval() before, model.train() after")


def _evaluations(run: Run) -> list[Forward]:
    """Passes of trained models, not trained themselves, over batches of another loader, scored by a loss without
    gradients, or, without both, over what an earlier pass was given before the model was trained on."""
    roots = {id(one.root) for one in run.trained}
    trained: Counter[int] = Counter()
    given: dict[tuple[int, bytes | None], int] = {}  # passes trained before the input was seen last
    found = []
    for call in run.forwards:
        key, loader = id(call.root), call.fetched_from
        before = given.get((key, call.fingerprint), trained[key])
        given[key, call.fingerprint] = trained[key]
        trained[key] += call.trained
        foreign = loader is not None and not loader.trained
        again = loader is None and before < trained[key]
        if key in roots and not call.trained and (foreign or (not call.grad and (call.scored or again))):
            found.append(call)
    return found


@check(needs="an evaluation (`--batches` brings it near)")
def evaluated_without_gradients(run: Run) -> Outcome | None:
    """Evaluation keeps no graph."""
    calls = _evaluations(run)
    if wrong := [one for one in calls if one.grad and any(p.requires_grad for p in one.root.parameters())]:
        text = f"{len(wrong)} of {len(calls)} evaluations with gradients enabled"
        return warned(text, "with torch.no_grad(): around it", at=wrong[0].site)
    return all_of(len(calls), "pass")
