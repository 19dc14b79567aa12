"""Where a rewrite leaves a mere name for a name, the assignment goes."""

import pytest

from tests.codemod.support import proposal, rewritten


def dropped(body: str, call: str = "softmax(z)") -> str:
    source = f"def f(z, y):\n{body}"
    finding = "loss(p, y)" if "loss(p, y)" in source else "loss(z, y)"
    change = proposal(source, call, "$z", z="z")
    return rewritten(source, change, finding=finding).removeprefix("def f(z, y):\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    p = softmax(z)\n    return loss(p, y)\n", "    return loss(z, y)\n"),
        ("    z = softmax(z)\n    return loss(z, y)\n", "    return loss(z, y)\n"),
        (
            "    z = g(y)\n    p = softmax(z)\n    return loss(p, y)\n",
            "    z = g(y)\n    return loss(z, y)\n",
        ),
    ],
)
def test_the_reader_reads_the_name_that_is_left(before: str, after: str) -> None:
    assert dropped(before) == after


@pytest.mark.parametrize(
    "body",
    [
        "    p = softmax(z)\n    z = g(y)\n    return loss(p, y)\n",
        "    p = softmax(z)  # as the paper has it\n    return loss(p, y)\n",
        "    for _ in y:\n        p = softmax(z)\n        z = loss(p, y)\n",
        "    p = softmax(z); q = 1\n    return loss(p, y)\n",
        "    p = softmax(z)\n    def g():\n        return loss(p, y)\n    return g\n",
        "    p = y\n    p = softmax(z)\n    return loss(p, y)\n",
    ],
)
def test_otherwise_the_assignment_stays(body: str) -> None:
    assert dropped(body) == body.replace("softmax(z)", "z")


def test_a_reader_of_more_than_a_name_keeps_it() -> None:
    body = "    p = softmax(z + 1)\n    return loss(p, y)\n"
    source = f"def f(z, y):\n{body}"
    change = proposal(source, "softmax(z + 1)", "$z", z="z + 1")
    assert rewritten(source, change, finding="loss(p, y)").endswith("    p = z + 1\n    return loss(p, y)\n")
