"""Programs of the tests, run to what ends them."""

import runpy
import warnings
from pathlib import Path

import torch

from stablelint.runtime.crash import arm as armed
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.trail import Trail
from stablelint.runtime.tracing import hooks


def explained(path: Path) -> tuple[Explanation | None, BaseException]:
    """Run a program to its end, and ask for the explanation of what ended it."""
    trail = Trail()
    trail.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runpy.run_path(str(path), run_name="__main__")
    except Exception as error:
        return armed.explain(error, trail), error
    finally:
        hooks.detach(trail)
        torch.autograd.set_detect_anomaly(False)
    raise AssertionError("the program ended well")
