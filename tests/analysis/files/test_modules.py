"""What a file shows of its own classes."""

import ast

import pytest

from stablelint.analysis.files.indexing import module_of
from stablelint.analysis.files.modules import ModuleInfo
from stablelint.syntax.source import Source

CLASS = "class Net:\n    def forward(self, x):\n        return x\n\n\n"


def module(code: str) -> ModuleInfo:
    text = CLASS + code
    return module_of(Source("net.py", text, ast.parse(text)), None, "")


@pytest.mark.parametrize(
    "code",
    [
        "Net.forward = f",
        "Net.forward: object = f",
        "Net.forward, other = f, g",
        "(Net.forward) = f",
        "(other, Net.forward) = g, f",
        "[Net.forward] = [f]",
        "Net. forward \\\n    = f",
        "Net.forward += f",
        "for Net.forward in (f, g):\n    pass",
        "with f() as Net.forward:\n    pass",
        "nets.Net.forward = f",
        "Net.width.real = Net.forward = f",
        "setattr(Net, 'forward', f)",
    ],
)
def test_an_attribute_that_is_set_on_a_class_is_known(code: str) -> None:
    assert "forward" in module(code).patched["Net"]


@pytest.mark.parametrize(
    "code",
    [
        "Net.forward(x, y)",
        "Net.forward.width = 1",
        "Net.forward[0] = 1",
        '"See `Net.forward`"',
        "f(Net.forward)",
    ],
)
def test_an_attribute_that_is_read_alone_is_not_set(code: str) -> None:
    assert not module(code).patched


def test_what_it_imports_of_torch_or_of_the_language_is_borrowed_of_no_file_of_the_project() -> None:
    imports = "import os\nimport torch.nn as nn\nfrom torch import optim\nimport numpy as np\n"
    assert module(f"{imports}import helpers\nfrom engine import step as go\n").borrowed == ["helpers", "go"]
