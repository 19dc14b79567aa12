"""What was true of a value when it was made or tested, and is not when it is used: something has changed it since."""

import pytest

from tests.analysis.support import report


def statuses(code: str) -> set[str]:
    found = report(code)
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code in ("SL101", "SL102")}


METHODS = (
    "class A(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.n = 1\n        self.w = torch.ones(3)\n"
    "    def reset(self):\n        self.n = 0\n        self.w.zero_()\n"
    "    def look(self):\n        return self.n\n"
    "    def f(self, x):\n"
)
CHANGED = {
    "a method assigns a tested attribute": (
        METHODS + "        if self.n > 0:\n            self.reset()\n            return x / self.n"
    ),
    "a method writes into what a name stands for": (
        METHODS
        + "        w = self.w\n        assert (w > 0).all()\n        self.reset()\n        return x / w"
    ),
    "a method of the base assigns a tested attribute": (
        METHODS.replace("class A(nn", "class B(nn").replace("def f(self, x)", "def g(self, x)")
        + "        pass\n\nclass A(B):\n    def reset(self):\n        super().reset()\n"
        "    def f(self, x):\n        if self.n > 0:\n            self.reset()\n            return x / self.n"
    ),
    "a layer works in place": (
        "def f(x):\n    d = -(x.abs() + 1)\n    nn.ReLU(inplace=True)(d)\n    return 1 / d"
    ),
    "a layer of which no more is known works in place": (
        "def f(x):\n    d = x.abs() + 1\n    nn.Threshold(5, 0, inplace=True)(d)\n    return 1 / d"
    ),
    "one of several tensors is written into": (
        "def f(x, i):\n    d = x.abs() + 1\n    torch.min(x, 0, out=(d, i))\n    return 1 / d"
    ),
    "a function of torch that is passed works in place": (
        "def f(x):\n    d = x.abs() + 1\n    list(map(torch.zero_, [d]))\n    return 1 / d"
    ),
    "a name is taken out of all names": (
        'def f(x):\n    d = x.abs() + 1\n    locals()["d"].zero_()\n    return 1 / d'
    ),
    "a loop assigns a tested attribute": (
        METHODS + "        assert self.n > 0\n        for _ in x:\n            y = x / self.n\n"
        "            self.n = self.n - 1\n        return y"
    ),
    "three loops assign a tested attribute": (
        METHODS + "        assert self.n > 0\n        for a in x:\n            for b in a:\n"
        "                for _ in b:\n                    x = x / self.n\n                    self.n -= 1\n"
        "        return x"
    ),
    "a nested function binds the name": (
        "def f(x):\n    def clear():\n        nonlocal n\n        n = 0\n    n = 1\n    clear()\n    return x / n"
    ),
    "a function binds the global name": (
        "def clear():\n    global N\n    N = 0\n\ndef f(x):\n    global N\n    N = 1\n    clear()\n    return x / N"
    ),
    "a statement of a try has run before the one that fails": (
        "def f(x, s):\n    n = 1\n    try:\n        n = int(s)\n        y = float(x)\n"
        "    except ValueError:\n        return x / n\n    return y"
    ),
    "an element of a view of it is written": (
        "def f(x):\n    y = torch.ones(3)\n    y.view(-1)[0] = 0\n    return x / y"
    ),
    "a loop writes into it": (
        "def f(x):\n    y = torch.ones(3)\n    for i in range(3):\n        x = x / y\n        y[i] = 0\n    return x"
    ),
    "a loop writes into its rows": (
        "def f(x):\n    y = x.clamp(min=1e-6)\n    for row in y:\n        row.zero_()\n    return torch.log(y)"
    ),
    "a dropout in place": (
        "def f(x):\n    y = x.clamp(min=1e-6)\n    F.dropout(y, 0.5, inplace=True)\n    return torch.log(y)"
    ),
    "an element of a list is assigned": "def f(x):\n    y = [1.0, 2.0]\n    y[0] = 0.0\n    return x / y[0]",
    "a list under another name": (
        "def f(x):\n    y = [1.0, 2.0]\n    z = y\n    z[0] = 0.0\n    return x / y[0]"
    ),
    "an entry is updated": 'def f(x):\n    y = {"a": 1.0}\n    y.update(a=0.0)\n    return x / y["a"]',
    "an entry is assigned on one path": (
        'def f(x, c):\n    y = {"a": 0.0}\n    if c:\n        y["a"] = 1.0\n    return x / y["a"]'
    ),
    "a function assigns an entry": (
        'def _clear(d):\n    d["a"] = 0.0\n\n'
        'def f(x):\n    y = {"a": 1.0}\n    _clear(y)\n    return x / y["a"]'
    ),
    "a function assigns an element": (
        "def _clear(d):\n    d[0] = 0.0\n\ndef f(x):\n    y = [1.0]\n    _clear(y)\n    return x / y[0]"
    ),
    "a function assigns an element of a global list": (
        "S = [1.0]\n\ndef g():\n    S[0] = 0.0\n\ndef f(x):\n    return x / S[0]"
    ),
    "what was looked at has been taken out": (
        "def f(x, q):\n    if q.pop() > 0:\n        return x / q.pop()"
    ),
    "what was counted has been cleared": (
        "def f(x, q):\n    if len(q) > 0:\n        q.clear()\n        return x / len(q)"
    ),
    "an unknown mapping is assigned to": (
        "def f(x, d):\n    y = {**d}\n    y['a'] = 0\n    y[x] = 1\n    return x / y['a']"
    ),
    "a statement within a branch of a try has run before the one that fails": (
        "def f(x, c, g):\n    n = 1\n    try:\n        if c:\n            n = x\n            g()\n            n = 1\n"
        "    except ValueError:\n        pass\n    return x / n"
    ),
    "a try within a try": (
        "def f(x, g):\n    n = 1\n    try:\n        try:\n            n = x\n            g()\n            n = 1\n"
        "        finally:\n            g()\n    except ValueError:\n        pass\n    return x / n"
    ),
    "a statement whose failure is suppressed": (
        "import contextlib\n\ndef f(x, g):\n    n = 1\n    with contextlib.suppress(ValueError):\n"
        "        n = x\n        g()\n        n = 1\n    return x / n"
    ),
    "a list within a list": (
        "def f(x):\n    y = [[1.0, 2.0]]\n    z = y[0]\n    z[0] = 0.0\n    return x / y[0][0]"
    ),
    "a mapping within a mapping": (
        'def f(x):\n    y = {"a": {"n": 1.0}}\n    z = y["a"]\n    z["n"] = 0.0\n    return x / y["a"]["n"]'
    ),
    "a tensor in a list": (
        "def f(x):\n    y = [torch.ones(3)]\n    z = y[0]\n    z.zero_()\n    return x / y[0]"
    ),
    "a row in a list": (
        "def f(x):\n    y = torch.ones(3, 3)\n    z = [row for row in y]\n    z[0].zero_()\n    return x / y"
    ),
    "a list grows under another name": (
        "def f(x):\n    y = [1.0]\n    z = y\n    z.insert(0, 0.0)\n    return x / y[0]"
    ),
    "an element is deleted": "def f(x):\n    y = [1.0, 0.0]\n    del y[0]\n    return x / y[0]",
    "a dropout in place, by position": (
        "def f(x):\n    y = x.clamp(min=1e-6)\n    F.dropout(y, 0.5, True, True)\n    return torch.log(y)"
    ),
    "several tensors are written into at once": (
        "def f(x):\n    y = torch.ones(3)\n    torch._foreach_sub_([y], 1)\n    return torch.log(y)"
    ),
    "a method with underscores": (
        "def f(x):\n    y = torch.ones(3)\n    y.__setitem__(0, 0.0)\n    return torch.log(y)"
    ),
    "a function sets an attribute": (
        "def clear(o):\n    o.n = 0\n\ndef f(x, o):\n    o.n = 1\n    clear(o)\n    return x / o.n"
    ),
    "an object changes itself": ("def f(x, o):\n    if o.n > 0:\n        o.step()\n        return x / o.n"),
    "a function is handed what was tested": (
        'def f(x, d, g):\n    if d["n"] > 0:\n        g(d)\n        return x / d["n"]'
    ),
    "a subclass has another method": (
        "class A:\n    def g(self, x):\n        return x.clamp(min=1e-6)\n"
        "    def f(self, x):\n        return torch.log(self.g(x))\n\n"
        "class B(A):\n    def g(self, x):\n        return x"
    ),
    "a subclass has another property": (
        "class A:\n    @property\n    def n(self):\n        return 2.0\n"
        "    def f(self, x):\n        return x / self.n\n\n"
        "class B(A):\n    @property\n    def n(self):\n        return 0.0"
    ),
    "a subclass has a number for a property": (
        "class A:\n    @property\n    def n(self):\n        return 2.0\n"
        "    def f(self, x):\n        return x / self.n\n\n"
        "class B(A):\n    n = 0.0"
    ),
    "a subclass has another static method": (
        "class A:\n    @staticmethod\n    def n():\n        return 2.0\n"
        "    def f(self, x):\n        return x / self.n()\n\n"
        "class B(A):\n    @staticmethod\n    def n():\n        return 0.0"
    ),
    "a subclass inherits another method": (
        "class Mixin:\n    def n(self):\n        return 0.0\n\n"
        "class A:\n    def n(self):\n        return 2.0\n    def f(self, x):\n        return x / self.n()\n\n"
        "class B(Mixin, A):\n    pass"
    ),
    "a comprehension writes into it": (
        "def f(x):\n    y = x.abs() + 1\n    [y.zero_() for _ in range(2)]\n    return 1 / y"
    ),
    "a comprehension of a mapping writes into it": (
        "def f(x):\n    y = x.abs() + 1\n    d = {i: y.zero_() for i in range(2)}\n    return d, 1 / y"
    ),
    "a function that a comprehension calls": (
        "def clear(t):\n    t.zero_()\n\n"
        "def f(x):\n    y = x.abs() + 1\n    a = [clear(y) for _ in range(2)]\n    return a, 1 / y"
    ),
    "a comprehension binds the name": (
        "def f(x, ys):\n    n = 1.0\n    r = [(n := y) for y in ys]\n    return r, x / n"
    ),
    "an operand that may be left out writes into it": (
        "def f(x, c):\n    y = x.abs() + 1\n    ok = c and y.zero_() is not None\n    return ok, 1 / y"
    ),
    "an operand that may be left out binds the name": (
        "def f(x, c):\n    n = 1.0\n    ok = c and (n := 0.0)\n    return ok, x / n"
    ),
    "the first operand of a test binds the name": (
        "def f(x, c):\n    n = 1.0\n    if 0 < (n := n - 1) or c:\n        return x / n"
    ),
    "an operand that may be left out calls a method": (
        METHODS
        + "        if self.n > 0:\n            ok = x is not None and self.reset()\n            return ok, x / self.n"
    ),
    "an operation in place of which no more is known": (
        "def f(x, i):\n    y = x.abs() + 1\n    z = y.index_put_((i,), torch.tensor(0.0))\n    return z, 1 / y"
    ),
}


