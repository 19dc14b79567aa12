"""Found first on the path of a guarded command's processes: arms the guard, then makes way.

A `sitecustomize` of the user's own, further down the path, is run afterwards as if this one were not there.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _arm() -> None:
    root = os.path.abspath(__file__)
    for _ in range(5):
        root = os.path.dirname(root)
    try:
        if importlib.util.find_spec("stablelint") is None:
            sys.path.append(root)
        from stablelint.runtime.guard_start import arm

        arm()
    except Exception as error:  # the command must run, guarded or not
        sys.stderr.write(f"stablelint: this process is not guarded: {type(error).__name__}: {error}\n")


def _make_way() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_arm()
_make_way()
