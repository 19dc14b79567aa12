from __future__ import annotations

import pytest

from stablelint.codemod.text.unread import is_taken_from, without_unread

FIXED = "y = torch.log_softmax(x, -1)\n"


@pytest.mark.parametrize(
    ("imports", "left"),
    [
        ("import torch\nimport torch.nn.functional as F\n", "import torch\n"),
        ("import torch\nfrom torch.nn import Module, functional as F\n", "import torch\nfrom torch.nn import Module\n"),
        ("import torch, torch.nn.functional as F\n", "import torch\n"),
        ("import torch\nfrom . import F\n", "import torch\n"),
    ],
)  # fmt: skip
def test_an_import_goes_with_its_last_reader(imports: str, left: str) -> None:
    before = f"{imports}y = torch.log(F.softmax(x, -1))\n"
    after = without_unread(before.encode(), f"{imports}{FIXED}".encode())
    assert after.decode() == f"{left}{FIXED}"


@pytest.mark.parametrize(
    "imports",
    [
        "import torch\nimport torch.nn.functional as F  # noqa: F401\n",
        "import torch\nimport torch.nn.functional as F\n__all__ = ['F']\n",
        "import torch\nfrom torch.nn import (\n    functional as F,\n)\n",
        "import torch\ntry:\n    import fast as F\nexcept ImportError:\n    pass\n",
        "import torch; import torch.nn.functional as F\n",
        "import torch\nimport torch.nn.functional as F\nz = F.relu(x)\n",
        "import torch\nimport torch.nn.functional as F\ndef g(x: 'list[F.Tensor]'): ...\n",
        "import torch\nimport torch.nn.functional as F\ndef g(x):\n    # type: (F.Tensor) -> None\n    pass\n",
        'import torch\nimport torch.nn.functional as F\ndef g(x):\n    """>>> F.relu(x)"""\n',
        "import torch\nimport torch.nn.functional as F\nz = globals()[name]\n",
        "import torch\nimport torch.nn.functional as F\nz = eval(name)\n",
        "z = '\f'\nimport torch\nimport torch.nn.functional as F\ndef g(x: 'F.T'): ...\n",
        "import sys\nimport torch\nimport torch.nn.functional as F\nz = getattr(sys.modules[__name__], name)\n",
    ],
)
def test_an_import_of_which_more_is_said_stays(imports: str) -> None:
    before = f"{imports}y = torch.log(F.softmax(x, -1))\n"
    after = f"{imports}{FIXED}".encode()
    assert without_unread(before.encode(), after) == after


def test_what_was_not_read_before_stays() -> None:
    after = f"import os\nimport torch\n{FIXED}".encode()
    assert without_unread(b"import os\nimport torch\ny = torch.log(torch.softmax(x, -1))\n", after) == after


@pytest.mark.parametrize(
    ("other", "is_taken"),
    [
        (b"from losses import *\n", True),
        (b"from .losses import (\n    dice,\n    F,\n)\n", True),
        (b"from package.losses import dice, F as G\n", True),
        (b"import losses\ny = losses.F.relu(x)\n", True),
        (b"from package import losses as own\ny = own.F.relu(x)\n", True),
        (b"from losses import dice\nimport torch.nn.functional as F\n", False),
        (b"from other_losses import *\nfrom losses.parts import *\n", False),
        (b"import losses\ny = losses.dice(F)\n", False),
    ],
)
def test_what_other_files_take_is_told_by_their_texts(other: bytes, is_taken: bool) -> None:
    assert is_taken_from("/package/losses.py", frozenset(("F",)), [b"import torch\n", other]) == is_taken


def test_an_import_that_others_take_stays() -> None:
    imports = "import torch\nimport torch.nn.functional as F\n"
    before, after = f"{imports}y = torch.log(F.softmax(x, -1))\n".encode(), f"{imports}{FIXED}".encode()
    assert without_unread(before, after, lambda names: names == {"F"}) == after


def test_a_file_begins_with_no_empty_line_where_its_first_import_goes() -> None:
    after = without_unread(
        b"import math\n\nimport torch\ny = math.e\n", b"import math\n\nimport torch\ny = torch.e\n"
    )
    assert after == b"import torch\ny = torch.e\n"
