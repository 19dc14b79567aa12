"""Attributes that the code of others writes: of the class, of whatever object, through a descriptor; merged mappings."""

import pytest

from tests.analysis.support import assumed, findings, proved

HEAD = "import torch\n\n\n"


@pytest.mark.parametrize(
    "code",
    [
        'def f(x, given):\n    settings = {"eps": 1e-6, **given}\n    return 1 / settings["eps"]\n',
        "class A:\n    def __init__(self):\n        self.n = 1.0\n    def f(self, x):\n        self.n = 2.0\n"
        "        reset(self)\n        return x / self.n\n\n\ndef reset(thing):\n    thing.n = 0.0\n",
        "class A:\n    def __setattr__(self, name, value):\n        object.__setattr__(self, name, 0.0)\n"
        "    def f(self, x):\n        self.n = 2.0\n        return x / self.n\n",
        "class A:\n    def __init__(self, others):\n        others.add(self.drop)\n    def drop(self):\n"
        "        self.n = 0.0\n    def f(self, x, others):\n        if self.n > 0:\n            others.run(x)\n"
        "            return x / self.n\n",
        "class A:\n    def __init__(self, others):\n        others.add(self)\n    def f(self, x, others):\n"
        "        if self.n > 0:\n            others.run(x)\n            return x / self.n\n",
        "from package import Base\n\n\nclass A(Base):\n    def f(self, x):\n        if self.n > 0:\n"
        "            self.reset()\n            return x / self.n\n",
    ],
)
def test_what_others_write_is_not_believed(code: str) -> None:
    assert "SL102" in [one.code for one in findings(HEAD + code)]


def test_a_key_behind_a_merged_mapping_keeps_its_value() -> None:
    code = 'def f(x, given):\n    settings = {**given, "eps": 1e-6}\n    return 1 / (x.abs() + settings["eps"])\n'
    assert findings(HEAD + code) == []


@pytest.mark.parametrize("lent", ["self.apply(self.start)", "isinstance(self, list)", "super().__init__()"])
def test_what_nobody_can_change_through_what_is_lent_is_believed(lent: str) -> None:
    code = (
        f"class A(torch.nn.Module):\n    def __init__(self):\n        {lent}\n    def start(self, m):\n"
        "        m.weight = 0\n    def f(self, x, others):\n        if self.n > 0:\n            others.run(x)\n"
        "            return 1 / self.n\n"
    )
    assert findings(HEAD + code) == []


def test_a_default_of_a_field_may_be_another_tensor() -> None:
    code = (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass A:\n"
        "    d: torch.Tensor = field(default_factory=lambda: torch.ones(3))\n    def f(self):\n"
        "        return torch.log(self.d)\n"
    )
    assert assumed(HEAD + code, "") == [(11, "SL101")]


ALTER = """
def drop(o):
    o.n = 0.0


def again(o):
    drop(o)


class A:
    def drop(self):
        self.n = 0.0
    def change(self):
        {how}
    def f(self, x):
        if self.n > 0:
            {call}
            return x / self.n
"""


@pytest.mark.parametrize(
    "how",
    [
        "drop(self)", "again(self)", "A.drop(self)", 'object.__setattr__(self, "n", 0.0)', 'self.__dict__["n"] = 0.0',
        "vars(self).update(n=0.0)", "[drop(o) for o in [self]]",
    ],
)  # fmt: skip
def test_a_method_that_hands_on_its_object_may_change_it(how: str) -> None:
    assert "SL102" in [one.code for one in findings(ALTER.format(how=how, call="self.change()"))]


@pytest.mark.parametrize(
    "how", ["isinstance(self, list)", "print(self.n)", "return self", "super(A, self).__init__()"]
)
def test_a_method_that_keeps_its_object_leaves_it(how: str) -> None:
    assert findings(ALTER.format(how=how, call="self.change()")) == []


@pytest.mark.parametrize("call", ["drop(o)", "again(o)", "use(o)", "o.drop()"])
def test_a_function_that_is_handed_an_object_may_change_it(call: str) -> None:
    code = f"def use(o):\n    o.drop()\n\n\ndef g(o, x):\n    if o.n > 0:\n        {call}\n        return x / o.n\n"
    assert "SL102" in [one.code for one in findings(ALTER.format(how="pass", call="pass") + code)]


