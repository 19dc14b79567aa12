"""Ways in which programs keep clear of a count of 0, or of an empty selection."""

import pytest

from tests.analysis.support import assumed, findings, open_, proved, report

HEAD = "def f(x: torch.Tensor, mask: torch.Tensor):\n    mask = mask > 0\n"

GUARDED = {
    "a sum compared with 0": "    n = mask.sum()\n    if n == 0:\n        return x\n    return x.sum() / n\n",
    "an empty count made 1": "    n = mask.sum()\n    n = n + (n == 0)\n    return x.sum() / n\n",
    "an empty count made 1 in place": "    n = mask.sum()\n    n += n == 0\n    return x.sum() / n\n",
    "an empty count overwritten": "    n = mask.sum()\n    n[n == 0] = 1\n    return x.sum() / n\n",
    "a count below 1 replaced": "    n = mask.sum()\n    if n < 1:\n        n = 1\n    return x.sum() / n\n",
    "a conditional 1": "    n = mask.sum()\n    n = n if n != 0 else 1\n    return x.sum() / n\n",
    "torch._assert": "    torch._assert(mask.sum() > 0, 'empty')\n    return x.sum() / mask.sum()\n",
    "torch._check": "    n = mask.sum()\n    torch._check(n > 0)\n    return x.sum() / n\n",
    "no numel": "    sel = x[mask]\n    if not sel.numel():\n        return x\n    return sel.mean()\n",
    "nelement": "    sel = x[mask]\n    if sel.nelement() == 0:\n        return x\n    return sel.mean()\n",
    "size(0)": "    sel = x[mask]\n    if sel.size(0) == 0:\n        return x\n    return sel.mean()\n",
    "an item below 1": "    if mask.sum().item() < 1:\n        return x\n    return x[mask].mean()\n",
    "torch.any": "    if torch.any(mask):\n        return x[mask].mean()\n    return x\n",
    "any().item()": "    if not mask.any().item():\n        return x\n    return x[mask].mean()\n",
    "a raise": "    if mask.sum() == 0:\n        raise ValueError\n    return x[mask].mean()\n",
    "a loss of what was tested": (
        "    if not mask.any():\n        return x.sum() * 0\n    return F.mse_loss(x[mask], x[mask] + 1)\n"
    ),
    "a loss of as many indices as were tested": (
        "    idx = torch.nonzero(mask)[:, 0]\n    if idx.numel() > 0:\n        return F.mse_loss(x[idx], x[idx] + 1)\n"
        "    return x\n"
    ),
    "a loss of as many indices as have no size of 0": (
        "    idx = torch.nonzero(mask)\n    if 0 not in idx.size():\n        idx = idx.squeeze(1)\n"
        "        return F.mse_loss(x[idx], x[idx] + 1)\n    return x\n"
    ),
    "a size of 0 in the shape": (
        "    idx = torch.nonzero(mask)\n    if 0 in idx.shape:\n        return x\n    return x[mask].mean()\n"
    ),
    "a loss of a target that was tested": (
        "    if y.numel() == 0:\n        return x.sum() * 0\n    return F.mse_loss(x[mask], y)\n"
    ),
    "a loss that takes the sum": "    return F.mse_loss(x[mask], x[mask] + 1, reduction='sum')\n",
    "a count of the first dimension": "    return x[mask].sum(0).mean()\n",
    "an empty index": (
        "    idx = torch.nonzero(mask)\n    if idx.numel() == 0:\n"
        "        return x\n    return x[mask].mean()\n"
    ),
    "an assert of all": "    s = x.relu()\n    assert (s > 0).all()\n    return torch.log(s)\n",
    "torch.all": "    s = x.relu()\n    if torch.all(s > 0):\n        return torch.log(s)\n    return s\n",
    "any with a raise": (
        "    s = x.relu()\n    if (s <= 0).any():\n        raise ValueError('x')\n    return torch.log(s)\n"
    ),
    "a minimum": (
        "    s = x.relu()\n    if s.min() <= 0:\n        raise ValueError('x')\n    return torch.log(s)\n"
    ),
    "a truthy int": "    n = int(mask.sum())\n    if n:\n        return x.sum() / n\n    return x\n",
    "a conditional expression": "    n = mask.sum()\n    return x.sum() / n if n > 0 else x\n",
    "a conditional expression turned round": "    n = mask.sum()\n    return x if n == 0 else x.sum() / n\n",
    "a length": "    xs = [mask.sum()]\n    return sum(xs) / xs.__len__()\n",
    "is_nonzero": "    n = mask.sum()\n    return x.sum() / n if torch.is_nonzero(n) else x\n",
    "or 1": "    n = int(mask.sum()) or 1\n    return x.sum() / n\n",
    "and": "    n = mask.sum()\n    return n > 0 and x.sum() / n\n",
    "or": "    n = mask.sum()\n    return n == 0 or x.sum() / n\n",
    "not": "    n = mask.sum()\n    if not n:\n        return x\n    return x.sum() / n\n",
    "an item compared with 0": "    n = mask.sum()\n    if n.item() == 0:\n        return x\n    return x.sum() / n\n",
    "a named test": (
        "    n = mask.sum()\n    empty = n == 0\n    if empty:\n        return x\n    return x.sum() / n\n"
    ),
    "a named test that holds": "    n = mask.sum()\n    ok = n > 0\n    if ok:\n        return x.sum() / n\n    return x\n",
    "a caught division": (
        "    total = sum(m.sum().item() for m in mask)\n    try:\n"
        "        return 1.0 / total\n    except Exception:\n        return 0.0\n"
    ),
    "a length of 0": (
        "    good = [m for m in mask if m.any()]\n    n = len(good)\n"
        "    if n == 0:\n        return x\n    return sum(good) / n\n"
    ),
    "while": "    n = mask.sum()\n    while n == 0:\n        n = mask.sum() + 1\n    return x.sum() / n\n",
    "a tensor put in place": "    n = mask.sum()\n    if n == 0: n = torch.ones_like(n)\n    return x.sum() / n\n",
    "a case that returns": (
        "    n = mask.sum()\n    match n.item():\n"
        "        case 0:\n            return x\n    return x.sum() / n\n"
    ),
    "one of two cases": (
        "    match mask.sum().item():\n        case 0 | 1:\n"
        "            return x\n        case n:\n            return x.sum() / n\n"
    ),
    "a case with a guard": (
        "    match mask.sum().item():\n        case n if n > 0:\n"
        "            return x.sum() / n\n    return x\n"
    ),
    "a shape above 0": "    sel = x[mask]\n    if sel.shape[0] > 0:\n        return sel.mean()\n    return x\n",
    "the length of an index": (
        "    idx = mask.nonzero(as_tuple=True)[0]\n    if len(idx) == 0:\n"
        "        return x\n    return x[idx].mean()\n"
    ),
    "where": (
        "    n = mask.sum(-1)\n    n = torch.where(n == 0, torch.ones_like(n), n)\n    return x.sum(-1) / n\n"
    ),
    "an in-place clamp": "    n = mask.sum(-1, keepdim=True)\n    n.clamp_(min=1)\n    return x.sum(-1) / n\n",
    "a valid part": "    n = mask.sum(-1)\n    valid = n > 0\n    return x.sum(-1)[valid] / n[valid]\n",
    "the indices of a valid part": (
        "    n = mask.sum(-1)\n"
        "    valid = (n > 0).nonzero().squeeze(1)\n    return x.sum(-1)[valid] / n[valid]\n"
    ),
    "a walrus": (
        "    n = mask.sum()\n    if (n := mask.sum()) == 0:\n        return x\n    return x.sum() / n\n"
    ),
}

