from dataclasses import replace

import pytest

from stablelint.diagnostic import Applicability, Binding, Proposal
from tests.codemod.differential.tried import fixed
from tests.codemod.support import proposal, rewritten, span_of, withheld

BOUND = "$d.clamp_min(1e-30)"


def bounded(source: str) -> Proposal:
    at = span_of(source, "d", start=source.index("y = ") + 4)
    return proposal(
        source, "d", BOUND, occurrence=source[: source.index("y = ")].count("d"), d=Binding("d", at)
    )


@pytest.mark.parametrize(
    "replaced",
    [
        "y[y == float('inf')] = 0",
        "y[torch.isinf(y)] = 0",
        "y[y != y] = 0",
        "y[~y.isfinite()] = 0",
        "y.masked_fill_(y == math.inf, 0)",
        "y = torch.where(y.isinf(), x, y)",
        "y = y.nan_to_num(posinf=0)",
        "finite = torch.isfinite(y); y = torch.where(finite, y, x)",
        "flat = y.flatten(); infs = torch.isinf(flat); flat[infs] = 0",
    ],
)
def test_no_bound_takes_away_an_infinity_that_is_replaced(replaced: str) -> None:
    source = f"import torch, math\ndef f(d, x):\n    y = d.rsqrt()\n    {replaced}\n    return y\n"
    assert "sees to what is not finite" in withheld(source, bounded(source))


@pytest.mark.parametrize(
    "choice",
    [
        "if torch.isnan(y).any():\n        return x",
        "if not y.isfinite().all():\n        y = x",
        "if y.isnan().any():\n        raise ValueError(y)",
    ],
)
def test_no_bound_hides_what_a_branch_goes_on_without_or_refuses(choice: str) -> None:
    source = f"import torch\ndef f(d, x):\n    y = d.rsqrt()\n    {choice}\n    return y\n"
    assert "sees to what is not finite" in withheld(source, bounded(source))


@pytest.mark.parametrize(
    "other",
    [
        "y[y == 0] = 1",
        "x[x == float('inf')] = 0",
        "assert y.isfinite().all()",
        "i = x.argmax(); y[i] = 0",
    ],
)
def test_other_replacements_leave_the_bound(other: str) -> None:
    source = f"import torch\ndef f(d, x):\n    y = d.rsqrt()\n    {other}\n    return y\n"
    assert "y = d.clamp_min(1e-30).rsqrt()" in rewritten(source, bounded(source))


def test_no_bound_makes_a_number_of_what_a_comprehension_leaves_out() -> None:
    source = "import torch\ndef f(ds):\n    y = [v for v in [1 / d for d in ds] if not torch.isnan(v)]\n    return y\n"
    at = Binding("d", span_of(source, "d", start=source.index("1 / ") + 4))
    change = proposal(source, "d", BOUND, occurrence=source[: source.index("1 / d") + 4].count("d"), d=at)
    assert "left out" in withheld(source, change)


def test_the_mean_of_nothing_is_not_told_as_0() -> None:
    source = "import torch\ndef f(x, m):\n    return x[m].mean().item()\n"
    change = proposal(source, "x[m].mean()", "$s.mean() if $s.numel() > 0 else $s.sum()", s="x[m]")
    assert "no 0" in withheld(source, change)
    inner = source.replace(".item()", "")
    assert "else selected.sum()" in rewritten(
        inner, proposal(inner, "x[m].mean()", "$s.mean() if $s.numel() > 0 else $s.sum()", s="x[m]")
    )


@pytest.mark.parametrize(
    ("rest", "is_made"), [("v * x", False), ("(v * x).to(x.dtype)", True), ("v.item()", True)]
)
def test_what_callers_choose_the_type_of_is_cast_back(rest: str, is_made: bool) -> None:
    source = f"import torch\ndef f(x):\n    v = x.pow(2).mean(-1)\n    return {rest}\n"
    at = Binding("x", span_of(source, "x", start=source.index("x.pow")))
    change = proposal(source, "x", "$x.to(torch.float32)", occurrence=1, x=at)
    if is_made:
        assert "v = x.to(torch.float32).pow(2).mean(-1)" in rewritten(source, change)
    else:
        assert "nothing casts it back" in withheld(source, change)


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        ("d.rsqrt()", "y[d == 0] = 0"),
        ("d.sqrt()", "y[y == 0] = 1"),
        ("d.sqrt()", "y = torch.where(y > 0, x / y, x)"),
        ("d.sqrt()", "z = y.view(1, -1); y = torch.where(z > 0, x / z, x)"),
        ("x / d.view(-1)", "y = torch.where(d != 0, y, x)"),
        ("x / d.float()", "y = torch.where(d.eq(0), x, y)"),
    ],
)
def test_no_bound_takes_away_a_zero_that_is_seen_to(made: str, seen: str) -> None:
    source = f"import torch\ndef f(d, x):\n    y = {made}\n    {seen}\n    return y\n"
    assert "sees to the zeros" in withheld(source, bounded(source))