@pytest.mark.parametrize("call", ["alter(self)", "self.change()", "other = self\n            alter(other)"])
def test_what_a_function_assigns_is_not_what_the_constructor_was_given(call: str) -> None:
    code = (
        "def alter(o):\n    o.e = -2\n\n\nclass A:\n    def __init__(self, e):\n        self.e = e\n\n"
        "    def change(self):\n        alter(self)\n\n    def f(self, x):\n        if self.e > 0:\n"
        f"            {call}\n            return torch.log(x.abs() + self.e)\n"
    )
    assert "SL101" in [one.code for one in findings(HEAD + code)]
    assert findings(HEAD + code.replace(f"            {call}\n", "")) == []


@pytest.mark.parametrize("made", ["A(n)", "A(2.0)", "A(e=n)"])
def test_an_object_that_is_handed_to_unseen_code_keeps_nothing_of_what_it_was_made_with(made: str) -> None:
    code = (
        "class A:\n    def __init__(self, e):\n        self.e = e\n\n    def change(self, other):\n        other(self)\n\n"
        "    def f(self, x, other):\n        if self.e > 0:\n            self.change(other)\n"
        "            return x.abs() + self.e\n        return x.abs() + 1\n\n\n"
        f"def g(x, n, other):\n    return torch.log({made}.f(x, other))\n"
    )
    assert "SL101" in [one.code for one in findings(HEAD + code)]
    assert "SL101" not in [one.code for one in findings(HEAD + code.replace("other(self)", "print(self)"))]


LENT = {
    "an index of an object": "Kept(v)['a'].mul_(0)",
    "what an object yields": "for z in Kept(v):\n        z.mul_(0)",
    "what a context gives": "with Kept(v) as z:\n        z.mul_(0)",
    "an attribute by its name": "setattr(v, 'data', y)",
    "an array of the same memory": "torch.asarray(v.numpy()).mul_(0)",
    "out of a joining": "torch.cat([y, y], out=v.view(-1))",
}


@pytest.mark.parametrize("written", LENT.values(), ids=LENT)
def test_what_is_written_through_what_an_object_lends_is_seen(written: str) -> None:
    kept = (
        "class Kept:\n    def __init__(self, z):\n        self.zs = {'a': z}\n\n    def __getitem__(self, name):\n"
        "        return self.zs[name]\n\n    def __iter__(self):\n        yield from self.zs.values()\n\n"
        "    def __enter__(self):\n        return self.zs['a']\n\n    def __exit__(self, *error):\n        pass\n\n"
    )
    code = f"{kept}def f(x: torch.Tensor, y):\n    v = x.abs() + 1\n    {written}\n    return torch.log(v)\n"
    assert [rule for _, rule in proved(code)] == []
    assert [rule for _, rule in proved(code.replace(written, "pass"))] == ["SL101"]


def test_a_function_that_dispatches_yields_what_others_do() -> None:
    code = (
        "import functools\n@functools.singledispatch\ndef g(z):\n    return 1\n\n@g.register\ndef _(z: torch.Tensor):\n"
        "    return z * 0\n\ndef f(x):\n    return 1 / g(x)\n"
    )
    assert [rule for _, rule in proved(code)] == []


def test_an_object_may_write_where_it_goes() -> None:
    code = (
        "class Kept:\n    def __init__(self, z):\n        self.z = z\n\n    def __del__(self):\n        self.z.mul_(0)\n\n"
        "def f(x):\n    v = x.abs() + 1\n    kept = Kept(v)\n    del kept\n    return 1 / v\n"
    )
    assert [rule for _, rule in proved(code)] == []
    assert [rule for _, rule in proved(code.replace("del kept", "pass"))] == ["SL102"]


@pytest.mark.parametrize("copied", ["copy=False", "copy=None", "copy=y"])
def test_an_array_that_need_not_be_a_copy_shares_its_elements(copied: str) -> None:
    code = (
        "import numpy as np\ndef f(x: torch.Tensor, y):\n    v = x.abs() + 1\n"
        f"    a = np.array(v, {copied})\n    a -= 1\n    return y / v\n"
    )
    assert proved(code) == []
    assert [rule for _, rule in proved(code.replace(copied, "copy=True"))] == ["SL102"]


def test_two_objects_that_are_passed_may_be_one() -> None:
    items = "def f(a, b, y):\n    a['w'] = y.abs() + 1\n    b['w'] = y * 0\n    return y / a['w']\n"
    called = "def f(a, b, y):\n    a.w = y.abs() + 1\n    b.reset()\n    return y / a.w\n"
    assert proved(items) == proved(called) == []
    assert [rule for _, rule in assumed(called)] == ["SL102"]
    assert [rule for _, rule in proved(items.replace("b['w']", "b['v']"))] == ["SL102"]
    assert [rule for _, rule in proved(called.replace("b.reset()", "c = Counter()\n    c.reset()"))] == [
        "SL102"
    ]
