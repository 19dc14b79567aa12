"""What is only counted up, and settings under a root, are taken to be positive, and that is told."""

import pytest

from tests.analysis.support import assumed, body, function, open_, unmet

OPTIMIZER = """
    class Slow(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-3, betas=(0.9, 0.999)):
            super().__init__(params, dict(lr=lr, betas=betas))

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                beta, _ = group["betas"]
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["step"] = START
                    state["step"] += 1
                    p.sub_(p.grad, alpha=group["lr"] / (1 - beta ** state["step"]))
"""


@pytest.mark.parametrize("start", ["0", "torch.tensor(0.0)", "torch.zeros(1)"])
def test_an_optimizer_counts_its_steps(start: str) -> None:
    code = body(OPTIMIZER).replace("START", start)
    assert unmet(code) == []
    assert (14, "SL102") in assumed(code)


def test_the_settings_of_a_schedule_are_not_those_of_the_optimizer() -> None:
    code = body(
        """
        class Slow({base}):
            def __init__(self, optimizer, weight=0.5):
                super().__init__(optimizer)

            def step(self):
                for group in self.param_groups:
                    yield 1 / group["weight"]
        """
    )
    assert unmet(code.format(base="torch.optim.Optimizer")) == []
    assert unmet(code.format(base="torch.optim.lr_scheduler.LRScheduler")) == [(7, "SL102")]


def test_a_tensor_into_which_another_name_may_write_counts_where_it_is_seen_to() -> None:
    code = body(OPTIMIZER).replace("START", "torch.zeros(1)")
    code = code.replace('state["step"] += 1', 'n = state["step"]\n                n.sub_(1)')
    assert (15, "SL102") in open_(code)


@pytest.mark.parametrize("start", ["-1", "p.sum()"])
def test_what_starts_below_0_or_anywhere_may_be_0(start: str) -> None:
    assert (14, "SL102") in open_(body(OPTIMIZER).replace("START", start))


def test_an_entry_that_one_of_two_paths_has_changed_is_not_what_was_tested_before() -> None:
    code = """
        def f(x, state, c):
            if state["n"] <= 0:
                return x
            if c:
                state["n"] = 0
            return x / state["n"]
    """
    assert open_(code) == [(6, "SL102")]


SCHEDULE = """
    class Warm(torch.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base * DECAY for base in self.base_lrs]
"""


def test_a_schedule_has_begun_when_it_is_asked() -> None:
    assert open_(body(SCHEDULE).replace("DECAY", "(self.last_epoch + 1) ** -0.5")) == []
    assert open_(body(SCHEDULE).replace("DECAY", "self.last_epoch ** -0.5")) == [(3, "SL103")]


BUFFER = """
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            WRITE
            return x / self.count
"""


@pytest.mark.parametrize("write", ["self.count += 1", "self.count.add_(1)"])
def test_a_buffer_that_is_only_counted_up(write: str) -> None:
    code = body(BUFFER).replace("WRITE", write)
    assert (unmet(code), assumed(code)) == ([], [(8, "SL102")])


@pytest.mark.parametrize(
    "write", ["self.count.mul_(0.9).add_(1)", "self.count.add_(x.sum())", "self.count += x.sum()"]
)
def test_a_buffer_that_something_else_changes(write: str) -> None:
    assert (8, "SL102") in open_(body(BUFFER).replace("WRITE", write))


@pytest.mark.parametrize(
    "root", ["math.sqrt(n)", "math.sqrt(2 * config.layers)", "math.sqrt(config['width'])"]
)
def test_a_setting_under_a_root_is_taken_to_be_positive(root: str) -> None:
    code = "import math\n" + function(f"x / {root}", parameters="x, n, config")
    assert (unmet(code), [rule for _, rule in assumed(code)]) == ([], ["SL102"])


@pytest.mark.parametrize("root", ["math.sqrt(n - 1)", "math.sqrt(x.sum())", "math.sqrt(n * config.share)"])
def test_what_else_stands_under_a_root_is_not(root: str) -> None:
    assert unmet("import math\n" + function(f"x / {root}", parameters="x, n, config"))


@pytest.mark.parametrize("wiped", ["r[torch.isnan(r)] = 0", "r[r != r] = 0", "r = torch.nan_to_num(r)"])
def test_nan_of_an_empty_selection_or_union_is_wiped_away(wiped: str) -> None:
    for quotient in (
        "(x * (m > 0)).sum(1) / (m > 0).sum(1)",
        "((m > 0) & (x > 0)).sum(1) / ((m > 0) | (x > 0)).sum(1)",
    ):
        code = f"def f(x, m):\n    r = {quotient}\n    {wiped}\n    return r\n"
        assert open_("@torch.no_grad()\n" + code) == []
    assert open_(
        "def f(x, m):\n    r = (x * (m > 0)).sum(1) / (m > 0).sum(1)\n    " + wiped + "\n    return r\n"
    )


def test_a_power_of_pythons_is_one_of_both_its_operands() -> None:
    code = "import math\ndef f(x, beta=0.9, n: int = 1):\n    return x / (1 - math.pow(beta, n))\n"
    assert (unmet(code), assumed(code)) == ([], [(3, "SL102")])


def test_a_setting_under_a_root_where_an_object_is_made() -> None:
    code = """
        class Schedule:
            def __init__(self, width, steps):
                self.scale = width**-0.5 * steps**-1.5

            def at(self, degrees):
                return degrees**-0.5
    """
    assert unmet(code) == [(6, "SL103")]
