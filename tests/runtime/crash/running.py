"""Programs of the tests, run to what ends them."""

import json
import runpy
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Any

import torch

from stablelint.runtime.crash import arm as armed
from stablelint.runtime.crash.explanation import Explanation
from stablelint.runtime.crash.trail import Trail
from stablelint.runtime.tracing import hooks
from tests.forks import Servers


def explained(path: Path) -> tuple[Explanation | None, BaseException]:
    """Run a program in its folder to its end, and ask for the explanation of what ended it."""
    with chdir(path.parent):
        return _explained(path)


def _explained(path: Path) -> tuple[Explanation | None, BaseException]:
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


def explained_apart(path: Path, servers: Servers) -> dict[str, Any]:
    """What is explained of a program that runs in a process of its own: what it changes of torch goes with that."""
    code = (
        "import json, pathlib; from tests.runtime.crash.running import explained; "
        f"found, error = explained(pathlib.Path({str(path)!r})); print(json.dumps(found.as_json(error)))"
    )
    told: dict[str, Any] = json.loads(servers.answered(code, path.parent))
    return told
