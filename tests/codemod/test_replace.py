from __future__ import annotations

import pytest

from stablelint.diagnostic import Binding
from tests.codemod.support import CLAMPED_LOG, proposal, rewritten, withheld

HEAD = "import torch\nimport torch.nn.functional as F\n"


def body(text: str) -> str:
    assert text.startswith(HEAD)
    return text.removeprefix(HEAD)


def test_a_simple_operand_is_written_twice() -> None:
    source = HEAD + "y = torch.log(p)\n"
    after = rewritten(source, proposal(source, "torch.log(p)", CLAMPED_LOG, x="p"))
    assert body(after) == "y = torch.log(p.clamp_min(torch.finfo(p.dtype).tiny))\n"


def test_the_element_type_is_read_from_a_part_that_has_it() -> None:
    source = HEAD + "y = torch.log(1 - p[..., 0])\n"
    after = rewritten(source, proposal(source, "torch.log(1 - p[..., 0])", CLAMPED_LOG, x="1 - p[..., 0]"))
    assert body(after) == "y = torch.log((1 - p[..., 0]).clamp_min(torch.finfo(p.dtype).tiny))\n"


def test_a_known_element_type_is_written_out_for_a_long_operand() -> None:
    source = HEAD + "y = torch.log(a / b)\n"
    at = proposal(source, "torch.log(a / b)", CLAMPED_LOG, x="a / b").bindings["x"]
    given = Binding(at.text, at.span, "float16")
    after = rewritten(source, proposal(source, "torch.log(a / b)", CLAMPED_LOG, x=given))
    assert body(after) == "y = torch.log((a / b).clamp_min(torch.finfo(torch.float16).tiny))\n"


@pytest.mark.parametrize(
    ("attribute", "dtype", "literal"),
    [
        ("eps", "float32", "1.2e-7"),
        ("tiny", "float32", "1.2e-38"),
        ("tiny", "float16", "6.2e-5"),
        ("eps", "float16", "0.00098"),
        ("max", "float16", "65504.0"),
        ("min", "float16", "-65504.0"),
        ("max", "float32", "3.4e38"),
        ("tiny", "float64", "2.3e-308"),
        ("eps", "bfloat16", "0.0079"),
    ],
)
def test_helper_constants_are_literals_on_the_safe_side(attribute: str, dtype: str, literal: str) -> None:
    torch = pytest.importorskip("torch")
    source = HEAD + "y = torch.log(p)\n"
    span = proposal(source, "torch.log(p)", "1", x="p").bindings["x"].span
    change = proposal(
        source, "torch.log(p)", f"torch.log($x + finfo($x).{attribute})", x=Binding("p", span, dtype)
    )
    after = body(rewritten(source, change))
    written = after.removeprefix("y = torch.log(p + ").removesuffix(")\n").strip("()")
    assert float(written) == float(literal)
    exact = getattr(torch.finfo(getattr(torch, dtype)), attribute)
    rounded = float(torch.tensor(float(written), dtype=getattr(torch, dtype)))
    assert abs(rounded) <= abs(exact) if attribute in ("max", "min") else rounded >= exact
    assert rounded == pytest.approx(exact, rel=0.1)


def test_helper_constants_ask_the_tensor_where_its_type_is_not_known() -> None:
    source = HEAD + "y = a / p\n"
    after = rewritten(source, proposal(source, "a / p", "$a / $p.clamp_min(finfo($p).eps)", a="a", p="p"))
    assert body(after) == "y = a / p.clamp_min(torch.finfo(p.dtype).eps)\n"


def test_a_method_stays_a_method() -> None:
    source = HEAD + "y = (a + b).log().mean()\n"
    after = rewritten(
        source, proposal(source, "(a + b).log()", "torch.log($x.clamp_min($e))", x="a + b", e=Binding("1e-6"))
    )
    assert body(after) == "y = (a + b).clamp_min(1e-6).log().mean()\n"


def test_a_function_stays_a_function() -> None:
    source = HEAD + "y = torch.log(torch.softmax(z, dim=-1))\n"
    text = "torch.log(torch.softmax(z, dim=-1))"
    template = "torch.nn.functional.log_softmax($x, dim=$d)"
    after = rewritten(source, proposal(source, text, template, x="z", d="-1"))
    assert body(after) == "y = F.log_softmax(z, dim=-1)\n"


def test_a_function_without_a_method_is_called_as_a_function() -> None:
    source = HEAD + "y = torch.sigmoid(z).log()\n"
    after = rewritten(
        source, proposal(source, "torch.sigmoid(z).log()", "torch.nn.functional.logsigmoid($x)", x="z")
    )
    assert body(after) == "y = F.logsigmoid(z)\n"


