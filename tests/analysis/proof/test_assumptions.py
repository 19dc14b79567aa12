"""What holds as long as a setting keeps its value is assumed, not proved; a call in sight can contradict it."""

import pytest

from tests.analysis.support import IMPORTS, assumed, body, open_, report, unmet

PUBLIC = """
    __all__ = ["f"]
    {code}
"""


def status(code: str, rule: str = "SL102") -> set[tuple[str, tuple[str, ...]]]:
    """Statuses at the places of a rule, and what they assume."""
    found = report(body(code), IMPORTS)
    return {(d.status.value, d.assumes) for d in (*found.diagnostics, *found.discharged) if d.code == rule}


def test_a_default_is_assumed() -> None:
    assert status("def f(x, t=1.0):\n    return x / t\n") == {("assumed", ("t=1.0",))}


def test_a_default_that_is_bad_is_reported_as_it_is() -> None:
    assert status("def f(x, t=0.0):\n    return torch.log(F.relu(x) + t)\n", "SL101") == {
        ("violated", ("t=0.0",))
    }


def test_a_literal_is_proved() -> None:
    code = "def f(x):\n    t = 1e-6\n    return torch.log(F.relu(x) + t)\n"
    assert status(code, "SL101") == {("discharged", ())}


def test_a_name_proves_nothing() -> None:
    for name in ("eps", "tol", "mask", "std", "shift"):
        code = f"def f(x, {name}):\n    return torch.log(F.relu(x) + {name})\n"
        assert status(code, "SL101") == {("unguarded", ())}


@pytest.mark.parametrize("test", ["t > 0", "t > 1e-3", "not t <= 0"])
def test_a_test_of_a_default_proves(test: str) -> None:
    code = f"def f(x, t=1.0):\n    if {test}:\n        return x / t\n    return x\n"
    assert status(code) == {("discharged", ())}


def test_both_branches_of_a_default_are_looked_at() -> None:
    code = "def f(x, t=1.0):\n    if t > 0:\n        return x\n    return torch.log(torch.softmax(x, -1))\n"
    assert {kind for kind, _ in status(code, "SL202")} == {"violated"}


def test_what_a_default_of_none_stands_for_is_assumed() -> None:
    code = "def f(x, t=None):\n    if t is None:\n        t = 1.0\n    return x / t\n"
    assert status(code) == {("assumed", ("t=None",))}


@pytest.mark.parametrize("call", ["f(y, 0.0)", "f(y, t=0.0)", "functools.partial(f, t=0.0)", "f(y, t=z)"])
def test_a_call_in_sight_contradicts(call: str) -> None:
    code = f"import functools\ndef g(y, z):\n    return {call}\ndef f(x, t=1.0):\n    return x / t\n"
    assert {kind for kind, _ in status(code)} & {"unguarded", "violated"}


def test_a_wrapper_that_passes_its_own_default_on_is_assumed_too() -> None:
    code = (
        "class A:\n"
        "    def __init__(self, c=2.0):\n"
        "        self.c = c\n"
        "    def g(self, y):\n"
        "        return self.f(y, t=self.c)\n"
        "    def f(self, x, t=1.0):\n"
        "        return x / t\n"
    )
    assert {kind for kind, _ in status(code)} == {"assumed"}


MODULE = """
    class Base(nn.Module):
        def __init__(self, t=1.0):
            super().__init__()
            self.t = t
        def forward(self, x):
            return x / self.t
"""


def test_what_a_constructor_keeps_is_assumed() -> None:
    assert status(MODULE) == {("assumed", ("t=1.0",))}


def test_an_attribute_is_assumed_although_it_is_a_literal() -> None:
    code = body(MODULE).replace("self.t = t", "self.t = 2.0")
    assert status(code) == {("assumed", ("self.t=2.0",))}


