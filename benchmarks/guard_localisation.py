"""What it costs to name the expression: the replay of the step that went wrong, in ordinary step times.

Each model trains some steps and then meets a fault, in the forward pass or in the backward pass alone. The replay
is timed by the processor's own clock. What it costs whatever the model (finding and compiling the loop, reading
the source) is told apart as start-up: the replay of the same fault on a model of a few numbers. The replayed loss
must be that of the step, bit for bit; where the loss is NaN, that of the backward fault tells.

Usage: python benchmarks/guard_localisation.py [--rounds N] [--model NAME]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from unittest import mock

import torch
from guard_overhead import MODELS
from torch import nn
from torch.nn import functional

from stablelint.runtime.guard import Event, Guard, NonFiniteError, api
from stablelint.runtime.guard.explaining.investigate import investigate

_STEPS = 6
FAULTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "forward": lambda out: (out * 0).log().mean(),
    "backward": lambda out: (out - out.detach()).square().sum().sqrt(),
}


def tiny() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    return nn.Linear(2, 2), torch.randn(2, 2), torch.randint(0, 2, (2,))


def localise(model: nn.Module, x: torch.Tensor, y: torch.Tensor, fault: str) -> tuple[float, float, Event]:
    """Seconds of an ordinary step, seconds of the investigation, and the event."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    investigation: list[float] = []
    steps: list[float] = []

    def timed(*arguments: object) -> object:
        started = time.process_time()
        finding = investigate(*arguments)  # type: ignore[arg-type]
        investigation.append(time.process_time() - started)
        return finding

    with mock.patch.object(api, "investigate", timed), Guard() as guard:
        try:
            for step in range(_STEPS):
                started = time.process_time()
                optimizer.zero_grad()
                out = model(x + torch.randn_like(x))
                loss = functional.cross_entropy(out, y)
                if step == _STEPS - 1:
                    loss = loss + FAULTS[fault](out)
                loss.backward()
                optimizer.step()
                steps.append(time.process_time() - started)
        except NonFiniteError:
            pass
    return statistics.median(steps[1:]), investigation[0], guard.events[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", choices=MODELS, action="append")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    localise(*tiny(), "forward")
    start_up = {fault: min(localise(*tiny(), fault)[1] for _ in range(options.rounds)) for fault in FAULTS}
    print("start-up: " + ", ".join(f"{fault} {taken * 1e3:.0f} ms" for fault, taken in start_up.items()))
    print(f"{'model':<12} {'fault':<9} {'step':>9} {'replay':>9} {'steps':>6}  named, bitwise equal")
    for name in options.model or MODELS:
        for fault in FAULTS:
            found = [localise(*MODELS[name](), fault) for _ in range(options.rounds)]
            step, replay = min(one[0] for one in found), min(one[1] for one in found)
            exact = sum(event.exact and event.loss is not None for _, _, event in found)
            named = sum(event.location is not None and event.operation is not None for _, _, event in found)
            steps = (replay - start_up[fault]) / step
            cells = f"{step * 1e3:>6.1f} ms {replay * 1e3:>6.1f} ms {steps:>6.2f}"
            print(f"{name:<12} {fault:<9} {cells}  {named} and {exact} of {options.rounds}")


if __name__ == "__main__":
    main()
