"""What a long call yields is followed to what matters."""

import pytest

from tests.analysis.support import open_

FILE = (
    "def long(x):\n    y = x.exp()\n"
    + "".join(f"    y = y + {i}\n" for i in range(40))
    + """
    return {returned}

def f(x):
    steps, batch = x.shape
    z = x.view(steps, batch)
    y = long(x)
    y = y.view({sizes})
    return torch.sqrt(y)
"""
)


@pytest.mark.parametrize("sizes", ["steps, batch, 2", "steps, batch", "*long(x)"])
def test_a_root_of_a_view_of_what_a_long_call_yields_is_proved(sizes: str) -> None:
    assert "SL103" not in {rule for _, rule in open_(FILE.format(returned="y", sizes=sizes))}


def test_sizes_that_a_long_call_yields_may_stand_in_disorder() -> None:
    text = FILE.format(returned="x.shape[1]", sizes="batch, steps")
    text = text.replace("y = long(x)", "batch, y = long(x), x")
    assert "SL619" in {
        rule for _, rule in open_(text.replace("steps, batch = x.shape", "steps = x.shape[0]"))
    }