@pytest.mark.parametrize("code", CHANGED.values(), ids=CHANGED)
def test_nothing_is_proved_of_what_has_changed(code: str) -> None:
    found = statuses(code)
    assert found
    assert "discharged" not in found


KEPT = {
    "an object that only yields something": (
        "def f(x, o):\n    if o.n > 0:\n        y = o.look()\n        return y / o.n"
    ),
    "what follows the statement that fails": (
        "def f(x, g):\n    try:\n        n = g()\n    except ValueError:\n        raise\n    n = 1\n    return x / n"
    ),
    "a method only looks": (
        METHODS + "        if self.n > 0:\n            self.look()\n            return x / self.n"
    ),
    "a nested function binds a name of its own": (
        "def f(x):\n    def g():\n        n = 0\n        return n\n    n = 1\n    g()\n    return x / n"
    ),
    "the statement of a try that fails binds nothing": (
        "def f(x, s):\n    n = 1\n    try:\n        n = int(s)\n    except ValueError:\n        return x / n\n    return x"
    ),
    "an element of a copy is written": (
        "def f(x):\n    y = torch.ones(3)\n    y.clone()[0] = 0\n    return x / y"
    ),
    "another element of a list is assigned": (
        "def f(x):\n    y = [1.0, 2.0]\n    y[1] = 0.0\n    return x / y[0]"
    ),
    "another entry is assigned": ('def f(x):\n    y = {"a": 1.0}\n    y["b"] = 0.0\n    return x / y["a"]'),
    "a dropout that copies": (
        "def f(x):\n    y = x.clamp(min=1e-6)\n    F.dropout(y, 0.5)\n    return torch.log(y)"
    ),
    "the rows of what is positive": (
        "def f(x):\n    for row in x.clamp(min=1e-6):\n        return torch.log(row)"
    ),
    "an element of a global list that nobody assigns": ("S = [1.0]\n\ndef f(x):\n    return x / S[0]"),
    "a subclass has the same guard": (
        "class A:\n    def g(self, x):\n        return x.clamp(min=1e-6)\n"
        "    def f(self, x):\n        return torch.log(self.g(x))\n\n"
        "class B(A):\n    def g(self, x):\n        return x.abs() + 1e-3"
    ),
}


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_what_has_not_changed_stays_proved(code: str) -> None:
    assert statuses(code) == {"discharged"}


