"""Numbers and arrays that are kept away from a pole by a test of them, of a difference, or by what they are made of."""

import pytest

from tests.analysis.support import IMPORTS, proved, unmet

HEAD = f"import numpy as np\n{IMPORTS}"
PROVED = {
    "a number above the spacing of 1": "if abs(n) < np.spacing(1.0):\n        return x\n    return x / n",
    "a difference above it": "if abs(n - 2) > np.spacing(1.0):\n        return x / (2 - n)",
    "a difference, turned": "d = n - 2\n    if d < 0:\n        return x / (2 - n)",
    "a difference of tensors": "d = x - n\n    if (d > 0).all():\n        return x / (n - x)",
    "an array of one number": "s = np.std(n)\n    if s < 1e-8:\n        s = 1e-8\n    return x / s",
    "an array on each path": "s = np.abs(n) + 1\n    if x is None:\n        s = 2\n    return x / s",
    "a square of what may be NaN": (
        "o = torch.where(x.isinf(), float('nan'), x)\n    return x / (o ** 2 + 1)"
    ),
}
OPEN = {
    "a difference from something else": "d = n - 2\n    if d > 0:\n        n = n - 1\n        return x / (2 - n)",
    "some elements of a difference": "d = x - n\n    if (d > 0).any():\n        return x / (n - x)",
    "a difference in another shape": "d = x - n\n    if (d > 0).all():\n        return x / (n[:, None] - x)",
    "what was written since": "d = x - n\n    if (d > 0).all():\n        n.copy_(x)\n        return x / (n - x)",
    "a spacing below 0": "if abs(n) > np.spacing(-1.0):\n        return x / n",
    "below the spacing": "if abs(n) < np.spacing(1.0):\n        return x / n",
    "an array that is 0 on a path": "s = np.abs(n) + 1\n    if x is None:\n        s = 0\n    return x / s",
    "an array that is written on a path": (
        "s = np.abs(n) + 1\n    t = s if x is None else np.ones(3)\n    t[0] = 0\n    return x / s"
    ),
    "a cube of what may be NaN": "o = torch.where(x.isinf(), float('nan'), x)\n    return x / (o ** 3 + 1)",
}


@pytest.mark.parametrize("body", PROVED.values(), ids=PROVED)
def test_it_is_proved(body: str) -> None:
    code = f"def f(x, n):\n    {body}\n"
    assert "SL102" in [rule for _, rule in proved(code, HEAD)]
    assert unmet(code, HEAD) == []


@pytest.mark.parametrize("body", OPEN.values(), ids=OPEN)
def test_its_kin_is_not(body: str) -> None:
    assert proved(f"def f(x, n):\n    {body}\n", HEAD) == []
