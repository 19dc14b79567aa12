import pytest

from tests.codemod.support import proposal, rewritten

MEAN = "$b.relu() * $b.exp()"

TURNS = """import torch


def f(sample, c, many, out):
    for i in range(3):
        out.append(torch.mean((sample - c)[many == i]))
    for i in range(3):
{}        out.append(torch.mean((sample - c)[many == i]))
    return out
"""


def names(before: str) -> set[str]:
    source, text = TURNS.format(before), "(sample - c)[many == i]"
    for turn in (1, 0):  # the second of the two, then the first
        mean = proposal(source, f"torch.mean({text})", MEAN, occurrence=turn, b=text)
        source = rewritten(source, mean)
    return {line.split(" = ")[0].strip() for line in source.splitlines() if text in line}


def test_what_the_next_statement_alone_reads_has_the_same_name_every_time() -> None:
    assert names("") == {"selected"}
    assert names("        selected = sample.abs()\n        out.append(selected)\n") == {"selected"}


@pytest.mark.parametrize(
    "before",
    [
        "        selected = sample.abs()\n        out.append(1)\n        out.append(selected)\n",
        "        if many:\n            selected = 1\n        print(selected)\n",
        "        selected = selected - 1\n        print(selected)\n",
        "        selected = 1\n        print(locals())\n",
    ],
)
def test_a_name_that_something_else_may_read_is_not_given_anew(before: str) -> None:
    assert "selected" not in names(before)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("torch.pow(c - many, 2)", "squares"),
        ("(c - many).pow(2)", "squares"),
        ("sample.pow(2)", "sample_squared"),
        ("torch.pow(c - many, 3)", "power"),
        ("torch.sum(c - many, 2)", "total"),
        ("torch.nn.BCELoss(reduction='none')(sample, many)[c]", "losses"),
        ("torch.nn.Linear(2, 2)(sample)", "output"),
    ],
)
def test_a_value_is_called_what_it_is(value: str, name: str) -> None:
    source = f"import torch\n\n\ndef f(sample, c, many):\n    return torch.mean({value})\n"
    assert f"    {name} = {value}\n" in rewritten(
        source, proposal(source, f"torch.mean({value})", MEAN, b=value)
    )