@pytest.mark.parametrize(("other", "is_solved"), [("2 * i", False), ("i.diagonal()", False), ("i @ c", True)])
def test_an_inverse_that_is_read_elsewhere_is_multiplied_with(other: str, is_solved: bool) -> None:
    source = (
        f"import torch\ndef f(a, b, c):\n    i = torch.linalg.inv(a)\n    p = i @ b\n    return p, {other}\n"
    )
    made = proposal(source, "i @ b", "torch.linalg.solve($A, $b)", A=Binding("a"), b=Binding("b"))
    if is_solved:
        assert "solve(a, b)" in rewritten(source, made)
    else:
        assert "the inverse is computed all the same" in withheld(source, made)


@pytest.mark.parametrize(("name", "is_kept"), [("pt", True), ("e", False)])
def test_a_name_of_what_is_taken_from_one_stays(name: str, is_kept: bool) -> None:
    source = f"import torch\ndef f(t):\n    {name} = torch.exp(-t)\n    return (1 - {name}) ** 2\n"
    made = proposal(source, f"1 - {name}", "-torch.expm1(-$t)", t=Binding("t"))
    if is_kept:
        assert "`pt`, whose complement this is, would be gone" in withheld(source, made)
    else:
        assert "(-torch.expm1(-t)) ** 2" in rewritten(source, made)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("", "    pt = torch.sigmoid(t)\n    return pt * (1 - pt)\n"),
        ("pt = torch.exp(-t); ", "    return 1 - pt\n"),
    ],
)
def test_a_name_that_nothing_but_its_complement_reads_stays(first: str, second: str) -> None:
    given = "" if first else "pt = torch.exp(-t); "
    source = (
        f"import torch\ndef f(t, a):\n    {first}a\n    if a:\n        {given}return (1 - pt) ** 2\n{second}"
    )
    made = proposal(source, "1 - pt", "-torch.expm1(-$t)", t=Binding("t"))
    assert "`pt`, whose complement this is, would be gone" in withheld(source, made)


@pytest.mark.parametrize(("target", "is_written"), [("e[0]", True), ("d", False), ("d[0]", False)])
def test_no_bound_is_put_to_a_part_of_what_is_written_into(target: str, is_written: bool) -> None:
    source = f"import torch\ndef f(e, d):\n    {target} = torch.exp(torch.diagonal(e))\n    return e\n"
    made = proposal(source, "torch.diagonal(e)", "$x.clamp(max=80.0)", x="torch.diagonal(e)")
    if is_written:
        assert "`e`, which the gradient of a bound needs, is written into" in withheld(source, made)
    else:
        assert "torch.diagonal(e).clamp(max=80.0)" in rewritten(source, made)


@pytest.mark.parametrize(
    ("shift", "is_made"), [("x.max()", False), ("x.amax(-1)", False), ("x.mean()", True)]
)
def test_a_logarithm_to_which_the_largest_exponent_is_added_keeps_its_infinity(
    shift: str, is_made: bool
) -> None:
    lines = [f"m = {shift}", "d = torch.exp(x - m) @ t", "y = d.log() + m", "return y"]
    source = "\n    ".join(["import torch\ndef f(x, t):", *lines]) + "\n"
    if is_made:
        assert "d.clamp_min(1e-30).log()" in rewritten(source, bounded(source))
    else:
        assert "-inf is meant" in withheld(source, bounded(source))


@pytest.mark.parametrize(("test", "is_made"), [("torch.isnan(d).any()", False), ("x.isnan().any()", True)])
def test_no_bound_stands_where_a_test_has_let_through_what_is_finite(test: str, is_made: bool) -> None:
    lines = [f"if {test}:", "    y = None", "else:", "    z = 1 / d", "    y = d.rsqrt()", "return y"]
    source = "\n    ".join(["import torch\ndef f(d, x):", *lines]) + "\n"
    at = span_of(source, "d", start=source.index("y = d") + 4)
    change = proposal(
        source, "d", BOUND, occurrence=source[: source.index("y = d.") + 4].count("d"), d=Binding("d", at)
    )
    if is_made:
        assert "clamp_min(1e-30)" in rewritten(source, change)
    else:
        assert "has seen to what is not finite" in withheld(source, change)


