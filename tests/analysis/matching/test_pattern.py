"""What a pattern is an instance of."""

import pytest

from stablelint.analysis.matching.pattern import Match, compile_pattern, match


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [("torch.norm($x.grad)", True), ("torch.norm(($g := $x.grad))", True), ("torch.norm($x.data)", False)],
)
def test_an_attribute_is_matched_by_its_name(pattern: str, matches: bool) -> None:
    shape = compile_pattern(pattern)
    (asked,), (value,) = shape.roots, compile_pattern("torch.norm($w.grad)").roots
    assert asked is not None
    assert value is not None
    found = Match()
    assert match(asked, value, found, shape.optional) is matches
    assert ("g" in found.bindings) == (":=" in pattern)
