from dataclasses import replace

import pytest

from stablelint.codemod.propose import propose
from stablelint.codemod.templates.limits import widest
from stablelint.diagnostic import Applicability, Binding
from tests.codemod.differential.tried import fixed
from tests.codemod.support import diagnostic, proposal, rewritten, span_of, withheld

GUARD = "$x.clamp_min(torch.finfo($x.dtype).tiny)"


def _fixed(before: str, after: str = "", read: str = "return torch.sqrt(d)") -> str:
    source = f"import torch\n\n\ndef f(d):\n    {before}\n    {read}\n{after}"
    occurrence = source[: source.index("sqrt(d)") + 5].count("d")
    return rewritten(
        source,
        proposal(source, "d", GUARD, occurrence=occurrence, x=Binding("d", span_of(source, "d", occurrence))),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("d = torch.clamp(d, min=0.0)", "d = torch.clamp(d, min=torch.finfo(d.dtype).tiny)"),
        ("d = d.clamp(0, 4)", "d = d.clamp(torch.finfo(d.dtype).tiny, 4)"),
        ("d = d.clamp_min(0)", "d = d.clamp_min(torch.finfo(d.dtype).tiny)"),
    ],
)
def test_a_clamp_is_tightened_where_its_result_got_its_name(before: str, after: str) -> None:
    assert _fixed(before).endswith(f"    {after}\n    return torch.sqrt(d)\n")


@pytest.mark.parametrize(
    ("part", "after"),
    [
        ("d.clamp_min(0)[:, i]", "d.clamp_min(torch.finfo(d.dtype).tiny)[:, i]"),
        (
            "torch.index_select(d.clamp(min=0), 0, i)",
            "torch.index_select(d.clamp(min=torch.finfo(d.dtype).tiny), 0, i)",
        ),
        ("d.clamp_min(0).half()", "d.clamp_min(0).half()"),
        ("d.clamp_min(0).mean(i)", "d.clamp_min(0).mean(i)"),
    ],
)
def test_a_clamp_is_tightened_of_which_a_part_is_read(part: str, after: str) -> None:
    source = f"import torch\n\n\ndef f(d, i):\n    return torch.sqrt({part})\n"
    assert after in rewritten(source, proposal(source, part, GUARD, x=part))


def test_a_clamp_that_two_roots_read_is_tightened_and_gets_no_second_one() -> None:
    read = "return torch.sqrt(d), 1 / torch.sqrt(d)"
    fixed = _fixed("d = (d * e - e.square()).clamp(min=0.0)", read=read)
    bound = "d.clamp(min=torch.finfo(d.dtype).tiny)"
    assert f"    d = d * e - e.square()\n    d = {bound}\n    {read}" in fixed
    bound = "d = torch.clamp(d, min=torch.finfo(d.dtype).tiny)"
    assert f"    d = d * e\n    {bound}\n" in _fixed("d = torch.clamp(d * e, min=0)", read=read)


@pytest.mark.parametrize(
    ("before", "after", "read"),
    [
        ("d = d.clamp(min=0)", "", "return d, torch.sqrt(d)"),
        ("d = d.clamp(min=0)\n    print(d)", "", "return torch.sqrt(d)"),
        ("d = d.clamp(max=4)", "", "return torch.sqrt(d)"),
        ("d = d.abs()", "", "return torch.sqrt(d)"),
        ("d = e = d.clamp(min=0)", "", "return torch.sqrt(d)"),
        ("d = d.clamp(min=0)\n    d = d.abs()", "", "return torch.sqrt(d)"),
        ("d = d.clamp(min=0)\n    g = lambda: d", "", "return torch.sqrt(d)"),
        ("d = d.clamp(min=0)\n    global d2", "", "return torch.sqrt(d)"),
    ],
    ids=[
        "read beside",
        "read before",
        "other side",
        "no clamp",
        "two names",
        "anew",
        "in a lambda",
        "global",
    ],
)
def test_the_clamp_stays_where_its_result_is_anothers_too(before: str, after: str, read: str) -> None:
    assert "torch.sqrt(d.clamp_min(torch.finfo(d.dtype).tiny))" in _fixed(before, after, read)


def test_the_clamp_of_a_loop_stays() -> None:
    source = (
        "import torch\n\n\ndef f(d):\n    while True:\n        d = d.clamp(min=0)\n        y = d.sqrt()\n"
    )
    at = source[: source.index("d.sqrt")].count("d")
    fixed = rewritten(
        source, proposal(source, "d", GUARD, occurrence=at, x=Binding("d", span_of(source, "d", at)))
    )
    assert "y = d.clamp_min(torch.finfo(d.dtype).tiny).sqrt()" in fixed


