"""Found first on the path of a guarded command's processes: arms the guard, then makes way.

A `sitecustomize` of the user's own, further down the path, is run afterwards as if this one were not there.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _arm() -> None:
    """Arm by the installed package; an interpreter that has none is lent this file's, and that once it has torch."""
    try:
        if importlib.util.find_spec("stablelint") is not None:
            from stablelint.runtime.process.start import arm

            arm()
            return
        runtime = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        spec = importlib.util.spec_from_file_location(
            "_stablelint_start", os.path.join(runtime, "process", "start.py")
        )
        assert spec is not None and spec.loader is not None  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # a dataclass asks for the module it stands in
        try:
            spec.loader.exec_module(module)
        finally:
            del sys.modules[spec.name]
        module.arm(package=os.path.dirname(runtime))
    except Exception as error:  # the command must run, guarded or not
        sys.stderr.write(f"stablelint: this process is not guarded: {type(error).__name__}: {error}\n")


def _make_way() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    sys.path[:] = others
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_arm()
_make_way()
