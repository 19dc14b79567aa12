"""An attribute that its class counts up."""

from tests.analysis.support import assumed, unguarded

MEAN = """
class Mean:
    def __init__(self):
        self.count = 0

    def update(self, x):
        self.count += {step}
        return x / self.count  # after a step

    def compute(self, x):
        return x / self.count  # perhaps before one
"""


def test_a_count_is_positive_after_a_step_as_long_as_nothing_else_writes_it() -> None:
    code = MEAN.format(step="1")
    assert assumed(code) == [(7, "SL102")]
    assert unguarded(code) == [(10, "SL102")]


def test_what_can_go_down_is_not_positive() -> None:
    assert unguarded(MEAN.format(step="-1")) == [(7, "SL102"), (10, "SL102")]


def test_another_writer_in_the_file_takes_the_count_away() -> None:
    other = MEAN.format(step="1") + "\ndef reset(mean):\n    mean.count = -1\n"
    assert unguarded(other) == [(7, "SL102"), (10, "SL102")]
