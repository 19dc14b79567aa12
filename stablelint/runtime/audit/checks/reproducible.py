"""Will the run be the same tomorrow?"""

from __future__ import annotations

import os
import platform

import numpy
import torch

from stablelint.runtime.audit.outcome import Outcome, check, failed, passed, warned
from stablelint.runtime.audit.record import Run

ORDER = 7
_SEEDS = {"torch": "torch.manual_seed(…)", "random": "random.seed(…)", "numpy": "numpy.random.seed(…)"}


@check(needs="a training step")
def seeds(run: Run) -> Outcome | None:
    """Generators that are drawn from are seeded, once."""
    if not run.steps:
        return None
    if 2 * len(run.seeded_again) > len(run.steps):
        text = f"a seed is set {len(run.seeded_again)} times in {len(run.steps)} steps: each draws the same numbers again"
        return failed(text, "seed once, at the start of the program", at=run.seeded_again[0])
    missing = [name for name in ("torch", *sorted(run.drawn - {"torch"})) if name not in run.seeded]
    others = [name for name in run.unseeded if name == "torch" or name not in _SEEDS]
    if missing := list(dict.fromkeys((*missing, *others))):
        when = "before it was seeded" if missing[0] in run.seeded else "and had no seed"
        text = f"{', '.join(missing)} drew numbers {when}"
        at = next((run.unseeded[name] for name in missing if name in run.unseeded), None)
        remedy = "; ".join(_SEEDS.get(name, "numpy.random.default_rng(seed)") for name in missing)
        return warned(text, remedy, *missing, at=at)
    return passed(f"seeded: {', '.join(sorted(run.seeded))}")


@check(needs="nothing")
def environment(run: Run) -> Outcome | None:
    """The environment is known."""
    parts = [f"Python {platform.python_version()}", f"torch {torch.__version__}"]
    parts += [f"NumPy {numpy.__version__}", f"{torch.get_num_threads()} threads"]
    parts += [f"hash seed {os.environ.get('PYTHONHASHSEED', 'random')}"]
    parts += ["deterministic algorithms"] if torch.are_deterministic_algorithms_enabled() else []
    parts += ["cuDNN times its algorithms and chooses"] if torch.backends.cudnn.benchmark else []
    return passed(", ".join(parts))
