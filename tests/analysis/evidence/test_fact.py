"""Every fact that is found says what it says, and which way it is expected to speak."""

import importlib
import pkgutil

import pytest

from stablelint.analysis.evidence import facts
from stablelint.analysis.evidence.fact import Fact, all_facts, lowers, raises
from stablelint.analysis.evidence.score import weights
from stablelint.analysis.evidence.subject import Subject

FACTS = all_facts()


def test_facts_are_found_by_walking_their_modules_and_come_in_order() -> None:
    names = [fact.name for fact in FACTS]
    assert names == sorted(set(names))
    modules = {fact.holds.__module__.rpartition(".")[2] for fact in FACTS}
    assert modules == {module.name for module in pkgutil.iter_modules(facts.__path__)}


def test_there_are_few_enough_to_be_read() -> None:
    assert 0 < len(FACTS) <= 60


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_a_fact_has_a_sentence_and_a_sign(fact: Fact) -> None:
    assert fact.sign in (1, -1)
    assert fact.sentence
    assert "\n" not in fact.sentence
    assert not fact.sentence.endswith(".")
    assert len(fact.sentence) <= 90


def test_no_two_facts_say_the_same() -> None:
    assert len({fact.sentence for fact in FACTS}) == len(FACTS)


def test_nothing_has_a_weight_but_facts() -> None:
    assert set(weights().facts) <= {fact.name for fact in FACTS}


def test_no_fact_defines_what_another_module_defines() -> None:
    defined = [
        name
        for module in pkgutil.iter_modules(facts.__path__)
        for name, value in vars(importlib.import_module(f"{facts.__name__}.{module.name}")).items()
        if isinstance(value, Fact)
    ]
    assert len(defined) == len(set(defined))


def test_a_mark_takes_the_first_line_of_the_docstring() -> None:
    @raises
    def is_shown(subject: Subject) -> bool:
        """Known operations lead to it.

        More for those who read the code.
        """
        return True

    @lowers
    def is_hidden(subject: Subject) -> bool:
        """Nobody sees it."""
        return False

    assert (is_shown.name, is_shown.sentence, is_shown.sign) == ("is_shown", "Known operations lead to it", 1)
    assert (is_hidden.sentence, is_hidden.sign) == ("Nobody sees it", -1)
