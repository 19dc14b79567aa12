"""One `[[fix]]` stands for a rewrite of each target, and with a constant for three of each."""

from __future__ import annotations

import pytest

from stablelint.catalog.errors import RuleError
from stablelint.catalog.rule import FixTemplate
from stablelint.catalog.variants import Constant, variants
from stablelint.diagnostic import Applicability

LIMIT = "$x.clamp_min(torch.finfo($x.dtype).tiny)"
FIX = FixTemplate(LIMIT, Applicability.UNSAFE, "keep it normal", when=("nonnegative(x)",))
NUMBER = Constant("$x.clamp_min(1e-30)", ("float32",), "")


def test_a_fix_is_written_for_the_first_of_its_targets_and_holds_for_each() -> None:
    one, other = variants(FIX, ["x", "f"], None)
    assert (one.target, one.replace, one.when) == ("x", LIMIT, ("nonnegative(x)",))
    assert (other.target, other.replace, other.when) == ("f", LIMIT.replace("$x", "$f"), ("nonnegative(f)",))


@pytest.mark.parametrize(("name", "first"), [("x", 0), ("f", 3)])
def test_a_constant_is_for_operands_without_a_name_in_single_precision(name: str, first: int) -> None:
    named, numbered, anew = list(variants(FIX, ["x", "f"], NUMBER))[first : first + 3]
    assert named.inline
    assert named.when == (f"nonnegative({name})", f"floating({name})")
    assert (numbered.replace, numbered.dtypes) == (f"${name}.clamp_min(1e-30)", ("float32",))
    assert numbered.when == (f"nonnegative({name})", f"dtype({name}) >= float32")
    assert numbered.message == "keep it normal"
    assert (anew.inline, anew.when) == (False, (f"nonnegative({name})",))


def test_without_a_target_the_whole_match_is_replaced() -> None:
    assert [fix.target for fix in variants(FIX, [], None)] == [None]


def test_a_constant_for_what_asks_for_no_limit_is_refused() -> None:
    with pytest.raises(RuleError, match="asks for none"):
        list(variants(FixTemplate("$x + 1", Applicability.UNSAFE, ""), ["x"], NUMBER))
