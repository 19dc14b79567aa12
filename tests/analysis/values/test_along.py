"""Where the elements of a selection lie: sums that may run over none of them are not taken for positive."""

import pytest

from tests.analysis.support import report


def statuses(body: str) -> set[str]:
    lines = body.splitlines()
    code = "def f(x: torch.Tensor, y, m, w):\n    v = x[m > 0].abs() + 1\n" + "".join(
        f"    {line}\n" for line in lines
    )
    found = report(code)
    return {d.status.value for d in (*found.diagnostics, *found.discharged) if d.code == "SL102"}


OVER_NONE = {
    "several in front": "return 1 / torch.stack([v, v]).sum(1)",
    "several behind": "return 1 / torch.stack([v, v], 1).sum(0)",
    "several columns": "v = x[:, m > 0].abs() + 1\nreturn 1 / torch.stack([v, v]).sum(2)",
    "one of several": "return 1 / torch.stack([v, v])[0].sum(0)",
    "a half": "return 1 / v.chunk(2, 1)[0].sum(0)",
    "a column": "return 1 / v[..., 0].sum(-1)",
    "the first few": "return 1 / v[:5].sum()",
    "pairs": "return 1 / (v[None] + v[:, None]).sum(1)",
    "the rows at its places": "return 1 / (x[y[m > 0]].abs() + 1).sum(0)",
    "behind a single place": "return 1 / (x[0, m > 0].abs() + 1).sum(-1)",
    "totals of totals": "return 1 / v.sum(-1).sum(-1)",
    "in rows": "return 1 / v.reshape(1, -1).sum(-1)",
    "sorted": "return 1 / v.sort(0)[0].sum(0)",
    "each once": "return 1 / v.unique().sum()",
    "of a layer": "return 1 / (F.linear(x[m > 0], w).sigmoid() + 1).sum(0)",
    "of a list": "return 1 / (torch.cat([a[a > 0] for a in x]).abs() + 1).sum()",
    "places": "return 1 / (torch.nonzero(x > 0) + 1).sum()",
    "what a reduction along some dimension leaves": (
        "v = (x[..., m > 0].abs() + 1).flatten(1).sum(0)\nreturn 1 / (v.abs() + 1).sum()"
    ),
    "an outer product": "return 1 / torch.outer(v, v).sum(1)",
}
KEPT = {
    "rows": "return 1 / v.sum(1)",
    "rows, kept": "return 1 / v.sum(1, keepdim=True)",
    "rows of exponentials": "return 1 / (v - v.amax(1, keepdim=True)).exp().sum(1)",
    "rows of some columns": "return 1 / v[:, :2].sum(1)",
    "rows at its places": "return 1 / (x[y[m > 0]].abs() + 1).sum(1)",
    "rows of a layout": "return 1 / v.flatten(1).sum(1)",
    "columns": "v = x[:, m > 0].abs() + 1\nreturn 1 / v.sum(0)",
    "several in front": "return 1 / torch.stack([v, v]).sum(0)",
    "the whole, overwritten": "x[m > 0] = 2.0\nreturn 1 / (x.abs() + 1).sum()",
}
ASSUMED = {
    "another operand adds none": "return 1 / (v + y[:, None, None].abs()).sum(1)",
    "an element of a list is kept": "return 1 / torch.tensor([abs(a) + 1 for a in x if a > 0]).sum()",
    "the last dimension": "return 1 / v.sum(-1)",
    "a weight of no more dimensions": "return 1 / (v * (w.abs() + 1)).sum(1)",
    "all but the first": "return 1 / (x[1:].abs() + 1).sum()",
}


@pytest.mark.parametrize("body", OVER_NONE.values(), ids=OVER_NONE)
def test_a_sum_over_what_a_mask_may_not_select_is_not_positive(body: str) -> None:
    assert statuses(body) & {"unguarded", "violated"}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_a_sum_along_another_dimension_is(body: str) -> None:
    assert statuses(body) == {"discharged"}


@pytest.mark.parametrize("body", ASSUMED.values(), ids=ASSUMED)
def test_which_dimension_is_another_may_rest_on_how_many_there_are(body: str) -> None:
    assert statuses(body) == {"assumed"}
