from dataclasses import replace

import pytest

from stablelint.codemod.propose import propose_all
from stablelint.codemod.rewrite import Rewriter
from stablelint.codemod.templates.limits import widest
from stablelint.diagnostic import Applicability, Binding, Position, Proposal, Span
from tests.analysis.support import report
from tests.codemod.differential.tried import fixed
from tests.codemod.support import HEAD, body, proposal, rewritten, span_of, withheld

EXP = widest("x")
SCALE = "$x.clamp_min(1e-6)"


def last(source: str, name: str, template: str) -> Proposal:
    """The proposal for the last place of a name."""
    at = source.count(name) - 1
    return proposal(source, name, template, occurrence=at, x=Binding(name, span_of(source, name, at)))


def test_half_of_a_logarithm_is_bounded_at_the_name() -> None:
    source = f"{HEAD}def f(logvar):\n    return torch.exp(0.5 * logvar)\n"
    fixed = rewritten(source, proposal(source, "0.5 * logvar", EXP, x="0.5 * logvar"))
    assert body(fixed) == "def f(logvar):\n    return torch.exp(0.5 * logvar.clamp(-80.0, 20.0))\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x * torch.exp(-log_std)", "x * torch.exp(-log_std.clamp(-40.0, 20.0))"),
        ("Normal(x, torch.exp(log_std))", "Normal(x, torch.exp(log_std.clamp(-20.0, 20.0)))"),
        ("Normal(x, scale=p[1].exp())", "Normal(x, scale=p[1].clamp(-20.0, 20.0).exp())"),
        ("Normal(x, (0.5 * q).exp())", "Normal(x, (0.5 * q.clamp(-40.0, 20.0)).exp())"),
        ("Normal(x, q.mul(0.5).exp())", "Normal(x, q.clamp(-40.0, 20.0).mul(0.5).exp())"),
        ("x * p[1].exp()", "x * p[1].clamp(max=80.0).exp()"),
        ("x * torch.exp(-logs)", "x * torch.exp(-logs.clamp(-40.0, 20.0))"),
        ("anchors[:, 2:] * p[1].exp()", "anchors[:, 2:] * p[1].clamp(max=math.log(1000 / 16)).exp()"),
    ],
)
def test_what_a_scale_is_the_exponential_of_is_bounded_as_its_logarithm(before: str, after: str) -> None:
    source = f"{HEAD}def f(x, p, q, log_std, logs, anchors):\n    return {before}\n"
    exponent = next(
        one for one in ("-log_std", "log_std", "-logs", "p[1]", "0.5 * q", "q.mul(0.5)") if one in before
    )
    change = last(source, exponent, EXP)
    assert f"    return {after}\n" in rewritten(source, change)


def test_a_parameter_beside_its_exponential_is_bounded_for_both() -> None:
    source = f"{HEAD}def f(v):\n    return (1 + v - torch.exp(v)).sum()\n".replace("v", "lv")
    fixed = rewritten(source, last(source, "lv", EXP))
    assert (
        body(fixed)
        == "def f(lv):\n    lv = lv.clamp(-40.0, 20.0)\n    return (1 + lv - torch.exp(lv)).sum()\n"
    )


def test_a_logarithm_that_two_branches_exponentiate_is_bounded_once_behind_what_gives_it() -> None:
    given = "    for u in x:\n        m, logvar = net(u)\n"
    scale = "s = torch.exp(0.5 * logvar)"
    read = f"        if s is None:\n            {scale}\n        else:\n            {scale}\n"
    source = f"{HEAD}def f(net, x, s):\n{given}{read}    return s\n"
    fixed = rewritten(source, last(source, "0.5 * logvar", EXP))
    assert f"{given}        logvar = logvar.clamp(-80.0, 20.0)\n{read}" in fixed


def test_an_attribute_with_a_name_is_bounded_where_it_gets_it() -> None:
    source = f"{HEAD}def f(self, x):\n    lv = self.lv\n    return (1 + lv - torch.exp(lv)).sum()\n"
    fixed = rewritten(source, last(source, "lv", EXP))
    assert body(fixed) == body(source).replace("self.lv", "self.lv.clamp(-40.0, 20.0)")


def test_the_parameter_of_a_lambda_is_bounded_within_it() -> None:
    other = "    if kind:\n        return lambda logvar: logvar * 3\n"
    source = f"{HEAD}def f(kind):\n{other}    return lambda logvar: torch.exp(0.5 * logvar)\n"
    fixed = rewritten(source, last(source, "0.5 * logvar", EXP))
    assert body(fixed) == body(source).replace("0.5 * logvar", "0.5 * logvar.clamp(-80.0, 20.0)")


def test_a_local_beside_its_exponential_is_bounded_where_it_is_made() -> None:
    source = f"{HEAD}def f(net, x):\n    m, q = net(x)\n    y = m * 2\n    return y - q + torch.exp(q)\n"
    fixed = rewritten(source, last(source, "q", EXP))
    assert "    m, q = net(x)\n    q = q.clamp(-40.0, 20.0)\n    y = m * 2\n" in fixed


def test_under_an_offset_the_value_itself_is_kept_from_below_0() -> None:
    source = f"{HEAD}def f(var):\n    return torch.rsqrt(var + 1e-5)\n"
    fixed = rewritten(source, proposal(source, "var + 1e-5", "$r.clamp_min(1e-12)", r="var + 1e-5"))
    assert body(fixed) == "def f(var):\n    return torch.rsqrt(var.clamp_min(0) + 1e-5)\n"


def test_no_bound_hides_that_a_logarithm_is_passed_for_a_scale() -> None:
    source = (
        "from torch.distributions import Normal\n\n\ndef f(mu, log_var):\n    return Normal(mu, log_var)\n"
    )
    assert "its exponential" in withheld(source, last(source, "log_var", SCALE))


def test_a_value_that_a_loop_makes_is_bounded_within_the_loop() -> None:
    loop = "    for x in xs:\n        m, q = net(x)\n        t = m - q + torch.exp(q)\n"
    source = f"{HEAD}def f(net, xs):\n{loop}    return t\n"
    fixed = rewritten(source, last(source, "q", EXP))
    assert "        m, q = net(x)\n        q = q.clamp(-40.0, 20.0)\n        t = m" in fixed


def test_both_names_of_a_difference_are_bounded() -> None:
    source = f"{HEAD}def f(lp, lq):\n    return lp - lq + torch.exp(lq - lp)\n"
    fixed = rewritten(source, proposal(source, "lq - lp", EXP, x="lq - lp"))
    assert body(fixed).startswith(
        "def f(lp, lq):\n    lq = lq.clamp(-40.0, 20.0)\n    lp = lp.clamp(-40.0, 20.0)\n"
    )