UNGUARDED = {
    "nothing": ("    return x.sum() / mask.sum()\n", "SL102"),
    "a test of something else": (
        "    if x.sum() > 0:\n        return x.sum() / mask.sum()\n    return x\n",
        "SL102",
    ),
    "a test that lets 0 through": (
        "    n = mask.sum()\n    if n >= 0:\n        return x.sum() / n\n    return x\n",
        "SL102",
    ),
    "a test without a consequence": (
        "    if not mask.any():\n        print(x)\n    return x[mask].mean()\n",
        "SL502",
    ),
    "or 0": ("    n = int(mask.sum()) or 0\n    return x.sum() / n\n", "SL102"),
    "a selection": ("    sel = x[mask]\n    return sel.mean()\n", "SL502"),
    "a selection that is computed with": (
        "    sel = x[mask]\n    return ((sel - 1) ** 2).abs().sum(-1).mean()\n",
        "SL502",
    ),
    "indices of a selection": ("    idx = torch.nonzero(mask)[:, 0]\n    return x[idx].mean()\n", "SL502"),
    "a loss that takes the mean": ("    return F.mse_loss(x[mask], x[mask] + 1)\n", "SL502"),
    "a loss of each element": (
        "    return F.mse_loss(x[mask], x[mask] + 1, reduction='none').mean()\n",
        "SL502",
    ),
    "a layer's loss": ("    return nn.CrossEntropyLoss()(x[mask], x[mask].argmax(-1))\n", "SL502"),
    "a case of something else": (
        "    match mask.sum().item():\n        case 1:\n            return x\n        case n:\n            return 1.0 / n\n",
        "SL102",
    ),
    "a caught error of another kind": (
        "    n = mask.sum().item()\n    try:\n        return 1.0 / n\n    except KeyError:\n        return 0.0\n",
        "SL102",
    ),
    "a tensor's division, which raises nothing": (
        "    try:\n        return x.sum() / mask.sum()\n    except ZeroDivisionError:\n        return 0.0\n",
        "SL102",
    ),
}


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED.keys())
def test_a_guard_is_understood(body: str) -> None:
    assert open_(HEAD + body) == []


