"""What gets a program past what failed, told by running it again with one expression edited."""

from pathlib import Path

import pytest

from tests.runtime.crash.crashes import HEAD
from tests.runtime.crash.running import explained


@pytest.fixture
def not_run_again() -> None:
    """Here programs are run again."""


PROGRAMS = {
    "a layer of the size that arrives": (
        "net = nn.Sequential(nn.Flatten(), nn.Linear(32, 4))\nfor _ in range(3):\n    net(torch.rand(2, 3, 4, 4))\n",
        "line 5: net = nn.Sequential(nn.Flatten(), nn.Linear(48, 4))",
    ),
    "channels that come last where images are made": (
        "def images():\n    return torch.rand(2, 8, 8, 3)\n\nconv = nn.Conv2d(3, 4, 3)\nconv(images()).mean().backward()\n",
        "line 6: return torch.rand(2, 8, 8, 3).permute(0, 3, 1, 2)",
    ),
    "a setting of the program that nothing divides": (
        "class Settings:\n    image = 36\n    patch = 8\n\nx = torch.rand(2, Settings.image)\n"
        "print(x.reshape(2, Settings.image // Settings.patch, Settings.patch).shape)\n",
        "line 7: patch = 9",
    ),
    "a mask of parts beside the whole": (
        "whole, mask = torch.rand(4, 12), torch.rand(4, 3) > 0.5\nprint((whole[mask] - whole[mask] / 2).sum())\n",
        "whole[mask.repeat_interleave(4, 1)] - whole[mask.repeat_interleave(4, 1)] / 2",
    ),
    "an index that is picked and comes back in one column": (
        "q, action = torch.rand(4, 3), torch.tensor([0, 2, 1, 1])\nloss = F.mse_loss(q.gather(1, action), torch.rand(4))\n",
        "q.gather(1, action.unsqueeze(1)).squeeze(1)",
    ),
    "a table that lacks rows for later samples too": (
        "class Words(nn.Module):\n    def __init__(self, count):\n        super().__init__()\n"
        "        self.table = nn.Embedding(count, 4)\n\n    def forward(self, x):\n        return self.table(x)\n\n"
        "letters = 'abcdef'\nmodel = Words(len(letters))\nfor last in (5, 6, 7):\n    model(torch.tensor([0, last]))\n",
        "line 14: model = Words(len(letters) + 2)",
    ),
    "a batch that is shorter than the others": (
        "from torch.utils.data import DataLoader, TensorDataset\nlstm, state = nn.LSTM(3, 5, batch_first=True), None\n"
        "state = (torch.zeros(1, 4, 5), torch.zeros(1, 4, 5))\n"
        "for (x,) in DataLoader(TensorDataset(torch.rand(10, 2, 3)), batch_size=4):\n    lstm(x, state)\n",
        "drop_last=True",
    ),
    "channels that a norm looks for last": (
        "y = nn.Conv2d(3, 16, 3)(torch.rand(2, 3, 8, 8))\nnn.LayerNorm(16)(y)\n",
        "torch.rand(2, 3, 8, 8)).permute(0, 2, 3, 1)",
    ),
    "a reduction along another dimension": (
        "x = torch.rand(4, 6, 9)\nnn.Linear(6, 2)(x.max(dim=1).values)\n",
        "x.max(dim=2)",
    ),
    "scores whose classes stand last": (
        "logits, labels = torch.rand(2, 5, 7), torch.zeros(2, 5).long()\nloss = F.cross_entropy(logits, labels)\n",
        "F.cross_entropy(logits.transpose(1, 2), labels)",
    ),
}


@pytest.mark.parametrize(("source", "advice"), PROGRAMS.values(), ids=list(PROGRAMS))
def test_tells_the_edit_that_the_program_goes_on_with(source: str, advice: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(HEAD + source)
    found, _ = explained(path)
    assert found is not None
    assert any(advice in one for one in found.advice), found.advice


def test_an_edit_goes_before_another_that_only_warns(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(HEAD + PROGRAMS["an index that is picked and comes back in one column"][0])
    found, _ = explained(path)
    assert found is not None
    assert "squeeze(1)" in found.advice[0]
    assert all("squeeze" in one for one in found.advice)


def test_what_is_run_again_writes_nothing_and_what_the_program_asks_for_itself_is_not_edited(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "kept.txt"
    path = tmp_path / "program.py"
    path.write_text(
        HEAD
        + f"with open({str(kept)!r}, 'a') as file:\n    file.write('run ')\nnn.Linear(3, 2)(torch.rand(2, 4))\n"
    )
    found, _ = explained(path)
    assert kept.read_text() == "run "
    assert found is not None  # what is known without another run
    path.write_text(
        HEAD + "size = 3\nif torch.rand(size).numel() != 4:\n    raise ValueError(f'{size} is not 4')\n"
    )
    found, _ = explained(path)
    assert found is None or not found.advice


def test_other_files_of_the_program_are_edited_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "layers_beside.py").write_text(
        "from torch import nn\n\ndef head():\n    return nn.Linear(6, 2)\n"
    )
    path = tmp_path / "program.py"
    path.write_text(HEAD + "from layers_beside import head\nhead()(torch.rand(3, 5))\n")
    found, _ = explained(path)
    assert found is not None
    assert "line 4: return nn.Linear(5, 2)" in found.advice
