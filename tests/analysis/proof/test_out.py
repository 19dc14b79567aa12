"""What is written into `out=` has no gradient."""

import pytest

from tests.analysis.support import open_, proved


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


@pytest.mark.parametrize("mean", ["torch.nanmean(v, 1, keepdim=True, out=v)", "torch.mean(v, 0, out=v.T)"])
def test_what_is_read_while_it_is_written_may_be_anything(mean: str) -> None:
    code = f"def f(x, y):\n    v = x.abs() + 1\n    return y / {mean}\n"
    assert proved(code) == []
    assert [rule for _, rule in proved(code.replace(", out=v", ", out=y"))] == ["SL102"]
