"""What a named tuple holds, by name, by place and unpacked."""

import pytest

from tests.analysis.support import open_

CLASS = "class Out(NamedTuple):\n    probs: torch.Tensor\n    count: int = 1\n\n"
HEADS = {
    "a class": "from typing import NamedTuple\n\n" + CLASS,
    "a class of typing": "import typing\n\n" + CLASS.replace("Named", "typing.Named"),
    "names in a list": "from collections import namedtuple\n\nOut = namedtuple('Out', ['probs', 'count'])\n\n",
    "names in a text": "import collections\n\nOut = collections.namedtuple('Out', 'probs, count')\n\n",
}
USES = {
    "by name": "    return torch.log(out.probs)\n",
    "by place": "    return torch.log(out[0])\n",
    "from the end": "    return torch.log(out[-2])\n",
    "unpacked": "    probs, count = out\n    return torch.log(probs)\n",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("head", HEADS)
def test_an_element_is_what_was_given(head: str, use: str) -> None:
    code = f"{HEADS[head]}def f(x):\n    out = Out(x.softmax(-1), count=3)\n{USES[use]}"
    assert [rule for _, rule in open_(code)] == ["SL202"]


def test_names_that_are_not_known_make_no_class() -> None:
    head = HEADS["names in a text"].replace("'probs, count'", "NAMES")
    code = f"{head}def f(x):\n    out = Out(x.softmax(-1), count=3)\n{USES['by place']}"
    assert "SL202" not in [rule for _, rule in open_(code)]