@pytest.mark.parametrize("element", ["self.hist[0]", 'self.cfg["a"]'])
def test_a_number_that_an_object_holds_is_assumed_to_stay(element: str) -> None:
    code = (
        "class A:\n    def __init__(self):\n        self.hist = [1.0, 2.0]\n        self.cfg = {'a': 1.0}\n\n"
        f"    def f(self, x):\n        return x / {element}"
    )
    assert statuses(code) == {"assumed"}


HANDED = {
    "a list": "xs = [torch.ones(3)]\n    g(xs)\n    return torch.log(xs[0])",
    "a list whose result is taken": "xs = [torch.ones(3)]\n    n = g(xs)\n    return n, torch.log(xs[0])",
    "a tensor": "y = x.clamp(min=1e-6)\n    g(y)\n    return torch.log(y)",
    "a tensor in a mapping": 'y = x.clamp(min=1e-6)\n    g({"y": y})\n    return torch.log(y)',
    "a tensor to a method": "y = x.clamp(min=1e-6)\n    g.update(y)\n    return torch.log(y)",
    "a tensor to other processes": (
        "y = x.clamp(min=1e-6)\n    torch.distributed.all_reduce(y)\n    return torch.log(y)"
    ),
    "several": "y = [torch.ones(3)]\n    g(*y)\n    return torch.log(y[0])",
    "an object": "g.n = 1\n    x.use(g)\n    return torch.log(x.clamp(min=1e-3) / g.n)",
}


