from __future__ import annotations

import pytest

from tests.codemod.support import proposal, rewritten

SUMMED = "f($x, $y, ignore=$i, reduction='sum') / $y.sum()"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(\n    a, b, ignore=c\n)", 'f(\n    a, b, ignore=c, reduction="sum"\n) / b.sum()'),
        (
            "f(\n    a,\n    b,\n    ignore = c\n)",
            'f(\n    a,\n    b,\n    ignore = c,\n    reduction = "sum"\n) / b.sum()',
        ),
        (
            "f(\n    a,\n    b,  # of two\n    ignore=c,\n)",
            'f(\n    a,\n    b,  # of two\n    ignore=c,\n    reduction="sum",\n) / b.sum()',
        ),
        ("f(a, b, ignore = c)", 'f(a, b, ignore = c, reduction = "sum") / b.sum()'),
        ("f(a,\n  b,\n  ignore=c)", 'f(a,\n  b,\n  ignore=c,\n  reduction="sum") / b.sum()'),
    ],
)
def test_a_call_that_gets_further_arguments_keeps_its_lines(call: str, expected: str) -> None:
    source = f"y = {call}\n"
    assert rewritten(source, proposal(source, call, SUMMED, x="a", y="b", i="c")) == f"y = {expected}\n"


def test_a_call_that_is_another_is_written_anew() -> None:
    source = "y = f(\n    a, b, ignore=c\n)\n"
    made = proposal(source, source[4:-1], "g($x, $y, ignore=$i, reduction='sum')", x="a", y="b", i="c")
    assert rewritten(source, made) == 'y = g(a, b, ignore=c, reduction="sum")\n'


@pytest.mark.parametrize("call", ["x.std(-1, keepdim=True)", "torch.std(x, -1, keepdim=True)"])
def test_an_argument_that_has_no_keyword_gets_none(call: str) -> None:
    template = call.replace("-1", "dim=$d").replace("x", "$x", 1).replace(")", ", unbiased=False)")
    source = f"import torch\ny = {call}\n"
    written = rewritten(source, proposal(source, call, template, x="x", d="-1"))
    assert written == source.replace(")", ", unbiased=False)")
