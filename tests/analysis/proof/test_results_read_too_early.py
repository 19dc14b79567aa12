"""What is replaced in a result is hidden where nothing else reads the result, and where the test finds it."""

import pytest

from tests.analysis.support import proved

READ = {
    "summed before": "r = x / s\n    y = r.sum()\n    r[s == 0] = 0\n    return r, y",
    "returned beside": "r = x / s\n    return r, torch.where(s == 0, 0, r)",
    "replaced on one path": "r = x / s\n    if x.sum() > 0:\n        r[s == 0] = 0\n    return r",
    "mixed before": "q = (x / s).cumsum(0)\n    q[s == 0] = 0\n    return q",
    "tested once it has changed": "r = x / s\n    s = s + 1\n    r[s == 0] = 0\n    return r",
    "tested in other places": "return torch.where(s.t() == 0, 0, x / s)",
}
HIDDEN = {
    "in place": "r = x / s\n    r[s == 0] = 0\n    return r",
    "scaled before": "r = x / s * 2\n    return torch.where(s == 0, 0, r).sum()",
    "as a column": "return torch.where((s != 0).unsqueeze(1), x / s.unsqueeze(1), 0)",
    "on every path": "r = x / s\n    r[s == 0] = 0 if x.sum() > 0 else 1\n    return r.sum()",
}


def _function(body: str) -> str:
    return f"@torch.no_grad()\ndef f(x, s: torch.Tensor):\n    {body}\n"


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_what_is_read_elsewhere_is_not_hidden(body: str) -> None:
    assert not proved(_function(body))


@pytest.mark.parametrize("body", HIDDEN.values(), ids=HIDDEN)
def test_what_nothing_else_reads_is_hidden(body: str) -> None:
    assert proved(_function(body))


def test_gradients_are_recorded_where_they_are_switched_on() -> None:
    body = "with torch.set_grad_enabled({}):\n        return torch.sqrt(x.abs())"
    assert not proved(_function(body.format(True)))
    assert proved(_function(body.format(False)).partition("\n")[2])
