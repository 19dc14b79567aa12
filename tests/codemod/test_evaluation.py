"""What a rewrite evaluates: as often as before, in the same order, under a name where that is needed."""

import pytest

from stablelint.diagnostic import Binding
from tests.codemod.support import CLAMPED_LOG, HEAD, body, proposal, rewritten, withheld


def test_a_long_operand_gets_a_name() -> None:
    source = HEAD + "def f(net, x):\n    # the loss\n    return -torch.log(net(x)).mean()  # nll\n"
    after = rewritten(source, proposal(source, "torch.log(net(x))", CLAMPED_LOG, x="net(x)"))
    assert body(after) == (
        "def f(net, x):\n    # the loss\n    x_net = net(x)\n"
        "    return -torch.log(x_net.clamp_min(torch.finfo(x_net.dtype).tiny)).mean()  # nll\n"
    )


def test_the_name_is_new() -> None:
    source = HEAD + "x_net = 0\ny = torch.log(net(x))\n"
    after = rewritten(source, proposal(source, "torch.log(net(x))", CLAMPED_LOG, x="net(x)"))
    assert "x_net_2 = net(x)\ny = torch.log(x_net_2.clamp_min(" in after


def test_the_name_says_what_the_value_is() -> None:
    for operand, name in [
        ("(w * d).sum(dim=-1)", "total"),
        ("a @ b", "product"),
        ("x > g(y)", "mask"),
        ("self.net(x)", "x_net"),
        ("x[i + 1]", "x_item"),
        ("x[1:]", "x_part"),
        ("torch.det(x)", "det"),
    ]:
        source = HEAD + f"def f(self):\n    y = torch.log({operand})\ntotal = 0\n"
        after = rewritten(source, proposal(source, f"torch.log({operand})", "$x + $x", x=operand))
        assert f"    {name} = {operand}\n    y = {name} + {name}\n" in after


def test_an_operand_of_several_lines_keeps_them() -> None:
    source = HEAD + "if True:\n    y = torch.log(\n        a  # first\n        + b\n    )\n"
    text = "torch.log(\n        a  # first\n        + b\n    )"
    after = rewritten(source, proposal(source, text, CLAMPED_LOG, x="a  # first\n        + b"))
    assert "    total = (a  # first\n        + b)\n    y = torch.log(total.clamp_min(" in after


@pytest.mark.parametrize(
    "context",
    [
        "y = [{} for x in xs]",
        "y = lambda x: {}",
        "y = a if b else {}",
        "y = a and {}",
        "while {}: pass",
        "y = first() + {}",
        "y = self.count + {}",
        "def g(a={}): pass",
        "if a:\n    pass\nelif {}:\n    pass",
        "x = 1; y = {}",
        "if a: y = {}",
        "class A:\n    y = {}",
        "assert a, {}",
    ],
)
def test_what_may_act_is_not_moved_past_what_may_act(context: str) -> None:
    source = HEAD + context.format("torch.log(net(x))") + "\n"
    reason = withheld(source, proposal(source, "torch.log(net(x))", CLAMPED_LOG, x="net(x)"))
    assert reason == "`net(x)` would be evaluated twice"


@pytest.mark.parametrize(
    "context",
    ["y = x + {}", "y = self.count + {}", "if {}:\n    pass", "for i in {}:\n    pass", "return {}"],
)
def test_what_only_computes_may_be_moved(context: str) -> None:
    source = HEAD + context.format("torch.log(x.sum() / n)") + "\n"
    after = rewritten(source, proposal(source, "torch.log(x.sum() / n)", CLAMPED_LOG, x="x.sum() / n"))
    assert body(after).startswith("ratio = x.sum() / n\n")


def test_an_operand_that_acts_is_not_dropped() -> None:
    source = HEAD + "y = torch.where(next(it) > 0, a, b)\n"
    change = proposal(source, "torch.where(next(it) > 0, a, b)", "$a + $b", c="next(it) > 0", a="a", b="b")
    assert withheld(source, change) == "`next(it) > 0` would no longer be evaluated"


def test_operands_that_act_are_not_exchanged() -> None:
    source = HEAD + "y = g(u()) / h(v())\n"
    change = proposal(source, "g(u()) / h(v())", "torch.div(1, $b) * $a", a="u()", b="v()")
    assert withheld(source, change) == "`v()` would be evaluated before `u()`"


def test_a_value_computed_elsewhere_is_not_computed_again() -> None:
    source = HEAD + "p = F.softmax(net(x), 1)\ny = torch.log(p)\n"
    change = proposal(source, "torch.log(p)", "torch.log_softmax($z, 1)", z=Binding("net(x)"))
    assert withheld(source, change) == "`net(x)` would be evaluated once more"


def test_two_evaluations_are_not_merged() -> None:
    source = HEAD + "y = torch.exp(f()) / torch.exp(f()).sum()\n"
    text = "torch.exp(f()) / torch.exp(f()).sum()"
    assert "merge" in withheld(source, proposal(source, text, "torch.softmax($x, 0)", x="f()"))


def test_a_value_that_cannot_be_written_any_more() -> None:
    source = HEAD + "y = torch.log(p)\n"
    change = proposal(source, "torch.log(p)", "torch.log_softmax($z, 1)", z=Binding(None))
    assert "can no longer be written" in withheld(source, change)


def test_a_name_that_is_given_anew_names_what_it_is_made_of() -> None:
    source = HEAD + "def f(x, n):\n    x = torch.log(x.div(n + 1))\n    return x\n"
    after = rewritten(source, proposal(source, "torch.log(x.div(n + 1))", CLAMPED_LOG, x="x.div(n + 1)"))
    assert "    x = x.div(n + 1)\n    x = torch.log(x.clamp_min(" in after
    source = source.replace("n + 1))", "n + 1)) + x")
    after = rewritten(source, proposal(source, "torch.log(x.div(n + 1))", CLAMPED_LOG, x="x.div(n + 1)"))
    assert "    x_div = x.div(n + 1)\n" in after


def test_a_choice_within_another_is_made_by_both_tests() -> None:
    mean = "$s.mean() if $s.numel() > 0 else $s.sum()"
    source = HEAD + "def f(s, kind):\n    return s.mean() if kind == 'mean' else s.sum()\n"
    after = rewritten(source, proposal(source, "s.mean()", mean, s="s"))
    assert "    return s.mean() if kind == 'mean' and s.numel() > 0 else s.sum()\n" in after
    source = source.replace("else s.sum()", "else s")
    after = rewritten(source, proposal(source, "s.mean()", mean, s="s"))
    assert "(s.mean() if s.numel() > 0 else s.sum()) if kind == 'mean' else s\n" in after
