"""One `[[fix]]` stands for a rewrite of each target."""

from stablelint.catalog.rule import FixTemplate
from stablelint.catalog.validate import for_targets
from stablelint.diagnostic import Applicability

LIMIT = "$x.clamp_min(torch.finfo($x.dtype).tiny)"
FIX = FixTemplate(LIMIT, Applicability.UNSAFE, "keep it normal", when=("nonnegative(x)",))


def test_a_fix_is_written_for_the_first_of_its_targets_and_holds_for_each() -> None:
    one, other = for_targets(FIX, ["x", "f"])
    assert (one.target, one.replace, one.when) == ("x", LIMIT, ("nonnegative(x)",))
    assert (other.target, other.replace, other.when) == ("f", LIMIT.replace("$x", "$f"), ("nonnegative(f)",))


def test_without_a_target_the_whole_match_is_replaced() -> None:
    assert [fix.target for fix in for_targets(FIX, [])] == [None]
