"""A file that computes nothing with torch is let go by its bytes; any way in which torch comes in keeps it."""

from __future__ import annotations

import pytest

from stablelint.syntax.relevance import brings_torch, handles_tensors


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "\ufeffimport torch",
        "import os, torch",
        "import os; import torch",
        "try: import torch\nexcept ImportError: pass",
        "def f():\r    import torch.nn as nn\r",
        "from torch import nn",
        "from torchvision import ops",
        "from .compat import torch",
        "from .compat import (\n    np,\n    torch,\n)",
        "from .imports import *  # torch",
        "from .core import Tensor, where  # torch",
        "from .core import (\n    Tensor,\n    where,\n)  # torch",
        "torch = importlib.import_module('torch')",
        'F = pytest.importorskip("torch.nn.functional")',
    ],
)
def test_a_file_into_which_torch_comes_concerns_us(text: str) -> None:
    assert brings_torch(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import numpy",
        "from .imports import *",
        '"""Turns text into ids, as a `torch.Tensor` if asked."""\nimport json',
        'def f(x):\n    """\n    >>> import torch\n    >>> f(torch.ones(2))\n    """\n',
        "import json  # not torch",
    ],
)
def test_a_file_that_speaks_of_torch_at_most_does_not(text: str) -> None:
    assert not brings_torch(text.encode())


def test_what_is_imported_may_handle_tensors_that_it_never_names() -> None:
    assert handles_tensors(b"def f(x):\n    return x.clamp(1e-6)")
    assert not handles_tensors(b"x = 1")