def test_a_name_with_two_exponentials_is_bounded_once() -> None:
    source = f"{HEAD}def f(a, logvar):\n    x = a / logvar.exp()\n    return x - logvar.exp()\n"
    assert "    logvar = logvar.clamp(-40.0, 20.0)\n    x = a / logvar.exp()\n" in rewritten(
        source, last(source, "logvar", EXP)
    )


@pytest.mark.parametrize(
    ("other", "least"),
    [
        ("torch.exp(0.5 * log_s)", -40),
        ("(log_s.exp() + 1e-8).sqrt()", -40),
        ("(x - y) ** 2 / log_s.exp()", -40),
        ("torch.pow(x - y, 2) / (log_s.exp() + 1e-6)", -40),
        ("(log_s.exp() + (x - y) ** 2) / 2", -40),
        ("((x - y) / log_s.exp()) ** 2", -20),
        ("(x - y) ** 2 / y.exp()", -20),
    ],
)
def test_what_is_a_variance_elsewhere_in_the_function_has_the_bounds_of_one(other: str, least: int) -> None:
    source = f"{HEAD}def f(x, y, log_s):\n    if x is y:\n        return {other}\n    return log_s + x / torch.exp(log_s)\n"
    fixed = rewritten(source, last(source, "log_s", EXP))
    assert f"clamp({least}.0, 20.0)" in fixed
    assert fixed.count("clamp") == 1


def test_the_methods_of_a_class_have_one_range() -> None:
    source = (
        f"{HEAD}class Policy:\n    def sample(self, x):\n        m, log_std = self(x)\n"
        "        return m + log_std.exp() * torch.randn_like(m)\n\n"
        "    def score(self, x, a):\n        m, log_std = self(x)\n        return ((a - m) / log_std.exp()) ** 2\n"
    )
    read = Binding("log_std", span_of(source, "log_std", 1))
    first = rewritten(source, proposal(source, "log_std", EXP, occurrence=1, x=read))
    assert "log_std.clamp(-20.0, 20.0).exp() * torch" in first


def test_each_of_two_names_beside_is_bounded_where_it_is_made() -> None:
    source = f"{HEAD}def f(p):\n    a = p[0]\n    b = p[1]\n    return torch.exp(a - b) + a - b\n"
    fixed = rewritten(source, proposal(source, "a - b", EXP, x="a - b"))
    assert "    a = p[0].clamp(-40.0, 20.0)\n    b = p[1].clamp(-40.0, 20.0)\n" in fixed


def test_the_exponent_of_a_denominator_is_bounded_behind_a_view() -> None:
    source = f"{HEAD}def f(x, energy):\n    return x / energy.exp().unsqueeze(1)\n"
    fixed = rewritten(
        source, proposal(source, "energy.exp().unsqueeze(1)", SCALE, x="energy.exp().unsqueeze(1)")
    )
    assert "x / energy.clamp_min(-44.0).exp().unsqueeze(1)" in fixed


def test_the_negative_of_a_logarithm_beside_it_is_bounded_for_both() -> None:
    source = f"{HEAD}def f(lv, d):\n    return (lv + d * torch.exp(-lv)).sum()\n"
    fixed = rewritten(source, proposal(source, "-lv", EXP, x="-lv"))
    assert "    lv = lv.clamp(-40.0, 20.0)\n    return (lv + d * torch.exp(-lv)).sum()\n" in fixed


def test_the_logarithm_of_a_share_is_no_scale() -> None:
    source = f"{HEAD}def f(lp, q):\n    return ((lp - q) * torch.exp(lp)).sum()\n"
    assert "    return ((lp - q) * torch.exp(lp.clamp(max=80.0))).sum()\n" in rewritten(
        source, last(source, "lp", EXP)
    )


@pytest.mark.parametrize("other", ["log_p_scale.sum()", "kl(x, log_p_scale)", "-log_p_scale * 3"])
def test_the_logarithm_of_a_scale_is_bounded_where_it_is_made_for_all_that_reads_it(other: str) -> None:
    body = "    log_p_scale = net(x)\n    y = x * torch.exp(log_p_scale)\n"
    source = f"{HEAD}def f(net, kl, x):\n{body}    return y, {other}\n"
    change = proposal(source, "log_p_scale", EXP, occurrence=1)
    at = Binding("log_p_scale", change.span)
    fixed = rewritten(source, proposal(source, "log_p_scale", EXP, occurrence=1, x=at))
    assert fixed == source.replace("net(x)", "net(x).clamp(-40.0, 20.0)")


@pytest.mark.parametrize("other", ["log_std.shape", "torch.randn_like(log_std)"])
def test_it_is_bounded_in_place_where_nothing_else_reads_its_value(other: str) -> None:
    source = f"{HEAD}def f(net, x):\n    log_std = net(x)\n    return {other}, torch.exp(log_std)\n"
    assert "torch.exp(log_std.clamp(-40.0, 20.0))" in rewritten(source, last(source, "log_std", EXP))


def test_a_parameter_that_may_be_none_is_not_bounded_before_the_test_for_it() -> None:
    source = (
        f"{HEAD}def f(log_var, x):\n    if log_var is None:\n        return x\n"
        "    return log_var + torch.exp(log_var)\n"
    )
    assert "torch.exp(log_var.clamp(-80.0, 20.0))" in rewritten(source, last(source, "log_var", EXP))


def test_what_noise_is_multiplied_by_is_the_exponential_of_a_scale() -> None:
    body = "    m, q = net(x)\n    z = m + torch.randn_like(m) * torch.exp(q)\n"
    source = f"{HEAD}def f(net, x):\n{body}    return z, m, q\n"
    at = span_of(source, "q)", 0)
    change = proposal(source, "q)", EXP, x=Binding("q", at))
    span = Span(at.start, Position(at.end.row, at.end.column - 1))
    fixed = rewritten(source, replace(change, span=span, bindings={"x": Binding("q", span)}))
    assert fixed == source.replace("net(x)\n", "net(x)\n    q = q.clamp(-40.0, 20.0)\n")


def test_twice_a_logarithm_beside_it_is_bounded_for_both_and_no_other_is_halved() -> None:
    source = f"{HEAD}def f(s):\n    return s - torch.exp(2. * s)\n"
    fixed = rewritten(source, proposal(source, "2. * s", EXP, x="2. * s"))
    assert "    s = s.clamp(-40.0, 20.0)\n    return s - torch.exp(2. * s)\n" in fixed
    alone = f"{HEAD}def f(s):\n    return torch.exp(2. * s)\n"
    assert "torch.exp((2. * s).clamp(max=88.0))" in rewritten(
        alone, proposal(alone, "2. * s", EXP, x="2. * s")
    )


