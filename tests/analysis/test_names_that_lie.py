"""What a thing is decides, not what it is called."""

import pytest

from tests.analysis.support import open_, unmet

SILENT = {
    "a local log that clamps": """
        def log(x):
            return torch.log(x.clamp(min=1e-6))

        def f(x: torch.Tensor):
            return log(torch.relu(x))
    """,
    "a LogSoftmax called softmax": """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.softmax = nn.LogSoftmax(dim=-1)
                self.criterion = nn.NLLLoss()

            def forward(self, z, y):
                return self.criterion(self.softmax(z), y)
    """,
    "a cross-entropy called bce": """
        def f(z, y):
            bce = nn.CrossEntropyLoss()
            return bce(z, y)
    """,
    "pathlib": """
        from pathlib import Path

        def f(name: str):
            root = Path("data")
            return torch.load(root / name / "weights.pt", map_location="cpu")
    """,
    "a path parameter": """
        from pathlib import Path

        def f(root: Path, norm: str):
            return root / norm
    """,
    "a logger": """
        import logging
        logger = logging.getLogger(__name__)

        def f(x: torch.Tensor):
            logger.log(logging.INFO, "mean %s", x.mean())
    """,
    "a method called log": """
        class Module(nn.Module):
            def training_step(self, batch):
                self.log("loss", batch.mean())
    """,
    "an experiment tracker": """
        import wandb

        def f(x: torch.Tensor):
            wandb.log({"loss": x.mean()})
    """,
    "a docstring": '''
        def f(x: torch.Tensor):
            """Computes torch.log(torch.softmax(x, -1)) and x / x.sum()."""
            # torch.log(torch.softmax(x, -1))
            return torch.log_softmax(x, -1)
    ''',
    "a string": """
        def f(x: torch.Tensor):
            return eval("torch.log(torch.softmax(x, -1))")
    """,
    "a softmax that is something else": """
        def softmax(z, dim):
            return z.abs() + 1.0

        def f(z: torch.Tensor):
            return torch.log(softmax(z, -1))
    """,
    "a name bound again": """
        def f(z: torch.Tensor):
            p = torch.softmax(z, -1)
            p = p + 1.0
            return torch.log(p)
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_a_name_is_no_evidence_against_what_is_known(program: str) -> None:
    assert unmet(program) == []
    assert {code for _, code in unmet(program)} <= {"SL208"}


FOUND = {
    "a softmax called log_softmax": (
        "def log_softmax(z):\n    return F.softmax(z, dim=-1)\n\ndef f(z):\n    return torch.log(log_softmax(z))\n",
        [(5, "SL202")],
    ),
    "a probability called logits": (
        "def f(x, y):\n    logits = F.softmax(x, dim=-1)\n    return F.cross_entropy(logits, y)\n",
        [(2, "SL301")],  # the softmax is what must go
    ),
    "a Softmax called identity": (
        "identity = nn.Softmax(dim=-1)\n\ndef f(z):\n    return torch.log(identity(z))\n",
        [(4, "SL202")],
    ),
    "a logarithm under another name": (
        "from torch import log as safe_log\n\ndef f(z):\n    return safe_log(torch.relu(z))\n",
        [(4, "SL101")],
    ),
    "an array of numpy": (
        "import numpy as np\n\ndef f(x):\n    return np.log(np.maximum(np.asarray(x), 0))\n",
        [(4, "SL101")],
    ),
    "torch under numpy's name": (
        "import torch as np\n\ndef f(z):\n    return np.log(np.relu(z))\n",
        [(4, "SL101")],
    ),
}


@pytest.mark.parametrize(("program", "expected"), FOUND.values(), ids=FOUND.keys())
def test_a_name_is_no_alibi(program: str, expected: list[tuple[int, str]]) -> None:
    assert open_(program) == expected