@pytest.mark.parametrize(("body", "code"), UNGUARDED.values(), ids=UNGUARDED.keys())
def test_what_guards_nothing_is_seen_through(body: str, code: str) -> None:
    assert code in {found for _, found in open_(HEAD + body)}


def test_a_suppressed_error_is_a_guard() -> None:
    program = """
    import contextlib

    def f(mask: torch.Tensor):
        n = (mask > 0).sum().item()
        share = 0.0
        with contextlib.suppress(ZeroDivisionError):
            share = 1.0 / n
        return share
    """
    assert open_(program) == []
    unguarded = program.replace("ZeroDivisionError", "KeyError")
    assert [code for _, code in open_(unguarded)] == ["SL102"]


def test_each_case_of_a_match_is_followed() -> None:
    program = """
    def f(z, y, kind):
        match kind:
            case "soft":
                p = torch.softmax(z, -1)
            case _:
                p = z
        match kind:
            case "soft":
                return p
            case _:
                return F.cross_entropy(p, y)
    """
    assert open_(program) == []
    assert [
        code for _, code in open_(program.replace('"soft"', '"a" | "b"').replace("return p", "pass"))
    ] == []
    assert [
        code
        for _, code in open_(
            program.replace("                return p\n", "                return F.cross_entropy(p, y)\n")
        )
    ] == ["SL301"]


def test_a_case_that_takes_parts_binds_them() -> None:
    program = """
    def f(pair):
        match pair:
            case (first, *others):
                return torch.log(F.relu(first))
            case {"x": x, **rest}:
                return x
    """
    assert [code for _, code in open_(program)] == ["SL101"]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("labels != -100", [(3, "SL502")]),
    ],
)
def test_a_batch_is_not_padding_throughout_yet_all_its_targets_can_be_ignored(
    test: str, expected: list[tuple[int, str]]
) -> None:
    program = f"""
    def f(x: torch.Tensor, labels: torch.Tensor, pad_id: int):
        kept = {test}
        return F.cross_entropy(x[kept], labels[kept])
    """
    assert open_(program) == expected


def test_a_mask_that_is_passed_selects_something_as_far_as_its_caller_knows() -> None:
    program = """
    def f(x: torch.Tensor, labels: torch.Tensor, attention_mask: torch.Tensor):
        active = attention_mask.view(-1) == 1
        return F.cross_entropy(x[active], labels[active])
    """
    assert open_(program) == [(3, "SL502")]


