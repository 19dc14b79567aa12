"""A function that is called a second time, where what it yields may have changed since."""

import pytest

from tests.analysis.support import report


def statuses(code: str) -> set[str]:
    found = report(code)
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code == "SL102"}


METHOD = "class A:\n    def get(self):\n        return self.n\n\n    def f(self, x):\n"
PROPERTY = METHOD.replace("    def get", "    @property\n    def get")
SETTER = (
    "class A:\n    @property\n    def n(self):\n        return self._n\n\n"
    "    @n.setter\n    def n(self, value):\n        self._n = value\n\n    def f(self, x):\n"
)
FUNCTION = "def get(o):\n    return {}\n\ndef f(x, o):\n"
CHANGED = {
    "an attribute is assigned": METHOD
    + "        if self.get() > 0:\n            self.n = 0\n            return x / self.get()",
    "an attribute is assigned twice": METHOD
    + "        self.n = x.abs() + 1\n        len(self.get())\n        self.n = x\n        return x / self.get()",
    "an attribute is written into": METHOD
    + "        self.n = x.abs() + 1\n        len(self.get())\n        self.n.zero_()\n        return x / self.get()",
    "a property's attribute is assigned": PROPERTY
    + "        if self.get > 0:\n            self.n = 0\n            return x / self.get",
    "a property is set": SETTER
    + "        if self.n > 0:\n            self.n = 0\n            return x / self.n\n\nclass B:\n"
    "    def f(self, v):\n        self.a.n = v",
    "a test held at the first call": METHOD
    + "        if self.n > 0:\n            self.get()\n        return x / self.get()",
    "a test of the argument held at the first call": FUNCTION.format("o.clamp(max=5)")
    + "    if (o > 0).all():\n        get(o)\n    return x / get(o)",
    "an attribute of the argument": FUNCTION.format("o.n")
    + "    if get(o) > 0:\n        o.n = 0\n        return x / get(o)",
    "an item of the argument": FUNCTION.format('o["n"]')
    + '    if get(o) > 0:\n        o["n"] = 0\n        return x / get(o)',
}
KEPT = {
    "nothing is": METHOD + "        if self.get() > 0:\n            return x / self.get()",
    "nothing is, of a property": PROPERTY + "        if self.get > 0:\n            return x / self.get",
    "a property of another object is": SETTER
    + "        if self.n > 0:\n            return x / self.n\n\nclass B:\n    def f(self, v):\n        self.a.n = v",
}


@pytest.mark.parametrize("code", CHANGED.values(), ids=CHANGED)
def test_what_a_function_yielded_before_is_not_proved(code: str) -> None:
    assert statuses(code)
    assert "discharged" not in statuses(code)


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_it_is_where_nothing_has_changed(code: str) -> None:
    assert statuses(code) == {"discharged"}


def test_a_property_whose_class_is_given_another_is_not_proved() -> None:
    code = SETTER.replace("self._n\n\n    @n", "1.0\n\n    @n") + "        return x / self.n\n\n"
    assert statuses(code) == {"discharged"}
    assert "discharged" not in statuses(code + "A.n = 0.0\n")