def test_an_argument_that_the_site_does_not_give_is_left_out() -> None:
    source = HEAD + "y = z.exp().sum(1).log()\n"
    template = "torch.logsumexp($x, dim=$d, keepdim=$k)"
    after = rewritten(source, proposal(source, "z.exp().sum(1).log()", template, x="z", d="1"))
    assert body(after) == "y = z.logsumexp(dim=1)\n"


def test_a_template_that_knows_none_of_the_operands_is_no_fix() -> None:
    source = HEAD + "d = torch.distributions.Normal(m, s)\n"
    other = proposal(
        source, "torch.distributions.Normal(m, s)", "torch.distributions.Categorical(logits=$z)", s="s"
    )
    assert "another form" in withheld(source, other)


def test_further_arguments_go_in_place_of_the_ellipsis() -> None:
    source = HEAD + "y = F.cross_entropy(torch.softmax(z, 1), t, ignore_index=-1, weight=w(t))\n"
    text = "F.cross_entropy(torch.softmax(z, 1), t, ignore_index=-1, weight=w(t))"
    template = "torch.nn.functional.cross_entropy($z, $t, ...)"
    change = proposal(source, text, template, z="z", t=Binding("t"))
    assert body(rewritten(source, change)) == "y = F.cross_entropy(z, t, ignore_index=-1, weight=w(t))\n"
    rest = Binding("ignore_index=-1")
    change = proposal(source, text, template, z="z", t=Binding("t"), **{"...": rest})
    assert body(rewritten(source, change)) == "y = F.cross_entropy(z, t, ignore_index=-1)\n"


def test_two_signs_cancel() -> None:
    source = HEAD + "y = 1 / (1 + torch.exp(-(a + b)))\n"
    after = rewritten(
        source, proposal(source, "1 / (1 + torch.exp(-(a + b)))", "torch.sigmoid(-$x)", x="-(a + b)")
    )
    assert body(after) == "y = torch.sigmoid(a + b)\n"


def test_parentheses_that_become_needless_go() -> None:
    source = HEAD + "y = (1 / (1 + torch.exp(-x))) * 3\n"
    after = rewritten(source, proposal(source, "1 / (1 + torch.exp(-x))", "torch.sigmoid($x)", x="x"))
    assert body(after) == "y = torch.sigmoid(x) * 3\n"


class TestInPlace:
    def test_a_chain_of_in_place_methods(self) -> None:
        source = HEAD + "p.log_()\n"
        after = rewritten(source, proposal(source, "p.log_()", CLAMPED_LOG, x="p"))
        assert body(after) == "p.clamp_min_(torch.finfo(p.dtype).tiny).log_()\n"

    def test_the_result_is_copied_in_where_there_is_no_such_chain(self) -> None:
        source = HEAD + "p.softmax_()\np.log_()\n"
        after = rewritten(source, proposal(source, "p.log_()", "torch.log(1 + $x)", x="p"))
        assert body(after) == "p.softmax_()\np.copy_(torch.log(1 + p))\n"

    def test_a_function_that_works_in_place(self) -> None:
        source = HEAD + "torch.log_(p)\n"
        after = rewritten(source, proposal(source, "torch.log_(p)", CLAMPED_LOG, x="p"))
        assert body(after) == "p.clamp_min_(torch.finfo(p.dtype).tiny).log_()\n"

    def test_an_assignment_keeps_its_operator(self) -> None:
        source = HEAD + "x /= y.sum() - z\n"
        template = "$a / ($b + $e)"
        after = rewritten(
            source,
            proposal(source, "x /= y.sum() - z", template, a="x", b="y.sum() - z", e=Binding("1e-6")),
        )
        assert body(after) == "x /= y.sum() - z + 1e-6\n"

    def test_an_assignment_without_such_a_form_is_left(self) -> None:
        source = HEAD + "x /= x.norm()\n"
        template = "torch.nn.functional.normalize($a, dim=0)"
        assert "in place" in withheld(source, proposal(source, "x /= x.norm()", template, a="x"))

    def test_out_is_handed_on(self) -> None:
        source = HEAD + "torch.log(p, out=buffer)\n"
        change = proposal(source, "torch.log(p, out=buffer)", "torch.log($x.clamp_min(1e-6))", x="p")
        assert body(rewritten(source, change)) == "torch.log(p.clamp_min(1e-6), out=buffer)\n"
        other = proposal(source, "torch.log(p, out=buffer)", "torch.nn.functional.logsigmoid($x)", x="p")
        assert "out=" in withheld(source, other)

    def test_inplace_argument_is_not_dropped(self) -> None:
        source = HEAD + "y = F.relu(p, inplace=True)\n"
        assert "in place" in withheld(
            source, proposal(source, "F.relu(p, inplace=True)", "torch.relu($x)", x="p")
        )