def test_the_exponential_that_a_distribution_takes_by_name_is_that_of_a_scale() -> None:
    source = f"{HEAD}def f(x, made):\n    s = made.exp()\n    return torch.distributions.Normal(x, s)\n"
    assert "    s = made.clamp(-20.0, 20.0).exp()\n" in rewritten(source, last(source, "made", EXP))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2 * var * math.pi", "2 * var.clamp_min(1e-6) * math.pi"),
        ("2 * var", "2 * var.clamp_min(1e-6)"),
        ("0.5 * var", "(0.5 * var).clamp_min(1e-6)"),
        ("2 * var * x", "(2 * var * x).clamp_min(1e-6)"),
    ],
)
def test_of_a_product_the_factor_that_is_no_number_is_bounded(before: str, after: str) -> None:
    source = f"{HEAD}def f(x, var):\n    return torch.log({before})\n"
    fixed = rewritten(source, proposal(source, before, SCALE, x=before))
    assert body(fixed) == f"def f(x, var):\n    return torch.log({after})\n"


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("eps=1e-5", "var.clamp_min(0) + eps"),
        ("eps=0.0", "(var + eps).clamp_min(1e-6)"),
        ("eps", "(var + eps).clamp_min(1e-6)"),
    ],
)
def test_an_offset_by_a_parameter_is_one_by_its_default(given: str, after: str) -> None:
    source = f"{HEAD}def f(var, {given}):\n    return torch.rsqrt(var + eps)\n"
    fixed = rewritten(source, proposal(source, "var + eps", SCALE, x="var + eps"))
    assert body(fixed) == f"def f(var, {given}):\n    return torch.rsqrt({after})\n"


@pytest.mark.parametrize(("set_by", "is_offset"), [("eps", True), ("kwargs", False), ("other.eps", False)])
def test_an_offset_by_an_attribute_is_one_by_what_it_is_set_to(set_by: str, is_offset: bool) -> None:
    method = f"    def __init__(self, eps=1e-5, kwargs=None):\n        self.eps = {set_by}\n"
    source = f"{HEAD}class N:\n{method}    def f(self, v):\n        return torch.rsqrt(v + self.eps)\n"
    fixed = rewritten(source, proposal(source, "v + self.eps", SCALE, x="v + self.eps"))
    after = "v.clamp_min(0) + self.eps" if is_offset else "(v + self.eps).clamp_min(1e-6)"
    assert f"torch.rsqrt({after})" in fixed


@pytest.mark.parametrize(
    ("before", "bound"),
    [("log_p - torch.log(q)", 88), ("q - d.log_prob(a)", 88), ("LL_new.sum(1) - LL_old", 20)],
)
def test_the_ratio_of_new_and_old_policies_alone_is_bounded_as_theirs(before: str, bound: int) -> None:
    source = f"{HEAD}def f(log_p, q, a, d, LL_new, LL_old):\n    return torch.exp({before})\n"
    fixed = rewritten(source, proposal(source, before, EXP, x=before))
    assert f"torch.exp(({before}).clamp(max={bound}.0))" in fixed


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("q.exp()", "q.clamp(-20.0, 20.0).exp()"),
        ("torch.exp(0.5 * q)", "torch.exp(0.5 * q.clamp(-40.0, 20.0))"),
        ("q.clamp(max=2).exp()", "q.clamp(min=-20.0, max=2).exp()"),
        ("F.softplus(q)", "F.softplus(q)"),
        ("F.softplus(q) * 0.1", "F.softplus(q) * 0.1"),
        ("q.abs()", "q.abs()"),
    ],
)
def test_the_scale_of_a_distribution_is_bounded_at_the_exponent_that_it_has(made: str, after: str) -> None:
    source = f"{HEAD}def f(x, q):\n    s = {made}\n    return torch.distributions.Normal(x, s)\n"
    fixed = rewritten(source, last(source, "s", SCALE))
    assert f"    s = {after}\n" in fixed
    assert ("Normal(x, s)" in fixed) is (made != after)


def test_the_logarithm_of_a_probability_is_no_logarithm_of_a_scale() -> None:
    source = f"{HEAD}def f(log_prob, q):\n    return (log_prob.exp() * (q - log_prob)).sum() + log_prob\n"
    fixed = rewritten(
        source,
        proposal(
            source, "log_prob", EXP, occurrence=1, x=Binding("log_prob", span_of(source, "log_prob", 1))
        ),
    )
    assert "log_prob.clamp(max=80.0).exp() * (q - log_prob)" in fixed


def test_a_term_of_another_statement_is_not_bounded_with_the_exponential_of_a_score() -> None:
    source = f"{HEAD}def f(q, kind):\n    if kind:\n        return q + 1\n    return torch.exp(-q)\n"
    assert "    return torch.exp(-q.clamp(min=-88.0))\n" in rewritten(source, last(source, "-q", EXP))


BOUNDED = "    if x:\n        q = x.clamp(min=x)\n    else:\n        q = torch.clamp(x, min=x)\n"


def test_what_multiplies_the_exponential_is_no_term_beside_it() -> None:
    source = f"{HEAD}def f(q, d):\n    return d * (1 + q) * torch.exp(-q)\n"
    assert "    return d * (1 + q) * torch.exp(-q.clamp(min=-80.0))\n" in rewritten(
        source, last(source, "-q", EXP)
    )


def test_what_has_a_lower_bound_gets_no_second_one() -> None:
    source = f"{HEAD}def f(x):\n{BOUNDED}    return torch.distributions.Normal(x, torch.exp(q))\n"
    assert "torch.exp(q.clamp(max=20.0))" in rewritten(source, last(source, "q", EXP))
    assert "lower bound already" in withheld(source, last(source, "torch.exp(q)", SCALE))


