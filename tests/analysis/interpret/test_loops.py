"""What stands at the head of a loop stands there in every turn, not in the first two alone."""

import ast
import textwrap

import pytest

from stablelint.analysis.interpret.statements.carried import carried
from tests.analysis.support import proved, violated

HELPERS = """import torch
def lower(t):
    t.sub_(1)
def first(c):
    c[0] -= 1
def late(c, i):
    if i > 3:
        c[0] -= 1
"""
# Each divides by `a`, which a later turn lets be 0 or less.
LATER = {
    "down by one": "a = 5.0\nfor x in xs:\n    y = x / a\n    a -= 1",
    "down by what grows": "a, i = 5.0, 0\nfor x in xs:\n    y = x / a\n    a = a - i\n    i += 1",
    "under a test of what grows": "a, i = 5.0, 0\nfor x in xs:\n    y = x / a\n    if i > 3:\n        a = 0.0\n    i += 1",
    "turned about": "a = 1.0\nfor x in xs:\n    y = x / a\n    a = 4 - 2 * a",
    "three turns later": "a = b = c = 1.0\nfor x in xs:\n    y = x / a\n    a = b\n    b = c\n    c = x.sum()",
    "after a flag": "a, last, done = 1.0, 'a', 'a'\nfor x in xs:\n    y = x / a\n    if last == 'b':\n        a = 0.0\n"
    "    last = done\n    done = 'b'",
    "in a list": "a = [5.0]\nfor x in xs:\n    y = x / a[0]\n    a[0] -= 1",
    "in a tuple": "a = (1.0, 2.0)\nfor x in xs:\n    y = x / a[0]\n    a = (a[1] - 1, a[0] - 1)",
    "an attribute": "m.a = 5.0\nfor x in xs:\n    y = x / m.a\n    m.a = m.a - 1",
    "in a while": "a = 3\nwhile xs.sum() > 0:\n    y = xs / a\n    a -= 1",
    "behind a continue": "a, i = 1.0, 0\nfor x in xs:\n    y = x / a\n    i += 1\n    if i < 3:\n        continue\n"
    "    a += -1",
    "in a comprehension": "a = 3.0\ny = [x / a for x in xs if (a := a - 1) is not None]",
    "in place, in a comprehension": "a = torch.ones(3)\ny = [(x / a, a.sub_(1)) for x in xs]",
    "in an inner loop": "a = 5.0\nfor x in xs:\n    for z in x:\n        y = z / a\n        a -= 1",
    "in a call": "a = torch.ones(3)\nfor x in xs:\n    y = x / a\n    lower(a)",
    "in a call that a later turn makes": "a, i = torch.ones(3), 0\nfor x in xs:\n    y = x / a\n    if i > 3:\n"
    "        lower(a)\n    i += 1",
    "in a call of a list that a later turn makes": "a, i = [5.0], 0\nfor x in xs:\n    y = x / a[0]\n    if i > 3:\n"
    "        first(a)\n    i += 1",
    "in a call that is given what grows": "a, i = [5.0], 0\nfor x in xs:\n    y = x / a[0]\n    late(a, i)\n    i += 1",
    "in a closure": "a, i = [5.0], 0\ndef down():\n    if i > 3:\n        a[0] -= 1\nfor x in xs:\n    y = x / a[0]\n"
    "    down()\n    i += 1",
    "under a setting": "a = t\nfor x in xs:\n    y = x / a\n    a = 8 - 2 * a",
}

EVERY = {
    "counted": "a = 1\nfor x in xs:\n    y = x / a\n    a += 1",
    "halved and lifted": "a = 1.0\nfor x in xs:\n    y = x / a\n    a = a * 0.5 + 1",
    "reset": "a = b = 1.0\nfor x in xs:\n    y = x / a\n    a = b",
    "a flag": "a, first = 1.0, True\nfor x in xs:\n    y = x / a\n    if first:\n        a = 2.0\n    first = False",
    "filled where it was None": "a = None\nfor x in xs:\n    a = x.exp() + 1 if a is None else a + 1\n    y = x / a",
}


def program(body: str) -> str:
    return HELPERS + "def f(xs, m, t=2.0):\n" + textwrap.indent(body, "    ") + "\n    return y\n"


@pytest.mark.parametrize("body", LATER.values(), ids=LATER)
def test_what_a_later_turn_leaves_is_no_proof(body: str) -> None:
    assert "SL102" not in {rule for _, rule in proved(program(body))}


@pytest.mark.parametrize("body", EVERY.values(), ids=EVERY)
def test_what_every_turn_leaves_is_one(body: str) -> None:
    assert "SL102" in {rule for _, rule in proved(program(body))}


def test_a_sum_of_squares_that_begins_as_none_is_not_negative() -> None:
    code = """
    def clip(gradients):
        total = None
        for gradient in gradients:
            total = gradient.square() if total is None else total + gradient.square()
        return None if total is None else total.detach().sqrt()
    """
    assert "SL103" in {rule for _, rule in proved(code)}


@pytest.mark.parametrize(
    ("body", "later"),
    [
        ("f(x)\nm += 1", False),
        ("f(x, m)\nm += 1", True),
        ("if m > 3:\n    f(x)\nm += 1", True),
        ("if x:\n    f(x)\nm += 1", False),
    ],
)
def test_the_text_tells_which_calls_a_later_turn_may_make_otherwise(body: str, later: bool) -> None:
    assert carried(ast.parse(body).body).calls is later


def handed(body: str) -> tuple[set[str], set[str]]:
    found = carried(ast.parse(textwrap.dedent(body)).body)
    return set(found.added), set(found.other)


@pytest.mark.parametrize(
    ("body", "added", "other"),
    [
        ("n += 1", {"n"}, set()),
        ("loss = f(x)\ntotal += loss\ncount += len(x)", {"total", "count"}, set()),
        ("n -= 1", set(), {"n"}),
        ("n += m\nm += 1", {"m"}, {"n"}),
        ("t = m * 2\nn += t\nm += 1", {"m"}, {"n"}),
        ("if m > 3:\n    n += 1\nm += 1", {"m"}, {"n"}),
        ("n = 1\nn += 1", set(), set()),
        ("if x:\n    n = 1\nelse:\n    n = 2\ny = n", set(), set()),
        ("if x:\n    n = 1\ny = n", set(), {"n"}),
        ("m += 1\nif m < 3:\n    continue\nn += 1", set(), {"m", "n"}),
        ("with open(x) as g:\n    n = g.read()\nprint(n)", set(), set()),
        ("m.a = m.a * 2", set(), {"m", ".a"}),
        ("a.sub_(1)", set(), {"a"}),
        ("try:\n    n += 1\nexcept ValueError:\n    n = 0", set(), {"n"}),
    ],
)
def test_the_text_tells_what_is_handed_on(body: str, added: set[str], other: set[str]) -> None:
    assert handed(body) == (added, other)


def test_a_list_that_is_filled_in_an_inner_loop_is_not_empty_for_sure() -> None:
    code = """
    def f(xs):
        found = []
        for x in xs:
            for y in x:
                for z in y:
                    found.append(z)
        return sum(found) / len(found)
    """
    assert not violated(code)
