"""Values are followed through the ways in which programs hand them on.

Each program ends in the logarithm of a softmax (SL202) or of a guarded value (silence), however it gets there.
"""

import pytest

from tests.analysis.support import open_, unmet

THROUGH = {
    "a local name": "def f(z):\n    p = torch.softmax(z, -1)\n    return torch.log(p)\n",
    "two names": "def f(z):\n    p = z.softmax(-1)\n    q = p\n    return q.log()\n",
    "a tuple": "def f(z):\n    p, q = torch.softmax(z, -1), z\n    return torch.log(p)\n",
    "a nested tuple": "def f(z):\n    a, (p, b) = 1, (F.softmax(z, -1), 2)\n    return p.log()\n",
    "a walrus": "def f(z):\n    if (p := torch.softmax(z, -1)) is not None:\n        return p.log()\n",
    "an annotated assignment": "def f(z):\n    p: torch.Tensor = z.softmax(-1)\n    return p.log()\n",
    "a chained assignment": "def f(z):\n    p = q = z.softmax(-1)\n    return q.log()\n",
    "a with": "def f(z):\n    with torch.enable_grad():\n        p = z.softmax(-1)\n    return p.log()\n",
    "a try": "def f(z):\n    try:\n        p = z.softmax(-1)\n    finally:\n        pass\n    return p.log()\n",
    "a view": "def f(z):\n    p = z.softmax(-1).view(-1)\n    return torch.log(p)\n",
    "a lambda": "def f(z):\n    g = lambda t: t.softmax(-1)\n    return g(z).log()\n",
    "a nested function": "def f(z):\n    def g(t):\n        return t.softmax(-1)\n    return g(z).log()\n",
    "a function of the file": "def g(t):\n    return F.softmax(t, dim=-1)\n\ndef f(z):\n    return g(z).log()\n",
    "a parameter": "def _g(p):\n    return torch.log(p)\n\ndef f(z):\n    return _g(F.softmax(z, -1))\n",
    "a functional spelling": "def f(z):\n    return torch.log(nn.functional.softmax(z, dim=-1))\n",
    "a module made and called": "def f(z):\n    return torch.log(nn.Softmax(dim=-1)(z))\n",
    "a module in a variable": "def f(z):\n    soft = nn.Softmax(dim=1)\n    return soft(z).log()\n",
    "a Sequential": "net = nn.Sequential(nn.Linear(3, 3), nn.Softmax(dim=-1))\ndef f(z):\n    return net(z).log()\n",
    "a list": "def f(z):\n    ps = [z.softmax(-1), z]\n    return ps[0].log()\n",
    "a dictionary": "def f(z):\n    out = {'p': z.softmax(-1)}\n    return out['p'].log()\n",
    "a global": "softmax = torch.softmax\ndef f(z):\n    return torch.log(softmax(z, -1))\n",
}


@pytest.mark.parametrize("program", THROUGH.values(), ids=THROUGH.keys())
def test_a_softmax_reaches_its_logarithm(program: str) -> None:
    assert [code for _, code in open_(program)] == ["SL202"]


CLASS = """
class Model(nn.Module):
    def __init__(self{parameters}):
        super().__init__()
{init}

    def forward(self, z):
        return {forward}
"""


def model(init: str, forward: str, parameters: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in init.splitlines()).rstrip("\n")
    return CLASS.format(parameters=parameters, init=lines, forward=forward)


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.soft = nn.Softmax(dim=-1)", "torch.log(self.soft(z))"),
        ("self.act = nn.Sequential(nn.Linear(3, 3), nn.Softmax(-1))", "self.act(z).log()"),
        ("soft = nn.Softmax(dim=-1)\nself.head = soft", "self.head(z).log()"),
        ("self.net = nn.Linear(3, 3)\nself.soft = F.softmax", "torch.log(self.soft(self.net(z), dim=-1))"),
    ],
)
def test_a_softmax_kept_in_an_attribute(init: str, forward: str) -> None:
    assert [code for _, code in open_(model(init, forward))] == ["SL202"]


def test_a_method_of_the_class() -> None:
    program = """
    class Policy(nn.Module):
        def probs(self, z):
            return torch.softmax(z, dim=-1)

        def forward(self, z):
            return torch.log(self.probs(z))
    """
    assert open_(program) == [(6, "SL202")]


