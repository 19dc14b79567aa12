"""Runs a script as the interpreter would, from code that was put together elsewhere."""

import os
import sys
from types import ModuleType


def _main() -> None:
    from stablelint.runtime.verify.probe.install import code_of
    from stablelint.runtime.verify.probe.plan import REGISTRY

    sys.argv = sys.argv[1:]
    script = sys.argv[0]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    assert REGISTRY.plan is not None
    code = code_of(script, REGISTRY.plan)
    module = ModuleType("__main__")
    module.__dict__.update(
        __file__=script, __builtins__=__builtins__, __cached__=None, __loader__=None, __spec__=None
    )
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


_main()