@pytest.mark.parametrize(
    ("made", "read", "fixed"),
    [
        ("m, q = net(x)", "d = q.sum()", "m, q = net(x)\n    q = q.clamp(-40.0, 20.0)\n"),
        ("q = net(x)", "d = torch.sum(-q, dim=1)", "q = net(x).clamp(-40.0, 20.0)\n"),
        ("m, q = net(x)", "x += q", "m, q = net(x)\n    q = q.clamp(-40.0, 20.0)\n"),
        (
            "if net:\n        q = x[0]\n    else:\n        q = x[1]",
            "x += q",
            "        q = x[1]\n    q = q.clamp(-40.0, 20.0)\n",
        ),
        ("q = net(x)", "d = (q * x).sum()", "q = net(x)\n"),
    ],
)
def test_what_is_added_up_beside_its_exponential_is_bounded_where_it_is_made(
    made: str, read: str, fixed: str
) -> None:
    source = f"{HEAD}def f(net, x):\n    {made}\n    y = x * torch.exp(q)\n    {read}\n"
    at = source[: source.index("exp(q") + 5].count("q") - 1
    change = proposal(source, "q", EXP, occurrence=at, x=Binding("q", span_of(source, "q", at)))
    assert fixed in rewritten(source, change)


def test_what_divides_by_an_exponential_bounds_the_logarithm_on_both_sides() -> None:
    source = f"{HEAD}def f(x, log_var):\n    s = torch.exp(log_var)\n    return x / s\n"
    assert "torch.exp(log_var.clamp(-40.0, 20.0))" in rewritten(source, last(source, "s", SCALE))


def test_what_is_exponentiated_by_halves_is_bounded_where_it_is_made_if_others_read_it() -> None:
    source = f"{HEAD}def f(net, x):\n    logvar = net(x)\n    return logvar.mul(0.5).exp(), logvar\n"
    fixed = rewritten(source, proposal(source, "logvar.mul(0.5)", EXP, x="logvar.mul(0.5)"))
    assert fixed == source.replace("net(x)", "net(x).clamp(-80.0, 20.0)")


def test_the_divergence_of_a_product_with_a_sum_is_bounded_for_both() -> None:
    source = f"{HEAD}def f(net, x):\n    m, q = net(x)\n    return -0.5 * torch.sum(1 + q - m**2 - q.exp())\n"
    change = proposal(
        source, "q.exp()", EXP, x=Binding("q", span_of(source, "q", start=source.index("q.exp")))
    )
    at = span_of(source, "q", start=source.index("q.exp"))
    assert "    q = q.clamp(-40.0, 20.0)\n" in rewritten(source, replace(change, span=at))


def test_an_attribute_that_its_function_sets_is_bounded_where_it_is_set() -> None:
    source = (
        f"{HEAD}class V:\n    def encode(self, h):\n        self.logstd = self.fc(h)\n"
        "        return torch.randn(3) * torch.exp(self.logstd)\n"
    )
    fixed = rewritten(source, last(source, "self.logstd", EXP))
    assert fixed == source.replace("self.fc(h)", "self.fc(h).clamp(-40.0, 20.0)")


@pytest.mark.parametrize("root", ["var.sqrt()", "torch.sqrt(var)", "var.pow(0.5)", "var ** 0.5"])
def test_the_root_of_an_exponential_is_bounded_as_its_logarithm(root: str) -> None:
    source = f"{HEAD}def f(m, h):\n    var = h.exp()\n    return Normal(m, {root})\n"
    fixed = rewritten(source, proposal(source, root, SCALE, x=Binding(root, span_of(source, root))))
    assert "    var = h.clamp(-40.0, 20.0).exp()\n" in fixed


@pytest.mark.parametrize("root", ["torch.sqrt(v)", "v.pow(0.5)"])
def test_what_a_scale_is_the_root_of_is_kept_from_what_its_reciprocal_does_not_bear(root: str) -> None:
    source = f"{HEAD}def f(m, v):\n    return Normal(m, {root})\n"
    bound = "$x.clamp_min(torch.finfo($x.dtype).tiny)"
    at = span_of(source, "v", start=source.index(root))
    made = replace(proposal(source, "v", bound, x=Binding("v", at)), span=at)
    assert root.replace("v", "v.clamp_min(1e-18)", 1) in rewritten(source, made)


def test_the_ratio_of_two_scales_may_come_to_0() -> None:
    source = f"{HEAD}def f(log_scale, log_scale_0):\n    return torch.exp(log_scale - log_scale_0)\n"
    exponent = "log_scale - log_scale_0"
    fixed = rewritten(source, proposal(source, exponent, EXP, x=exponent))
    assert f"torch.exp(({exponent}).clamp(max=88.0))" in fixed


@pytest.mark.parametrize(
    ("result", "limits"),
    [
        ("e**2", ".clamp(max=44.0)"),
        ("e.square()", ".clamp(max=44.0)"),
        ("e * x", ".clamp(max=80.0)"),
        ("2**e", ".clamp(max=88.0)"),
        ("e**2 / (x.exp() + 1)", ".clamp(max=88.0)"),
    ],
)
def test_what_is_squared_is_bounded_where_its_square_is_finite(result: str, limits: str) -> None:
    source = f"{HEAD}def f(z, x):\n    e = torch.exp(z)\n    return {result}\n"
    assert f"    e = torch.exp(z{limits})\n" in rewritten(source, last(source, "z", EXP))


def test_what_the_exponential_is_called_decides_no_bound() -> None:
    source = f"{HEAD}def f(q):\n    sigmas = torch.exp(q)\n    return sigmas\n"
    plain = source.replace("sigmas", "y")
    assert rewritten(source, last(source, "q", EXP)) == rewritten(plain, last(plain, "q", EXP)).replace(
        "y ", "sigmas "
    ).replace("return y", "return sigmas")


def test_a_fix_says_where_only_a_name_tells_what_it_bounds() -> None:
    source = f"{HEAD}def f(x, log_std):\n    return x * torch.exp(-log_std)\n"
    fix = Rewriter(source.encode()).fix(last(source, "-log_std", EXP))
    assert fix.applicability is Applicability.UNSAFE
    assert fix.caution == "nothing but its name says that `log_std` is the logarithm of a scale"


def test_the_bound_of_a_negative_is_a_lower_one_of_what_it_is_the_negative_of() -> None:
    source = f"{HEAD}def f(net, q):\n    return torch.exp(-net(q))\n"
    assert "torch.exp(-net(q).clamp(min=-88.0))" in rewritten(source, last(source, "-net(q)", EXP))


def test_two_exponentials_of_a_quotient_have_one_bound() -> None:
    source = f"{HEAD}def f(z, x):\n    return x * torch.exp(z) / (torch.exp(z) + 2)\n"
    assert "torch.exp(z.clamp(max=88.0)) + 2" in rewritten(source, last(source, "z", EXP))


def test_what_is_multiplied_with_is_not_bounded_with_its_exponential() -> None:
    source = f"{HEAD}def f(z):\n    return z * torch.exp(z + torch.exp(z))\n"
    assert "    return z * torch.exp(z + torch.exp(z.clamp(max=88.0)))\n" in rewritten(
        source, last(source, "z", EXP)
    )


