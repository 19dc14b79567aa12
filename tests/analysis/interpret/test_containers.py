"""Layers and functions are followed through the containers that hold them and the calls that make them."""

import pytest

from tests.analysis.support import assumed, open_, proved, unmet, violated

# `{}` is the last layer: a softmax, or one that is none.
CONTAINERS = {
    "a loop over a ModuleList": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU(), {}])

            def forward(self, x, y):
                for layer in self.layers:
                    x = layer(x)
                return F.cross_entropy(x, y)
        """,
    "an enumerated loop": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(nn.Linear(3, 3), {})

            def forward(self, x, y):
                for i, layer in enumerate(self.layers):
                    x = layer(x)
                return F.cross_entropy(x, y)
        """,
    "a loop over functions": """
        def f(x, y):
            for step in (torch.relu, {}):
                x = step(x)
            return F.cross_entropy(x, y)
        """,
    "a list that grows": """
        def make():
            layers = []
            layers.append(nn.Linear(3, 3))
            layers.append({})
            return nn.Sequential(*layers)

        def loss(x, y):
            return F.cross_entropy(make()(x), y)
        """,
    "a list that grows in a loop": """
        def make(n):
            layers = []
            for i in range(n):
                layers.append(nn.Linear(3, 3))
                layers.append(nn.ReLU())
            layers.append({})
            return nn.Sequential(*layers)

        def loss(x, y):
            return F.cross_entropy(make(3)(x), y)
        """,
    "a list that is extended": """
        class M(nn.Module):
            def __init__(self, n):
                super().__init__()
                layers = [nn.Linear(3, 3)]
                for _ in range(n):
                    layers.extend([nn.Linear(3, 3), nn.ReLU()])
                layers += [nn.Linear(3, 3), {}]
                self.net = nn.Sequential(*layers)

            def forward(self, x, y):
                return F.cross_entropy(self.net(x), y)
        """,
    "a list in front of a layer": """
        def make(hidden, x, y):
            layers = [nn.Linear(3, n) for n in hidden]
            return F.cross_entropy(nn.Sequential(*layers, {})(x), y)
        """,
    "a ModuleList that grows": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList()
                self.layers.append(nn.Linear(3, 3))
                self.layers.append({})

            def forward(self, x, y):
                for layer in self.layers:
                    x = layer(x)
                return F.cross_entropy(x, y)
        """,
    "a Sequential that grows": """
        class M(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.net = nn.Sequential()
                for i, n in enumerate(sizes):
                    self.net.add_module(f"fc{i}", nn.Linear(n, n))
                self.net.add_module("act", {})

            def forward(self, x, y):
                return F.cross_entropy(self.net(x), y)
        """,
    "the last of a ModuleList": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(3, 3), {}])

            def forward(self, x, y):
                return F.cross_entropy(self.layers[-1](x), y)
        """,
    "a ModuleDict": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = nn.ModuleDict({"a": {}, "b": nn.Linear(3, 3)})

            def forward(self, x, y):
                return F.cross_entropy(self.heads["a"](x), y)
        """,
    "one layer on one path": """
        def f(x, y, flag):
            act = {} if flag else nn.Identity()
            return F.cross_entropy(act(x), y)
        """,
}


@pytest.mark.parametrize("program", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_the_last_layer_decides(program: str) -> None:
    assert [code for _, code in open_(program.replace("{}", "nn.Softmax(dim=1)"))] == ["SL301"]
    assert open_(program.replace("{}", "nn.Linear(3, 3)")) == []


MADE = {
    "a partial of the module": (
        "from functools import partial\nsoft = partial({}, dim=1)\ndef f(z):\n    return torch.log(soft(z))\n"
    ),
    "a partial in a function": "import functools\ndef f(z):\n    s = functools.partial({}, dim=1)\n    return s(z).log()\n",
    "a partial of a partial": (
        "from functools import partial\n"
        "def f(z):\n    s = partial(partial({}), dim=1)\n    return s(z).log()\n"
    ),
    "a partial in an attribute": (
        "from functools import partial\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.act = partial({}, dim=1)\n\n    def forward(self, z):\n        return torch.log(self.act(z))\n"
    ),
    "a dictionary": "ACT = {'s': {}, 'r': torch.relu}\ndef f(z):\n    return torch.log(ACT['s'](z, dim=1))\n",
    "a default": "def f(z, act={}):\n    return torch.log(act(z, dim=1))\n",
    "a static attribute": (
        "class M(nn.Module):\n    act = staticmethod({})\n\n    def forward(self, z):\n"
        "        return torch.log(self.act(z, dim=1))\n"
    ),
}


@pytest.mark.parametrize("program", MADE.values(), ids=MADE.keys())
def test_a_function_is_known_by_what_made_it(program: str) -> None:
    assert [code for _, code in violated(program.replace("{}", "F.softmax"))] == ["SL202"]
    assert violated(program.replace("{}", "torch.logsumexp")) == []


CLASSES = {
    "a dictionary": "ACT = {'a': {}, 'b': nn.ReLU}\ndef f(x, y):\n    return F.cross_entropy(ACT['a'](dim=1)(x), y)\n",
    "a default": "def f(x, y, layer={}):\n    return F.cross_entropy(layer(dim=1)(x), y)\n",
    "a default of a class": (
        "class M(nn.Module):\n    def __init__(self, act_layer={}):\n        super().__init__()\n"
        "        self.net = nn.Sequential(nn.Linear(3, 3), act_layer(dim=1))\n\n    def forward(self, x, y):\n"
        "        return F.cross_entropy(self.net(x), y)\n"
    ),
    "a partial": (
        "from functools import partial\ndef f(x, y):\n    make = partial({}, dim=1)\n"
        "    return F.cross_entropy(make()(x), y)\n"
    ),
}


@pytest.mark.parametrize("program", CLASSES.values(), ids=CLASSES.keys())
def test_a_layer_is_known_by_what_made_it(program: str) -> None:
    assert [code for _, code in open_(program.replace("{}", "nn.Softmax"))] == ["SL301"]
    assert open_(program.replace("{}", "nn.LogSigmoid")) == []


@pytest.mark.parametrize(
    "softmax", ["F.softmax(z)", "nn.Softmax()(z)", "nn.Sequential(nn.Linear(3, 3), nn.Softmax())(z)"]
)
def test_a_softmax_that_is_told_no_dimension_is_one(softmax: str) -> None:
    assert "SL301" in {code for _, code in open_(f"def f(z, y):\n    return F.cross_entropy({softmax}, y)\n")}
    assert "SL202" in {code for _, code in open_(f"def f(z):\n    return torch.log({softmax})\n")}


def test_getattr_reads_a_name() -> None:
    assert unmet("def f(z):\n    return torch.log(getattr(F, 'relu')(z))\n") == [(2, "SL101")]
    assert unmet("def f(z):\n    return torch.log(getattr(F, 'softplus')(z) + 1)\n") == []


def test_every_turn_of_an_unknown_number_of_layers_counts() -> None:
    program = """
    class M(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.layers = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), {}) for _ in range(n)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return torch.log(x)
    """
    assert [code for _, code in violated(program.replace("{}", "nn.ReLU()"))] == ["SL101"]
    assert violated(program.replace("{}", "nn.ELU()")) == []


def test_what_is_removed_from_a_list_is_not_its_end() -> None:
    program = """
    def f(x, y):
        layers = [nn.Linear(3, 3), nn.Softmax(dim=1)]
        layers.pop()
        return F.cross_entropy(nn.Sequential(*layers)(x), y)
    """
    assert open_(program) == []


def test_a_loop_that_is_left_early_keeps_what_it_had() -> None:
    program = """
    def f(x, y, stop):
        for step in (nn.Softmax(dim=1), nn.Linear(3, 3)):
            x = step(x)
            if stop:
                break
        return F.cross_entropy(x, y)
    """
    assert [code for _, code in open_(program)] == ["SL301"]


def test_alternatives_that_a_constructor_chose_together_go_together() -> None:
    program = """
    class M(nn.Module):
        def __init__(self, binary):
            super().__init__()
            self.act = nn.Sigmoid() if binary else nn.Identity()
            self.loss = nn.BCELoss() if binary else nn.BCEWithLogitsLoss()

        def forward(self, x, y):
            return self.loss(self.act(x), y)
    """
    assert [code for _, code in open_(program)] == ["SL304"]


@pytest.mark.parametrize("change", ["xs.append(0.0)", "xs.insert(0, 0.0)", "xs.extend([0.0])", "xs[0] = 0.0"])
def test_what_a_function_adds_to_a_list_may_be_among_its_elements(change: str) -> None:
    program = f"""
    def add(xs):
        {change}

    def f(x):
        xs = [1.0, 2.0]
        add(xs)
        return [x / v for v in xs]
    """
    assert [code for _, code in unmet(program)] == ["SL102"]


@pytest.mark.parametrize(
    ("made", "read"),
    [("[1.0]", "made[0]"), ("[[1.0]]", "made[0][0]"), ('{"eps": 1.0}', 'made["eps"]')],
)
def test_numbers_of_a_container_are_assumed_once_it_is_handed_to_what_is_not_seen(
    made: str, read: str
) -> None:
    program = f"""
    def f(x, fill):
        made = {made}
        first = x / {read}
        fill(made)
        return first, x / {read}
    """
    assert assumed(program) == [(5, "SL102")]
    assert unmet(program) == []


@pytest.mark.parametrize("times", ["0", "n", "m[0]"])
def test_a_list_that_is_repeated_so_often_may_be_empty(times: str) -> None:
    assert not proved(f"def f(x, n: int, m):\n    return x / len([1] * {times})")


def test_what_is_stacked_of_a_repeated_list_is_what_the_list_holds() -> None:
    code = "def f(x: torch.Tensor, m):\n    v = torch.stack([x[m > 0]] * {})\n    return 1 / (v.abs() + 1).sum(1)\n"
    assert unmet(code.format(2))
    assert unmet(code.format(2).replace("[m > 0]", "")) == []