def _counted(body: str, divided: str = "a / n", bound: str = "clamp_min(1)") -> str:
    source = f"import torch\n\n\ndef f(a, b, m):\n{body}"
    occurrence = source[: source.index(divided) + len(divided)].count("n") - 1
    change = proposal(
        source,
        "n",
        f"$n.{bound}",
        occurrence=occurrence,
        n=Binding("n", span_of(source, "n", occurrence)),
    )
    return rewritten(source, change).removeprefix("import torch\n\n\ndef f(a, b, m):\n")


@pytest.mark.parametrize(
    "rest",
    [
        "    return a / n, b / n\n",
        "    if b:\n        b = b / n\n    return a / n\n",
        "    return a / n + n.abs().reciprocal()\n",
        "    return a / n, torch.rsqrt(n)\n",
        "    c = a / n\n    b /= n\n    return b, c\n",
    ],
)
def test_a_name_that_several_divide_by_is_bounded_where_it_is_given(rest: str) -> None:
    assert _counted(f"    n = m.sum()\n{rest}") == f"    n = m.sum().clamp_min(1)\n{rest}"


@pytest.mark.parametrize(
    "body",
    [
        "    n = m.sum()\n    return a / n\n",  # nothing is gained
        "    n = m.sum()\n    return a / n, n\n",
        "    n = m.sum()\n    c = a / n\n    b += n\n    return b, c\n",
        "    n = m.sum()\n    return a / n, n.sum(0)\n",
        "    if b:\n        n = m.sum()\n    return a / n, b / n\n",
        "    for n in m:\n        b = a / n\n        b = b / n\n    return b\n",
        "    n = m.sum()\n    def g():\n        return b / n\n    return a / n\n",
        "    n = m\n    return a / n, b / n\n",
    ],
)
def test_a_name_that_others_read_is_bounded_where_it_is_divided_by(body: str) -> None:
    assert _counted(body) == body.replace("a / n", "a / n.clamp_min(1)")


def test_twins_in_two_branches_get_one_form() -> None:
    twins = "    if b:\n        n = {0}\n        return a / n, b / n\n    n = {0}\n    return b / n, a / n\n"
    source = f"import torch\n\n\ndef f(a, b, m: torch.Tensor):\n{twins}"
    assert fixed(source.format("m.norm()"), unsafe=True)[0].count("    n = n.clamp_min(") == 2


def test_a_logarithm_is_of_what_is_divided_by() -> None:
    body = "    n = m.norm()\n    return a / n - torch.log(n)\n"
    for needs, power in (("return a / n", " ** 0.5"), ("torch.log(n", "")):
        bound = f"clamp_min(torch.finfo($n.dtype).tiny{power})"
        assert _counted(body, needs, bound) == body.replace(
            "m.norm()\n", "m.norm()\n    n = n.clamp_min(torch.finfo(n.dtype).tiny)\n"
        )


@pytest.mark.parametrize("beside", ["b * n", "(n + 1).sum()", "n - b"])
def test_a_sum_or_product_bears_the_smallest_bound_and_no_count(beside: str) -> None:
    body = f"    n = m.norm()\n    c = a / n + b / n[0]\n    return c, {beside}\n"
    tiny = "clamp_min(torch.finfo($n.dtype).tiny)"
    assert _counted(body, bound=tiny) == body.replace(
        "m.norm()\n", "m.norm()\n    n = n.clamp_min(torch.finfo(n.dtype).tiny)\n"
    )
    assert _counted(body) == body.replace("a / n", "a / n.clamp_min(1)")


@pytest.mark.parametrize(("other", "is_above"), [("n.log()", True), ("n.sqrt()", True), ("b / n", False)])
def test_what_has_a_logarithm_is_kept_above_0_where_it_is_divided_by(other: str, is_above: bool) -> None:
    body = f"    n = m[0]\n    return a / n - {other}\n"
    fixed = _counted(body, bound="masked_fill($n.abs() < 1e-12, 1e-12)")
    assert fixed == (
        body.replace("m[0]", "m[0].clamp_min(1e-12)")
        if is_above
        else body.replace("m[0]\n", "m[0]\n    n = n.masked_fill(n.abs() < 1e-12, 1e-12)\n")
    )


@pytest.mark.parametrize("other", ["a / n", "n.sqrt()", "n.sinh().log()"])
def test_the_bound_of_a_logarithm_serves_whatever_else_cannot_take_a_zero(other: str) -> None:
    body = f"    n = m.norm()\n    return {other} - torch.log(n)\n"
    assert _counted(body, "torch.log(n", "clamp_min(1e-30)") == body.replace(
        "m.norm()", "m.norm().clamp_min(1e-30)"
    )