@pytest.mark.parametrize(
    ("divergence", "is_moved"),
    [
        ("torch.exp(q) + m**2 - 1. - q", True),
        ("1 + q - m**2 - torch.exp(q)", True),
        ("-(1 + q - torch.exp(q) - m**2)", True),
        ("torch.exp(q) + m**2 + q", False),
    ],
)
@pytest.mark.parametrize("at", ["def f(x):\n    {}", "for x in loader:\n    {}"])
def test_what_a_divergence_is_of_is_bounded_for_all_that_reads_it(
    divergence: str, is_moved: bool, at: str
) -> None:
    made = f"m, q = code(x)\n    z = sample(m, q)\n    loss = ({divergence}).sum()"
    source = f"{HEAD}def other(q):\n    return q\n{at.format(made)}\n"
    at_place = source[: source.index("exp(q)") + 4].count("q")
    change = proposal(source, "q", EXP, occurrence=at_place, x=Binding("q", span_of(source, "q", at_place)))
    assert ("code(x)\n    q = q.clamp(" in rewritten(source, change)) == is_moved


def test_an_offset_that_a_bound_of_1_does_not_see_to_is_bounded_with_the_value() -> None:
    source = f"{HEAD}def f(y):\n    return torch.acosh(1 + y + 1e-8)\n"
    change = proposal(source, "1 + y + 1e-8", "$x.clamp_min(1 + torch.finfo($x.dtype).eps)", x="1 + y + 1e-8")
    assert "(1 + y + 1e-8).clamp_min(1 + torch.finfo(y.dtype).eps)" in rewritten(source, change)


@pytest.mark.parametrize(
    ("exponent", "use", "bounds"),
    [
        ("0.5 * q", "m + s * torch.randn_like(s)", ".clamp(-80.0, 20.0)"),
        ("0.5 * q", "m + s * noise", ".clamp(-80.0, 20.0)"),
        ("0.5 * q", "m * s", ".clamp(max=80.0)"),
        ("-0.5 * q**2", "s", ".clamp(max=88.0)"),
    ],
)
def test_half_of_something_is_the_logarithm_of_a_scale_by_name_or_use_alone(
    exponent: str, use: str, bounds: str
) -> None:
    source = f"{HEAD}def f(m, q):\n    s = torch.exp({exponent})\n    noise = torch.randn_like(s)\n    return {use}\n"
    assert bounds in rewritten(source, proposal(source, exponent, EXP, x=exponent))


@pytest.mark.parametrize("root", ["torch.sqrt(torch.exp(q))", "torch.exp(q) ** 0.5", "torch.exp(q).sqrt()"])
def test_the_exponent_under_a_root_keeps_what_has_a_normal_exponential(root: str) -> None:
    source = f"{HEAD}def f(q):\n    return {root}\n"
    bound = "$x.clamp_min(torch.finfo($x.dtype).tiny)"
    fixed = rewritten(source, proposal(source, "torch.exp(q)", bound, x="torch.exp(q)"))
    assert "torch.exp(q.clamp_min(-87.0))" in fixed


@pytest.mark.parametrize(
    ("power", "bound"), [("** 2", "44.0"), (".pow(3)", "44.0"), ("** 0.5", "88.0"), ("** q", "88.0")]
)
def test_an_exponential_is_bounded_for_its_square_where_one_is_taken(power: str, bound: str) -> None:
    source = f"{HEAD}def f(q):\n    return torch.exp(q){power}\n"
    at = Binding("q", span_of(source, "q", start=source.index("exp(")))
    change = proposal(source, "q", widest("x"), occurrence=1, x=at)
    assert f"torch.exp(q.clamp(max={bound}))" in rewritten(source, change)


@pytest.mark.parametrize("total", ["s.sum()", "torch.sum(s.view(8, -1), dim=1)", "s.flatten(1).sum(1)"])
def test_a_determinant_is_that_of_the_map_whose_scale_is_bounded(total: str) -> None:
    source = f"{HEAD}def f(x, h):\n    s = torch.tanh(h) * 3\n    return x * torch.exp(s), {total}\n"
    fixed = rewritten(source, _of_exponent(source))
    assert "    s = (torch.tanh(h) * 3).clamp(-40.0, 20.0)\n" in fixed


def _of_exponent(source: str) -> Proposal:
    at = span_of(source, "s", start=source.index("torch.exp(s)") + len("torch.exp("))
    occurrence = source[: source.index("torch.exp(s)") + len("torch.exp(")].count("s")
    return proposal(source, "s", EXP, occurrence=occurrence, x=Binding("s", at))


@pytest.mark.parametrize(
    ("exponent", "bound"), [("log_sigma", "-40.0, 20.0"), ("0.5 * log_sigma.exp() - mu", "max=80.0")]
)
def test_a_sum_with_a_scale_in_it_is_no_logarithm_of_one(exponent: str, bound: str) -> None:
    source = f"{HEAD}def f(mu, log_sigma):\n    return mu * torch.exp({exponent})\n"
    last = source.count(exponent) - 1
    at = Binding(exponent, span_of(source, exponent, last))
    fixed = rewritten(source, proposal(source, exponent, EXP, occurrence=last, x=at))
    assert f".clamp({bound}))" in fixed


def test_what_is_a_logarithm_gets_no_bound_of_its_exponential() -> None:
    source = f"{HEAD}def f(var):\n    logvar = torch.log(var)\n    return torch.exp(0.5 * logvar)\n"
    assert "is a logarithm" in withheld(source, proposal(source, "0.5 * logvar", EXP, x="0.5 * logvar"))


@pytest.mark.parametrize(
    ("line", "exponent"),
    [
        ("return (1 + o.logvar - o.logvar.exp()).sum()", "o.logvar"),
        ("return x / torch.exp(-o.logvar) - 2 * o.logvar", "-o.logvar"),
        ("return x * torch.exp(0.5 * o.logvar), o.logvar.sum()", "0.5 * o.logvar"),
    ],
)
def test_an_attribute_is_not_bounded_for_one_function_that_reads_it_beside_its_exponential(
    line: str, exponent: str
) -> None:
    source = f"{HEAD}def f(o, x):\n    {line}\n"
    assert "where the object gets it" in withheld(source, last(source, exponent, EXP))


def test_a_scale_that_is_kept_from_0_behind_gets_no_lower_bound_of_its_logarithm() -> None:
    source = f"{HEAD}def f(log_std):\n    scale = torch.exp(log_std).clamp_min(1e-4)\n    return Normal(0, scale)\n"
    fixed = rewritten(source, last(source, "log_std", EXP))
    assert "scale = torch.exp(log_std.clamp(max=20.0)).clamp_min(1e-4)\n" in fixed