@pytest.mark.parametrize("body", HANDED.values(), ids=HANDED)
def test_what_a_call_is_handed_is_assumed_to_stay(body: str) -> None:
    found = statuses(f"def f(x, g):\n    {body}")
    assert "assumed" in found
    assert "discharged" not in found


OWN_CODE = {
    "__getitem__(self, i)": "y = self[0]",
    "__setitem__(self, i, v)": "self[0] = 2",
    "__call__(self)": "y = self()",
    "__enter__(self)": "with self:\n                pass",
    "__exit__(self, *a)": "with self:\n                pass",
    "__iter__(self)": "y = list(self)",
    "__next__(self)": "for y in self:\n                pass",
    "__len__(self)": "y = len(self)",
    "__bool__(self)": "y = 1 if self else 2",
    "__add__(self, o)": "y = self + 1",
    "__neg__(self)": "y = -self",
    "__eq__(self, o)": "y = self == x",
}


@pytest.mark.parametrize(("method", "use"), OWN_CODE.items(), ids=OWN_CODE)
def test_an_object_s_own_code_may_change_what_was_tested_of_it(method: str, use: str) -> None:
    code = METHODS + f"        if self.n > 0:\n            {use}\n            return x / self.n\n"
    assert "discharged" not in statuses(code + f"    def {method}:\n        self.n = 0")


