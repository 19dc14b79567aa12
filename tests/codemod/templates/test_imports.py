from __future__ import annotations

import pytest

from tests.codemod.support import proposal, rewritten, withheld

SOFTPLUS = "torch.nn.functional.softplus($x)"
SITE = "log1p(z)"


def changed(head: str, template: str = SOFTPLUS, site: str = "y = log1p(z)\n") -> str:
    source = head + site
    return rewritten(source, proposal(source, SITE, template, x="z"))


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("import torch\n", "torch.nn.functional.softplus(z)"),
        ("import torch as th\n", "th.nn.functional.softplus(z)"),
        ("import torch.nn as nn\n", "nn.functional.softplus(z)"),
        ("from torch import nn\n", "nn.functional.softplus(z)"),
        ("import torch.nn.functional as F\n", "F.softplus(z)"),
        ("import torch\nfrom torch.nn import functional as fun\n", "fun.softplus(z)"),
        ("from torch.nn.functional import (\n    relu,\n    softplus,\n)\n", "softplus(z)"),
        ("import torch.nn.functional\n", "torch.nn.functional.softplus(z)"),
        (
            "try:\n    import torch\nexcept E:\n    torch = None\n",
            "torch.nn.functional.softplus(z)",
        ),
    ],
)
def test_the_names_of_the_file_are_used(head: str, call: str) -> None:
    assert changed(head) == f"{head}y = {call}\n"


def test_an_import_inside_the_function_counts_there() -> None:
    site = "def f(z):\n    import torch.nn.functional as F\n    y = log1p(z)\n"
    assert changed("from torch import log1p\n", site=site).endswith("    y = F.softplus(z)\n")


@pytest.mark.parametrize(
    ("site", "spelling"),
    [
        ("def f(F, z):\n    y = log1p(z)\n", "torch.nn.functional.softplus(z)"),
        ("def f(z):\n    y = log1p(z)\n    F = 1\n", "torch.nn.functional.softplus(z)"),
        ("y = [log1p(z) for F in z]\n", "torch.nn.functional.softplus(z)"),
        ("f = lambda F: log1p(z)\n", "torch.nn.functional.softplus(z)"),
        ("class A:\n    F = 1\n    y = log1p(z)\n", "torch.nn.functional.softplus(z)"),
        ("class A:\n    F = 1\n    def f(self):\n        y = log1p(z)\n", "F.softplus(z)"),
        ("def g(F): pass\ny = log1p(z)\n", "F.softplus(z)"),
    ],
)
def test_a_name_that_is_something_else_here_is_not_used(site: str, spelling: str) -> None:
    assert spelling in changed("import torch\nimport torch.nn.functional as F\n", site=site)


def test_a_name_bound_twice_at_top_level_is_not_used() -> None:
    after = changed("import torch\nimport torch.nn.functional as F\nF = object()\n")
    assert "torch.nn.functional.softplus(z)" in after


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            '"""Doc."""\nfrom __future__ import annotations\n\nimport os\n\nimport numpy as np\n'
            "from torch import log1p\n",
            '"""Doc."""\nfrom __future__ import annotations\n\nimport os\n\nimport numpy as np\n'
            "import torch.nn.functional as F\nfrom torch import log1p\n",
        ),
        ('"""Doc."""\n', '"""Doc."""\n\nimport torch.nn.functional as F\n'),
        ("# licence\n", "# licence\nimport torch.nn.functional as F\n\n"),
        (
            "from __future__ import annotations\nimport os\n",
            "from __future__ import annotations\nimport os\nimport torch.nn.functional as F\n",
        ),
        (
            "import torchvision\nimport yaml\nfrom torch import log1p\n",
            "import torch.nn.functional as F\nimport torchvision\nimport yaml\nfrom torch import log1p\n",
        ),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
            "from typing import TYPE_CHECKING\nimport torch.nn.functional as F\n"
            "if TYPE_CHECKING:\n    import torch\n",
        ),
    ],
)
def test_an_import_is_added_where_a_reader_looks_for_it(head: str, expected: str) -> None:
    assert changed(head) == f"{expected}y = F.softplus(z)\n"


def test_a_taken_f_makes_it_torch() -> None:
    assert changed("from torch import log1p\nF = 3\n") == (
        "import torch\nfrom torch import log1p\nF = 3\ny = torch.nn.functional.softplus(z)\n"
    )


def test_a_taken_torch_withholds_the_fix() -> None:
    source = "torch = F = 3\ny = log1p(z)\n"
    assert "`torch` stands for something else" in withheld(source, proposal(source, SITE, SOFTPLUS, x="z"))


def test_math_goes_with_the_standard_library() -> None:
    after = changed("import os\nimport sys\n\nimport torch\n", "torch.log1p($x) + math.pi")
    assert after == "import math\nimport os\nimport sys\n\nimport torch\ny = torch.log1p(z) + math.pi\n"


def test_the_import_ends_with_the_newline_of_the_file() -> None:
    after = changed("from torch import log1p\r\n", site="y = log1p(z)\r\n")
    assert after == "import torch.nn.functional as F\r\nfrom torch import log1p\r\ny = F.softplus(z)\r\n"


@pytest.mark.parametrize("imports", ["import torch\n", "import torch\nfrom ..utils import log1p\n"])
def test_the_standard_library_gets_a_block_of_its_own(imports: str) -> None:
    after = changed(f'"""Doc."""\n\n{imports}', "torch.log1p($x) + math.pi")
    assert after == f'"""Doc."""\n\nimport math\n\n{imports}y = torch.log1p(z) + math.pi\n'


def test_a_file_that_imports_nothing_of_torch_gets_none_of_it() -> None:
    source = "import math\nfrom package.torch import metric\ny = log1p(z)\n"
    change = proposal(source, "log1p(z)", "$x.clamp_min(torch.finfo($x.dtype).tiny)", x="z")
    assert withheld(source, change) == "the file does without torch, and so may its numbers"
