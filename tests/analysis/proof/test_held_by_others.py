"""What objects, containers and functions were given, they may write into, or lend to those who do."""

import pytest

from tests.analysis.support import report

CLASSES = """
class Kept:
    def __init__(self, t):
        self.w = t

    def clear(self):
        {clear}


class Bag:
    def __init__(self, *ts, **named):
        self.ts, self.named = ts, named

    def clear(self):
        for t in (*self.ts, *self.named.values()):
            t.zero_()


class Lending:
    def __init__(self, t):
        self.d = {{"t": t}}

    def __getattr__(self, name):
        return self.d[name]


class Table(dict):
    __getattr__ = dict.__getitem__


class Odd:
    def __init__(self, t):
        self.t = t

    def __hash__(self):
        self.t.zero_()
        return 1

    def __str__(self):
        self.t.zero_()
        return ""

    def __await__(self):
        self.t.zero_()
        yield


def zero(t):
    t.zero_()


def clear(kept):
    w = kept.w
    w.zero_()


def maker(t):
    def g():
        t.zero_()

    return g


"""
WRITTEN = {
    "by whom an object is passed to": "lib.train(Kept(t))",
    "by a function of the file that an object is passed to": "clear(Kept(t))",
    "through an attribute of a parameter": "m.t = t\n    m.load()",
    "by what was made of it": "o = lib.make(t)\n    o.step()",
    "by a method": "Kept(t).clear()",
    "by a method, among further arguments": "Bag(t).clear()",
    "by a method, among further named arguments": "Bag(t=t).clear()",
    "through an attribute that is made up": "Lending(t).t.zero_()",
    "through an attribute of a mapping": "Table(t=t).t.zero_()",
    "through an entry of a mapping": 'Table(t=t)["t"].zero_()',
    "through a mapping of pairs": 'dict([("t", t)])["t"].zero_()',
    "through a copy of a mapping": 'dict({"t": t}, y=y)["t"].zero_()',
    "through a repeated list": "([t] * 2)[0].zero_()",
    "through a set": "for u in {t}:\n        u.zero_()",
    "by a default": "g = lambda u=t: u.zero_()\n    g()",
    "by the default of a function within": "def g(u=t):\n        u.zero_()\n    g()",
    "by a function that was made": "maker(t)()",
    "where an object is a key": "{Odd(t): 1}",
    "where an object is an argument": "set([1]).add(Odd(t))",
    "where an object is put into a text": 'f"{Odd(t)}"',
}
CLEAR = {
    "an attribute": "self.w.zero_()",
    "another name": "w = self.w\n        w.zero_()",
    "a name with an annotation": "w: torch.Tensor = self.w\n        w.zero_()",
    "a name within an expression": "if (w := self.w) is not None:\n            w.zero_()",
    "a function": "zero(self.w)",
}


def statuses(write: str, clear: str = "self.w.zero_()") -> set[str]:
    head = "import lib\n" + CLASSES.format(clear=clear)
    found = report(f"{head}def f(y, m):\n    t = torch.ones(3)\n    {write}\n    return y / t")
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code == "SL102"}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
def test_what_others_hold_proves_nothing_once_they_run(write: str) -> None:
    assert statuses(write)
    assert "discharged" not in statuses(write)


@pytest.mark.parametrize("clear", CLEAR.values(), ids=CLEAR)
def test_a_method_writes_by_whatever_name(clear: str) -> None:
    assert "discharged" not in statuses("Kept(t).clear()", clear)


@pytest.mark.parametrize("write", ["Kept(y).clear()", "lib.train(Kept(y))", "zero(y)", "z = Kept(t)"])
def test_what_others_do_not_hold_stays(write: str) -> None:
    assert statuses(write) == {"discharged"}


def test_a_longer_list_is_longer_for_its_other_names() -> None:
    code = "def f(y, n):\n    a = [2]\n    b = a\n    b += [n]\n    b.pop(0)\n    return y / a[0]"
    assert "discharged" not in {d.status.value for d in report(code).discharged}


def test_what_stands_around_a_function_may_be_written_by_another_that_it_calls() -> None:
    code = (
        "def zero(t):\n    t.zero_()\n\n"
        "def f(y, t):\n    def g():\n        zero(t)\n    assert (t > 0).all()\n    g()\n    return y / t"
    )
    assert not report(code).discharged
