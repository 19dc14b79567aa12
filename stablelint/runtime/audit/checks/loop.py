"""Does the loop do what it says?"""

from __future__ import annotations

import math
from statistics import median

from stablelint.runtime.audit.outcome import Outcome, Status, all_of, check, failed, passed, warned
from stablelint.runtime.audit.record import Run, Step
from stablelint.runtime.audit.values import summary_of
from stablelint.runtime.tensors.names import parameters_of

ORDER = 4
_RISE = 5  # of a loss, where a weight moves by more than its size in one step
_LARGE_UPDATE, _SMALL_UPDATE = 0.3, 1e-6  # of a weight, in one step
_PEAK = 10  # times the first loss, on the way
_COLLAPSE = 1e-2  # of a learning rate, over a few steps
_VANISHING = 1e-7  # the least gradient over the largest, by layer


def _by_optimizer(run: Run) -> list[list[Step]]:
    return [[one for one in run.steps if one.optimizer == key] for key in range(len(run.optimizers))]


@check(needs="two steps of an optimizer")
def zeroed_gradients(run: Run) -> Outcome | None:
    """Gradients are zeroed before they are computed anew."""
    judged = [steps for steps in _by_optimizer(run) if len(steps) > 1]
    for steps in judged:
        if stale := [one for one in steps if one.stale]:
            text = f"{len(stale)} of {len(steps)} steps used gradients that an earlier step had used already"
            remedy = "optimizer.zero_grad() in each step, before backward()"
            return failed(text, remedy, at=stale[0].site)
    return all_of(sum(map(len, judged)), "step")


@check(needs="an optimizer step")
def steps_have_gradients(run: Run) -> Outcome | None:
    """Every step has gradients to follow."""
    for steps in _by_optimizer(run):
        without = [one for one in steps if not one.has_gradients or one.zero_gradients]
        if 2 * len(without) > len(steps):
            first, count = without[0], f"in {len(without)} of {len(steps)} steps"
            held = set(map(id, parameters_of(run.optimizers[first.optimizer])))
            if first.backwards and not any(one.reaches(held) for one in first.backwards):
                text = f"the loss reaches no parameter of the optimizer: none has a gradient {count}"
                remedy = "torch.stack where losses are put together; no detach(), item() or torch.tensor() on the way"
                tape, place = next((one.taped for one in first.backwards if one.taped), (None, 0))
                at = tape.cut(place) if tape is not None else None
                return failed(text, remedy, at=at or first.backwards[0].site)
            what, remedy = "no parameter has a gradient", "backward() between zero_grad() and step()"
            if first.has_gradients:
                what, remedy = "all gradients are zero", "see what the output is multiplied by on its way"
            elif first.backwards:
                what = "the gradients that backward() gave are gone again"
            return failed(f"{what} {count}", remedy, at=first.site)
    return all_of(len(run.steps), "step")


@check(needs="two optimizer steps, or an optimizer and two backward passes")
def backward_before_step(run: Run) -> Outcome | None:
    """Every step follows a backward pass of its own."""
    if run.made_at and not run.steps and len(run.backwards) > 1:
        if all(summary_of(one.tensor) == one.start for one in run.parameters.values()):
            text = f"{len(run.backwards)} backward passes, and no step: the parameters are as they were"
            return failed(text, "optimizer.step() after backward()", at=run.backwards[0].site)
    if len(run.steps) < 2 or not run.backwards:  # gradients are set by hand
        return None
    if without := [one for one in run.steps if not one.backwards]:
        text = f"{len(without)} of {len(run.steps)} steps followed no backward pass"
        return failed(text, "one step() for each time gradients are computed", at=without[0].site)
    return passed(f"{len(run.backwards)} backward passes, {len(run.steps)} steps")


@check(needs="a backward pass")
def backward_once(run: Run) -> Outcome | None:
    """A loss goes backward once."""
    if again := [one for one in run.backwards if one.repeated]:
        text = f"{len(again)} of {len(run.backwards)} backward passes repeat one of the same loss: gradients count twice"
        return failed(text, "call backward() once for each loss", at=again[0].site)
    return all_of(len(run.backwards), "backward pass")


