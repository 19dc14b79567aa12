"""Without a command: functions of a file are called in a process of its own, and a call that goes wrong is shown."""

import json
from pathlib import Path

import pytest
import torch
from cli.here import run_here

from tests.forks import Servers

LOSSES = """\
import absent_package
import argparse
import os
import unittest
from dataclasses import dataclass

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--keep", action="store_true")
parser.add_argument("rate", type=float)
args = parser.parse_args()
if args.keep:
    KEPT = True
FACTOR = float(open("factor.txt").read())


def masked_mean(x, mask):
    return (x * mask).sum() / mask.sum()


def share(x):
    return x / (FACTOR * x.sum())


class Cosine(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = -1

    def forward(self, a, b):
        return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))


@torch.no_grad()
def weights(mat):
    logs = -torch.log(1 - mat**2)
    bad = torch.isinf(logs)
    logs[bad] = 0
    return torch.exp(logs - logs.max()) * ~bad


def safe(x):
    return torch.log(1 + x.shape[0] * torch.sigmoid(x.mean()))


def scaled(x, halved=False):
    if halved:
        return x / x.sum()
    x *= 2
    return x


def stored(x):
    return open("/nowhere", "w").write(str(x.exp() / x.exp().sum()))


def scaler(y):
    def scaled(x):
        return x / x.std()

    return scaled


@absent_package.settings(rate=0.1)
@dataclass
class Scale:
    rate: float


class Share:
    def __init__(self, scale: Scale):
        self.log = absent_package.Log("share", level=2)
        self.scale = scale

    def of(self, x):
        x = x.to("cuda:0", torch.float32).cuda()
        return self.scale.rate / x.sum()


def once(x):
    assert not os.path.exists("written")
    open("written", "w").close()
    return x / x.var()


def of_all_ranks(x):
    torch.cuda.nvtx.range_push("reduce")
    total = x.detach().sum().type(torch.cuda.FloatTensor)
    torch.distributed.all_reduce(total)
    torch.cuda.synchronize()
    return x / total


@torch.jit.script
def compiled(x):
    return x / torch.logsumexp(x, 0).sum()


def listed(x):
    assert not len(absent_package.files("*.wav"))
    return x / x.prod()


def missed(net, x, labels):
    loss = torch.nn.functional.cross_entropy(net(x), labels)
    return loss / (loss - next(net.parameters()).mean())


class TestShare(unittest.TestCase):
    def setUp(self):
        self.x = torch.zeros(3)

    def test_nothing(self):
        self.assertFalse((self.x / self.x.mean()).isfinite().any())


def weighed(layer, x):
    return x / layer.weight.std()


class Standardized(nn.Conv2d):
    def forward(self, x):
        return x / self.weight.new_zeros(()).sum()


def of_main(x):
    return x / (options.least * x.max())


if __name__ == "__main__":
    options = argparse.Namespace(least=2.0)
    options = once(options)

for step in range(3):
    raise RuntimeError("only definitions are executed")
for row in range(1, 4):
    log_files = absent_package.read("x")
    print(log_files.mean() / log_files.sum())
"""


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> dict[str, dict[str, object]]:
    folder = tmp_path_factory.mktemp("made")
    (folder / "pyproject.toml").write_text("[tool.stablelint]\n", encoding="utf-8")
    (folder / "factor.txt").write_text("2.0", encoding="utf-8")
    (folder / "losses.py").write_text(LOSSES, encoding="utf-8-sig")
    with servers.running_commands():
        done = run_here(folder, "verify", "--no-cache", "-q", "losses.py", "--output-format", "json")
    assert done.code in (0, 1), done.err
    kept = json.loads((folder / ".stablelint" / "observations.json").read_text(encoding="utf-8"))
    assert {row["origin"] for row in kept["observations"]} == {"made"}
    return {f"{site['code']} {site['expression']}": site for site in json.loads(done.out)["sites"]}


def _of(sites: dict[str, dict[str, object]], ending: str) -> dict[str, object]:
    return next(site for name, site in sites.items() if name.endswith(ending))


def _line(site: dict[str, object]) -> object:
    witness = site["witness"]
    return witness["line"] if isinstance(witness, dict) else None


def test_the_call_that_goes_wrong_is_shown(sites: dict[str, dict[str, object]]) -> None:
    assert _of(sites, "(x * mask).sum() / mask.sum()")["verdict"] == "reachable"
    assert (
        _line(_of(sites, "(x * mask).sum() / mask.sum()"))
        == "masked_mean(torch.ones(2, 4), torch.zeros(2, 4))  # nan"
    )