@pytest.mark.parametrize(
    "elsewhere",
    [
        "class Cold(Base):\n    def __init__(self):\n        super().__init__(t=0.0)\n",
        "class Cold(Base):\n    def __init__(self):\n        super().__init__()\n        self.t = 0.0\n",
        "Renamed = Base\nclass Cold(Renamed):\n    def __init__(self):\n        super().__init__()\n        self.t = 0.0\n",
        "def cold():\n    return Base(t=0.0)\n",
        "def cool(model):\n    model.t = 0.0\n",
    ],
)
def test_a_subclass_or_a_caller_contradicts(elsewhere: str) -> None:
    assert {kind for kind, _ in status(body(MODULE) + elsewhere)} <= {"unguarded", "violated"}


@pytest.mark.parametrize("renamed", ["", "B = Base\nC = B\n"])
def test_a_subclass_overrides_what_a_method_calls(renamed: str) -> None:
    base = "class Base:\n    def t(self):\n        return 1.0\n    def f(self, x):\n        return x / self.t()\n"
    below = f"{renamed}class Cold({'C' if renamed else 'Base'}):\n    def t(self):\n        return 0.0\n"
    assert {kind for kind, _ in status(base)} == {"discharged"}
    assert {kind for kind, _ in status(base + below)} <= {"unguarded", "violated"}


def test_a_call_that_leaves_a_parameter_out_knows_its_default() -> None:
    code = "def g(x, t=1e-6):\n    return F.relu(x) + t\ndef f(x):\n    return torch.log(g(x))\n"
    assert status(code, "SL101") == {("discharged", ())}


def test_what_options_may_hold_is_assumed() -> None:
    code = "def g(x, t=1e-6):\n    return F.relu(x) + t\ndef f(x, **o):\n    return torch.log(g(x, **o))\n"
    assert status(code, "SL101") == {("assumed", ("t=1e-06",))}


def test_a_constant_of_the_module_is_proved_unless_something_binds_it_again() -> None:
    code = "TINY = 1e-6\ndef f(x):\n    return torch.log(F.relu(x) + TINY)\n"
    assert status(code, "SL101") == {("discharged", ())}
    again = code + "def g():\n    global TINY\n    TINY = 0.0\n"
    assert status(again, "SL101") == {("unguarded", ())}
    assert status("TINY = 1e-6\n" + code + "TINY -= 1\n", "SL101") == {("unguarded", ())}


def test_assumptions_are_counted_apart() -> None:
    found = report("def f(x, t=1.0):\n    return x / t + torch.log(F.relu(x) + 1e-6)\n")
    assert (found.assumed, sum(found.discharge_counts.values())) == (1, 1)


def test_what_sizes_a_layer_is_told_by_its_own_text() -> None:
    code = """
    class Pool(nn.Module):
        def __init__(self, dim, latent=None):
            super().__init__()
            self.latent = latent or dim
            self.q = nn.Linear(self.latent, dim)

        def start(self):
            return self.latent**-0.5
    """
    found = report(code).discharged
    assert [d.assumes for d in found if d.code == "SL103"] == [("self.latent is positive",)]


@pytest.mark.parametrize(
    ("quotient", "is_assumed"),
    [
        ("(2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)", True),
        ("(2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 2)", False),
        ("((p * t).sum() + 1) / (p.sum() - t.sum() + 1)", False),
    ],
)
def test_what_the_same_number_smoothes_above_and_below_is_assumed_to_count(
    quotient: str, is_assumed: bool
) -> None:
    code = f"def dice(p, t):\n    return {quotient}\n"
    assert ((2, "SL102") in assumed(code)) is is_assumed
    assert ((2, "SL102") in open_(code)) is not is_assumed


CHECK = "def check(c):\n    if {}:\n        return\n    torch._assert_async(c)\n\n\n"
CHECKED = (
    "def f(x: torch.Tensor, s: torch.Tensor):\n    check(torch.isfinite(s) & (s > 0))\n    return x / s\n"
)


