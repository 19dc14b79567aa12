"""Ways on which a body gets other arguments, or a statement other values, than the text next to it shows."""

import pytest

from tests.analysis.support import proved

UNSEEN = {
    "a decorator passes something else": """
        def less(f):
            return lambda x, n: f(x, n - 1)

        @less
        def _f(x, n):
            return x / n

        _f(torch.ones(3), 1)
        """,
    "one tensor is passed twice": """
        @torch.no_grad()
        def f(x: torch.Tensor, y: torch.Tensor):
            if (x > 0).all():
                y.neg_()
                return torch.log(x)
        """,
    "a list that is not empty may hold a 0": """
        def f(x, *others):
            first = others[0] if others else 1
            return x / first
        """,
    "another function has taken its name": """
        def above(x):
            return abs(x) + 1

        chosen = above

        def choose(other):
            global chosen
            chosen = other

        @torch.no_grad()
        def f(x):
            return torch.log(chosen(x))
        """,
    "called by a text": """
        class A:
            def _f(self, x, n):
                return x / n

            def f(self, x):
                return self._f(x, 2)

            def g(self, x, name):
                return getattr(self, "_f")(x, 0)
        """,
    "a function within another is handed on": """
        def g(x, xs):
            def f(n):
                return x / n

            return f(2), list(map(f, xs))
        """,
    "a lambda is handed on": """
        def g(x):
            f = lambda n: x / n
            f(2)
            return f
        """,
    "what is done at last is done after an error, too": """
        def f(x, n):
            try:
                if n == 0:
                    raise ValueError
            finally:
                y = x / n
            return y
        """,
    "and after an error in a handler": """
        def f(x, n, other):
            try:
                other.run()
            except KeyError:
                n = 0
                other.run()
                n = 1
            else:
                n = 1
            finally:
                y = x / n
            return y
        """,
    "a method by another name": """
        class A:
            def step(self):
                self.n -= 1

            def f(self, x):
                if self.n > 0:
                    step = self.step
                    step()
                    return x / self.n
        """,
    "an attribute of what may be the same object": """
        class A:
            def f(self, x, other):
                if self.n > 0:
                    other.n = 0
                    return x / self.n
        """,
    "the first of a list that is turned round": """
        def f(x, n):
            if n[0] > 0:
                n.reverse()
                return x / n[0]
        """,
    "what a method yields the second time": """
        def f(x, n):
            if n.value() > 0:
                return x / n.value()
        """,
    "the last of a list that a method adds to that was handed on": """
        def f(x):
            a = [1, 2]
            list(map(a.append, [0]))
            return x / a[-1]
        """,
    "the bits of a whole number": """
        def f(x, a):
            return x / (~max(a, 1) + 2)
        """,
    "parameters that are set from a vector": """
        def f(x):
            y = x.clamp(min=1e-6)
            torch.nn.utils.vector_to_parameters(x, [y])
            return torch.log(y)
        """,
}
SEEN = {
    "a function within another that is called there alone": """
        def g(x):
            def f(n):
                return x / n

            return f(2) + f(3)
        """,
    "what goes on behind is what raised nothing": """
        def f(x, n, file):
            try:
                if n == 0:
                    raise ValueError
            finally:
                file.close()
            return x / n
        """,
    "an entry that a method reads that was handed on": """
        def f(x, keys):
            c = {"a": 1}
            list(map(c.get, keys))
            return x / c["a"]
        """,
    "an item that nobody touches": """
        def f(x, n):
            if n[0] > 0:
                print(n)
                return x / n[0]
        """,
}


@pytest.mark.parametrize("code", UNSEEN.values(), ids=UNSEEN)
def test_no_proof(code: str) -> None:
    assert not proved(code)


@pytest.mark.parametrize("code", SEEN.values(), ids=SEEN)
def test_a_proof(code: str) -> None:
    assert proved(code)


OPTIONAL = {
    "a function that may fall off its end": (
        "def g(z):\n    if z.sum() > 0:\n        return z.abs() + 1\n\ndef f(x, y):\n    v = g(x)\n    if v is None:\n"
        "        v = y\n    return 1 / v\n"
    ),
    "a number or nothing": (
        "def f(x, y):\n    e = None\n    if y:\n        e = 1.0\n    return 1 / (x.abs() + (e if e else 0))\n"
    ),
    "a number or nothing, compared": (
        "def f(x, y):\n    e = None\n    if y:\n        e = 1.0\n    return 1 / (x.abs() + (1 if e == 1 else 0))\n"
    ),
    "a number or nothing, asked for": (
        "def f(x, y):\n    e = None\n    if y:\n        e = 1.0\n    return 1 / (x.abs() + (0 if e is None else e))\n"
    ),
}


@pytest.mark.parametrize("code", OPTIONAL.values(), ids=OPTIONAL)
def test_what_may_be_none_is_not_taken_for_what_it_is_elsewhere(code: str) -> None:
    assert proved(code) == []


def test_what_is_done_with_an_optional_is_done_where_it_is_something() -> None:
    code = "def f(x, y):\n    e = None\n    if y:\n        e = x.abs() + 1\n    return 1 / e\n"
    assert [rule for _, rule in proved(code)] == ["SL102"]