@pytest.mark.parametrize("bound", ["clamp(max=80)", "clamp(-80, 80)", "clamp_max(80)"])
def test_an_upper_bound_stays_where_it_is_needed(bound: str) -> None:
    body = "    n = m.norm()\n    return n.log() - n.sinh().log()\n"
    written = body.replace("n.log()", f"n.{bound}.log()")
    assert _counted(body, "return n", bound) == written


def test_a_bound_that_asks_for_the_element_type_is_a_statement_of_its_own() -> None:
    body = "    n = m.norm() + 1\n    return a / n, b / n\n"
    assert _counted(body, bound="clamp_min(torch.finfo($n.dtype).eps)") == body.replace(
        "m.norm() + 1\n", "m.norm() + 1\n    n = n.clamp_min(torch.finfo(n.dtype).eps)\n"
    )


@pytest.mark.parametrize(
    "result",
    ["torch.sqrt(d).clamp_min(eps)", "torch.clamp(torch.sqrt(d), min=0.05)", "torch.sqrt(d).clamp(0.05, 4)"],
)
def test_a_root_that_is_bounded_behind_it_is_not_bounded_twice(result: str) -> None:
    source = f"import torch\n\n\ndef f(d, eps):\n    return {result}\n"
    at = Binding("d", span_of(source, "d", source[: source.index("sqrt(d)") + 5].count("d")))
    reason = withheld(
        source,
        proposal(source, "d", GUARD, occurrence=source[: source.index("sqrt(d)") + 5].count("d"), x=at),
    )
    assert reason == f"`{result}` has a bound: it belongs in front of `sqrt`"


@pytest.mark.parametrize("result", ["torch.clamp(torch.exp(scores), max=1)", "scores.exp().clip(max=limit)"])
def test_an_exponential_that_is_bounded_behind_it_is_not_bounded_twice(result: str) -> None:
    source = f"import torch\n\n\ndef f(scores, limit):\n    return {result}\n"
    at = Binding("scores", span_of(source, "scores", 1))
    assert "belongs in front of `exp`" in withheld(
        source, proposal(source, "scores", widest("x"), occurrence=1, x=at)
    )


NEAR_ZERO = "$x.masked_fill($x.abs() < 1e-12, 1e-12)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("active_masks.sum()", "active_masks.sum().clamp_min(1)"),
        ("mask.float().sum(dim=1)", "mask.float().sum(dim=1).clamp_min(1)"),
        ("torch.sum(self.masks[0], 1)", "torch.sum(self.masks[0], 1).clamp_min(1)"),
        ("weights.sum()", "x_near"),
        ("soft_mask.sum()", "x_near"),
        ("mask.mean()", "x_near"),
        ("w.max(1) - w.mean(0)", "x_near"),
        ("w.mean() - w.max()", "x_near"),
        ("w.max() - v.mean()", "x_near"),
    ],
)
def test_a_bound_is_of_the_sign_and_size_that_a_value_has_by_its_meaning(before: str, after: str) -> None:
    source = f"import torch\n\n\ndef f(self, x):\n    return x / ({before})\n"
    fixed = rewritten(source, proposal(source, before, NEAR_ZERO, x=before))
    assert (".masked_fill(" in fixed) if after == "x_near" else (after in fixed)


@pytest.mark.parametrize(
    ("made", "is_count"),
    [
        ("torch.cat((hot * beta, mask * alpha), dim=1)", False),
        ("mask * self.weight", False),
        ("mask * other_mask", True),
        ("(x > 0) * mask[:, None]", True),
        ("mask * (1 - eye)", True),
        ("torch.eq(x, x.T).float()", True),
    ],
)
def test_the_sum_of_a_mask_that_is_weighted_may_be_below_1(made: str, is_count: bool) -> None:
    arguments = "self, x, mask, other_mask, hot, alpha, beta, eye"
    source = f"import torch\n\n\ndef f({arguments}):\n    mask = {made}\n    return x / mask.sum(1)\n"
    fixed = rewritten(source, proposal(source, "mask.sum(1)", "$x.masked_fill($x == 0, 1)", x="mask.sum(1)"))
    assert ("mask.sum(1).clamp_min(1)" in fixed) is is_count


def test_the_sum_of_a_mask_that_a_sigmoid_makes_may_be_below_1() -> None:
    source = "import torch\n\n\ndef f(x):\n    mask = torch.sigmoid(x)\n    return x / mask.sum()\n"
    fixed = rewritten(source, proposal(source, "mask.sum()", NEAR_ZERO, x="mask.sum()"))
    assert "clamp_min" not in fixed