def test_the_line_can_be_pasted(sites: dict[str, dict[str, object]]) -> None:
    names: dict[str, object] = {}
    definitions = LOSSES.partition("\n\ndef scaler")[0].replace("import absent_package\n", "")
    definitions = definitions.replace('parser.add_argument("rate", type=float)\n', "")
    definitions = definitions.replace('float(open("factor.txt").read())', "2.0").replace(
        "parse_args()", "parse_args([])"
    )
    exec(compile(definitions, "losses", "exec"), names)
    code, _, said = str(_line(_of(sites, "(x * mask).sum() / mask.sum()"))).partition("  # ")
    assert said == "nan"
    assert torch.isnan(eval(code, names)).all()


def test_an_object_is_made_for_a_method(sites: dict[str, dict[str, object]]) -> None:
    assert str(_line(sites["SL215 (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))"])).startswith(
        "Cosine(4)(torch.zeros(2, 4), torch.ones(2, 4))"
    )


def test_a_branch_behind_an_option_is_reached_and_arguments_may_be_written_into(
    sites: dict[str, dict[str, object]],
) -> None:
    division = next(s for s in sites.values() if s["expression"] == "x / x.sum()" and _line(s))
    assert "halved=True" in str(_line(division))


def test_a_value_that_is_replaced_afterwards_is_handled(sites: dict[str, dict[str, object]]) -> None:
    assert _of(sites, "SL101 torch.log(1 - mat**2)")["verdict"] == "handled"


def test_a_module_reads_the_files_of_its_project_and_the_options_of_its_command_line(
    sites: dict[str, dict[str, object]],
) -> None:
    assert str(_line(_of(sites, "x / (FACTOR * x.sum())"))).startswith("share(torch.zeros(2, 4))")


def test_a_call_ends_where_it_would_do_more_than_compute(sites: dict[str, dict[str, object]]) -> None:
    function = _of(sites, "x.exp() / x.exp().sum()")["function"]
    assert isinstance(function, dict)
    assert function["why"] == "EffectError: it writes nowhere"
    assert not Path("/nowhere").exists()


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("x / x.std()", "line 61 with x=torch.zeros(2, 4)"),
        ("log_files.mean() / log_files.sum()", "line 140 with log_files=torch.zeros(2, 4)"),
        ("self.x / self.x.mean()", "line 116 with self.x=torch.zeros(2, 4)"),
    ],
    ids=["a function in a function", "a script", "a method of an object that cannot be made"],
)
def test_the_statements_that_make_a_value_are_called_by_themselves(
    sites: dict[str, dict[str, object]], expression: str, line: str
) -> None:
    site = _of(sites, expression)
    function = site["function"]
    assert isinstance(function, dict)
    assert str(_line(site) or function["healthy_line"]) == line
    assert site["verdict"] in ("latent", "not-reproduced"), "what is around them may keep such values away"


@pytest.mark.parametrize(
    ("expression", "start"),
    [
        ("x / x.var()", "once(torch."),
        (" x / total", "of_all_ranks(torch.zeros"),
        ("x / x.prod()", "listed(torch.zeros"),
        ("x / (options.least * x.max())", "of_main(torch.zeros"),
        ("x / self.weight.new_zeros(()).sum()", "Standardized(in_channels="),
    ],
    ids=[
        "an empty folder",
        "a process group and a GPU",
        "what an absent package returns",
        "a name of the main block",
        "what a library's constructor asks for",
    ],
)
def test_a_call_finds_what_a_program_takes_for_granted(
    sites: dict[str, dict[str, object]], expression: str, start: str
) -> None:
    assert str(_line(_of(sites, expression))).startswith(start)


@pytest.mark.parametrize(
    ("expression", "start"),
    [
        ("loss / (loss - next(net.parameters()).mean())", "missed(torch.nn.Sequential("),
        ("x / layer.weight.std()", "weighed(types.SimpleNamespace(weight=torch."),
    ],
    ids=["a model with parameters", "a tensor in a namespace, and no mock"],
)
def test_a_healthy_call_has_what_its_function_computes_with(
    sites: dict[str, dict[str, object]], expression: str, start: str
) -> None:
    function = _of(sites, expression)["function"]
    assert isinstance(function, dict)
    assert str(function["line"] or function["healthy_line"]).startswith(start)


def test_a_scripted_function_is_called_as_it_is_written(sites: dict[str, dict[str, object]]) -> None:
    function = _of(sites, "x / torch.logsumexp(x, 0).sum()")["function"]
    assert isinstance(function, dict)
    assert str(function["healthy_line"]).startswith("compiled(torch.rand(")


def test_an_object_is_made_of_the_class_that_is_asked_for(sites: dict[str, dict[str, object]]) -> None:
    assert str(_line(_of(sites, "self.scale.rate / x.sum()"))).startswith("Share(Scale(rate=0.5)).of(")
