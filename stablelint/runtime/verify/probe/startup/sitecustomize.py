"""Found first on the path of a watched command's processes: installs the probes, then makes way.

A `sitecustomize` of the user's own, further down the path, is run afterwards as if this one were not there.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _install() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    root = here
    for _ in range(5):
        root = os.path.dirname(root)
    added = root not in sys.path
    if added:
        sys.path.append(root)
    try:
        from stablelint.runtime.verify.probe.install import install

        install()
    except Exception as error:
        sys.stderr.write(f"stablelint: this process is not watched: {error}\n")


def _chain() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_install()
_chain()
