"""A file that computes nothing with torch is let go by its bytes; any way in which torch comes in keeps it."""

import pytest

from stablelint.syntax.relevance import brings_torch, handles_tensors, is_checked, sets_elsewhere


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


@pytest.mark.parametrize(
    ("text", "checked"),
    [
        ("import torch", True),
        ("import numpy as np", True),
        ("from numpy import linalg", True),
        ("import numpy as np\nimport tensorflow as tf", False),
        ("import numpy as np\nimport torch\nimport jax", True),
        ("import pandas as pd", False),
        ("# numpy", False),
    ],
)
def test_a_file_of_arrays_alone_is_checked_beside_those_of_torch(text: str, checked: bool) -> None:
    assert is_checked(text.encode()) is checked


def test_what_is_imported_may_handle_tensors_that_it_never_names() -> None:
    assert handles_tensors(b"def f(x):\n    return x.clamp(1e-6)")
    assert not handles_tensors(b"x = 1")


@pytest.mark.parametrize(
    "text",
    [
        "from lib import config\nconfig.EPS = 0",
        "import lib.config as c\n\ndef f():\n    c.EPS += 1",
        "from lib.config import (\n    A,\n    TABLE,\n)\nTABLE['eps'] = 0",
        "import lib\nlib.config.TABLE['eps'] = 0",
    ],
)
def test_a_file_may_set_what_another_one_holds(text: str) -> None:
    assert sets_elsewhere(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "import lib\n\nclass A:\n    def f(self):\n        self.lib = 0",
        "import os\nos.environ['N'] = '1'",
        "from lib import config\nassert config.EPS == 0",
        "from lib import config\nx = {}\nx['config'] = 0",
    ],
)
def test_a_file_that_sets_what_is_its_own_does_not(text: str) -> None:
    assert not sets_elsewhere(text.encode())