def _accumulated(run: Run) -> list[Step]:
    """Steps of the only optimizer that follow backward passes of several batches."""
    steps = run.steps if len(run.optimizers) == 1 else []
    return [one for one in steps if sum(back.fetches > 0 for back in one.backwards) > 1]


@check(needs="several batches for one step")
def divided_accumulation(run: Run) -> Outcome | None:
    """Accumulated losses are divided by their number."""
    several = _accumulated(run)
    if not several:
        return None
    step = several[0]
    count = len(step.backwards)
    undivided = [
        one for one in step.backwards if not one.scaled and one.root not in ("DivBackward0", "MulBackward0")
    ]
    losses = [one for one in run.losses if one.grad]
    mean = not losses or losses[0].option("reduction") in (None, "mean")
    if len(undivided) == count and mean:
        text = f"{count} batches add their gradients to one step, and no loss is divided"
        # Adagrad and its kin divide by the gradient's own size, so that a factor changes nothing.
        answer = warned if "Ada" in type(run.optimizers[step.optimizer]).__name__ else failed
        return answer(text, f"(loss / {count}).backward()", at=step.backwards[0].site)
    return passed(f"{count} batches to a step")


@check(needs="several batches for one step")
def used_gradients(run: Run) -> Outcome | None:
    """Gradients of every batch of a step are there when it is taken."""
    several = _accumulated(run)
    if lost := [one for one in several if any(back.fresh for back in one.backwards[1:])]:
        text = f"in {len(lost)} of {len(several)} steps, gradients of earlier batches were zeroed before the step"
        remedy = "zero_grad() once for each step, behind it"
        return failed(text, remedy, at=lost[0].backwards[-1].site)
    return all_of(len(several), "step")


@check(needs="a step of a learning rate scheduler")
def scheduler_order(run: Run) -> Outcome | None:
    """Schedulers step after their optimizer."""
    if run.early_schedule is not None:
        text = "a scheduler stepped before any optimizer: the first learning rate is skipped"
        return failed(text, "optimizer.step(), then scheduler.step()", at=run.early_schedule)
    return all_of(run.schedules, "scheduler step")


@check(needs="four optimizer steps")
def lasting_rate(run: Run) -> Outcome | None:
    """The learning rate lasts."""
    for steps in _by_optimizer(run):
        rates = [max(one.rates) for one in steps if one.rates]
        if len(rates) < 4:
            continue
        if not any(rates):
            return failed("the learning rate is 0", "see the scheduler", at=steps[0].site)
        if rates[-1] < _COLLAPSE * max(rates):
            text = f"it fell from {max(rates):.3g} to {rates[-1]:.3g} in {len(rates)} steps"
            remedy = "step the scheduler by epoch, or give it the number of steps"
            return failed(text, remedy, at=steps[-1].site)
        return passed(f"{rates[0]:.3g} … {rates[-1]:.3g} in {len(rates)} steps")
    return None


@check(needs="gradient clipping")
def clipping_order(run: Run) -> Outcome | None:
    """Gradients are clipped between backward and step."""
    if late := [one for one in run.steps if one.clipped_after is not None]:
        text = f"gradients are clipped after {len(late)} of {len(run.steps)} steps, which had used them"
        return failed(text, "clip before optimizer.step()", at=late[0].clipped_after)
    if scaled := [one for one in run.steps if one.clipped_scaled is not None]:
        text = f"gradients are clipped while they are multiplied by the scaler, in {len(scaled)} steps"
        return failed(text, "scaler.unscale_(optimizer) before clipping", at=scaled[0].clipped_scaled)
    early = [one for one in run.steps if any(norm == 0 for norm, _ in one.clips) and not one.zero_gradients]
    if early:
        text = f"there was nothing to clip yet in {len(early)} of {len(run.steps)} steps"
        return failed(text, "clip after backward()", at=early[0].clips[0][1])
    return all_of(sum(bool(one.clips) for one in run.steps), "step")


