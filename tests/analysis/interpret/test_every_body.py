"""Code is analysed wherever it stands, called or not."""

import pytest

from tests.analysis.support import open_, unmet

# `{}` is a logarithm of its argument's relu, or of something positive.
BODIES = {
    "a lambda of the module": "entropy = lambda p: {}\n",
    "a lambda in a dictionary": "TABLE = {{'a': lambda p: {}, 'b': lambda p: p}}\n",
    "a lambda of a class": "class A:\n    act = lambda self, p: {}\n",
    "a lambda passed on": "def f(m):\n    m.register_hook(lambda p: {})\n    return m\n",
    "a lambda as a key": "def f(xs):\n    return sorted(xs, key=lambda p: {})\n",
    "a lambda returned": "def f():\n    return lambda p: {}\n",
    "a nested function": "def outer():\n    def inner(p):\n        return {}\n    return inner\n",
    "a function nested twice": (
        "def outer():\n    def mid():\n        def inner(p):\n            return {}\n        return inner\n    return mid\n"
    ),
    "a nested coroutine": "def outer():\n    async def inner(p):\n        return {}\n    return inner\n",
    "a class in a function": (
        "def make():\n    class M(nn.Module):\n        def forward(self, p):\n            return {}\n    return M\n"
    ),
    "a scripted function": "@torch.jit.script\ndef f(p: torch.Tensor):\n    return {}\n",
    "a static method": "class A:\n    @staticmethod\n    def f(p):\n        return {}\n",
    "a class method": "class A:\n    @classmethod\n    def f(cls, p):\n        return {}\n",
    "a property": (
        "class A:\n    def __init__(self, q):\n        self.q = q\n\n    @property\n    def f(self):\n"
        "        p = self.q\n        return {}\n"
    ),
    "a default": "p = torch.rand(3)\ndef f(x, w={}):\n    return x * w\n",
    "a keyword's default": "p = torch.rand(3)\nclass A:\n    def f(self, x, *, w={}):\n        return x * w\n",
    "a class body": "p = torch.rand(3)\nclass A:\n    W = {}\n",
    "a function defined on a condition": "if torch.cuda.is_available():\n    def f(p):\n        return {}\n",
}


@pytest.mark.parametrize("program", BODIES.values(), ids=BODIES.keys())
def test_every_body_is_analysed_once(program: str) -> None:
    assert [code for _, code in unmet(program.format("torch.log(F.relu(p))"))] == ["SL101"]
    assert unmet(program.format("torch.log(F.relu(p) + 1.0)")) == []


@pytest.mark.parametrize(
    "program",
    [
        (
            "class A:\n    def __init__(self, z):\n        self.z = z\n\n    @property\n    def p(self):\n"
            "        return torch.softmax(self.z, -1)\n\n    def h(self):\n        return torch.log(self.p)\n"
        ),
        (
            "class A:\n    @staticmethod\n    def p(z):\n        return torch.softmax(z, -1)\n\n"
            "    def h(self, z):\n        return torch.log(self.p(z))\n"
        ),
        (
            "class A:\n    @classmethod\n    def p(cls, z):\n        return torch.softmax(z, -1)\n\n"
            "    def h(self, z):\n        return torch.log(A.p(z))\n"
        ),
        "@torch.jit.script\ndef p(z):\n    return torch.softmax(z, -1)\n\ndef h(z):\n    return torch.log(p(z))\n",
    ],
)
def test_a_decorated_function_yields_what_it_returns(program: str) -> None:
    assert [code for _, code in open_(program)] == ["SL202"]


def test_the_names_of_a_class_body_are_its_own() -> None:
    program = """
    floor = 1.0

    class A:
        floor = 0.0

    def f(x: torch.Tensor):
        return torch.log(F.relu(x) + floor)
    """
    assert unmet(program) == []
