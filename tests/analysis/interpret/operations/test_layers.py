"""What calling an instance of an `nn` class does."""

import pytest

from tests.analysis.support import findings

LOSS = """
def step(model, image, text, sizes, ctc):
    loss = nn.CTCLoss() if ctc else nn.CrossEntropyLoss()
    return loss({arguments})
"""
IMPORTS = "import torch\nfrom torch import nn\n"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("model(image).log_softmax(1), text", True),
        ("model(image).log_softmax(2).permute(1, 0, 2), text, sizes, sizes", False),
    ],
)
def test_of_several_losses_one_is_called_that_takes_the_arguments(arguments: str, found: bool) -> None:
    code = LOSS.format(arguments=arguments)
    assert ("SL302" in {d.code for d in findings(code, IMPORTS)}) is found