@pytest.mark.parametrize(
    ("test", "found"),
    [("ordered[count] > bound", False), ("ordered[count] < bound", True), ("count > 3", True)],
)
def test_a_selection_holds_the_element_that_was_tested(test: str, found: bool) -> None:
    code = f"""
    def hard_loss(x: torch.Tensor, count: int, bound: float):
        ordered, _ = torch.sort(x, descending=True)
        if {test}:
            kept = ordered[ordered > bound]
        else:
            kept = ordered[:count]
        return kept.mean()
    """
    assert ((7, "SL502") in open_(code)) is found


def test_a_selection_laid_out_in_rows_has_as_many_rows_as_it_says() -> None:
    code = """
    def pairs_loss(x: torch.Tensor, y: torch.Tensor):
        apart = x.masked_select(x > y)
        return apart{rows}.sum(dim=-1).exp().mean()
    """
    assert (3, "SL502") not in open_(code.format(rows=".view(len(y), -1)"))
    assert (3, "SL502") in open_(code.format(rows="[:, None]"))


ROWS = "def f(x: torch.Tensor, n: int):\n    v = x[(x > 1e-6).all(-1)]\n    return torch.log({})\n"


@pytest.mark.parametrize(
    "total", ["v.view(-1).sum(-1)", "v.flatten().sum(-1)", "v.t().sum(-1)", "v.T.sum(-1)", "v.view(n, -1).sum(-1)",
    "v[None].sum(1)", "v.unsqueeze(0).sum(1)", "v.permute(1, 0).sum(1)", "v.sum()", "v.sum(0)"]
)  # fmt: skip
def test_rows_that_were_selected_may_lie_along_another_dimension_once_they_are_laid_out_anew(
    total: str,
) -> None:
    assert (3, "SL101") in open_(ROWS.format(total))


@pytest.mark.parametrize(
    "total",
    [
        "v.sum(-1)",
        "v.unsqueeze(-1).sum(-1)",
        "v[:, None].sum(-1)",
        "v.view(-1, 3).sum(-1)",
        "v.clone().data.sum(1)",
    ],
)
def test_within_a_row_that_was_selected_there_are_elements(total: str) -> None:
    assert open_(ROWS.format(total)) == []


def test_the_smaller_of_two_counts_is_positive_where_both_are() -> None:
    code = """
    def spread_loss(x: torch.Tensor, y: torch.Tensor, most: int):
        kept = x[x > y]
        if {test}:
            return kept.mean()
        return x.sum()
    """
    assert open_(code.format(test="min(most, len(kept)) != 0")) == []
    assert (4, "SL502") in open_(code.format(test="most != 0"))


@pytest.mark.parametrize(
    "selected",
    [
        "x.clamp(1, 5)[mask].sum()",
        "torch.masked_select(x.clamp(1, 5), mask).sum()",
        "torch.exp(x.clamp(-5, 5)[mask][:, 0]).sum(0)",
        "torch.cat((x.clamp(1, 5)[mask], x.clamp(1, 5)[~mask])).sum()",
        "torch.norm(x.clamp(1, 5)[mask])",
        "x.clamp(1, 5)[mask].cumsum(0).sum()",
    ],
)
def test_a_sum_of_nothing_is_not_positive(selected: str) -> None:
    assert (3, "SL102") in open_(f"{HEAD}    return x / {selected}\n")


@pytest.mark.parametrize(
    "code",
    [
        "    if not mask.any():\n        return x\n    return x / x.clamp(1, 5)[mask].sum()\n",
        "    sel = x.clamp(1, 5)[mask]\n    if len(sel) == 0:\n        return x\n    return x / sel.sum()\n",
        "    return 1 / x.clamp(1, 5)[mask].sum(1)\n",
        "    return x / x.clamp(1, 5).sum()\n",
        "    return x / torch.cat((x.clamp(1, 5)[mask], x.clamp(1, 5))).sum()\n",
    ],
)
def test_a_sum_of_something_positive_is(code: str) -> None:
    assert open_(HEAD + code) == []


