import ast

import pytest

from stablelint.catalog import RuleError
from stablelint.catalog.pattern import metavariable, parse_pattern
from stablelint.catalog.predicates import SIGNATURES, parse_predicate
from stablelint.catalog.template import parse_template


def test_metavariables_are_names_in_the_tree() -> None:
    pattern = parse_pattern("torch.where($c, torch.log($x), $y)")
    assert pattern.metavariables == {"c", "x", "y"}
    assert not pattern.is_sequence
    (tree,) = pattern.trees
    assert isinstance(tree, ast.Call)
    assert metavariable(tree.args[0]) == "c"


def test_dots_stand_for_further_arguments_wherever_they_end_a_call() -> None:
    (tree,) = parse_pattern("f(torch.softmax($z, dim=$d, ...), $y)").trees
    assert isinstance(tree, ast.Call)
    assert not tree.keywords
    assert isinstance(tree.args[0], ast.Call)
    assert [ast.unparse(keyword) for keyword in tree.args[0].keywords] == ["dim=__mv_d", "**..."]


def test_statements_make_a_sequence_and_dots_a_gap() -> None:
    pattern = parse_pattern("\n$loss.backward()\n...\n$optimizer.step()\n")
    assert pattern.is_sequence
    assert len(pattern.trees) == 3


def test_a_part_can_be_named() -> None:
    pattern = parse_pattern("f(($p := torch.softmax($z, ...)))")
    assert pattern.metavariables == {"p", "z"}


def test_an_optional_argument_is_marked() -> None:
    pattern = parse_pattern("torch.sum($x, dim=$d, keepdim=$k?)")
    assert pattern.optional == {"k"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("torch.log($x", "not Python"),
        ("$x", "matches every expression"),
        ("...", "matches every expression"),
        ("", "empty"),
        ("f($)", "followed by the name"),
        ("f($x?)", "keyword argument"),
    ],
)
def test_a_bad_pattern_is_refused(text: str, says: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_pattern(text)
    assert says in caught.value.message


def test_a_template_counts_its_substitutions() -> None:
    template = parse_template("$x.clamp_min(torch.finfo($x.dtype).tiny) + $y")
    assert dict(template.uses) == {"x": 2, "y": 1}


def test_arguments_that_are_not_bound_are_dropped() -> None:
    template = parse_template("torch.logsumexp($x, dim=$d, keepdim=$k)")
    assert template.bound({"x", "d"}) == "torch.logsumexp($x, dim=$d)"
    assert template.bound({"x", "d", "k"}) == template.text
    middle = parse_template("f($x, a=$a, b=$b)")
    assert middle.bound({"x", "b"}) == "f($x, b=$b)"


def test_a_bad_template_is_refused() -> None:
    with pytest.raises(RuleError, match="not Python"):
        parse_template("$x.clamp_min(")
    with pytest.raises(RuleError, match="belongs in the pattern"):
        parse_template("f($x, k=$k?)")
    with pytest.raises(RuleError, match="belongs in the pattern"):
        parse_template("f($x, ...)")


def test_a_predicate_is_parsed_into_its_parts() -> None:
    predicate = parse_predicate("dtype(y) == float16")
    assert (predicate.name, predicate.args, predicate.op, predicate.value) == (
        "dtype",
        ("y",),
        "==",
        "float16",
    )
    assert parse_predicate("reaches(x, -1)").args == ("x", -1.0)
    assert parse_predicate("not elements(x, 1)").negated
    assert parse_predicate("not elements(x, 1)").metavariables == {"x"}
    assert parse_predicate("range(x) >= 0").metavariables == {"x"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("literl(x)", "unknown condition `literl`"),
        ("literal(x, y)", "takes 1 metavariable"),
        ("literal(x) == 1", "not compared"),
        ("dtype(x) == float12", "compared with one of float16"),
        ("dtype(x) <= float32", "by >= or <"),
        ("form(x) == whole", "one of chosen"),
        ("range(x)", "compared with a number"),
        ("x > 0", "written `name(x)`"),
        ("literal(x + 1)", "names and numbers only"),
        ("literal(", "not a condition"),
    ],
)
def test_a_bad_predicate_is_refused(text: str, says: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_predicate(text)
    assert says in caught.value.message


def test_every_predicate_says_what_it_means() -> None:
    assert all(signature.meaning for signature in SIGNATURES.values())