@pytest.mark.parametrize(("made", "is_bounded"), [("torch.log(v)", False), ("net(v)", True)])
def test_what_an_object_keeps_as_logarithms_needs_no_bound_before_its_exponential(
    made: str, is_bounded: bool
) -> None:
    source = (
        f"import torch\nclass C:\n    def __init__(self, v, net):\n        self.logvar = {made}\n"
        "def f(c, x, t):\n    log_var = torch.gather(c.logvar, 0, t)\n"
        "    return x + torch.exp(0.5 * log_var) * torch.randn_like(x)\n"
    )
    assert ("clamp(" in fixed(source, unsafe=True)[0]) is is_bounded


@pytest.mark.parametrize(
    ("given", "after"),
    [
        (
            "    s = x.var(0).sqrt()\n    return (x - x.mean(0)) / s",
            "    s = x_var.masked_fill(x_var == 0, 1).sqrt()\n    return (x - x.mean(0)) / s",
        ),
        (
            "    return (x - x.mean(0)) * x.var(0).rsqrt()",
            "    return (x - x.mean(0)) * x_var.masked_fill(x_var == 0, 1).rsqrt()",
        ),
    ],
)
def test_a_variance_by_whose_root_all_is_divided_is_1_where_it_is_0(given: str, after: str) -> None:
    source = f"{HEAD}def f(x):\n{given}\n"
    change = proposal(source, "x.var(0)", SCALE, x=Binding("x.var(0)", span_of(source, "x.var(0)")))
    assert body(rewritten(source, change)) == f"def f(x):\n    x_var = x.var(0)\n{after}\n"


@pytest.mark.parametrize(
    "read", ["s = x.var(0).sqrt()\n    return x / s, s", "s = x.var(0)\n    return x / s, s"]
)
def test_a_spread_that_is_read_otherwise_too_keeps_a_bound_of_its_own(read: str) -> None:
    source = f"{HEAD}def f(x):\n    {read}\n"
    change = proposal(source, "x.var(0)", SCALE, x=Binding("x.var(0)", span_of(source, "x.var(0)")))
    assert "s = x.var(0).clamp_min(1e-6)" in rewritten(source, change)


def test_a_deviation_is_1_where_it_is_0_in_front_of_its_cast() -> None:
    source = f"{HEAD}def f(x):\n    return (x - x.mean(0)) / x.std(0).detach()\n"
    change = proposal(source, "x.std(0).detach()", SCALE, x="x.std(0).detach()")
    after = "    x_std = x.std(0)\n    return (x - x.mean(0)) / x_std.masked_fill(x_std == 0, 1).detach()\n"
    assert body(rewritten(source, change)) == f"def f(x):\n{after}"


def test_the_deviation_of_something_else_than_what_is_divided_stays_bounded() -> None:
    source = "def f(x, y):\n    return y / x.std(0)\n"
    assert "clamp_min(1e-6)" in rewritten(source, proposal(source, "x.std(0)", SCALE, x="x.std(0)"))


KL = "    return 1 + lv - torch.exp(lv)"


@pytest.mark.parametrize(
    "given",
    [
        "    if lv is None:\n        lv = torch.zeros_like(x)",
        "    lv = net(x)\n    if t:\n        lv = lv + 1",
        "    if t:\n        m, lv = net(x)\n    else:\n        m, lv = x, x",
    ],
)
def test_a_logarithm_with_several_values_is_bounded_behind_the_last_for_all_that_read_it(given: str) -> None:
    source = f"{HEAD}def f(x, t, net, lv=None):\n{given}\n{KL}\n"
    assert f"{given}\n    lv = lv.clamp(-40.0, 20.0)\n{KL}\n" in rewritten(source, last(source, "lv", EXP))


@pytest.mark.parametrize(
    ("given", "behind"),
    [
        ("    lv = net(x)\n    y = lv.sum()\n    if t:\n        lv = lv + y", ""),
        ("    lv = net(x)\n    if t:\n        lv = lv + 1", "\n    lv = 2 * lv"),
    ],
)
def test_a_bound_that_some_of_the_readers_do_without_is_only_shown(given: str, behind: str) -> None:
    kl = KL.replace("return", "k =")
    source = f"{HEAD}def f(x, t, net):\n{given}\n{kl}{behind}\n    return k, lv\n"
    change = proposal(
        source,
        "lv",
        EXP,
        occurrence=source[: source.index("exp(lv)")].count("lv"),
        x=Binding("lv", span_of(source, "lv", start=source.index("exp(lv)"))),
    )
    made = Rewriter(source.encode()).fix(replace(change, applicability=Applicability.UNSAFE))
    assert made.applicability is Applicability.DISPLAY
    assert made.caution == "`lv` is read without the bound, too"


def test_what_is_not_called_a_logarithm_is_not_bounded_for_what_its_arguments_are_called() -> None:
    source = f"{HEAD}def f(self, log_std):\n    return torch.exp(-self.kl(log_std))\n"
    change = proposal(source, "-self.kl(log_std)", EXP, x="-self.kl(log_std)")
    assert "clamp(min=-88.0)" in rewritten(source, change)


def test_a_deviation_by_which_several_are_divided_is_1_where_it_is_0_for_all() -> None:
    source = f"{HEAD}def f(x, y):\n    s = x.std(0)\n    return (x - x.mean(0)) / s, y / s\n"
    at = Binding("s", span_of(source, "s", start=source.index("/ s")))
    change = replace(proposal(source, "s", "$s.masked_fill($s == 0, 1)", s=at), span=at.span)
    given = "    s = x.std(0)\n    s = s.masked_fill(s == 0, 1)\n"
    after = f"def f(x, y):\n{given}    return (x - x.mean(0)) / s, y / s\n"
    assert body(rewritten(source, change)) == after


@pytest.mark.parametrize(
    ("bounded", "after"),
    [
        ("x.clamp_min(low)", "log_std.squeeze(-1).clamp(max=20.0)"),
        ("torch.clamp(x, min=low)", "log_std.squeeze(-1).clamp(max=20.0)"),
        ("torch.max(x, low)", "log_std.squeeze(-1).clamp(max=20.0)"),
        ("x.max(-1)", "log_std.squeeze(-1).clamp(-20.0, 20.0)"),
    ],
)
def test_the_side_that_is_bounded_already_stays_as_it_is(bounded: str, after: str) -> None:
    source, _ = fixed(
        f"""{HEAD}from torch.distributions import Normal

def draws(net, y, low):
    mean, x = net(y).chunk(2, -1)
    log_std = {bounded}
    log_std = log_std.squeeze(-1)
    return Normal(mean, torch.exp(log_std)).rsample()
""",
        unsafe=True,
    )
    assert f"    log_std = {after}\n" in source