def test_the_sum_of_a_mask_is_bounded_as_a_count_only_where_something_is_divided_by_it() -> None:
    source = "import torch\n\n\ndef f(mask):\n    return torch.sqrt(mask.sum())\n"
    fixed = rewritten(source, proposal(source, "mask.sum()", "$x.clamp_min(1e-12)", x="mask.sum()"))
    assert "mask.sum().clamp_min(1e-12)" in fixed


def test_a_bound_that_would_break_its_line_twice_gets_a_line_of_its_own() -> None:
    given = "d = torch.sum(torch.abs(long_name_of_a_thing) * torch.abs(long_name_of_another_thing))"
    read = "return long_name_of_a_thing @ torch.sqrt(d) + long_name_of_another_thing @ d.long_name_of_an_attribute"
    body = (
        f"{given}\n    long = long_name_of_a_thing.x + long_name_of_another_thing * torch.sqrt(d) * some_more"
    )
    fixed = _fixed(body, read="return long")
    assert f"{given}\n    d = d.clamp_min(torch.finfo(d.dtype).tiny)\n    long = " in fixed
    assert f"{given}\n    return" in _fixed(given, read=read)


def test_a_sum_of_two_whose_elements_are_added_up_is_called_its_terms() -> None:
    source = "import torch\n\n\ndef f(a, b):\n    return (a + b).mean()\n"
    change = proposal(source, "(a + b).mean()", "$s.mean() if $s.numel() > 0 else $s.sum()", s="a + b")
    assert "    terms = a + b\n    return terms.mean() if terms.numel() > 0 else terms.sum()\n" in rewritten(
        source, change
    )


def test_the_guard_of_a_view_is_one_of_what_is_viewed() -> None:
    source = "import torch\n\n\ndef f(d, n):\n    return d / n.unsqueeze(1)\n"
    change = proposal(source, "n.unsqueeze(1)", "$x.masked_fill($x.abs() < 1e-12, 1e-12)", x="n.unsqueeze(1)")
    assert "d / n.masked_fill(n.abs() < 1e-12, 1e-12).unsqueeze(1)" in rewritten(source, change)


NEAR_ZERO = "$x.masked_fill($x.abs() < 1e-12, 1e-12)"


@pytest.mark.parametrize(
    ("divisor", "after"),
    [
        ("dec_lens", "dec_lens.clamp_min(1e-12)"),
        ("box_width[:, None]", "box_width.clamp_min(1e-12)[:, None]"),
        ("p.height", "p.height.clamp_min(1e-12)"),
        ("num_pos[i]", "num_pos[i].clamp_min(1)"),
    ],
)
def test_what_is_called_a_size_or_count_is_positive(divisor: str, after: str) -> None:
    source = f"import torch\n\n\ndef f(a, p, i, *others):\n    return a / {divisor}\n"
    assert f"a / {after}\n" in rewritten(source, proposal(source, divisor, NEAR_ZERO, x=divisor))


@pytest.mark.parametrize(("total", "after"), [("num_tp + num_fn", "1"), ("num_tp + mass", "1e-7")])
def test_a_sum_of_counts_is_bounded_by_1_and_another_by_less(total: str, after: str) -> None:
    source = f"import torch\n\n\ndef f(num_tp, num_fn, mass):\n    return num_tp / ({total})\n"
    fixed = rewritten(source, proposal(source, total, "$x.clamp_min(1e-7)", x=total))
    assert fixed.endswith(f"num_tp / ({total}).clamp_min({after})\n")


@pytest.mark.parametrize(
    ("power", "after"),
    [
        ("num_tokens**p", "num_tokens.clamp_min(1)**p"),
        ("num_tokens.pow(p)", "num_tokens.clamp_min(1).pow(p)"),
        ("torch.pow(mask.sum(1), p)", "torch.pow(mask.sum(1).clamp_min(1), p)"),
        ("mask.sum(1).unsqueeze(1)", "mask.sum(1).unsqueeze(1).clamp_min(1)"),
        ("mass**p", "(mass**p).clamp_min(1e-19)"),
    ],
)
def test_the_bound_of_a_power_or_view_of_a_count_is_one_of_the_count(power: str, after: str) -> None:
    source = f"import torch\n\n\ndef f(total, num_tokens, mask, mass, p):\n    return total / {power}\n"
    change = proposal(source, power, "$x.clamp_min(1e-19)", x=power)
    assert rewritten(source, change).endswith(f"total / {after}\n")


