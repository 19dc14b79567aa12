"""Within a loop there is something to loop over."""

import pytest

from tests.analysis.support import proved

LOOPS = {
    "its elements": "for x in xs:\n    y = x / len(xs)",
    "their places": "for i in range(len(xs)):\n    y = xs[i] / len(xs)",
    "pairs": "for i, (x, y) in enumerate(zip(ys, xs)):\n    y = x / len(xs)",
    "turns": "for i in range(n):\n    y = z / n",
    "turns from 1 on": "for i in range(1, n):\n    y = z / (n - 1)",
    "turns downwards": "for i in range(n, 0, -1):\n    y = z / n",
    "a comprehension": "y = [x / len(xs) for x in xs]",
    "a sum": "y = sum(z / n for i in range(n))",
}

CHANGED = {
    "its length": "for x in xs:\n    xs.pop()\n    y = x / len(xs)",
    "in a call whose body is seen": "for x in xs:\n    empty(xs)\n    y = x / len(xs)",
    "in a call of which nothing is known": "for x in xs:\n    drop(xs)\n    y = x / len(xs)",
    "after a test": "if xs:\n    empty(xs)\n    y = z / len(xs)",
    "after the loop": "for x in xs:\n    pass\ny = z / len(xs)",
    "its number of turns": "for i in range(n):\n    y = z / n\n    n = i",
    "a copy": "for x in list(xs):\n    xs.remove(x)\n    y = x / len(xs)",
}


def program(body: str) -> str:
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return f"import torch\ndef empty(xs):\n    xs.clear()\ndef f(xs, ys, n, z, drop):\n{indented}\n    return y\n"


def rules_proved(code: str) -> set[str]:
    return {rule for _, rule in proved(code)}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_what_is_looped_over_is_not_empty_in_a_turn(loop: str) -> None:
    assert "SL102" in rules_proved(program(loop))


@pytest.mark.parametrize("loop", CHANGED.values(), ids=CHANGED)
def test_a_proof_is_lost_where_it_changes(loop: str) -> None:
    assert "SL102" not in rules_proved(program(loop))


def test_a_queue_that_a_method_takes_from_may_be_empty_then() -> None:
    method = "class A:\n    def take(self):\n        self.queue.pop()\n    def f(self, z):\n"
    tested = "        if self.queue:\n            {}return z / len(self.queue)\n"
    assert "SL102" in rules_proved(method + tested.format(""))
    assert "SL102" not in rules_proved(method + tested.format("self.take()\n            "))
