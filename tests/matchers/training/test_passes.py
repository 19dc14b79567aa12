import sys
from types import FrameType

from tests.matchers.support import findings

_TURNS = """
for epoch in range(10):
    loss = F.cross_entropy(x @ w, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""


def _calls_for(loops: int) -> int:
    """The calls of functions that a notebook with so many loops takes."""
    top = "import torch\nimport torch.nn.functional as F\nw = torch.zeros(3, 2, requires_grad=True)\nlosses = []\n"
    program = f"{top}optimizer = torch.optim.SGD([w])\n{_TURNS * loops}"
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event == "call"

    sys.setprofile(count)
    try:
        assert findings("SL608", program) == []
    finally:
        sys.setprofile(None)
    return made


def test_a_notebook_of_many_loops_costs_in_proportion_to_them() -> None:
    _calls_for(1)
    few, many = _calls_for(15), _calls_for(60)
    assert many < 8 * few  # 33 times as many where each is held against each


def test_a_loss_backed_twice() -> None:
    program = """
    def step(model, x, flag):
        loss = model(x).mean()
        {first}
        {second}
    """
    bad = program.format(first="loss.backward()", second="loss.backward()")
    kept = program.format(first="loss.backward(retain_graph=True)", second="loss.backward()")
    other = program.format(first="loss.backward()", second="model(x).sum().backward()")
    assert findings("SL608", bad) == ["loss.backward()"]
    assert findings("SL608", kept) == findings("SL608", other) == []


def test_a_loss_backed_in_one_arm_or_the_other() -> None:
    program = """
    def step(model, x, flag):
        loss = model(x).mean()
        if flag:
            loss.backward()
        else:
            loss.backward()
    """
    assert findings("SL608", program) == []


def test_a_graph_built_before_the_loop_that_uses_it() -> None:
    program = """
    def fit(model, x, y):
        loss = F.mse_loss(model(x), y)
        for _ in range(10):
            loss.backward()
    """
    assert findings("SL608", program) == ["loss.backward()"]


def test_a_sum_of_leaves_keeps_no_tensors_for_the_backward_pass() -> None:
    program = """
        x = torch.ones(2, 2, requires_grad=True)
        y = {}
        y.backward()
        y.backward()
    """
    assert findings("SL608", program.format("(x + 1).mean()")) == []
    assert findings("SL608", program.format("x.exp().sum()")) == ["y.backward()"]


def test_equal_expressions_on_both_sides_of_a_backward_pass_are_two_graphs() -> None:
    program = """
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1), nn.Sigmoid())
        def log(x):
            return torch.log(x + 1e-3)
        for x in loader:
            log(net(x)).mean().backward()
            {}
            log({}).mean().backward()
    """
    assert findings("SL608", program.format("out = net(x)", "out")) == []
    once = program.replace("log(net(x))", "out = net(x)\n            log(out)", 1)
    assert findings("SL608", once.format("pass", "out")) == ["log(out).mean().backward()"]


def test_what_no_grad_computes_belongs_to_no_graph() -> None:
    program = """
    def step(net, target, q1, q2, opt, x):
        with torch.no_grad(), evaluating(target):
            y = target(x).exp()
        p1, p2 = q1(x), q2(x)
        first, second = F.mse_loss(y, p1), F.mse_loss(y, p2)
        first.backward()
        second.backward()
    """
    assert findings("SL608", program) == []
    assert findings("SL608", program.replace("with torch.no_grad(), evaluating(target):", "if True:")) != []