@pytest.mark.parametrize(("other", "at_once"), [("d.exp()", True), ("d", False)])
def test_what_only_exponentials_read_is_bounded_where_it_is_given(other: str, at_once: bool) -> None:
    source = f"import torch\n\n\ndef f(x):\n    d = torch.diag(x)\n    return torch.exp(d) + {other}\n"
    at = source[: source.index("exp(d") + 5].count("d")
    change = proposal(
        source, "d", widest("x"), occurrence=at - 1, x=Binding("d", span_of(source, "d", at - 1))
    )
    assert ("d = torch.diag(x).clamp(max=88.0)\n" in rewritten(source, change)) is at_once


@pytest.mark.parametrize("given", ["torch.maximum(a // 2, a)", "a.sum()"])
def test_a_count_is_bounded_by_1_and_not_by_the_limits_of_a_type_that_integers_have_not(given: str) -> None:
    source = (
        f"import torch\n\n\ndef f(a):\n    num_parts = {given}\n    return a / num_parts, 1 / num_parts\n"
    )
    at = Binding("num_parts", span_of(source, "num_parts", 1))
    change = proposal(source, "num_parts", GUARD, occurrence=1, x=at)
    assert f"num_parts = {given}.clamp_min(1)\n" in rewritten(source, change)


@pytest.mark.parametrize("divisor", ["num", "p.pw", "mean_shift"])
def test_what_may_be_called_so_for_another_reason_is_given_no_sign(divisor: str) -> None:
    source = f"import torch\n\n\ndef f(a, p, num, mean_shift):\n    return a / {divisor}\n"
    occurrence = source[: source.index("a / ") + 4].count(divisor)
    assert f"{divisor}.clamp_min(" not in rewritten(
        source, proposal(source, divisor, NEAR_ZERO, occurrence=occurrence, x=divisor)
    )


def test_what_a_mask_leaves_of_shares_adds_up_to_no_negative_total() -> None:
    source = "import torch\n\n\ndef f(s, pad_mask):\n    a = torch.softmax(s, 1) * pad_mask\n    return a / a.sum(1)\n"
    change = proposal(source, "a.sum(1)", NEAR_ZERO, x="a.sum(1)")
    assert "a / a.sum(1).clamp_min(1e-12)" in rewritten(source, change)


def test_a_denominator_of_either_sign_is_shown_a_rewrite_that_is_not_written() -> None:
    source = "import torch\n\n\ndef f(a, b):\n    return a / b\n"
    at = Binding("b", span_of(source, "b", start=source.index("a / b")))
    change = replace(proposal(source, "b", NEAR_ZERO, occurrence=1, x=at), applicability=Applicability.UNSAFE)
    fix = propose(source.encode(), diagnostic(source, change)).fix
    assert fix is not None
    assert fix.applicability is Applicability.DISPLAY


def test_what_two_gamma_functions_read_is_bounded_where_it_is_made() -> None:
    fixed = _fixed("d = torch.relu(g)", read="return torch.digamma(d) - torch.lgamma(d) + torch.sqrt(d)")
    assert "    d = torch.relu(g).clamp_min(torch.finfo(g.dtype).tiny)\n" in fixed
    assert fixed.count("clamp_min") == 1


@pytest.mark.parametrize(
    ("body", "is_written"),
    [
        ("    mean, var = net(x)\n    return ((x - mean) ** 2 / var + torch.log(var)).mean()\n", False),
        ("    mean, var = net(x)\n    return torch.log(var).mean() + (mean - x).abs().mean()\n", True),
        ("    var = torch.relu(net(x))\n    return (x**2 / var + torch.log(var)).mean()\n", True),
    ],
)
def test_a_logarithm_is_bounded_with_what_its_statement_divides_by_or_not_at_all(
    body: str, is_written: bool
) -> None:
    source = f"import torch\n\n\ndef nll(net, x):\n{body}"
    assert ("clamp_min" in fixed(source, unsafe=True)[0]) is is_written


@pytest.mark.parametrize(
    ("after", "is_bounded"),
    [
        ("    return x, y, s\n", True),
        ("    save(m, s)\n    return x, y\n", True),
        ("    print(s)\n    return x, y\n", False),
        ("    return x, y, s + 1\n", False),
    ],
)
def test_a_deviation_that_is_handed_on_is_what_was_divided_by(after: str, is_bounded: bool) -> None:
    lines = "    m = x.mean(0)\n    s = x.std(0)\n    x = (x - m) / s\n    y = (y - m) / s\n"
    source = f"import torch\ndef save(m, s):\n    pass\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n{lines}{after}"
    assert ("    s = s.masked_fill(s == 0, 1)\n" in fixed(source, unsafe=True)[0]) is is_bounded