@pytest.mark.parametrize(
    ("line", "is_made"),
    [
        ("self.table = torch.log(d)", False),
        ("self.table = torch.nn.Parameter(torch.log(d))", False),
        ("self.register_buffer('table', d.log())", False),
        ("self.loss = torch.log(d).mean()", True),
        ("self.loss = -torch.log(d)", True),
        ("loss = torch.log(d)", True),
        ("edges = torch.log(d); self.edges = edges", False),
        ("edges = torch.log(d); update(self.edges, edges, inertia=0.1)", False),
        ("edges[0] = torch.log(d); self.edges = edges", False),
        ("edges = torch.log(d); show(edges)", True),
    ],
)
def test_a_table_of_logarithms_keeps_what_is_impossible(line: str, is_made: bool) -> None:
    source = f"import torch\ndef f(self, d):\n    {line}\n    return self\n"
    last = (
        source[: source.index("log") + 7].count("d") - 1
        if "d.log" not in line
        else source.count("d", 0, source.index("d.log"))
    )
    change = proposal(source, "d", BOUND, occurrence=last, d=Binding("d", span_of(source, "d", last)))
    if is_made:
        assert "d.clamp_min(1e-30)" in rewritten(source, change)
    else:
        assert "-inf may be meant" in withheld(source, change)


@pytest.mark.parametrize(
    ("behind", "is_made"),
    [
        ("z = (y * x).sum(); kept = z.isnan() | (z > 1)", False),
        ("z = y / x; z = z.mean(); return torch.nan_to_num(z)", False),
        ("z = (y * x).sum()\n    if z.isnan():\n        raise ValueError", True),
        ("z = (y * x).sum(); assert torch.isfinite(z)", True),
        ("kept = x.isnan()", True),
    ],
)
def test_no_bound_takes_away_the_nan_that_is_looked_for_in_what_is_computed_of_it(
    behind: str, is_made: bool
) -> None:
    source = f"import torch\ndef f(d, x):\n    y = d.rsqrt()\n    {behind}\n    return y\n"
    if is_made:
        assert "y = d.clamp_min(1e-30).rsqrt()" in rewritten(source, bounded(source))
    else:
        assert "sees to what is not finite" in withheld(source, bounded(source))


def test_a_branch_that_is_called_nan_gives_it() -> None:
    source = "import torch\ndef f(d, beyond):\n    if beyond == 'nan':\n        y = d.sqrt()\n    return y\n"
    assert "NaN is meant where" in withheld(source, bounded(source))


def test_what_is_taken_from_an_empty_selection_needs_no_mean_of_it() -> None:
    mean = "$s.mean() if $s.numel() > 0 else $s.sum()"
    source = "import torch\ndef f(s):\n    return s - s.mean()\n"
    assert "where the selection is empty" in withheld(source, proposal(source, "s.mean()", mean, s="s"))


@pytest.mark.parametrize(
    ("line", "is_made"), [("y[0] = 0.0", False), ("y[i] = 0", True), ("x[0] = 0.0", True), ("y[0] = x", True)]
)
def test_no_bound_stands_in_for_an_element_that_is_set_behind(line: str, is_made: bool) -> None:
    source = f"import torch\ndef f(d, x, i):\n    y = d.rsqrt()\n    {line}\n    return y\n"
    if is_made:
        assert "y = d.clamp_min(1e-30).rsqrt()" in rewritten(source, bounded(source))
    else:
        assert "sees to the one element" in withheld(source, bounded(source))


@pytest.mark.parametrize(
    ("logits", "result", "is_written"),
    [
        ("z", "p * torch.log(p + 1e-8)", False),
        ("z", "torch.log(p + 1e-8).gather(1, y)", True),
        ("self.net(z)", "p * torch.log(p + 1e-8)", True),
    ],
)
def test_what_may_be_masked_keeps_the_constant_that_its_share_is_multiplied_with(
    logits: str, result: str, is_written: bool
) -> None:
    source = (
        f"import torch\ndef f(self, z, y):\n    p = torch.softmax({logits}, dim=-1)\n    return {result}\n"
    )
    assert ("log_softmax" in fixed(source, unsafe=True)[0]) is is_written


