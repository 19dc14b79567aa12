"""What is written into `out=` has no gradient."""

import pytest

from tests.analysis.support import open_


@pytest.mark.parametrize(
    ("parameters", "call", "found"),
    [
        ("y", "torch.acos(y.sigmoid())", True),
        ("y, out", "torch.acos(y.sigmoid(), out=out)", False),
        ("y, out=None", "torch.acos(y.sigmoid(), out=out)", True),
        ("y, *, out=None", "torch.acos(y.sigmoid(), out=out)", True),
        ("y", "torch.acos(y.sigmoid(), out=None)", True),
        ("y, out", "torch.log(y.relu(), out=out)", True),
    ],
)
def test_only_the_value_counts(parameters: str, call: str, found: bool) -> None:
    program = f"def loss({parameters}):\n    return {call}\n"
    assert bool(open_(program)) is found
