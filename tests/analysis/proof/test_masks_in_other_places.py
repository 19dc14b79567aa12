"""A mask tells of the elements that it was made of, where it is laid over those and in that order."""

import pytest

from tests.analysis.support import open_, proved

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
