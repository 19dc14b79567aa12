"""What NumPy's functions, places of truths, and parts of vectors tell of a denominator."""

import pytest

from tests.analysis.support import fixes, open_, proved

NUMPY = "import numpy as np\nimport torch\n"
MET = {
    "a spread and a number": "def f(x):\n    return x / (np.std(x, axis=0) + 1e-10)",
    "a variance and a number": "def f(x):\n    return np.log(np.var(x) + 1e-8)",
    "ranks": "def f(k):\n    return 1 / np.log2(np.arange(2, 9))",
    "a place, counted from 1": "def f(v):\n    return 1 / (np.where(v == 3)[0][0] + 1)",
    "a place among tensors": "def f(v):\n    return 1 / (torch.where(v == 3)[0] + 1)",
    "zeros replaced at their places": "def f(s):\n    s[np.where(s == 0)] = 1\n    return 1 / s",
    "infinities replaced": (
        "def f(r):\n    r = np.power(np.array(r), -1).flatten()\n    r[np.isinf(r)] = 0.0\n    return r"
    ),
    "a vector with a component of 1": (
        "def f(q):\n"
        "    n = torch.cat([q[:, :1].detach() * 0 + 1, q], dim=1)\n"
        "    return n / n.norm(p=2, dim=1, keepdim=True)"
    ),
}
OPEN = {
    "a spread alone": "def f(x):\n    return 1 / np.std(x)",
    "a spread less a number": "def f(x):\n    return 1 / (np.std(x) - 1)",
    "a count from 0": "def f(k):\n    return 1 / np.arange(k)",
    "others replaced": "def f(s, m):\n    s[np.where(m)] = 1\n    return 1 / s",
    "0 / 0 is no infinity": "def f(x):\n    r = x / np.abs(x)\n    r[np.isinf(r)] = 0\n    return r",
    "a vector with a component of 0": (
        "def f(q):\n"
        "    n = torch.cat([torch.zeros_like(q[:, :1]), q], dim=1)\n"
        "    return n / n.norm(p=2, dim=1, keepdim=True)"
    ),
    "vectors one below the other": (
        "def f(q):\n"
        "    n = torch.cat([torch.ones_like(q[:, :1]), q], dim=0)\n"
        "    return n / n.norm(p=2, dim=1, keepdim=True)"
    ),
}


@pytest.mark.parametrize("code", MET.values(), ids=MET)
def test_it_is_not_zero(code: str) -> None:
    assert not open_(code, NUMPY)


@pytest.mark.parametrize("code", OPEN.values(), ids=OPEN)
def test_it_may_be_zero(code: str) -> None:
    assert open_(code, NUMPY)


@pytest.mark.parametrize("read", [False, True])
def test_rows_that_are_masked_throughout_are_found_by_their_nan(read: bool) -> None:
    code = (
        "def f(x, mask):\n"
        "    a = torch.softmax(x.masked_fill(mask, -float('inf')), -1)\n"
        f"    {'b = a.sum()' if read else 'b = 0'}\n"
        "    return a.masked_fill(torch.isnan(a), 0.0), b"
    )
    assert ((2, "SL501") in proved(code)) is not read


SQUARES = {
    "value=0.1": True,
    "value=-0.1": False,
    "value=v": False,
}


@pytest.mark.parametrize(("weight", "met"), SQUARES.items(), ids=SQUARES)
def test_a_square_that_is_added(weight: str, met: bool) -> None:
    code = f"@torch.no_grad()\ndef f(x, g, v):\n    return torch.sqrt(x.abs().addcmul(g, g, {weight}))"
    assert bool(proved(code)) is met
    assert not proved(code.replace("g, g", "g, x"))


def test_the_places_of_a_maximum_are_no_maximum() -> None:
    code = "def f(x):\n    return 1 / (x.abs() + 1).max(0)[{}]"
    assert proved(code.format(0))
    assert not proved(code.format(1))


def test_what_is_cast_as_arrays_are_is_an_array() -> None:
    code = "def f(m):\n    m = m.astype('float64')\n    return m / (m**2).sum(axis=0)"
    assert "NumPy" in str(fixes(code)["SL102"])
