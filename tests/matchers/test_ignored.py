"""Targets that are all ignored: shown by the program, or only thinkable."""

import pytest

from tests.analysis.support import open_

SHOWN = {
    "targets written out": (
        "for y in [torch.tensor([0, 2]), torch.tensor([-100, -100])]:\n"
        "    loss = F.cross_entropy(torch.randn(2, 3), y, ignore_index=-100)\n"
    ),
    "targets written out for a criterion": (
        "crit = nn.CrossEntropyLoss(ignore_index=-1)\nloss = crit(torch.randn(2, 3), torch.full((2,), -1))\n"
    ),
    "a prefix that is ignored, and a cut": (
        "def f(logits, labels, prompt):\n    labels = labels.clone()\n    labels[:, :prompt] = -100\n"
        "    labels = labels[:, :8]\n    return F.cross_entropy(logits, labels.flatten(), ignore_index=-100)\n"
    ),
    "log-probabilities": (
        "def f(logp, labels, prompt):\n    labels[:prompt] = -100\n"
        "    return F.nll_loss(logp, labels[:512], ignore_index=-100)\n"
    ),
}

THINKABLE = {
    "any targets": "def f(logits, y):\n    return F.cross_entropy(logits, y, ignore_index=-100)\n",
    "some of the targets": (
        "y = torch.tensor([0, -100])\nloss = F.cross_entropy(torch.randn(2, 3), y, ignore_index=-100)\n"
    ),
    "a prefix and no cut": (
        "def f(logits, labels, prompt):\n    labels[:, :prompt] = -100\n"
        "    return F.cross_entropy(logits, labels.flatten(), ignore_index=-100)\n"
    ),
    "a prefix of known length": (
        "def f(logits, labels):\n    labels[:, :1] = -100\n"
        "    return F.cross_entropy(logits, labels[:, :8].flatten(), ignore_index=-100)\n"
    ),
    "a prefix with another number": (
        "def f(logits, labels, prompt):\n    labels[:, :prompt] = 0\n"
        "    return F.cross_entropy(logits, labels[:, :8].flatten(), ignore_index=-100)\n"
    ),
    "padded sequences": (
        "def f(logits, labels, prompt):\n    padded_labels = labels.clone()\n    padded_labels[:, :prompt] = -100\n"
        "    return F.cross_entropy(logits, padded_labels[:, :8].flatten(), ignore_index=-100)\n"
    ),
    "a cut from the end": (
        "def f(logits, labels, prompt):\n    labels[:, :prompt] = -100\n"
        "    return F.cross_entropy(logits, labels[:, :-1].flatten(), ignore_index=-100)\n"
    ),
}

ANOTHER = {
    "a sum": "def f(x, y):\n    return F.cross_entropy(x, y, ignore_index=-100, reduction='sum')\n",
    "no reduction": "def f(x, y):\n    return F.cross_entropy(x, y, ignore_index=-100, reduction='none')\n",
    "nothing ignored by name": "def f(x, y):\n    return F.cross_entropy(x, y)\n",
    "the deprecated sum": "def f(x, y):\n    return F.cross_entropy(x, y, ignore_index=-100, size_average=False)\n",
}


@pytest.mark.parametrize("program", SHOWN.values(), ids=SHOWN.keys())
def test_a_batch_without_a_target_is_shown_by_the_program(program: str) -> None:
    assert [code for _, code in open_(program)] == ["SL307"]


@pytest.mark.parametrize("program", THINKABLE.values(), ids=THINKABLE.keys())
def test_a_batch_without_a_target_is_thinkable(program: str) -> None:
    assert [code for _, code in open_(program)] == ["SL307"]


@pytest.mark.parametrize("program", ANOTHER.values(), ids=ANOTHER.keys())
def test_another_reduction_is_no_mean(program: str) -> None:
    assert open_(program) == []