@pytest.mark.parametrize(("takes", "is_written"), [("z, y, eps=1e-8", False), ("z, y", True)])
def test_no_argument_is_left_without_a_reader(takes: str, is_written: bool) -> None:
    constant = "eps" if "eps" in takes else "1e-8"
    source = (
        f"import torch\ndef f({takes}):\n    p = torch.softmax(z, dim=-1)\n"
        f"    return torch.log(p + {constant}).gather(1, y)\n"
    )
    assert ("log_softmax" in fixed(source, unsafe=True)[0]) is is_written


@pytest.mark.parametrize(("test", "is_kept"), [("abs(r - 1) > c", True), ("r - 1 > 0", False)])
def test_what_is_compared_with_something_else_than_0_needs_no_digits_near_0(test: str, is_kept: bool) -> None:
    source = f"import torch\ndef f(r, x, c):\n    return {test}\n"
    made = proposal(source, "r - 1", "torch.expm1($x)", x=Binding("x"))
    if is_kept:
        assert "needs no digits near 0" in withheld(source, made)
    else:
        assert "torch.expm1(x) > 0" in rewritten(source, made)


SUM_OF_EXPONENTIALS = """import torch
def f(x, d):
    w = torch.exp(x)
    total = w.sum()
    {}
    return total.log(), y
"""


@pytest.mark.parametrize(
    ("other", "is_cured"), [("y = d / total", False), ("y = w / total", True), ("y = d", True)]
)
def test_a_logarithm_of_a_sum_keeps_its_form_where_something_else_is_divided_by_the_sum(
    other: str, is_cured: bool
) -> None:
    source = SUM_OF_EXPONENTIALS.format(other)
    made = proposal(source, "total.log()", "torch.logsumexp($x.flatten(), dim=0)", x=Binding("x"))
    if is_cured:
        assert "logsumexp" in rewritten(source, made)
    else:
        assert "`total`, by which something else is divided" in withheld(source, made)


@pytest.mark.parametrize(("other", "is_made"), [("s * x", False), ("s.log().sum()", True), ("x", True)])
def test_a_logarithm_keeps_the_constant_of_a_scale_that_others_read(other: str, is_made: bool) -> None:
    source = (
        f"import torch\ndef f(z, x):\n    s = torch.sigmoid(z) + 1e-3\n    return torch.log(s), {other}\n"
    )
    change = replace(
        proposal(source, "torch.log(s)", "torch.log_softmax($w, 0)", w=Binding("z", None)),
        applicability=Applicability.UNSAFE,
    )
    if is_made:
        assert "torch.log_softmax(z, 0)" in rewritten(source, change)
    else:
        assert withheld(source, change) == "`s` is read with its constant on line 4, too"


def test_the_share_of_what_agrees_in_an_empty_selection_is_no_0() -> None:
    source = "import torch\ndef f(p, t):\n    return (p == t).float().mean()\n"
    template = "$x.mean() if $x.numel() > 0 else $x.sum()"
    change = proposal(source, "(p == t).float().mean()", template, x="(p == t).float()")
    assert "a share of nothing is no 0" in withheld(source, change)


@pytest.mark.parametrize(("power", "is_made"), [("v.pow(w)", False), ("v ** w", False), ("v ** 2", True)])
def test_a_power_under_a_logarithm_gets_no_bound_that_its_multiple_does_without(
    power: str, is_made: bool
) -> None:
    source = f"import torch\ndef f(v, w):\n    return torch.log({power})\n"
    change = proposal(source, power, "$x.clamp_min(1e-30)", x=Binding(power, span_of(source, power)))
    if is_made:
        assert "clamp_min(1e-30)" in rewritten(source, change)
    else:
        assert "as a multiple of that of its base" in withheld(source, change)


@pytest.mark.parametrize(("largest", "is_meant"), [("s.max(1)", True), ("s.min(1)", False)])
def test_largest_exponents_that_are_unpacked_and_added_again_mean_an_infinity(
    largest: str, is_meant: bool
) -> None:
    source = f"import torch\ndef f(d, s):\n    m, _ = {largest}\n    y = torch.log(d) + m\n    return y\n"
    if is_meant:
        assert "-inf is meant" in withheld(source, bounded(source))
    else:
        assert "clamp_min" in rewritten(source, bounded(source))


@pytest.mark.parametrize(("largest", "is_meant"), [("op.amax()", True), ("op.mean()", False)])
def test_largest_exponents_that_are_gathered_and_added_again_mean_an_infinity(
    largest: str, is_meant: bool
) -> None:
    gathered = f"    for op in ops:\n        m = {largest}\n        shifts.append(m.detach())\n"
    source = f"import torch\ndef f(d, ops):\n    shifts = []\n{gathered}    y = torch.log(d) + sum(shifts)\n    return y\n"
    if is_meant:
        assert "-inf is meant" in withheld(source, bounded(source))
    else:
        assert "clamp_min" in rewritten(source, bounded(source))


