"""Which releases of torch the runtime works with. Never imports torch."""

from __future__ import annotations

import re
from importlib import metadata

# `torch.get_autocast_dtype`, which tells the dtype of autocast on any device, came with this release, and
# `torch.amp.GradScaler` and `torch.compiler.is_compiling` with the one before.
OLDEST_TORCH = (2, 4)


def too_old(version: str) -> str | None:
    """Why a torch of this `version` cannot be used, in a sentence; None for one that can, or that is not understood."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) >= OLDEST_TORCH:
        return None
    return f"torch {version} is too old: stablelint needs {'.'.join(map(str, OLDEST_TORCH))} or newer"


def installed_too_old() -> str | None:
    """The same of the torch that this interpreter would import, without importing it; None where there is none."""
    try:
        return too_old(metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return None
