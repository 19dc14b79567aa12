from pathlib import Path

import pytest
from fake_engine import FakeRule
from hypothesis import given
from hypothesis import strategies as st

from stablelint.config import Settings
from stablelint.workspace.selection import Selection, Selectors, nearest, resolve

RULES = {
    rule.code: rule
    for rule in (
        FakeRule("SL101", "unguarded-log"),
        FakeRule("SL102", "unguarded-division"),
        FakeRule("SL201", "unguarded-exp"),
        FakeRule("SL602", "unclipped-recurrent-training", enabled=False),
    )
}
ROOT = Path("/project")


def selected(given: Selectors = Selectors(), **settings: object) -> set[str]:  # noqa: B008
    selection, problems = resolve(Settings(root=ROOT, **settings), given, RULES)  # type: ignore[arg-type]
    assert not problems
    return set(selection.codes)


def test_by_default_every_enabled_rule_is_on() -> None:
    assert selected() == {"SL101", "SL102", "SL201"}


@pytest.mark.parametrize(
    ("selectors", "codes"),
    [
        (("SL101",), {"SL101"}),
        (("SL1",), {"SL101", "SL102"}),
        (("unguarded-exp",), {"SL201"}),
        (("ALL",), set(RULES)),
        (("SL602",), {"SL602"}),
    ],
)
def test_a_selector_is_a_code_a_prefix_a_name_or_all(selectors: tuple[str, ...], codes: set[str]) -> None:
    assert selected(Selectors(select=selectors)) == codes
    assert selected(select=selectors) == codes


def test_the_more_specific_selector_wins() -> None:
    assert selected(Selectors(select=("SL101",), ignore=("SL1",))) == {"SL101"}
    assert selected(Selectors(select=("SL1",), ignore=("SL101",))) == {"SL102"}
    assert selected(Selectors(select=("ALL",), ignore=("SL1",))) == {"SL201", "SL602"}


def test_extend_select_adds_to_the_defaults() -> None:
    assert "SL602" in selected(extend_select=("SL602",))
    assert "SL602" in selected(Selectors(extend_select=("ALL",)))


def test_a_prefix_switches_on_no_rule_that_is_off_by_default() -> None:
    assert "SL602" not in selected(Selectors(extend_select=("SL6",)))
    assert "SL602" not in selected(select=("SL60",))


def test_the_command_line_outranks_the_settings() -> None:
    assert selected(Selectors(select=("SL101",)), select=("SL2",), ignore=("SL101",)) == {"SL101"}
    assert selected(Selectors(ignore=("SL101",)), select=("SL1",)) == {"SL102"}


def test_rules_can_be_off_in_some_files() -> None:
    settings = Settings(root=ROOT, per_file_ignores={"tests/*": ("SL1",), "gen.py": ("ALL",)})
    selection, _ = resolve(settings, Selectors(per_file_ignores={"*/x.py": ("SL201",)}), RULES)
    assert selection.enabled("SL101", "/project/src/a.py")
    assert not selection.enabled("SL101", "/project/tests/deep/a.py")
    assert selection.enabled("SL201", "/project/tests/a.py")
    assert not selection.enabled("SL201", "/project/src/gen.py")
    assert not selection.enabled("SL201", "/project/src/x.py")


def test_an_unknown_selector_is_a_problem_with_its_place_and_the_nearest_rule() -> None:
    settings = Settings(
        root=ROOT,
        source=ROOT / "pyproject.toml",
        lines={"ignore": 7},
        ignore=("SL999",),
        select=("unguarded-lag",),
    )
    _, problems = resolve(settings, Selectors(select=("sl101",)), RULES)
    assert [problem.message for problem in problems] == [
        'unknown rule "unguarded-lag" in "select"',
        'unknown rule "SL999" in "ignore"',
        'unknown rule "sl101" in --select',
    ]
    assert problems[0].hint == "did you mean SL101 (unguarded-log)?"
    assert problems[1].position is not None
    assert problems[1].position.row == 7
    assert problems[2].hint == "did you mean SL101?"


def test_what_is_far_from_every_rule_gets_the_way_to_the_list() -> None:
    assert nearest("zzzzzz", RULES) == "`stablelint rules` lists them all"


@given(st.sets(st.sampled_from(sorted(RULES))), st.sets(st.sampled_from(sorted(RULES))))
def test_selecting_and_ignoring_codes_is_set_difference(select: set[str], ignore: set[str]) -> None:
    assert selected(Selectors(select=tuple(select), ignore=tuple(ignore))) == select - ignore


def test_a_selection_is_hashable_data() -> None:
    assert Selection(frozenset({"SL101"}), "/").ignored_in("/a.py") == frozenset()