class TestEvaluation:
    def test_a_long_operand_gets_a_name(self) -> None:
        source = HEAD + "def f(net, x):\n    # the loss\n    return -torch.log(net(x)).mean()  # nll\n"
        after = rewritten(source, proposal(source, "torch.log(net(x))", CLAMPED_LOG, x="net(x)"))
        assert body(after) == (
            "def f(net, x):\n    # the loss\n    x_net = net(x)\n"
            "    return -torch.log(x_net.clamp_min(torch.finfo(x_net.dtype).tiny)).mean()  # nll\n"
        )

    def test_the_name_is_new(self) -> None:
        source = HEAD + "x_net = 0\ny = torch.log(net(x))\n"
        after = rewritten(source, proposal(source, "torch.log(net(x))", CLAMPED_LOG, x="net(x)"))
        assert "x_net_2 = net(x)\ny = torch.log(x_net_2.clamp_min(" in after

    def test_the_name_says_what_the_value_is(self) -> None:
        for operand, name in [
            ("(w * d).sum(dim=-1)", "total"),
            ("a @ b", "product"),
            ("x > g(y)", "mask"),
            ("self.net(x)", "x_net"),
            ("x[i + 1]", "x_item"),
        ]:
            source = HEAD + f"def f(self):\n    y = torch.log({operand})\ntotal = 0\n"
            after = rewritten(source, proposal(source, f"torch.log({operand})", "$x + $x", x=operand))
            assert f"    {name} = {operand}\n    y = {name} + {name}\n" in after

    def test_an_operand_of_several_lines_keeps_them(self) -> None:
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
    def test_what_may_act_is_not_moved_past_what_may_act(self, context: str) -> None:
        source = HEAD + context.format("torch.log(net(x))") + "\n"
        reason = withheld(source, proposal(source, "torch.log(net(x))", CLAMPED_LOG, x="net(x)"))
        assert reason == "`net(x)` would be evaluated twice"

    @pytest.mark.parametrize(
        "context",
        ["y = x + {}", "y = self.count + {}", "if {}:\n    pass", "for i in {}:\n    pass", "return {}"],
    )
    def test_what_only_computes_may_be_moved(self, context: str) -> None:
        source = HEAD + context.format("torch.log(x.sum() / n)") + "\n"
        after = rewritten(source, proposal(source, "torch.log(x.sum() / n)", CLAMPED_LOG, x="x.sum() / n"))
        assert body(after).startswith("ratio = x.sum() / n\n")

    def test_an_operand_that_acts_is_not_dropped(self) -> None:
        source = HEAD + "y = torch.where(next(it) > 0, a, b)\n"
        change = proposal(
            source, "torch.where(next(it) > 0, a, b)", "$a + $b", c="next(it) > 0", a="a", b="b"
        )
        assert withheld(source, change) == "`next(it) > 0` would no longer be evaluated"

    def test_operands_that_act_are_not_exchanged(self) -> None:
        source = HEAD + "y = g(u()) / h(v())\n"
        change = proposal(source, "g(u()) / h(v())", "torch.div(1, $b) * $a", a="u()", b="v()")
        assert withheld(source, change) == "`v()` would be evaluated before `u()`"

    def test_a_value_computed_elsewhere_is_not_computed_again(self) -> None:
        source = HEAD + "p = F.softmax(net(x), 1)\ny = torch.log(p)\n"
        change = proposal(source, "torch.log(p)", "torch.log_softmax($z, 1)", z=Binding("net(x)"))
        assert withheld(source, change) == "`net(x)` would be evaluated once more"

    def test_two_evaluations_are_not_merged(self) -> None:
        source = HEAD + "y = torch.exp(f()) / torch.exp(f()).sum()\n"
        text = "torch.exp(f()) / torch.exp(f()).sum()"
        assert "merge" in withheld(source, proposal(source, text, "torch.softmax($x, 0)", x="f()"))

    def test_a_value_that_cannot_be_written_any_more(self) -> None:
        source = HEAD + "y = torch.log(p)\n"
        change = proposal(source, "torch.log(p)", "torch.log_softmax($z, 1)", z=Binding(None))
        assert "can no longer be written" in withheld(source, change)


