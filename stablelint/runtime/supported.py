"""Imported before what uses torch: raises ImportError, with a sentence for the user, where its release is too old."""

from __future__ import annotations

import torch

from stablelint.runtime.release import too_old

if (reason := too_old(torch.__version__)) is not None:
    raise ImportError(reason)