@pytest.mark.parametrize(
    ("reads", "is_withheld"),
    [
        ("    share = torch.nanmean(share)\n    return share\n", True),
        ("    return share\n\n\ndef mean(hit, mask):\n    return torch.nanmean(f(hit, mask))\n", True),
        ("    share *= 100\n    return share\n\n\ndef mean(h, m):\n    return f(h, m).nanmean()\n", True),
        ("    return share.mean()\n\n\ndef mean(h, m):\n    return f(h, m).mean()\n", False),
        ("    total = share.sum()\n    return hit\n\n\ndef mean(h, m):\n    return h.nanmean()\n", False),
    ],
)
def test_a_quotient_that_others_leave_out_where_it_is_nan_stays(reads: str, is_withheld: bool) -> None:
    source = f"import torch\n\n\ndef f(hit, mask):\n    share = hit / mask.sum(1)\n{reads}"
    change = proposal(source, "mask.sum(1)", "$x.masked_fill($x == 0, 1)", x="mask.sum(1)")
    if is_withheld:
        assert "NaN" in withheld(source, change) or "not finite" in withheld(source, change)
    else:
        assert "mask.sum(1).clamp_min(1)" in rewritten(source, change)


@pytest.mark.parametrize(
    ("center", "is_written"),
    [
        ("rows.mean(dim=0)", False),
        ("torch.mean(rows, 0)", False),
        ("x[labels == k].std()", False),
        ("rows.var()", False),
        ("rows.mean(dim=1).sum()", True),
        ("x.mean(dim=0)", True),
    ],
)
def test_the_mean_of_a_selection_stays_where_its_center_would_be_nan(center: str, is_written: bool) -> None:
    source = (
        "import torch\ndef f(x, labels, k, found):\n    rows = x[labels == k]\n"
        f"    center = {center}\n    found.append((rows - center).abs().mean())\n"
    )
    mean = "(rows - center).abs().mean()"
    change = proposal(source, mean, "$s.mean() if $s.numel() > 0 else $s.sum()", s="(rows - center).abs()")
    if is_written:
        assert "numel() > 0" in rewritten(source, change)
    else:
        assert f"`{center}` is NaN, too" in withheld(source, change)


@pytest.mark.parametrize(
    ("test", "is_written"),
    [
        ("assert y[2] < 1", False),
        ("if y[2] < 1:\n        return y\n    else:\n        raise ValueError", False),
        ("z = y[None]\n    assert z.sum() > 0, 'flat'", False),
        ("if y[2] > 1:\n        raise ValueError", True),
        ("assert x[2] < 1", True),
        ("assert y is not None or len(y.shape) > 1", True),
    ],
)
def test_what_must_meet_a_comparison_and_is_nan_is_not_made_to_meet_it(test: str, is_written: bool) -> None:
    source = f"import torch\ndef f(x, d):\n    y = x / d\n    {test}\n    return y\n"
    if is_written:
        assert "d.clamp_min(1e-30)" in rewritten(source, bounded(source))
    else:
        assert "refuses what is NaN" in withheld(source, bounded(source))


@pytest.mark.parametrize("beside", ["x.std(unbiased=False)", "torch.var(x)"])
def test_a_mean_of_nothing_beside_a_deviation_of_the_same_is_nan_with_that(beside: str) -> None:
    source = f"import torch\ndef f(a, m):\n    x = a + a[m]\n    return x.mean(), {beside}\n"
    change = proposal(source, "x.mean()", "$x.mean() if $x.numel() > 0 else $x.sum()", x="x")
    assert f"`{beside}` is NaN, too" in withheld(source, change)


@pytest.mark.parametrize(("losses", "is_withheld"), [("xyw", True), ("xy", False)])
def test_several_means_of_one_selection_want_one_test(losses: str, is_withheld: bool) -> None:
    lines = [f"    l{name} = loss({name}[m], t{name}[m])\n" for name in losses]
    source = f"import torch\ndef f(loss, x, y, w, tx, ty, tw, m):\n{''.join(lines)}    return lx + ly\n"
    template = "loss($x, $t) if $x.numel() > 0 else $x.sum()"
    change = proposal(source, "loss(x[m], tx[m])", template, x="x[m]", t="tx[m]")
    if is_withheld:
        assert "one test that `m` selects any will do for lines 3 to 5" in withheld(source, change)
    else:
        assert ".numel() > 0 else" in rewritten(source, change)