EMPTY = {
    "a selection that is filled": "    s = x[mask].fill_(2.0)\n    return 1 / s.sum()\n",
    "ones like a selection": "    s = torch.ones_like(x[mask])\n    return 1 / s.sum()\n",
    "a selection on one path": "    s = x.abs() + 1\n    if flag:\n        s = s[mask]\n    return 1 / s.sum()\n",
    "a selection on each path": (
        "    s = x[mask] if flag else x[~mask]\n    s = s.abs() + 1\n    return 1 / s.sum()\n"
    ),
}


@pytest.mark.parametrize("body", EMPTY.values(), ids=EMPTY)
def test_the_sum_of_what_may_be_empty_may_be_zero(body: str) -> None:
    head = HEAD.replace("torch.Tensor)", "torch.Tensor, flag)")
    assert "SL102" in [rule for _, rule in open_(head + body)]


@pytest.mark.parametrize("cut", ["int()", "long()", "to(torch.int32)"])
def test_a_selection_that_is_cut_to_whole_numbers_may_be_empty_all_the_same(cut: str) -> None:
    code = f"def f(x: torch.Tensor):\n    y = (x{{}}.abs() + 1).{cut}\n    return 1 / y.sum()\n"
    assert (3, "SL102") in open_(code.format("[x > 3]"))
    assert open_(code.format("")) == []


@pytest.mark.parametrize("product", ["y @ y.T", "torch.dot(y, y)", "torch.einsum('i,i->', y, y)"])
def test_a_product_of_what_was_selected_is_0_where_that_is_nothing(product: str) -> None:
    assert open_(f"def f(x: torch.Tensor):\n    y = x[x > 0.5]\n    return torch.log({product})\n")


SHORTENED = {
    "an element is deleted": "if len(o) > 0:\n        del o[0]\n        return 1 / len(o)",
    "what may be the same list is shortened": "if o:\n        p.pop()\n        return 1 / len(o)",
    "another dimension is meant": "if x.shape[d] > 0:\n        d = d + 1\n        return 1 / x.shape[d]",
}


@pytest.mark.parametrize("body", SHORTENED.values(), ids=SHORTENED)
def test_a_size_that_was_tested_before_is_not_proved(body: str) -> None:
    code = f"def f(x: torch.Tensor, d: int, o: list, p):\n    {body}"
    assert proved(code) == []


REFILLED = (
    "v.uniform_(0.5, 0.7)", "v.exponential_()", "v.fill_(0.5)", "v.clamp_(0.5, 0.7)", "v.copy_(x.abs() + 1)",
    "v.view(-1).neg_(); v = v.abs() + 1",
)  # fmt: skip


@pytest.mark.parametrize("filled", REFILLED)
@pytest.mark.parametrize("picked", ["v = x[x > 2]", "v = x[x > 2] if n else x"])
def test_a_selection_that_is_filled_may_be_empty_all_the_same(filled: str, picked: str) -> None:
    code = f"def f(x: torch.Tensor, n):\n    {picked}\n    {filled}\n    return 1 / v.sum()\n"
    assert (4, "SL102") in open_(code)
    assert open_(code.replace(picked, "v = x.abs() + 1")) == []


def test_what_is_computed_of_joined_selections_may_be_empty() -> None:
    code = "def f(x: torch.Tensor, y: torch.Tensor):\n    v = torch.cat([x[x > 3], {}]).abs() + 1\n    return 1 / v.sum()\n"
    assert (3, "SL102") in open_(code.format("y[y > 3]"))
    assert open_(code.format("y")) == []


COLUMNS = {
    "a mask of columns": "x[:, m]",
    "a mask behind dots": "x[..., m]",
    "a list of columns": "x.index_select(1, torch.nonzero(m)[:, 0])",
}


