"""Attributes that the code of others writes: of the class, of whatever object, through a descriptor; merged mappings."""

import pytest

from tests.analysis.support import findings

HEAD = "import torch\n\n\n"


@pytest.mark.parametrize(
    "code",
    [
        'def f(x, given):\n    settings = {"eps": 1e-6, **given}\n    return 1 / settings["eps"]\n',
        "class A:\n    def __init__(self):\n        self.n = 1.0\n    def f(self, x):\n        self.n = 2.0\n"
        "        reset(self)\n        return x / self.n\n\n\ndef reset(thing):\n    thing.n = 0.0\n",
        "class A:\n    def __setattr__(self, name, value):\n        object.__setattr__(self, name, 0.0)\n"
        "    def f(self, x):\n        self.n = 2.0\n        return x / self.n\n",
    ],
)
def test_what_others_write_is_not_believed(code: str) -> None:
    assert "SL102" in [one.code for one in findings(HEAD + code)]


def test_a_key_behind_a_merged_mapping_keeps_its_value() -> None:
    code = 'def f(x, given):\n    settings = {**given, "eps": 1e-6}\n    return 1 / (x.abs() + settings["eps"])\n'
    assert findings(HEAD + code) == []
