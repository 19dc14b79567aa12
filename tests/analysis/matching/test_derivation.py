"""The chain that a finding prints: from where its operand is born, by what brings it to the critical point."""

import pytest

from tests.analysis.support import findings


def _chain(body: str) -> list[str]:
    """What the steps of the only finding in a function say."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (found,) = findings(f"def f(x, y, flag):\n{lines}")
    return [step.text for step in found.derivation]


def test_starts_at_the_argument() -> None:
    assert _chain("return torch.log(x)") == ["`x` is an argument of unknown range"]


def test_passes_over_what_can_be_any_number() -> None:
    steps = _chain("d = x - y\nn = d.abs()\nreturn 1 / n")
    assert steps[-1] == "`d.abs()` lies in [0, inf)"
    assert not any("can be any number" in step for step in steps)


def test_says_that_the_operand_can_be_any_number_where_nothing_else_is_to_say() -> None:
    assert _chain("return torch.log(x @ y)") == ["`x @ y` can be any number"]


def test_leaves_the_condition_of_a_selection_out() -> None:
    steps = _chain("a = torch.where(y < 0, x * x, x.abs())\nreturn 1 / a")
    assert not any(step.startswith("`y < 0`") for step in steps)


def test_leaves_a_factor_out_that_is_never_zero() -> None:
    steps = _chain("sign = torch.where(y < 0, -1.0, 1.0)\nn = torch.norm(x * sign)\nreturn x / n")
    assert steps[-1] == "a norm is 0 for a zero vector"
    assert not any("sign" in step for step in steps)


def test_calls_what_several_paths_make_by_no_single_path() -> None:
    steps = _chain("n = x.abs()\nif flag:\n    n = 1.0\nreturn y / n")
    assert steps[-1] == "`x.abs()` lies in [0, inf)"


def test_tells_of_the_path_that_has_no_bound() -> None:
    steps = _chain("s = torch.tanh(x)\nif flag:\n    s = torch.randn(3)\nreturn torch.exp(100 * s)")
    assert "a normal sample is unbounded" in steps
    assert not any(step.startswith("tanh") for step in steps)


@pytest.mark.parametrize("size", ["x.sum(-1) if flag else y.shape[-1]", "y.shape[-1] if flag else x.sum(-1)"])
def test_tells_of_the_path_that_can_be_any_number(size: str) -> None:
    (found,) = findings(f"def f(x, y, flag):\n    return y / ({size})\n")
    assert [step.text for step in found.derivation] == ["`x` is an argument of unknown range"]
    assert found.message.endswith(f"`{size}` lies in (-inf, inf)")


def test_tells_what_the_message_tells_where_a_setting_keeps_its_default() -> None:
    code = (
        "def f(x, eps=1e-7):\n    u = torch.rand_like(x)\n    return torch.log(-torch.log(u + eps) + eps)\n"
    )
    (found,) = [item for item in findings(code) if item.assumes]
    known = found.message.rpartition(" lies in ")[2]
    assert found.assumes == ("eps=1e-07",)
    assert found.derivation[-1].text.endswith(f" lies in {known}")


def test_ends_at_a_call_that_is_not_followed() -> None:
    steps = _chain("q = open(y)\nn = q.fetch(flag)\nreturn x / n.sum(1)")
    assert steps == ["nothing is known of `q.fetch(flag)`"]


def test_shows_the_mask_that_may_select_nothing() -> None:
    assert _chain("kept = x > 0\nreturn y[kept].mean()")[-1] == "`x > 0` may be false everywhere"


def test_shows_the_mask_of_what_is_written_into_and_not_that_of_what_is_written() -> None:
    body = "rows = x[y > 0]\nlow = rows < 1\nrows[low] = torch.square(rows[low])\nreturn rows.mean()"
    assert _chain(body)[-1] == "`y > 0` may be false everywhere"