class TestText:
    def test_a_comment_is_never_lost(self) -> None:
        source = HEAD + "y = torch.log(\n    # probabilities\n    torch.softmax(z, 1)\n)\n"
        text = "torch.log(\n    # probabilities\n    torch.softmax(z, 1)\n)"
        change = proposal(source, text, "torch.log_softmax($x, 1)", x="z")
        assert withheld(source, change) == "a comment inside the expression would be lost"

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_newlines_are_kept(self, newline: str) -> None:
        source = ("import torch\n\n\ndef f():\n\ty = torch.log(g(x))\n\treturn y\n").replace("\n", newline)
        after = rewritten(source, proposal(source, "torch.log(g(x))", CLAMPED_LOG, x="g(x)"))
        assert after.count(newline) == source.count(newline) + 1
        assert after.replace(newline, "") == after.replace("\r", "").replace("\n", "")
        assert f"\tx_g = g(x){newline}\ty = torch.log(x_g.clamp_min(" in after

    def test_columns_count_characters(self) -> None:
        source = "import torch\nprint('é😀', torch.log(größe))\n"
        after = rewritten(source, proposal(source, "torch.log(größe)", CLAMPED_LOG, x="größe"))
        assert (
            after == "import torch\nprint('é😀', torch.log(größe.clamp_min(torch.finfo(größe.dtype).tiny)))\n"
        )

    def test_form_feeds_do_not_end_lines(self) -> None:
        source = "import torch\n\x0c\nname = 'a\u2028b'\ny = torch.log(p)\n"
        after = rewritten(source, proposal(source, "torch.log(p)", "torch.log1p($x)", x="p"))
        assert after == "import torch\n\x0c\nname = 'a\u2028b'\ny = torch.log1p(p)\n"

    def test_an_f_string_is_left_alone(self) -> None:
        source = "import torch\nprint(f'{torch.log(p)}')\n"
        assert "f-string" in withheld(source, proposal(source, "torch.log(p)", CLAMPED_LOG, x="p"))

    def test_the_first_proposal_that_can_be_written_is_taken(self) -> None:
        source = HEAD + "y = [torch.log(net(x)) for x in xs]\n"
        first = proposal(source, "torch.log(net(x))", CLAMPED_LOG, x="net(x)")
        second = proposal(source, "torch.log(net(x))", "torch.log($x + 1)", x="net(x)")
        assert "torch.log(net(x) + 1)" in rewritten(source, first, second)
        assert withheld(source, first, first)

    def test_unknown_kinds_and_bad_templates_are_reasons_not_errors(self) -> None:
        source = HEAD + "y = torch.log(p)\n"
        assert "`sing`" in withheld(source, proposal(source, "torch.log(p)", "1", kind="sing"))
        assert withheld(source, proposal(source, "torch.log(p)", "torch.log(", x="p"))
        assert withheld(source, proposal(source, "torch.log(p)", "torch.log($q)", x="p"))
        assert withheld(source, proposal(source, "torch.log(p)", "torch.log($x)", x=Binding("p +")))


class TestTarget:
    """Rules may name one operand to be replaced rather than the whole expression."""

    def test_an_operand_is_replaced_in_its_place(self) -> None:
        source = HEAD + "y = a / (b - c) ** 2\n"
        change = proposal(source, "b - c", "$x.clamp_min(1e-6)", x="b - c")
        assert body(rewritten(source, change)) == "y = a / (b - c).clamp_min(1e-6) ** 2\n"

    @pytest.mark.parametrize("call", ["p.log_()", "torch.log_(p)"])
    def test_an_operand_that_is_written_into_is_guarded_in_place(self, call: str) -> None:
        source = HEAD + f"{call}\n"
        at = source.index(call) + call.index("p" if call.startswith("p") else "(p") + call.startswith("t")
        assert source[at] == "p"
        change = proposal(source, "p", "$x.clamp_min(1e-6)", occurrence=source[:at].count("p"), x="p")
        assert (
            body(rewritten(source, change))
            == call.replace("p.", "p.clamp_min_(1e-6).").replace("(p)", "(p.clamp_min_(1e-6))") + "\n"
        )
        other = proposal(source, "p", "torch.relu($x)", occurrence=source[:at].count("p"), x="p")
        assert "writes into its operand" in withheld(source, other)

    def test_a_new_tensor_may_be_written_into(self) -> None:
        source = HEAD + "y = (a + b).log_()\n"
        change = proposal(source, "a + b", "torch.relu($x)", x="a + b")
        assert body(rewritten(source, change)) == "y = torch.relu(a + b).log_()\n"

    def test_the_target_of_an_assignment_is_not_replaced(self) -> None:
        source = HEAD + "q = p\n"
        change = proposal(source, "q", "$x.clamp_min(1e-6)", x="q")
        assert "something else in its place" in withheld(source, change)

    def test_a_module_is_not_taken_for_a_tensor(self) -> None:
        source = "import torch as th\ny = th.log(th.relu(p))\n"
        change = proposal(source, "th.relu(p)", "$x.clamp_min(torch.finfo($x.dtype).tiny)", x="th.relu(p)")
        assert rewritten(source, change) == (
            "import torch as th\ny = th.log(th.relu(p).clamp_min(th.finfo(p.dtype).tiny))\n"
        )
