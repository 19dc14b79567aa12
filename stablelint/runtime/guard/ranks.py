"""Several processes that train together."""

from __future__ import annotations

import torch


def are_several() -> bool:
    """Whether this process is one of a group."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()