@pytest.mark.parametrize("picked", COLUMNS.values(), ids=COLUMNS)
def test_columns_that_are_selected_may_be_none(picked: str) -> None:
    code = f"def f(x: torch.Tensor):\n    m = x.sum(0) > 3\n    v = {picked}.abs() + 1\n    return 1 / v.sum({{}})\n"
    assert (4, "SL102") in open_(code.format(""))
    assert (4, "SL102") in open_(code.format(1))
    assert open_(code.format(0)) == []


@pytest.mark.parametrize(
    "total",
    [
        "torch.ones(n).sum()",
        "torch.ones(3, n).norm()",
        "torch.full((n,), 2.0).sum()",
        "(torch.arange(n) + 1).sum()",
        "torch.linspace(1, 2, steps=n).sum()",
        "torch.ones(n, 3).sum(0)",
        "torch.ones(len(y), n).sum(1)",
        "x.new_ones(2 * n).sum()",
        "torch.ones(len(x)).sum()",
        "(x.abs() + 1).repeat(n, 1).sum()",
        "(x.abs() + 1).expand(n, 3).sum()",
        "(x.abs() + 1).repeat_interleave(n).sum()",
        "(x.abs() + 1).topk(n)[0].sum()",
        "(x.abs() + 1).narrow(0, 0, n).sum()",
        "(x.abs() + 1).diagonal(1).sum()",
        "(x.diff(dim=0).abs() + 1).sum()",
    ],
)
def test_a_size_that_may_be_0_is_assumed_not_to_be(total: str) -> None:
    code = f"def f(x, y, n):\n    return y / {total}\n"
    assert (assumed(code), proved(code)) == ([(2, "SL102")], [])


@pytest.mark.parametrize(
    "quotient",
    [
        "y / torch.ones(n, 3).sum(1)",
        "y / torch.ones(3).sum()",
        "y / torch.ones(n or 1).sum()",
        "torch.ones(n) / torch.ones(n).sum()",
        "y / (x.abs() + 1).expand(-1, 3).sum()",
        "y / (x.abs() + 1).diagonal().sum()",
        "y / torch.ones(n).sum() if n > 0 else y",
    ],
)
def test_a_size_that_is_not_0_or_leaves_nothing_to_divide_is_not_assumed_to_be(quotient: str) -> None:
    assert (2, "SL102") in proved(f"def f(x, y, n):\n    return {quotient}\n")


SELECTED = """
def f(x: torch.Tensor, y: torch.Tensor):
    chosen = y > 0
    total = {total}
    if {test}:
        return x.sum() / total
    return x
"""


@pytest.mark.parametrize(
    "total", ["chosen.sum()", "chosen.float().sum()", "chosen.count_nonzero()", "chosen.float().mean()"]
)
@pytest.mark.parametrize(
    "test", ["chosen.any()", "x[chosen].numel() > 0", "x[chosen].nelement() != 0", "len(x[chosen])"]
)
def test_a_count_made_before_is_positive_where_something_is_shown_to_be_selected(
    total: str, test: str
) -> None:
    assert findings(SELECTED.format(total=total, test=test)) == []


@pytest.mark.parametrize(
    ("total", "test"),
    [
        ("chosen.sum()", "x.numel() > 0"),
        ("chosen.sum(1)", "chosen.any()"),
        ("(chosen * 0.1).sum() - 0.5", "(chosen * 0.1).any()"),
        ("chosen.sum()", "(~chosen).any()"),
    ],
)
def test_another_count_may_be_zero(total: str, test: str) -> None:
    assert "SL102" in {one.code for one in findings(SELECTED.format(total=total, test=test))}


@pytest.mark.parametrize(
    "body",
    [
        "    return [m / n for m, n in zip(x.shape, y.shape)]\n",
        "    for i, n in enumerate(y.shape[1:]):\n        return i / n\n",
        "    for n in y.size():\n        return 1 / n\n",
        "    return x / min(y.shape)\n",
    ],
)
def test_each_of_the_sizes_of_a_tensor_is_positive_if_it_is_not_empty(body: str) -> None:
    code = f"def f(x: torch.Tensor, y: torch.Tensor):\n{body}"
    assert {one.assumes for one in report(code).discharged} == {("y is not empty",)}
    assert findings(code) == []