@pytest.mark.parametrize(
    "program",
    [
        "EPS = 1e-6\ndef f(x: torch.Tensor):\n    return torch.log(F.relu(x) + EPS)\n",
        "def f(x: torch.Tensor, eps=1e-6):\n    return torch.log(F.relu(x) + eps)\n",
        "def f(x: torch.Tensor, *, eps: float = 1e-6):\n    return torch.log(F.relu(x) + eps)\n",
        model("self.eps = 1e-6", "torch.log(F.relu(z) + self.eps)"),
        model("self.eps = eps", "torch.log(F.relu(z) + self.eps)", ", eps=1e-6"),
        "class C:\n    eps = 1e-6\n\n    def f(self, x):\n        return torch.log(F.relu(x) + self.eps)\n",
        "def f(x):\n    y = F.relu(x)\n    y += 1e-6\n    return y.log()\n",
        "def f(x):\n    y = F.relu(x)\n    y = y + 1e-6\n    return torch.log(y)\n",
        "def g(x):\n    return F.relu(x) + 1e-6\n\ndef f(x):\n    return torch.log(g(x))\n",
        "def _g(y):\n    return torch.log(y)\n\ndef f(x):\n    return _g(F.relu(x) + 1e-6)\n",
    ],
)
def test_a_guarding_constant_is_found_where_it_is_kept(program: str) -> None:
    assert open_(program) == []


@pytest.mark.parametrize(
    "program",
    [
        "EPS = 0.0\ndef f(x: torch.Tensor):\n    return torch.log(F.relu(x) + EPS)\n",
        "def _g(y):\n    return torch.log(y)\n\ndef f(x):\n    return _g(F.relu(x))\n",
        "def g(x):\n    return F.relu(x)\n\ndef f(x):\n    return torch.log(g(x))\n",
        "def f(x):\n    y = F.relu(x)\n    y *= 2\n    return torch.log(y)\n",
        "def f(x):\n    y = F.relu(x) + 1e-6\n    y = F.relu(x)\n    return torch.log(y)\n",
        "def f(x):\n    return [torch.log(F.relu(t)) for t in x]\n",
        "def f(xs):\n    for t in xs:\n        y = F.relu(t)\n        z = y.log()\n    return z\n",
    ],
)
def test_a_zero_is_followed_the_same_way(program: str) -> None:
    assert [code for _, code in open_(program)] == ["SL101"]


def test_both_branches_are_kept() -> None:
    program = """
    def f(x: torch.Tensor, flag):
        if flag:
            y = F.relu(x)
        else:
            y = F.relu(x) + 1.0
        return torch.log(y)
    """
    assert unmet(program) == [(6, "SL101")]


def test_a_loop_is_widened() -> None:
    program = """
    def f(x: torch.Tensor):
        total = torch.ones(3)
        for _ in range(10):
            total = total - x.sigmoid()
        return torch.sqrt(total.exp().clamp(max=1e4) + 1)
    """
    assert "SL103" not in {code for _, code in open_(program)}


def test_a_sum_over_a_loop_of_positive_terms_stays_positive() -> None:
    program = """
    def f(x: torch.Tensor):
        total = 1e-3
        for t in x:
            total = total + t.abs()
        return torch.log(total)
    """
    assert open_(program) == []


@pytest.mark.parametrize("annotation", ["Path", "pathlib.Path", "str"])
@pytest.mark.parametrize("call", ["root()", "A().root()", "A().home"])
def test_what_is_annotated_as_a_path_is_not_divided(annotation: str, call: str) -> None:
    code = f"""
    def root() -> {annotation}:
        return options.root

    class A:
        def root(self) -> {annotation}:
            return self.kept

        @property
        def home(self) -> {annotation}:
            return self.kept

    def f(name, load):
        return load({call} / name)
    """
    assert unmet(code) == []
    assert unmet(code.replace(annotation, "float")) != []


@pytest.mark.parametrize(
    "test", ["merge and n > 1", "n > 1 and merge", "not (n > 1 or not merge)", "merge and n"]
)
def test_what_a_setting_of_the_function_switches_off_never_runs(test: str) -> None:
    code = f"""
        def weighted(x: torch.Tensor, n):
            merge = False
            if {test}:
                return x / x.sum()
            return x
        """
    assert open_(code) == []
    assert open_(code.replace("False", "True")) == [(4, "SL102")]
    assert open_(code.replace("merge = False", "merge = False if n else True")) == [(4, "SL102")]


def test_a_value_that_is_chosen_by_a_constant_is_what_stands_before_it() -> None:
    code = """
        def scaled(x: torch.Tensor, n: int):
            n = n and False
            return x / n
        """
    assert open_(code) == [(3, "SL102")]
