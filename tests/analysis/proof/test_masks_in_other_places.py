"""A mask tells of the elements that it was made of, where it is laid over those and in that order."""

import pytest

from tests.analysis.support import assumed, open_, proved

ELSEWHERE = {
    "each row is the whole": "def f(s):\n    return torch.log(s.expand(3, 3)[s > 0])",
    "laid along another dimension": (
        "def f(s: torch.Tensor):\n    return torch.log(torch.where(s > 0, s.unsqueeze(1), 1))"
    ),
    "a column over rows": "def f(s: torch.Tensor):\n    return torch.log(torch.where(s.unsqueeze(1) > 0, s, 1))",
    "a flat mask over a matrix": "def f(s):\n    ok = (s > 0).view(-1)\n    return torch.log(s[ok])",
    "transposed": "def f(s: torch.Tensor):\n    ok = s > 0\n    return torch.log(s.t()[ok])",
    "a sum with the transposed": "def f(s: torch.Tensor):\n    return torch.log((s + s.t())[s > 0])",
    "columns that are taken for rows": "def f(s):\n    return torch.log(s[(s > 0).all(0)])",
    "columns counted from the end": "def f(s):\n    return torch.log(s[(s > 0).all(-2)])",
    "the second of three dimensions": "def f(s):\n    s = s + 1\n    s[(s <= 0).any(1)] = 1\n    return torch.log(s)",
    "none of a column, taken for a row": "def f(s):\n    ok = ~(s <= 0).any(0)\n    return torch.log(s[ok])",
    "rows that are taken for columns": "def f(s):\n    return torch.log(torch.where((s > 0).all(1), s, 1))",
}
ALIGNED = {
    "both made a column": (
        "def f(s):\n    return torch.log(s.unsqueeze(-1).masked_fill((s <= 0).unsqueeze(-1), 1))"
    ),
    "both flat": "def f(s):\n    ok = (s > 0).view(-1)\n    return torch.log(s.view(-1)[ok])",
    "rows": "def f(s):\n    ok = (s > 0).all(-1)\n    return torch.log(s[ok])",
    "rows, kept as a column": (
        "def f(s):\n    ok = (s > 0).all(-1, keepdim=True)\n    return torch.log(torch.where(ok, s, 1))"
    ),
    "a column tested and taken": (
        "def f(s: torch.Tensor):\n    return torch.log(torch.where(s.unsqueeze(1) > 0, s.unsqueeze(1), 1))"
    ),
    "copies": "def f(s):\n    ok = s > 0\n    return torch.log(s.float()[ok.detach()])",
    "all of them, wherever they stand": (
        "def f(s: torch.Tensor):\n    if (s > 0).all():\n        return torch.log(s.t())"
    ),
    "the least of a view": "def f(s: torch.Tensor):\n    assert s.view(-1).min() > 0\n    return torch.log(s)",
}


@pytest.mark.parametrize("code", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_mask_tells_nothing_of_elements_in_other_places(code: str) -> None:
    assert not proved(code)


@pytest.mark.parametrize("code", ALIGNED.values(), ids=ALIGNED)
def test_a_mask_tells_of_the_elements_beneath_it(code: str) -> None:
    assert proved(code)
    assert not open_(code)


@pytest.mark.parametrize(
    "body",
    ["return torch.log(s[(s > 0).all(1)])", "s = s + 1\n    s[(s <= 0).any(1)] = 1\n    return torch.log(s)"],
)
def test_the_second_dimension_is_assumed_to_be_the_last(body: str) -> None:
    assert assumed(f"def f(s):\n    {body}")
    assert not open_(f"def f(s):\n    {body}")


CUT = {
    "what is written into whole numbers on one path": (
        "def f(x, n):\n"
        "    v = x.abs() + 1 if n == 0 else (x > 0).sum()\n"
        "    v[v > -1] = 1e-3\n"
        "    return v**-0.5"
    ),
    "a test of what was cut to whole numbers": (
        "def f(x):\n    if x.to(torch.long) >= 0:\n        return torch.log(x + 0.9)"
    ),
    "not 0, then cut": "def f(x):\n    if x >= 0.5:\n        return 1 / x.to(torch.long)",
    "what is 0 once it is cut": (
        "def f(x):\n    if x.to(torch.int32):\n        return x\n    return torch.log(x + 0.1)"
    ),
}


@pytest.mark.parametrize("code", CUT.values(), ids=CUT)
def test_a_cast_to_whole_numbers_keeps_no_bound(code: str) -> None:
    assert not proved(code)


SET = {
    "written through the mask": "d[d < eps] = 1.0",
    "chosen": "d = torch.where(d < eps, torch.ones_like(d), d)",
    "filled": "d = d.masked_fill(d < eps, 1.0)",
    "selected": "d = d[d >= eps]",
}


@pytest.mark.parametrize("replaced", SET)
@pytest.mark.parametrize(
    ("setting", "status"),
    [("eps=1e-5", "assumed"), ("eps=0.0", "open"), ("eps=-1.0", "open"), ("eps", "open")],
)
def test_what_a_test_with_a_setting_leaves_rests_on_it(replaced: str, setting: str, status: str) -> None:
    code = f"def f(x, y, {setting}):\n    d = x[..., 1] - x[..., 0]\n    {SET[replaced]}\n    return y / d\n"
    assert ((4, "SL102") in open_(code)) is (status == "open")
    assert ((4, "SL102") in assumed(code)) is (status == "assumed")


@pytest.mark.parametrize(
    "replaced",
    [
        "d[d > eps] = 1.0",  # what is left is below it
        "d[x[..., 1] < eps] = 1.0",
        "d[d < eps] = 0.0",
        "d = torch.where(d < eps, d, torch.ones_like(d))",
        "d[d.abs() > eps] = 1.0",
        "m = d < eps\n    d = d - 1\n    d[m] = 1.0",
        "d[d < eps] = 1.0\n    eps = 0.0\n    d = d - 1.0",
    ],
)
def test_another_test_with_a_setting_leaves_the_zero(replaced: str) -> None:
    code = f"def f(x, y, eps=1e-5):\n    d = x[..., 1] - x[..., 0]\n    {replaced}\n    return y / d\n"
    assert "SL102" in [rule for _, rule in open_(code)]