@pytest.mark.parametrize(
    ("skipped", "answer"),
    [
        ('c.device.type == "mps"', ("assumed", ("check() does not return before it has checked",))),
        ("False", ("discharged", ())),
    ],
)
def test_a_check_that_may_be_skipped_is_assumed_to_be_made(
    skipped: str, answer: tuple[str, tuple[str, ...]]
) -> None:
    assert status(CHECK.format(skipped) + CHECKED) == {answer}


NORM = """
class Norm(nn.Module):
    def __init__(self, n, eps={default}):
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm = Norm(config.size, eps={passed})
"""


@pytest.mark.parametrize(
    ("default", "passed", "is_assumed"),
    [
        ("1e-6", "config.eps", True),
        ("1e-6", "0.0", False),
        ("0.0", "config.eps", False),
        ("1e-60", "config.eps", False),
        ("None", "config.eps", False),
    ],
)
def test_an_offset_whose_default_is_positive_is_assumed_to_stay_so(
    default: str, passed: str, is_assumed: bool
) -> None:
    program = NORM.format(default=default, passed=passed)
    assert ((7, "SL103") in assumed(program)) is is_assumed
    assert ((7, "SL103") not in unmet(program)) is is_assumed


@pytest.mark.parametrize("default", ["'auto'", "1j", "None", "(1, 2)"])
def test_an_offset_whose_default_is_no_number_is_not_believed(default: str) -> None:
    program = f"def f(x: torch.Tensor, e={default}):\n    return 1 / (x.abs() + e)\n"
    assert not assumed(program)


ALIASING = """
class Base:
    names = {{}}

    def __setattr__(self, name, value):
        super().__setattr__(self.names.get(name, name), {kept})

    def __getattribute__(self, name):
        {read}
        return super().__getattribute__(name)


class Config(Base):
    def __init__(self, size=32):
        self.size = size


def f(x: torch.Tensor, config: Config):
    return x / config.size
"""


@pytest.mark.parametrize(
    ("kept", "read", "is_assumed"),
    [
        ("value", "name = name.lower()", True),
        ("0", "name = name.lower()", False),
        ("value - 32", "name = name.lower()", False),
        ("value", "if name == 'size': return 0", False),
    ],
)
def test_what_accessors_hand_on_is_assumed_to_be_as_it_is_set(kept: str, read: str, is_assumed: bool) -> None:
    program = ALIASING.format(kept=kept, read=read)
    assert (bool(assumed(program)) and unmet(program) == []) is is_assumed


def test_of_several_accessors_the_one_that_sets_is_told() -> None:
    program = ALIASING.format(kept="value", read="name = name.lower()")
    [found] = report(program.replace("self.size = size", "self.size = 64")).discharged
    assert found.assumes == ("`__setattr__` leaves size as it is set",)


@pytest.mark.parametrize(
    ("set_to", "is_assumed"),
    [
        ("s.other = 0.0", True),
        ("s.eps = 0.0", False),
        ("setattr(s, 'eps', 0.0)", False),
        ("s.eps *= 0", False),
        ("s.other, s.eps = 1.0, 0.0", False),
        ("[s.eps] = [0.0]", False),
        ("with torch.no_grad() as s.eps: pass", False),
    ],
)
def test_what_a_file_sets_on_its_own_object_is_no_more_as_it_was_made(set_to: str, is_assumed: bool) -> None:
    program = f"""
    class Settings:
        def __init__(self):
            self.eps = 1e-6

    s = Settings()
    {set_to}

    def f(x: torch.Tensor):
        return 1 / (x.abs() + s.eps)
    """
    assert (unmet(program) == []) is is_assumed


@pytest.mark.parametrize(("eps", "is_assumed"), [("1e-3", True), ("0.0", False), ("0", False)])
def test_what_a_file_sets_on_a_layer_contradicts_what_its_constructor_leaves(
    eps: str, is_assumed: bool
) -> None:
    program = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bn = nn.BatchNorm1d(3)
            self.bn.eps = {eps}

        def forward(self, x):
            return x / torch.sqrt(self.bn.running_var + self.bn.eps)
    """
    assert (unmet(program) == []) is is_assumed
