"""Expressions over operands."""

import pytest

from stablelint.runtime.verify.replay.expression import NotReplayableError, compile_expression, needed, spares

KNOWN = frozenset({"torch", "F"})


def test_bindings_come_first_and_names_follow() -> None:
    found = needed(["torch.log(p + self.eps).sum(dim)"], {"x": "p + self.eps", "d": "dim", "k": "-1"}, KNOWN)
    assert list(found.values()) == ["p + self.eps", "dim"]


def test_spelling_does_not_matter() -> None:
    expression = compile_expression("torch.log( p+q )", {"o0": "p + q"})
    assert expression.source == "torch.log(o0)"


def test_names_bound_inside_are_no_operands() -> None:
    found = needed(["sum(torch.log(v) for v in values)"], {}, KNOWN)
    assert list(found.values()) == ["values"]


def test_names_of_builtins_are_operands_where_they_are_no_types_and_not_called() -> None:
    found = needed(["max(input / len(input), 0).to(float)"], {}, KNOWN)
    assert list(found.values()) == ["input"]


def test_an_operand_that_the_fix_takes_apart_gives_way_to_its_parts() -> None:
    texts = ["torch.acos(c.clamp(-1, 1))", "torch.acos(c.clamp(-0.9, 0.9))"]
    assert list(needed(texts, {"x": "c.clamp(-1, 1)"}, KNOWN).values()) == ["c"]
    indexed = ["torch.log(p[i])", "torch.log_softmax(z, -1)[i]"]
    assert list(needed(indexed, {"x": "p[i]"}, KNOWN).values()) == ["p[i]", "z", "i"]


def test_what_an_opaque_function_returns_is_an_operand_and_not_what_is_made_of_it() -> None:
    found = needed(["softclip(x).exp()"], {}, KNOWN, opaque=frozenset({"softclip"}))
    assert list(found.values()) == ["softclip(x)"]


def test_what_cannot_be_stored_gives_way_to_what_it_returns() -> None:
    text = "torch.log(1 - model(x))"
    assert list(needed([text], {}, KNOWN).values()) == ["model", "x"]
    assert "model(x)" in spares([text], KNOWN)
    assert list(needed([text], {}, KNOWN, frozenset({"model"})).values()) == ["model(x)"]


def test_what_is_returned_replaces_operands_within_it() -> None:
    text = "torch.log(normal.cdf(x))"
    found = needed([text, "torch.special.log_ndtr(x)"], {"x": "x"}, KNOWN, frozenset({"normal"}))
    assert set(found.values()) == {"normal.cdf(x)", "x"}
    assert compile_expression(text, found).source.startswith("torch.log(o")


def test_assignments_in_place_are_read_as_what_they_compute() -> None:
    assert compile_expression("x /= y.sum()", {"o0": "x", "o1": "y"}).source == "o0 / o1.sum()"


@pytest.mark.parametrize("text", ["await f(x)", "for", "x = 1; y = 2"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(NotReplayableError):
        compile_expression(text, {})
