"""What works in place keeps doing so."""

import pytest

from stablelint.diagnostic import Binding
from tests.codemod.support import CLAMPED_LOG, HEAD, body, proposal, rewritten, withheld


def test_a_rewrite_without_such_a_form_gives_way_to_the_next() -> None:
    source = HEAD + "x.div_(x.norm())\n"
    first = proposal(source, "x.div_(x.norm())", "torch.nn.functional.normalize($x, dim=0)", x="x")
    assert "`div_` works in place" in withheld(source, first)
    second = proposal(source, "x.norm()", "$n.clamp_min(1e-12)", n="x.norm()")
    after = rewritten(source, first, second, finding="x.div_(x.norm())")
    assert body(after) == "x.div_(x.norm().clamp_min(1e-12))\n"


def test_a_new_tensor_need_not_be_written_into() -> None:
    source = HEAD + "y = torch.softmax(z, -1).log_()\n"
    change = proposal(source, "torch.softmax(z, -1).log_()", "torch.log_softmax($z, dim=-1)", z="z")
    assert body(rewritten(source, change)) == "y = z.log_softmax(dim=-1)\n"


@pytest.mark.parametrize("owner", ["z.view(-1)", "z.relu_()", "torch.relu(z, out=z)", "self.norm()", "z[0]"])
def test_a_tensor_that_may_be_seen_elsewhere_is_written_into(owner: str) -> None:
    source = HEAD + f"y = {owner}.log_()\n"
    change = proposal(source, f"{owner}.log_()", "torch.log_softmax($z, dim=-1)", z=Binding("z"))
    assert "works in place" in withheld(source, change)


def test_only_the_receiver_of_an_in_place_method_is_written_into() -> None:
    source = HEAD + "a.div_(b)\n"
    change = proposal(source, "b", "$b.clamp_min(1e-6)", b="b")
    assert body(rewritten(source, change)) == "a.div_(b.clamp_min(1e-6))\n"


def test_an_assignment_keeps_its_operator() -> None:
    source = HEAD + "x /= y.sum() - z\n"
    template = "$a / ($b + $e)"
    after = rewritten(
        source,
        proposal(source, "x /= y.sum() - z", template, a="x", b="y.sum() - z", e=Binding("1e-6")),
    )
    assert body(after) == "x /= y.sum() - z + 1e-6\n"


def test_an_assignment_without_such_a_form_is_left() -> None:
    source = HEAD + "x /= x.norm()\n"
    template = "torch.nn.functional.normalize($a, dim=0)"
    assert "in place" in withheld(source, proposal(source, "x /= x.norm()", template, a="x"))


@pytest.mark.parametrize("template", ["torch.nn.functional.logsigmoid($x)", "torch.log($x.clamp_min(1e-6))"])
def test_a_result_that_is_written_elsewhere_is_left(template: str) -> None:
    source = HEAD + "torch.log(p, out=buffer)\n"
    reason = withheld(source, proposal(source, "torch.log(p, out=buffer)", template, x="p"))
    assert reason == "the result is written into `out=`, which the rewrite does not take"


def test_inplace_argument_is_not_dropped() -> None:
    source = HEAD + "y = F.relu(p, inplace=True)\n"
    assert "in place" in withheld(
        source, proposal(source, "F.relu(p, inplace=True)", "torch.relu($x)", x="p")
    )


@pytest.mark.parametrize("call", ["pro.log_()", "torch.log_(pro)"])
def test_what_is_written_into_stays(call: str) -> None:
    source = f"{HEAD}y = {call}\n"
    assert "works in place" in withheld(source, proposal(source, call, CLAMPED_LOG, x="pro"))
    assert "writes into its operand" in withheld(source, proposal(source, "pro", "$x.relu()", x="pro"))


def test_a_new_tensor_may_be_written_into() -> None:
    source = HEAD + "y = (a + b).log_()\n"
    change = proposal(source, "a + b", "torch.relu($x)", x="a + b")
    assert body(rewritten(source, change)) == "y = torch.relu(a + b).log_()\n"
