"""Are all parameters trained, once, and with statistics of their own?"""

from __future__ import annotations

from collections import Counter
from operator import length_hint

from torch import nn

from stablelint.runtime.audit.checks.model import shut_units
from stablelint.runtime.audit.modules import NORMALISING
from stablelint.runtime.audit.outcome import Outcome, Status, all_of, check, failed, passed, warned
from stablelint.runtime.audit.record import Place, Run
from stablelint.runtime.plain import plural
from stablelint.runtime.tensors.names import parameters_of

ORDER = 3


@check(needs="an optimizer step")
def held_parameters(run: Run) -> Outcome | None:
    """Every parameter that asks for gradients has an optimizer."""
    if not run.steps:
        return None
    held = run.held()
    reached = set().union(*(facts.reached for facts in run.facts()))
    loose = {key: one for key, one in run.parameters.items() if key not in held and one.called}
    loose = {key: one for key, one in loose.items() if key in reached or one.tensor.grad is not None}
    if missing := {key: one.name for key, one in loose.items() if one.tensor.requires_grad}:
        text = "{names} get gradients, and no optimizer that stepped holds them"
        remedy = (
            "make the optimizer of all parameters, after they are replaced or moved (layers in a plain list: "
        )
        remedy += "nn.ModuleList); torch.no_grad() around what is not to be learned"
        at = _shared(run)[1] or run.made_at.get(id(run.optimizers[0]))
        # What was loaded may be meant to stay as it is, and another optimizer may step later.
        answer = warned if run.given.intersection(missing) else failed
        return answer(text, remedy, *missing.values(), at=at)
    return passed(f"{len(held)} parameters in {plural(len(run.optimizers), 'optimizer')}")


@check(needs="two optimizers")
def one_optimizer(run: Run) -> Outcome | None:
    """No parameter has two optimizers."""
    if len(run.optimizers) < 2:
        return None
    twice, at = _shared(run)
    if names := [one.name for key, one in run.parameters.items() if key in twice]:
        text = "{names} are stepped by two optimizers"
        return failed(text, "give each optimizer its own parameters", *names, at=at)
    return passed(f"{len(run.held())} parameters in {plural(len(run.optimizers), 'optimizer')}")


def _shared(run: Run) -> tuple[set[int], Place]:
    """Identities of the parameters that several optimizers hold, and where the last of these optimizers is made."""
    counts = Counter(id(one) for each in run.optimizers for one in parameters_of(each))
    twice = {key for key, count in counts.items() if count > 1}
    holders = {id(one) for one in run.optimizers if twice.intersection(map(id, parameters_of(one)))}
    return twice, next((at for key, at in reversed(run.made_at.items()) if key in holders), None)


@check(needs="two optimizer steps")
def gradients_arrive(run: Run) -> Outcome | None:
    """Every parameter of the optimizer gets a gradient."""
    if len(run.steps) < 2 or 2 * sum(one.has_gradients for one in run.steps) < len(run.steps):
        return None  # what stands between backward and step is asked about by itself
    held = run.held()
    mine = [one for key, one in run.parameters.items() if key in held and one.tensor.requires_grad]
    if without := [one for one in mine if not one.gradients]:
        why = "their modules are never called with gradients enabled"
        if any(one.called for one in without):
            why = "their modules are called, but the loss does not depend on them: a detach, no_grad or argmax on the way?"
        text = f"{{names}} never got a gradient; {why}"
        return failed(text, "use them, or leave them out", *without)
    alive = {id(one.owner) for one in mine if one.nonzero}  # what shifts all scores alike may be of no weight
    if zero := [one for one in mine if one.gradients and not one.nonzero and id(one.owner) not in alive]:
        text = "the gradients of {names} were zero in every step"
        if shut := [name for name, (share, _) in shut_units(run).items() if share == 1]:
            text = f"gradients were zero in every step where no unit behind {', '.join(shut)} passes one"
            return Outcome(Status.UNSEEN, text)  # of which another check speaks
        return failed(text, "see what their output is multiplied by, and whether it is cut at zero", *zero)
    return all_of(len(mine), "parameter")


@check(needs="frozen normalisation layers")
def frozen_statistics(run: Run) -> Outcome | None:
    """Frozen normalisation layers keep their statistics."""
    layers = [one for one in run.layers.values() if isinstance(one.module, NORMALISING) and one.module.affine]
    frozen = [one for one in layers if not any(p.requires_grad for p in one.module.parameters())]
    if moving := [one for one in frozen if one.train_calls]:
        text = "{names} are frozen, and in training mode: their running statistics move"
        return failed(text, "call eval() on frozen layers after train()", *moving)
    return all_of(len(frozen), "layer")


@check(needs="normalisation layers in training mode")
def normalised_over_enough(run: Run) -> Outcome | None:
    """Normalisation has enough values to normalise over."""
    layers = [one for one in run.layers.values() if one.smallest_count is not None]
    if few := [one for one in layers if (one.smallest_count or 0) <= 4]:
        text = f"{few[0].name} normalises over {few[0].smallest_count} values a channel"
        return failed(text, "larger batches, or GroupNorm", *few)
    for facts in run.loaders if layers else ():
        total, size = length_hint(facts.loader.dataset), facts.batch_size or 1
        full = facts.loader.drop_last or getattr(facts.loader.batch_sampler, "drop_last", False)
        if facts.trained and not full and size > 1 and total % size == 1:
            text = f"{total} samples in batches of {size}: the last batch has one, and {{names}} normalises over it"
            return failed(text, "drop_last=True", layers[0].name, at=facts.site)
    return all_of(len(layers), "layer")


@check(needs="a list of modules")
def own_weights(run: Run) -> Outcome | None:
    """Layers of a list are layers of their own."""
    shared: dict[str, nn.Module] = {}
    lists = 0
    for root in run.roots:
        for path, module in root.named_modules():
            if not isinstance(module, (nn.ModuleList, nn.Sequential)):
                continue
            lists += 1
            places = [(name, one) for name, one in module._modules.items() if one is not None]
            counts = Counter(id(one) for _, one in places)
            for name, one in places:
                if counts[id(one)] > 1 and next(one.parameters(), None) is not None:
                    shared[f"{path}.{name}" if path else name] = one
    if shared:
        text = "{names} are one and the same module"
        remedy = "make each anew: [Layer() for _ in range(n)], not [Layer()] * n"
        return failed(text, remedy, *shared, at=run.home(next(iter(shared.values()))))
    return all_of(lists, "list")
