import pytest

from tests.matchers.support import findings


def test_two_optimizers_that_clear_each_its_own() -> None:
    program = """
    def train(g, d, loader):
        a, b = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
        for x in loader:
            a.zero_grad()
            d(g(x)).mean().backward()
            a.step()
            b.zero_grad()
            d(x).mean().backward()
            b.step()
    """
    assert findings("SL604", program) == findings("SL608", program) == []


@pytest.mark.parametrize("code", ["SL603", "SL604", "SL605", "SL608"])
def test_a_sound_loop_is_silent(code: str) -> None:
    program = """
    def train(model, loader):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step, (x, y) in enumerate(loader):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            if step % 4 == 3:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
    """
    assert findings(code, program) == []


def test_gradients_cleared_by_hand() -> None:
    program = """
    def train(model, loader):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in loader:
            for p in model.parameters():
                p.grad = None
            model(x).mean().backward()
            optimizer.step()
    """
    assert findings("SL604", program) == []


LOOP = """
def train(model, loader, optimizer, scheduler, opt, lr_sched):
    for x, y in loader:
        {body}
"""


def _found(*lines: str) -> list[str]:
    return findings("SL617", LOOP.format(body="\n        ".join(lines)))


@pytest.mark.parametrize("optimizer", ["optimizer", "opt", "self.optimizer", "self.optim", "optimizer_g"])
@pytest.mark.parametrize("scheduler", ["scheduler", "lr_sched", "self.scheduler", "self.lr_scheduler"])
def test_a_scheduler_that_steps_first(scheduler: str, optimizer: str) -> None:
    step = f"{scheduler}.step()"
    assert _found("model(x).mean().backward()", step, f"{optimizer}.step()") == [step]
    assert _found(step, "model(x).mean().backward()", f"{optimizer}.step()") == [step]


@pytest.mark.parametrize(
    "lines",
    [
        ("model(x).mean().backward()", "optimizer.step()", "scheduler.step()"),
        ("scheduler.step(x)", "optimizer.step()"),
        ("if x: scheduler.step()", "optimizer.step()"),
        ("optimizer.step()", "scheduler.step()", "optimizer.step()"),
        ("scheduler.step()", "env.step()"),
        ("epsilon = scheduler.step()", "optimizer.step()"),
    ],
)
def test_an_order_that_is_right_or_not_known(lines: tuple[str, ...]) -> None:
    assert _found(*lines) == []


def test_a_test_case_that_steps_needs_no_clearing() -> None:
    program = """
    class TestSteps(unittest.TestCase):
        def test_steps(self):
            p = nn.Parameter(torch.zeros(0))
            opt = torch.optim.SGD([p], lr=5)
            for _ in range(3):
                p.sum().backward()
                opt.step()
            self.assertEqual(opt.param_groups[0]["lr"], 5)
    """
    assert findings("SL604", program) == []
    assert findings("SL604", program.replace("self.assertEqual", "print").replace("def test_", "def ")) == [
        "p.sum().backward()"
    ]


def test_a_helper_that_sets_the_gradients_itself() -> None:
    program = """
    class Attack:
        def run(self, model, data):
            for x in data:
                model(x).sum().backward()
                self.update(self.weight.grad)
        def update(self, gradient):
            self.optimizer.zero_grad()
            self.weight.grad = -gradient
            self.optimizer.step()
    """
    assert findings("SL628", program) == []
    assert findings("SL628", program.replace("self.weight.grad = -gradient", "pass")) != []


@pytest.mark.parametrize(("of", "is_told"), [("start.clone()", False), ("", True)])
def test_an_optimizer_that_each_turn_makes_over_its_own_tensors_has_nothing_to_clear(
    of: str, is_told: bool
) -> None:
    program = f"""
    def steer(net, start, steps):
        x = start.clone()
        for _ in range(steps):
            {f"x = {of}" if of else "net.eval()"}
            x.requires_grad_()
            optimizer = torch.optim.SGD([x], lr=0.1)
            net(x).sum().backward()
            optimizer.step()
    """
    assert bool(findings("SL604", program)) is is_told
