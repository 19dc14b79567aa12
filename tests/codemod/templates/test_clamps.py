import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codemod.differential.tried import fixed
from tests.codemod.support import proposal, rewritten, withheld

HEAD = "import torch\ny = "


def guarded(expression: str, template: str) -> str:
    source = f"{HEAD}{expression}.sqrt()\n"
    return rewritten(source, proposal(source, expression, template, x=expression)).removeprefix(HEAD)


@pytest.mark.parametrize(
    ("expression", "after"),
    [
        ("a.clamp(min=0)", "a.clamp(min=1e-30).sqrt()\n"),
        ("a.clamp(0.0)", "a.clamp(1e-30).sqrt()\n"),
        ("a.clamp_min(0)", "a.clamp_min(1e-30).sqrt()\n"),
        ("a.clamp(0, 1)", "a.clamp(1e-30, 1).sqrt()\n"),
        ("a.clamp(max=1, min=0)", "a.clamp(max=1, min=1e-30).sqrt()\n"),
        ("(a + b).clamp(min=-1e-6)", "(a + b).clamp(min=1e-30).sqrt()\n"),
        ("torch.clamp(a, min=0.0)", "torch.clamp(a, min=1e-30).sqrt()\n"),
        ("a.clamp(max=1)", "a.clamp(min=1e-30, max=1).sqrt()\n"),
    ],
)
def test_a_bound_that_is_there_is_tightened(expression: str, after: str) -> None:
    assert guarded(expression, "$x.clamp_min(1e-30)") == after


@pytest.mark.parametrize("expression", ["a.relu()", "a.clamp(min=0.1)"])
def test_any_other_clamp_gets_one_behind_it(expression: str) -> None:
    assert guarded(expression, "$x.clamp_min(1e-30)") == f"{expression}.clamp_min(1e-30).sqrt()\n"


def test_a_bound_of_two_numbers_takes_the_place_of_a_smaller_one() -> None:
    assert (
        guarded("a.clamp(min=0)", "$x.clamp_min(max(1e-19, 6e-5))")
        == "a.clamp(min=max(1e-19, 6e-5)).sqrt()\n"
    )
    assert guarded("a.clamp(min=0.1)", "$x.clamp_min(min(1e-19, 0.2))") == (
        "a.clamp(min=0.1).clamp_min(min(1e-19, 0.2)).sqrt()\n"
    )


def test_a_clamp_by_a_name_is_left_to_its_author() -> None:
    source = f"{HEAD}a.clamp(min=low).sqrt()\n"
    change = proposal(source, "a.clamp(min=low)", "$x.clamp_min(1e-30)", x="a.clamp(min=low)")
    assert withheld(source, change) == "there is a clamp already, by `low`"


def test_both_bounds_are_tightened_at_once() -> None:
    assert guarded("a.clamp(-1, 1)", "$x.clamp(-1 + 1e-6, 1 - 1e-6)") == (
        "a.clamp(-1 + 1e-6, 1 - 1e-6).sqrt()\n"
    )


def test_constants_of_the_element_type_count_as_small() -> None:
    after = guarded("a.clamp(min=0)", "$x.clamp_min(torch.finfo($x.dtype).tiny)")
    assert after == "a.clamp(min=torch.finfo(a.dtype).tiny).sqrt()\n"


def test_a_bound_by_the_element_type_is_that_of_what_goes_into_the_clamp() -> None:
    template = "$x.clamp(torch.finfo($x.dtype).eps - 1, 1 - torch.finfo($x.dtype).eps)"
    source = (
        "import torch\n\n\ndef f(a, b):\n    sine = (a / b).clamp(-1.0, 1.0)\n    return torch.asin(sine)\n"
    )
    change = proposal(source, "(a / b).clamp(-1.0, 1.0)", template, x="(a / b).clamp(-1.0, 1.0)")
    assert rewritten(source, change).splitlines()[4:8] == [
        "    ratio = a / b",
        "    sine = ratio.clamp(",
        "        torch.finfo(ratio.dtype).eps - 1, 1 - torch.finfo(ratio.dtype).eps",
        "    )",
    ]


def test_a_limit_of_a_known_element_type_counts_as_large_as_it_is() -> None:
    expression = "a.half().clamp(min=1e-10)"
    assert guarded(expression, "$x.clamp_min(torch.finfo(torch.float16).tiny)") == (
        "a.half().clamp(min=torch.finfo(torch.float16).tiny).sqrt()\n"
    )


@given(st.floats(-10, 10, width=32), st.floats(-10, 10, width=32))
def test_the_result_has_the_tighter_bound(old: float, new: float) -> None:
    source = f"a.clamp(min={old!r})"
    after = guarded(source, f"$x.clamp_min({new!r})").strip()

    class Number(float):
        def clamp(self, min: float) -> "Number":
            return Number(max(self, min))

        clamp_min = clamp

        def sqrt(self) -> float:
            return self

    for value in (-20.0, (old + new) / 2, old, new, 20.0):
        assert eval(after, {"a": Number(value)}) == max(value, old, new)


def test_of_two_bounds_the_one_that_is_tight_enough_stays() -> None:
    source = f"{HEAD}torch.acos(torch.clamp(x, 0, 1))\n"
    within = "$c.clamp(torch.finfo($c.dtype).eps - 1, 1 - torch.finfo($c.dtype).eps)"
    change = proposal(source, "torch.clamp(x, 0, 1)", within, c="torch.clamp(x, 0, 1)")
    assert "torch.acos(torch.clamp(x, 0, 1 - torch.finfo(x.dtype).eps))" in rewritten(source, change)


def test_an_upper_bound_follows_a_lower_one_as_that_is_written() -> None:
    assert guarded("a.clamp_min(-40.0)", "$x.clamp(max=80.0)") == "a.clamp(-40.0, 80.0).sqrt()\n"
    assert guarded("a.clamp(min=-40.0)", "$x.clamp(max=80.0)") == "a.clamp(min=-40.0, max=80.0).sqrt()\n"


@pytest.mark.parametrize("made", ["p.mean(0).clamp_min(eps)", "p.mean(0)"])
def test_an_operand_of_several_gets_no_second_bound(made: str) -> None:
    source = f"import torch\ndef f(p, eps=1e-8):\n    q = {made}\n    return p * (p.log() - q.log())\n"
    after = fixed(source, unsafe=True)[0]
    assert "p.clamp_min(" in after
    assert ("q.clamp_min(" in after) is ("eps" not in made)


@pytest.mark.parametrize(
    ("choice", "after"),
    [
        ("torch.where(x >= 0, x, torch.exp(x))", "torch.where(x >= 0, x, torch.exp(x.clamp(max=0)))"),
        ("torch.where(x < 0, torch.exp(x), x)", "torch.where(x < 0, torch.exp(x.clamp(max=0)), x)"),
        ("torch.where(x > 0.1, torch.log(x), y)", "torch.where(x > 0.1, torch.log(x.clamp(min=0.1)), y)"),
        (
            "torch.where(x > 0, torch.log(x), y)",
            "torch.where(x > 0, torch.log(torch.where(x > 0, x, 1)), y)",
        ),
        (
            "torch.where(x >= 1, x, torch.exp(x))",
            "torch.where(x >= 1, x, torch.exp(torch.where(x >= 1, 0, x)))",
        ),
    ],
)
def test_an_operand_that_is_tested_itself_ends_where_the_test_does(choice: str, after: str) -> None:
    source = f"import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    return {choice}\n"
    assert f"    return {after}\n" in fixed(source, unsafe=True)[0]
