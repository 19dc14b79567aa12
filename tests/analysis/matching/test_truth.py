"""Kleene's three-valued logic."""

from hypothesis import given
from hypothesis import strategies as st

from stablelint.analysis.matching.truth import Truth, all_of

TRUTHS = st.sampled_from(Truth)


def either(a: Truth, b: Truth) -> Truth:
    return all_of([a.negated(), b.negated()]).negated()


@given(TRUTHS)
def test_to_negate_twice_changes_nothing(a: Truth) -> None:
    assert a.negated().negated() is a


def test_of_what_is_not_known_the_contrary_is_not_known() -> None:
    assert Truth.MAYBE.negated() is Truth.MAYBE
    assert (Truth.of(True), Truth.of(True).negated()) == (Truth.YES, Truth.NO)


@given(TRUTHS, TRUTHS, TRUTHS)
def test_a_conjunction_has_no_order_and_no_brackets(a: Truth, b: Truth, c: Truth) -> None:
    assert all_of([a, b]) is all_of([b, a])
    assert all_of([all_of([a, b]), c]) is all_of([a, all_of([b, c])]) is all_of([a, b, c])


@given(TRUTHS)
def test_a_conjunction_has_a_unit_a_zero_and_repeats_nothing(a: Truth) -> None:
    assert all_of([]) is Truth.YES
    assert all_of([a, Truth.YES]) is all_of([a, a]) is a
    assert all_of([a, Truth.NO]) is Truth.NO


@given(TRUTHS, TRUTHS, TRUTHS)
def test_each_distributes_over_the_other(a: Truth, b: Truth, c: Truth) -> None:
    assert all_of([a, either(b, c)]) is either(all_of([a, b]), all_of([a, c]))
    assert either(a, all_of([b, c])) is all_of([either(a, b), either(a, c)])
    assert all_of([a, either(a, b)]) is a


@given(st.lists(TRUTHS))
def test_more_knowledge_never_turns_a_known_answer(parts: list[Truth]) -> None:
    answer = all_of(parts)
    if answer is Truth.MAYBE:
        return
    for known in (Truth.YES, Truth.NO):
        assert all_of(known if part is Truth.MAYBE else part for part in parts) is answer


def test_nothing_is_asked_for_after_a_part_that_fails() -> None:
    asked = iter([Truth.MAYBE, Truth.NO, Truth.YES])
    assert all_of(asked) is Truth.NO
    assert list(asked) == [Truth.YES]
