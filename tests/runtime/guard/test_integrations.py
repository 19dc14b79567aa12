"""The callbacks inside the real libraries; skipped where these are not installed."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch")

MODEL = """
import sys
import torch
from stablelint.runtime.guard import NonFiniteError

torch.set_num_threads(1)
torch.manual_seed(0)


def norm(x):
    return x.square().sum(-1).sqrt()


data = torch.randn(40, 3)
data[20:24] = 0.0
"""

LIGHTNING = """
import lightning
from stablelint.runtime.guard.integrations.lightning import GuardCallback


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2, bias=False)

    def training_step(self, batch, index):
        return norm(self.layer(batch)).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


callback = GuardCallback(OPTIONS)
trainer = lightning.Trainer(
    max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, callbacks=[callback],
)
start = lambda: trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=4))
"""

TRANSFORMERS = """
from transformers import Trainer, TrainingArguments
from stablelint.runtime.guard.integrations.transformers import GuardCallback


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2, bias=False)

    def forward(self, x):
        return {"loss": norm(self.layer(x)).mean()}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return len(data)

    def __getitem__(self, index):
        return {"x": data[index]}


class Ordered(Trainer):
    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)


callback = GuardCallback(OPTIONS)
arguments = TrainingArguments(
    output_dir="out", num_train_epochs=1, per_device_train_batch_size=4, use_cpu=True, report_to=[],
    save_strategy="no", logging_strategy="no", disable_tqdm=True, max_grad_norm=1.0,
)
start = Ordered(Model(), arguments, train_dataset=Data(), callbacks=[callback]).train
"""

RAISES = """
try:
    start()
except NonFiniteError as error:
    event = error.event
    sys.exit(f"{event.step} {event.location.expression} {event.exact}")
"""

GOES_ON = """
import warnings
warnings.simplefilter("ignore")
start()
[event] = callback.guard.events
sys.exit(f"{event.step} {event.location.expression} {event.exact} {callback.guard.watch.step}")
"""

PROGRAMS = [
    pytest.param("lightning", LIGHTNING, id="lightning"),
    pytest.param("transformers", TRANSFORMERS, id="transformers"),
]


@pytest.mark.parametrize(("library", "program"), PROGRAMS)
def test_the_expression_is_named_from_within_the_trainer(library: str, program: str, tmp_path: Path) -> None:
    said = run(library, program.replace("OPTIONS", "") + RAISES, tmp_path)
    assert said == "5 x.square().sum(-1).sqrt() True"


@pytest.mark.parametrize(("library", "program"), PROGRAMS)
def test_the_step_can_be_skipped(library: str, program: str, tmp_path: Path) -> None:
    said = run(library, program.replace("OPTIONS", "on_event='skip'") + GOES_ON, tmp_path)
    assert said == "5 x.square().sum(-1).sqrt() True 10"


def run(library: str, program: str, folder: Path) -> str:
    """The last line that a program says on standard error."""
    if find_spec(library) is None or (library == "transformers" and find_spec("accelerate") is None):
        pytest.skip(f"{library} is not installed")
    (folder / "train.py").write_text(MODEL + program)
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"},
    )
    return done.stderr.strip().splitlines()[-1]
