"""Options of the command line, wherever they are read: each is assumed to keep its default."""

from pathlib import Path

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.catalog import load_catalog
from stablelint.diagnostic import Status

PARSER = (
    "import argparse\n\n"
    "def options():\n"
    "    parser = argparse.ArgumentParser()\n"
    "    group = parser.add_argument_group('loss')\n"
    "    group.add_argument('--temperature', type=float, default=0.07)\n"
    "    parser.add_argument('--alpha', type=float, default=0.0)\n"
    "    parser.add_argument('--steps', type=int)\n"
    "    args = parser.parse_args()\n"
    "    return args\n\n"
)
LOSS = (
    "def loss(q, args):\n    return q / args.{}\n\n"
    "def main():\n    args = options()\n    loss(torch.rand(3), args)\n\nmain()\n"
)
GLOBAL = "args = options()\n\ndef loss(q):\n    return q / args.{}\n"
AGAIN = "args = options()\nargs.{0} = 3.0\n\ndef loss(q):\n    return q / args.{0}\n"


def statuses(root: Path, use: str, elsewhere: bool) -> list[Status]:
    """The statuses of the divisions in a file that has its parser itself, or from another one."""
    (root / "options.py").write_text(PARSER)
    head = "import torch\nfrom options import options\n\n" if elsewhere else f"import torch\n{PARSER}"
    report = check_source(
        f"{head}{use}".encode(),
        "main.py",
        load_catalog(entry_points=False),
        AnalysisOptions(root=root, discharged=True),
    )
    return [d.status for d in (*report.diagnostics, *report.discharged) if d.code == "SL102"]


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("use", [LOSS, GLOBAL])
def test_an_option_is_assumed_to_keep_its_default(use: str, elsewhere: bool, tmp_path: Path) -> None:
    assert statuses(tmp_path, use.format("temperature"), elsewhere) == [Status.ASSUMED]
    assert statuses(tmp_path, use.format("alpha"), elsewhere) == [Status.VIOLATED]
    assert statuses(tmp_path, use.format("steps"), elsewhere) == [Status.UNGUARDED]


def test_an_option_that_is_set_anew_is_not(tmp_path: Path) -> None:
    assert statuses(tmp_path, AGAIN.format("temperature"), elsewhere=False) == [Status.UNGUARDED]


STRUCTURED = (
    "from dataclasses import dataclass\n\n"
    "@dataclass\nclass Args:\n    temperature: float = 0.07\n    alpha: float = 0.0\n    steps: int | None = None\n\n"
    "def options():\n    return {}\n\n"
)


@pytest.mark.parametrize(
    "call",
    [
        "tyro.cli(Args)",
        "omegaconf.OmegaConf.structured(Args)",
        "transformers.HfArgumentParser(Args).parse_args_into_dataclasses()[0]",
        "transformers.HfArgumentParser((Args, Args)).parse_args_into_dataclasses()[1]",
    ],
)
def test_fields_of_a_data_class_are_assumed_to_keep_theirs(call: str, tmp_path: Path) -> None:
    head = f"import omegaconf, transformers, tyro\n{STRUCTURED.format(call)}"
    assert statuses(tmp_path, head + LOSS.format("temperature"), elsewhere=True)[-1:] == [Status.ASSUMED]
    assert statuses(tmp_path, head + LOSS.format("alpha"), elsewhere=True)[-1:] == [Status.VIOLATED]


HYPERPARAMETERS = (
    "import lightning\n\n"
    "class Net(lightning.LightningModule):\n"
    "    def __init__(self, temperature=0.07, alpha=0.0, steps=None):\n"
    "        super().__init__()\n"
    "        self.save_hyperparameters()\n\n"
    "    def forward(self, x):\n"
    "        return x / self.hparams{}\n"
)


@pytest.mark.parametrize("read", [".{}", "['{}']"])
def test_hyperparameters_are_what_the_constructor_is_given(read: str, tmp_path: Path) -> None:
    def found(name: str) -> list[Status]:
        return statuses(tmp_path, HYPERPARAMETERS.format(read.format(name)), elsewhere=True)

    assert found("temperature") == [Status.ASSUMED]
    assert found("alpha") == [Status.VIOLATED]
    assert found("other") == [Status.UNGUARDED]


def test_hyperparameters_that_are_set_anew_are_not(tmp_path: Path) -> None:
    code = (
        HYPERPARAMETERS.format(".temperature")
        + "\n    def cool(self):\n        self.hparams.temperature = 0.0\n"
    )
    assert statuses(tmp_path, code, elsewhere=True) == [Status.UNGUARDED]


COMMAND = (
    "import click\n\n"
    "@click.command()\n"
    "@click.option('--temperature', '-t', default=0.07)\n"
    "@click.option('--first-alpha', 'alpha', default=0.0)\n"
    "@click.option('--steps', type=int, required=True)\n"
    "def main(temperature, alpha, steps):\n"
    "    return torch.rand(3) / {}\n"
)


def test_options_of_a_command_are_assumed_to_keep_their_defaults(tmp_path: Path) -> None:
    assert statuses(tmp_path, COMMAND.format("temperature"), elsewhere=True) == [Status.ASSUMED]
    assert statuses(tmp_path, COMMAND.format("alpha"), elsewhere=True) == [Status.VIOLATED]
    assert statuses(tmp_path, COMMAND.format("steps"), elsewhere=True) == [Status.UNGUARDED]