@pytest.mark.parametrize("bound", ["clamp_min(low)", "clamp(min=low)", "clamp_min(low).squeeze(0)"])
def test_an_exponential_that_a_bound_keeps_finite_gets_no_second_one(bound: str) -> None:
    source = f"{HEAD}def f(x, low):\n    log_std = x.{bound}\n    return x * torch.exp(-log_std)\n"
    assert withheld(source, last(source, "-log_std", EXP)) == "there is a bound already, of `log_std`"


@pytest.mark.parametrize(
    ("draw", "bound"),
    [
        (
            "    d = Normal(m, torch.exp(log_std))\n    s = d.sample()\n    return torch.clamp(s, -1, 1)\n",
            "max=88.0",
        ),
        ("    return Normal(m, torch.exp(log_std)).rsample([3]).clamp(-1, 1)\n", "max=88.0"),
        ("    s = m + torch.exp(log_std) * torch.randn_like(m)\n    return s.clamp(0, 1)\n", "max=80.0"),
        ("    s = m + torch.exp(log_std) * torch.randn_like(m)\n    return s\n", "-40.0, 20.0"),
        ("    return Normal(m, torch.exp(log_std)).rsample()\n", "-20.0, 20.0"),
    ],
)
def test_the_scale_of_samples_that_are_clamped_may_be_of_any_size(draw: str, bound: str) -> None:
    source = f"{HEAD}from torch.distributions import Normal\n\n\ndef f(m, log_std):\n{draw}"
    at = Binding("log_std", span_of(source, "log_std", start=source.index("exp(")))
    change = replace(proposal(source, "log_std", EXP, x=at), span=at.span)
    assert f"log_std.clamp({bound})" in rewritten(source, change)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("(0.5 * logvar).exp() * torch.randn_like(x)", "variance between -80 and 20"),
        ("logstd.exp() * torch.randn_like(x)", "scale or variance between -40 and 20"),
        ("x.exp() ** 2", "below 44"),
        ("x.exp()", "below 88"),
        ("(-x).exp()", "above -88"),
        ("torch.normal(x, logstd.exp() * 2)", "scale or variance between -40 and 20"),
        ("(0.5 * logv).exp() * torch.randn(3).to(x.device)", "variance between -80 and 20"),
    ],
)
def test_a_fix_says_which_bound_it_writes(line: str, said: str) -> None:
    arguments = ", ".join(f"{name}: torch.Tensor" for name in ("x", "logvar", "logstd", "logv"))
    code = f"import torch\n\n\ndef f({arguments}):\n    return {line}\n"
    promises = [
        one.fix.message
        for one in propose_all(code.encode(), report(code, imports="").diagnostics)
        if one.code == "SL201" and one.fix is not None
    ]
    assert any(said in message for message in promises)


def test_what_is_divided_by_its_own_deviation_stays_where_it_is_constant() -> None:
    code = "import torch\n\n\ndef f(x: torch.Tensor):\n    std = x.std(dim=0)\n    return x / std, torch.log(std)\n"
    made = fixed(code, unsafe=True)[0]
    assert "x_std.masked_fill(x_std == 0, 1)" in made
    assert "masked_fill" not in fixed(code.replace("x / std", "x.mean() / std"), unsafe=True)[0]


def test_a_bound_of_a_part_that_is_added_up_elsewhere_without_it_is_only_shown() -> None:
    code = """import torch


def f(means: list[torch.Tensor], log_vars: list[torch.Tensor], i: int):
    return -0.5 * torch.sum(1 + log_vars[i] - means[i].pow(2) - log_vars[i].exp())
"""
    assert fixed(code, unsafe=True)[0] == code
    (found,) = [one.fix for one in propose_all(code.encode(), report(code, imports="").diagnostics)]
    assert found is not None
    assert found.applicability is Applicability.DISPLAY
    assert found.caution == "`log_vars[i]` is read without the bound, too"


def test_the_scale_of_a_distribution_is_bounded_under_its_root() -> None:
    code = """import torch
from torch.distributions import Normal


def f(mean: torch.Tensor, var: torch.Tensor):
    return Normal(mean, var.relu().sqrt())
"""
    assert "Normal(mean, var.relu().clamp_min(1e-18).sqrt())" in fixed(code, unsafe=True)[0]


def test_a_bound_that_the_author_has_written_is_no_promise_of_the_fix() -> None:
    code = """import torch


def f(x: torch.Tensor):
    return torch.log(1 + torch.exp(x.clamp_min(torch.finfo(x.dtype).tiny)))
"""
    found = propose_all(code.encode(), report(code, imports="").diagnostics)
    assert [one.fix.message for one in found if one.code == "SL205" and one.fix is not None] == [
        "softplus is this function without the overflow"
    ]


@pytest.mark.parametrize(
    ("given", "other", "is_withheld"),
    [
        ("self.log_scale", "return torch.exp(self.log_scale) * x", True),
        ("self.log_scale + self.shift", "s = self.log_scale\n        return x * s.exp()", True),
        ("self.log_scale", "return self.log_scale * x", False),
        ("self.log_scale(x)", "return torch.exp(self.log_scale(x))", False),
        ("self.log_scale", "return torch.exp(x)", False),
    ],
)
def test_what_two_methods_take_the_exponential_of_is_bounded_in_neither(
    given: str, other: str, is_withheld: bool
) -> None:
    source = f"""{HEAD}class Base(torch.nn.Module):
    def log_prob(self, x):
        log_scale = {given}
        return (x / torch.exp(log_scale)).sum() + log_scale.sum()

    def forward(self, x):
        {other}
"""
    change = proposal(source, "torch.exp(log_scale)", SCALE, x="torch.exp(log_scale)")
    if is_withheld:
        assert "`forward`" in withheld(source, change)
    else:
        assert ".clamp(-20.0, 20.0)" in rewritten(source, change)


def test_a_part_of_a_deviation_by_which_a_difference_is_divided_is_1_where_it_is_0() -> None:
    code = (
        "import torch\n\n\ndef f(x: torch.Tensor, dims):\n    mean = x.mean(0)\n    std = x.std(0)\n"
        "    return (x[:, dims] - mean[dims]) / std[dims], std\n"
    )
    assert "selected.masked_fill(selected == 0, 1)" in fixed(code, unsafe=True)[0]


