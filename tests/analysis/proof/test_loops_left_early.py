"""What a loop's end tells holds where the loop has run to its end, and not where a `break` has left it."""

import pytest

from tests.analysis.support import findings

HEAD = "import torch\n\n\ndef f(v, c):\n"


@pytest.mark.parametrize(
    "body",
    [
        "while v <= 0:\n        if c:\n            break\n        v += 1\n    return 1 / v",
        "w = v.abs() + 1\n    for i in range(3):\n        if i == 1:\n            w = w - 5\n            break\n"
        "    else:\n        w = v.abs() + 2\n    return 1 / w",
        "w = 1\n    for i in range(3):\n        try:\n            break\n        finally:\n            w = w - 1\n"
        "    return 1 / w",
        "w = 1\n    for i in range(3):\n        try:\n            if c:\n                continue\n            w = 2\n"
        "        finally:\n            w = w - 1\n    return 1 / w",
        "w = 1\n    try:\n        try:\n            raise ValueError\n        finally:\n            w = w - 1\n"
        "    except ValueError:\n        pass\n    return 1 / w",
    ],
)
def test_a_break_passes_by_what_the_end_tells(body: str) -> None:
    assert [one.code for one in findings(f"{HEAD}    {body}\n")] == ["SL102"]


@pytest.mark.parametrize(
    "body",
    [
        "while v <= 0:\n        v = v * 2\n    return 1 / v",
        "for i in range(3):\n        if v > 0:\n            break\n    else:\n        v = 1.0\n    return 1 / v",
        "for i in c:\n        if v > 0:\n            break\n    else:\n        raise ValueError\n    return 1 / v",
        "while True:\n        if v > 0:\n            break\n        v = v + 1\n    return 1 / v",
    ],
)
def test_what_every_way_out_tells_is_believed(body: str) -> None:
    assert findings(f"{HEAD}    {body}\n") == []
