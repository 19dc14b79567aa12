"""Training loops whose parts stand in several files."""

from pathlib import Path
from textwrap import dedent

import pytest

from stablelint.analysis.check import AnalysisOptions, check_source
from tests.matchers.support import CATALOG, HEAD

_HELPERS = """
def restore(net, opt, path):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    return state["epoch"]

def score(net, data):
    net.eval()
    return sum(net(x).sum().item() for x in data)

def score_and_return(net, data):
    net.eval()
    total = sum(net(x).sum().item() for x in data)
    net.train()
    return total

def backward(net, opt, x):
    opt.zero_grad()
    loss = net(x).sum()
    loss.backward()
    return loss

def learn(loss):
    loss.backward()

def learn_twice(net, x):
    loss = net(x).sum()
    loss.backward()

def score_all(target, out):
    return F.cross_entropy(target, out)

def limit(net):
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)

def report(net, data):
    net.eval()
    print(sum(net(x).sum().item() for x in data))

def update(loss, opt):
    loss.backward()
    opt.step()

def forward(net, opt, x):
    opt.zero_grad()
    return net(x).sum()

def advance(schedule):
    schedule.step()
    return schedule.get_last_lr()

def clear(opt):
    opt.zero_grad()

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

class Scored(Plain):
    def forward(self, x):
        self.zero_grad()
        return self.layer(x).sum()

class Dropping(Plain):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
"""


def _found(code: str, body: str, folder: Path) -> list[str]:
    (folder / "helpers.py").write_text(HEAD + _HELPERS)
    source = f"{HEAD}from helpers import *\nimport helpers\n" + dedent(body)
    program = folder / "program.py"
    report = check_source(source.encode(), str(program), CATALOG, AnalysisOptions(root=folder))
    assert report.problems == ()
    lines = source.splitlines()
    return [lines[d.span.start.row - 1].strip() for d in report.diagnostics if d.code == code]


def _loop(*body: str) -> str:
    lines = "\n            ".join(body)
    return f"""
def fit(net, data, epochs):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 9)
    losses = []
    for _ in range(epochs):
        for x in data:
            {lines}
"""


def _resumed(*body: str) -> str:
    return "\n    ".join(["def main(net):", "opt = torch.optim.Adam(net.parameters())", *body])


def _timed(what: str) -> str:
    return f"""
import time
def fit(data):
    net = nn.Linear(2, 2)
    net = net.cuda()
    begin = time.time()
    {what}
    print(time.time() - begin)
"""


def _tested(model: str) -> str:
    return f"""
model = {model}
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def fit(data):
    for x in data:
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
def test(data):
    with torch.no_grad():
        for x in data:
            print(model(x))
"""


@pytest.mark.parametrize(
    ("code", "body", "line"),
    [
        (
            "SL644",
            _resumed("helpers.restore(net, opt, 'x')", "net.cuda()"),
            "net.cuda()",
        ),
        (
            "SL623",
            _loop("helpers.backward(net, opt, x).backward()", "opt.step()")
            + "        helpers.score(net, data)\n",
            "helpers.score(net, data)",
        ),
        (
            "SL614",
            _loop(
                "loss = helpers.backward(net, opt, x)", "opt.step()", "opt.zero_grad()", "losses.append(loss)"
            ),
            "losses.append(loss)",
        ),
        (
            "SL617",
            _loop("helpers.advance(schedule)", "helpers.backward(net, opt, x)", "opt.step()"),
            "helpers.advance(schedule)",
        ),
        (
            "SL622",
            _tested("helpers.Dropping()"),
            "print(model(x))",
        ),
        (
            "SL623",
            _loop("opt.zero_grad()", "helpers.learn(net(x).sum())", "opt.step()")
            + "        helpers.report(net, data)\n",
            "helpers.report(net, data)",
        ),
        (
            "SL603",
            _loop("opt.zero_grad()", "helpers.learn(net(x).sum())", "opt.step()", "helpers.limit(net)"),
            "helpers.limit(net)",
        ),
        ("SL604", _loop("helpers.learn(net(x).sum())", "opt.step()"), "helpers.learn(net(x).sum())"),
        ("SL608", _loop("loss = net(x).sum()", "helpers.learn(loss)", "loss.backward()"), "loss.backward()"),
        (
            "SL614",
            _loop("loss = net(x).sum()", "helpers.learn(loss)", "opt.step()", "losses.append(loss)"),
            "losses.append(loss)",
        ),
        (
            "SL639",
            _loop("loss = helpers.score_all(x, net(x))", "loss.backward()"),
            "loss = helpers.score_all(x, net(x))",
        ),
        ("SL604", _loop("helpers.update(net(x).sum(), opt)"), "helpers.update(net(x).sum(), opt)"),
        (
            "SL628",
            _loop("helpers.learn(net(x).sum())", "helpers.clear(opt)", "opt.step()"),
            "helpers.clear(opt)",
        ),
        ("SL631", _timed("helpers.limit(net)"), "print(time.time() - begin)"),
    ],
)
def test_what_another_file_does_to_a_model_counts(code: str, body: str, line: str, tmp_path: Path) -> None:
    assert _found(code, body, tmp_path) == [line]


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (
            "SL644",
            _resumed("net.cuda()", "helpers.restore(net, opt, 'x')"),
        ),
        (
            "SL623",
            _loop("helpers.backward(net, opt, x)", "opt.step()")
            + "        helpers.score_and_return(net, data)\n",
        ),
        ("SL604", _loop("loss = helpers.forward(net, opt, x)", "loss.backward()", "opt.step()")),
        ("SL604", _loop("helpers.clear(opt)", "net(x).sum().backward()", "opt.step()")),
        ("SL604", _loop("helpers.clear(opt)", "helpers.learn(net(x).sum())", "opt.step()")),
        ("SL603", _loop("helpers.backward(net, opt, x)", "helpers.limit(net)", "opt.step()")),
        ("SL608", _loop("helpers.learn_twice(net, x)", "helpers.learn_twice(net, x)")),
        (
            "SL608",
            _loop("loss = net(x).sum()", "helpers.learn(loss)", "loss = net(x).mean()", "loss.backward()"),
        ),
        ("SL639", _loop("loss = helpers.score_all(net(x), x)", "loss.backward()")),
        ("SL628", _loop("helpers.clear(opt)", "helpers.learn(net(x).sum())", "opt.step()")),
        ("SL614", _loop("loss = helpers.backward(net, opt, x)", "opt.step()", "losses.append(loss.item())")),
        ("SL617", _loop("helpers.backward(net, opt, x)", "opt.step()", "helpers.advance(schedule)")),
        (
            "SL622",
            _tested("helpers.Plain()"),
        ),
        (
            "SL604",
            _loop("loss = own(x)", "loss.backward()", "opt.step()") + "own = helpers.Scored()\n",
        ),
        ("SL631", _timed("helpers.report(net, data)")),
        ("SL631", _timed("helpers.score(net, data)")),
    ],
)
def test_what_another_file_does_rightly_is_seen(code: str, body: str, tmp_path: Path) -> None:
    assert _found(code, body, tmp_path) == []