PROPERTIES = {
    "its getter": "    @property\n    def m(self):\n        self.n = 0\n        return 1\n",
    "its setter": (
        "    @property\n    def m(self):\n        return 1\n"
        "    @m.setter\n    def m(self, v):\n        self.n = v\n"
    ),
}


@pytest.mark.parametrize("code", PROPERTIES.values(), ids=PROPERTIES)
def test_a_property_may_change_what_was_tested_of_an_object(code: str) -> None:
    use = "y = self.m" if "setter" not in code else "self.m = 0"
    body = METHODS + f"        if self.n > 0:\n            {use}\n            return x / self.n\n"
    assert "discharged" not in statuses(body + code)


WAITING = {
    "a generator": METHODS + "        if self.n > 0:\n            yield x\n            yield x / self.n",
    "a coroutine": (
        METHODS + "        if self.n > 0:\n            await x\n            return x / self.n"
    ).replace("def f", "async def f"),
    "an asynchronous context": (
        METHODS + "        if self.n > 0:\n            async with x:\n                return x / self.n"
    ).replace("def f", "async def f"),
    "an asynchronous loop": (
        METHODS + "        if self.n > 0:\n            async for y in x:\n                return y / self.n"
    ).replace("def f", "async def f"),
    "what is yielded": "def f(x):\n    y = x.abs() + 1\n    yield y\n    yield 1 / y",
}


@pytest.mark.parametrize("code", WAITING.values(), ids=WAITING)
def test_what_others_may_change_while_a_function_waits_is_assumed_to_stay(code: str) -> None:
    assert "discharged" not in statuses(code)


LAYERS = {
    "another method sets it": (
        "    def __init__(self):\n        super().__init__()\n        self.act = nn.Sigmoid()\n"
        "    def drop(self):\n        self.act = nn.Identity()\n"
    ),
    "another method sets one of a list": (
        "    def __init__(self):\n        super().__init__()\n        self.acts = nn.ModuleList([nn.Sigmoid()])\n"
        "    def drop(self):\n        self.acts[0] = nn.Identity()\n"
    ),
    "a caller passes it": (
        "    def __init__(self, act=nn.Sigmoid()):\n        super().__init__()\n        self.act = act\n"
    ),
    "a caller passes the function": (
        "    def __init__(self, act=torch.sigmoid):\n        super().__init__()\n        self.act = act\n"
    ),
}


@pytest.mark.parametrize("code", LAYERS.values(), ids=LAYERS)
def test_a_layer_that_others_may_set_is_assumed_to_stay(code: str) -> None:
    act = "self.acts[0]" if "acts" in code else "self.act"
    forward = f"    def forward(self, x):\n        return 1 / ({act}(x) + 1)"
    assert statuses(f"class M(nn.Module):\n{code}{forward}") == {"assumed"}


@pytest.mark.parametrize("body", ["z = g(y)", "torch.save(y, g)", "print(y)"])
def test_what_a_call_only_reads_stays(body: str) -> None:
    code = f"def f(x, g):\n    y = x.clamp(min=1e-6)\n    {body}\n    return torch.log(y)"
    assert statuses(code) == {"discharged"}