def test_a_deviation_that_is_shown_too_is_1_where_it_is_divided_by() -> None:
    code = "import torch\nx = torch.rand(9)\ns = x.std()\nprint(s)\ny = (torch.rand(9) - x.mean()) / s\n"
    at = Binding("s", span_of(code, "s", start=code.index("/ s")))
    change = proposal(code, "s", SCALE, occurrence=code[: code.index("/ s")].count("s"), x=at)
    assert "/ s.masked_fill(s == 0, 1)\n" in rewritten(code, change)


def test_a_variance_beside_an_offset_that_a_base_sets_is_kept_from_falling_below_0() -> None:
    code = (
        "import torch\nclass A(B):\n    def f(self, a, b):\n        v = a - b * b\n"
        "        return torch.rsqrt(v + self.eps)\n"
    )
    change = proposal(code, "v + self.eps", "$x.clamp_min(1e-26)", x="v + self.eps")
    assert "torch.rsqrt(v.clamp_min(0) + self.eps)" in rewritten(code, change)
    other = code.replace("self.eps", "self.bias")
    change = proposal(other, "v + self.bias", "$x.clamp_min(1e-26)", x="v + self.bias")
    assert "(v + self.bias).clamp_min(1e-26)" in rewritten(other, change)


def test_the_root_of_an_exponential_that_is_a_scale_needs_one_bound() -> None:
    code = (
        "import torch\nfrom torch.distributions import Normal\ndef f(m, logvar):\n    return Normal(m, {})\n"
    )
    after, _ = fixed(code.format("logvar.exp().sqrt()"), unsafe=True)
    assert after == code.format("logvar.clamp(-40.0, 20.0).exp().sqrt()")


@pytest.mark.parametrize(
    ("line", "bound"),
    [
        ("(torch.exp(a - b) * w).sum()", "80.0"),
        ("torch.exp(a - b) @ w", "80.0"),
        ("torch.exp(a - b).mean()", "80.0"),
        ("torch.exp(a - b)", "88.0"),
        ("2 * torch.exp(a - b)", "88.0"),
    ],
)
def test_what_is_added_up_or_multiplied_next_leaves_that_room(line: str, bound: str) -> None:
    source = f"{HEAD}def f(a, b, w):\n    return {line}\n"
    at = Binding("a - b", span_of(source, "a - b"))
    assert f"(a - b).clamp(max={bound})" in rewritten(source, proposal(source, "a - b", EXP, x=at))


@pytest.mark.parametrize(
    ("kind", "of", "bound"),
    [
        ("maybe half", "new_logp - old_logp", "10.0"),
        ("float16", "new_logp - old_logp", "10.0"),
        ("float32", "new_logp - old_logp", "20.0"),
        ("maybe half", "a - b", "math.log(torch.finfo(difference.dtype).max) - 1"),
        ("float16", "a - b", "11.0"),
    ],
)
def test_where_float16_may_arrive_the_exponential_stays_finite_in_it(kind: str, of: str, bound: str) -> None:
    source = f"{HEAD}def f(new_logp, old_logp, a, b, w):\n    return torch.exp({of}) * w\n"
    at = Binding(of, span_of(source, of), kind)
    assert f".clamp(max={bound})" in rewritten(source, proposal(source, of, EXP, x=at))


@pytest.mark.parametrize(
    ("exponent", "fixed"),
    [
        ("log_scale + 1e-7", "log_scale.clamp(-40.0, 20.0) + 1e-7"),
        ("-(log_scale - 2)", "-(log_scale.clamp(-40.0, 20.0) - 2)"),
        ("log_scale + 100", "(log_scale + 100).clamp(max=80.0)"),
    ],
)
def test_a_small_number_beside_the_logarithm_of_a_scale_makes_no_other_of_it(
    exponent: str, fixed: str
) -> None:
    source = f"{HEAD}def f(x, log_scale):\n    return x * torch.exp({exponent})\n"
    at = Binding(exponent, span_of(source, exponent))
    assert f"torch.exp({fixed})" in rewritten(source, proposal(source, exponent, EXP, x=at))


@pytest.mark.parametrize(
    ("line", "divisor"),
    [
        ("1 / torch.std(z)", "torch.std(z)"),
        ("0.5 / z.var()", "z.var()"),
        ("z.std(1) / z.std()", "z.std()"),
        ("1 / z.abs().sum()", ""),
    ],
)
def test_a_factor_of_one_over_a_deviation_is_1_where_that_is_0(line: str, divisor: str) -> None:
    made, _ = fixed(f"{HEAD}def f(z: torch.Tensor):\n    scale = {line}\n    return scale\n", unsafe=True)
    assert ("== 0, 1)" in made) == bool(divisor)


@pytest.mark.parametrize(
    ("test", "given"),
    [
        ("self.use", "mu, logvar = self.net(x)"),
        ("logvar is not None", "mu, logvar = self.net(x)"),
        ("logvar is not None", "logvar = self.net(x)"),
    ],
)
def test_a_logarithm_that_one_branch_alone_reads_is_bounded_there(test: str, given: str) -> None:
    kl = "            kl = (1 + logvar - logvar.exp()).sum()\n            loss = loss + kl\n"
    source = (
        f"import torch\n\n\nclass M:\n    def f(self, x):\n        {given}\n        loss = x.sum()\n"
        f"        if {test}:\n{kl}        return loss\n"
    )
    made, _ = fixed(source, unsafe=True)
    assert f"        if {test}:\n            logvar = logvar.clamp(-40.0, 20.0)\n{kl}" in made.replace(
        "-80", "-40"
    )


def test_a_divisor_that_may_be_none_is_not_bounded_where_it_is_made() -> None:
    lines = "    qty = net(x)\n    if y is not None:\n        return x / qty - y / qty\n    return x\n"
    source = f"{HEAD}def f(net, x, y):\n{lines}"
    made = rewritten(source, last(source, "qty", "$x.clamp_min(1e-19)"))
    assert "    qty = net(x)\n    if y" in made


def test_a_bound_that_the_fix_only_moves_is_not_said_to_be_written() -> None:
    code = (
        "import torch\n\n\ndef f(total: torch.Tensor, n: torch.Tensor, m: torch.Tensor):\n"
        "    return (total / n.clamp_min(1))[m > 0].mean()\n"
    )
    (found,) = [
        one.fix for one in propose_all(code.encode(), report(code, imports="").diagnostics) if one.fix
    ]
    assert found.message == "let the mean of nothing be its sum, 0"