@check(needs="two optimizer steps")
def update_ratio(run: Run) -> Outcome | None:
    """Steps are in proportion to the weights."""
    several = [steps for steps in _by_optimizer(run) if len(steps) > 1]
    for steps in several:
        reached = {name for one in steps for name, norm in one.norms.items() if norm}
        usual = {
            name: median(one.moved[name] for one in steps if name in one.moved)
            for name in steps[0].moved
            if name in reached
        }
        wide = {name: usual[name] for name in usual if name.endswith("weight")} or usual
        if not wide:
            continue
        middle = median(wide.values())
        widest = max(
            median([one.moved[name] for name in wide if name in one.moved] or [0.0]) for one in steps
        )
        rates = [max(one.rates) for one in steps if one.rates]
        rate = max(rates, default=0.0)
        losses = [abs(one.loss) for one in steps if one.loss is not None]
        runs_away = len(losses) > 1 and losses[-1] > _RISE * losses[0]
        furthest = max(one.moved.get(name, 0.0) for one in steps[1:] for name in wide)
        if middle > _LARGE_UPDATE or widest > 1 or (runs_away and furthest > 1):
            text = f"a step changes a weight by up to {widest:.2g} of its size in the median layer, at a rate of {rate:g}"
            text += f"; some layer by {furthest:.2g}" if furthest > widest else ""
            return failed(text, "a smaller learning rate", *list(wide)[:4], at=steps[0].site)
        if middle < _SMALL_UPDATE and not (rates and rates[-1] > rates[0]):
            text = f"a step changes a weight by {middle:.1e} of its size in the median layer, at a rate of {rate:g}"
            return failed(text, "a larger learning rate", *list(wide)[:4], at=steps[0].site)
    values = [value for step in run.steps for value in step.moved.values() if value]
    if several and not values:
        return Outcome(Status.UNSEEN, f"no parameter moved in {len(run.steps)} steps")
    return passed(f"{min(values):.1e} … {max(values):.1e} of a parameter in a step") if several else None


@check(needs="an optimizer step")
def gradient_balance(run: Run) -> Outcome | None:
    """Gradients are of a similar size in all layers."""
    sizes = {
        one.name: max(step.norms.get(one.name, 0.0) for step in run.steps) / math.sqrt(one.tensor.numel())
        for one in run.parameters.values()
        if run.steps and one.tensor.dim() > 1 and one.tensor.numel()
    }
    sizes = {name: size for name, size in sizes.items() if size}
    if len(sizes) < 2:
        return None
    least, most = min(sizes, key=lambda name: sizes[name]), max(sizes, key=lambda name: sizes[name])
    text = f"{sizes[least]:.1e} an element in {least}, {sizes[most]:.1e} in {most}"
    if sizes[least] < _VANISHING * sizes[most]:
        remedy = "normalisation, skip connections or another initialisation between the two"
        named = {one.name: one for one in run.parameters.values()}
        return failed(text, remedy, named[least], named[most])
    return passed(text)


@check(needs="two optimizer steps")
def stable_loss(run: Run) -> Outcome | None:
    """The loss stays finite and does not run away."""
    values = [one.loss for one in run.steps if one.loss is not None]
    if len(values) < 2:
        return None
    if bad := [value for value in values if not math.isfinite(value)]:
        text = f"{len(bad)} of {len(values)} losses are {bad[0]}"
        return failed(text, "stablelint run names the expression", at=run.backwards[0].site)
    first, last = abs(values[0]), abs(values[-1])
    if len(run.optimizers) == 1 and last > 20 * max(first, 0.1):
        text = f"it grew from {first:.3g} to {last:.3g} in {len(values)} steps"
        return failed(text, "a smaller learning rate", at=run.backwards[0].site)
    text = f"{values[0]:.3g} … {values[-1]:.3g} in {len(values)} steps, at most {max(values):.3g}"
    if len(run.optimizers) == 1 and min(values) >= 0 and max(values) > _PEAK * max(first, 0.1):
        return warned(text, "a smaller learning rate, or a warm-up", at=run.backwards[0].site)
    return passed(text)