DECORATED = "def one(x):\n    return torch.ones(3)\n\ndef f(x):\n    return torch.log(one(x))"


@pytest.mark.parametrize(
    ("decorator", "status"),
    [
        ("halved", "assumed"),
        ("halved(2)", "assumed"),
        ("torch.no_grad()", "discharged"),
        ("functools.lru_cache", "assumed"),
    ],
)
def test_a_decorator_may_have_a_function_yield_something_else(decorator: str, status: str) -> None:
    assert statuses(f"import functools\nfrom where import halved\n\n@{decorator}\n{DECORATED}") == {status}


PASSED = {
    "to map": "list(map(clear, [y]))",
    "to sorted": "z = sorted([y], key=lambda t: t.zero_().sum())",
    "to reduce": "z = functools.reduce(lambda a, b: a.sub_(b), [y, y])",
    "to what is not seen": "g(lambda: y.zero_())",
    "with what it writes into": "z = g(clear, y)",
    "in part": "z = g(functools.partial(clear), y)",
}


@pytest.mark.parametrize("line", PASSED.values(), ids=PASSED)
def test_a_function_that_is_passed_may_be_run(line: str) -> None:
    code = (
        "import functools\n\ndef clear(t):\n    t.zero_()\n    return t\n\n"
        f"def f(x, g):\n    y = x.abs() + 1\n    {line}\n    return 1 / y"
    )
    assert statuses(code) == {"unguarded"}


def test_a_method_that_is_passed_may_be_run() -> None:
    code = (
        METHODS + "        if self.n > 0:\n            y = x.run(self.reset)\n            return x / self.n"
    )
    assert "discharged" not in statuses(code)


HOOKED = {
    "a layer": "act = nn.Softplus()\n    act.{0}(h)\n    return torch.log(act(x) + 1)",
    "a module": "act = M()\n    act.{0}(h)\n    return torch.log(act(x) + 1)",
    "a layer of a module": "m = M()\n    m.act.{0}(h)\n    return torch.log(m.act(x) + 1)",
}


@pytest.mark.parametrize("method", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("body", HOOKED.values(), ids=HOOKED)
def test_nothing_is_proved_by_what_a_hook_may_put_in_its_place(body: str, method: str) -> None:
    code = (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.act = nn.Softplus()\n"
        "    def forward(self, x):\n        return self.act(x)\n\n"
        f"def f(x, h):\n    {body.format(method)}"
    )
    assert "discharged" not in statuses(code)


def test_a_hook_that_yields_nothing_only_looks() -> None:
    code = (
        "def look(m, i, o):\n    print(o)\n\n"
        "def f(x):\n    act = nn.Softplus()\n    act.register_forward_hook(look)\n    return torch.log(act(x) + 1)"
    )
    assert statuses(code) == {"discharged"}


SET_IN_THE_FILE = {
    "a method of a class": ("Net.g = lambda self, x: x", "Net().g(x)"),
    "a method by its text": ('setattr(Net, "g", lambda self, x: x)', "Net().g(x)"),
    "a constant by its text": ('setattr(sys.modules[__name__], "N", 0)', "N"),
    "a constant of a module": ("sys.modules[__name__].N = 0", "N"),
    "a constant among the globals": ('globals()["N"] = 0', "N"),
    "some constants among the globals": ("globals().update(N=0)", "N"),
    "a table under another name": ('t = T\n    t["n"] = 0', 'T["n"]'),
    "a table that is handed on": ("clear(T)", 'T["n"]'),
    "a tensor": ("W.zero_()", "W"),
}


@pytest.mark.parametrize(("line", "operand"), SET_IN_THE_FILE.values(), ids=SET_IN_THE_FILE)
def test_what_the_file_sets_otherwise_is_not_proved(line: str, operand: str) -> None:
    code = (
        'import sys\n\nN = 1\nT = {"n": 1.0}\nW = torch.ones(3)\n\n'
        "class Net:\n    def g(self, x):\n        return x.clamp(min=1)\n\n"
        f"def clear(t):\n    t.clear()\n\ndef other():\n    {line}\n\ndef f(x):\n    return x / {operand}"
    )
    found = statuses(code)
    assert found
    assert "discharged" not in found


def test_a_method_that_a_subclass_overrides_may_change_the_object() -> None:
    code = (
        "class A:\n    def f(self, x):\n        self.n = 1\n        self.hook()\n        return x / self.n\n"
        "    def hook(self):\n        pass\n\nclass B(A):\n    def hook(self):\n        self.n = 0\n"
    )
    assert statuses(code) == {"unguarded"}


CUT = {
    "an attribute is deleted": "def f(x, o):\n    o.n = 1\n    del o.n\n    return x / o.n",
    "a mapping of attributes is taken": 'def f(x, o):\n    o.n = 1\n    vars(o)["n"] = 0\n    return x / o.n',
    "a mapping of attributes is read": (
        'def f(x, o):\n    o.n = 1\n    o.__dict__["n"] = 0\n    return x / o.n'
    ),
}


@pytest.mark.parametrize("code", CUT.values(), ids=CUT)
def test_an_attribute_that_may_be_gone_is_not_proved(code: str) -> None:
    assert statuses(code) == {"unguarded"}


def test_what_is_written_at_some_places_is_assumed_to_be_written_at_all() -> None:
    code = "def f(x):\n    y = torch.empty(6)\n    y[:3] = x.abs() + 1\n    return 1 / y"
    assert statuses(code) == {"assumed"}


@pytest.mark.parametrize("cast", ["to(x.dtype)", "type_as(x)", "to(dtype=x.dtype)", "to(x)", "to(dtype=x)"])
def test_the_type_of_another_is_assumed_to_hold_a_bound(cast: str) -> None:
    assert statuses(f"def f(x, z):\n    return 1 / (z.abs() + 1e-8).{cast}") == {"assumed"}
    assert statuses(f"def f(x, z):\n    return 1 / (z.abs() + 0.5).{cast}") == {"assumed"}
    assert statuses(f"def f(x, z):\n    return 1 / (z.abs() + 1.5).{cast}") == {"discharged"}


@pytest.mark.parametrize(
    "made",
    ["torch.full((3,), 0.5, dtype=dtype)", "torch.full_like(x, 1e-12)", "torch.tensor(0.5, dtype=dtype)"],
)
def test_a_type_that_is_handed_over_is_assumed_to_hold_a_number(made: str) -> None:
    assert statuses(f"def f(x, dtype):\n    return 1 / {made}") == {"assumed"}


def test_the_device_of_a_tensor_is_no_type() -> None:
    code = "def f(x, z):\n    y = z.half()\n    return 1 / (x.abs() + 1e-10).to(y.device)"
    assert statuses(code) == {"discharged"}


@pytest.mark.parametrize("square", ["i * i", "i ** 2", "i.square()"])
def test_the_square_of_a_whole_number_may_leave_its_type(square: str) -> None:
    assert statuses(f"def f(x):\n    i = x.clamp(1, 2**32).long()\n    return 1 / ({square})") == {
        "unguarded"
    }
    assert statuses(f"def f(x):\n    i = x.clamp(1, 2**31).long()\n    return 1 / ({square})") == {
        "discharged"
    }


@pytest.mark.parametrize("write", ["Net.forward = raw", 'setattr(Net, "forward", raw)'])
def test_a_method_whose_place_another_takes_is_not_believed(write: str) -> None:
    code = (
        "class Net(nn.Module):\n    def forward(self, x):\n        return x.abs() + 1\n\n"
        f"def raw(self, x):\n    return x\n\n{write}\n\ndef f(x):\n    return 1 / Net()(x)"
    )
    assert statuses(code) == {"unguarded"}
