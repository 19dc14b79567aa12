import tomllib

import pytest

from stablelint.catalog import load_catalog, page
from stablelint.catalog.keys import FIX, PAGE, REQUIRES, reference, schema
from stablelint.catalog.predicates import FORMS, SIGNATURES, parse_predicate

RULES = load_catalog(entry_points=False).rules


def test_the_reference_names_all_that_a_page_may_say() -> None:
    text = reference()
    for name in (*PAGE, *REQUIRES, *FIX):
        assert f"| `{name}` |" in text
    for name in SIGNATURES:
        assert f"`{name}(" in text
    for word in FORMS:
        assert f"| `{word}` |" in text


def test_every_key_is_used_by_a_page_of_ours() -> None:
    tables = [tomllib.loads(page.split(rule.text).table) for rule in RULES.values()]
    assert {key for table in tables for key in table} == set(PAGE)
    assert {key for table in tables for fix in table.get("fix", ()) for key in fix} == set(FIX)


def test_every_condition_is_used_by_a_page_of_ours() -> None:
    texts = [
        text
        for rule in RULES.values()
        for text in (*rule.where, *(w for fix in rule.fixes for w in fix.when))
    ]
    asked = [parse_predicate(text) for text in texts]
    assert {predicate.name for predicate in asked} == set(SIGNATURES)
    assert {predicate.value for predicate in asked if predicate.name == "form"} == set(FORMS)


def test_the_schema_takes_every_page() -> None:
    valid = pytest.importorskip("jsonschema").Draft202012Validator(schema()).is_valid
    assert not [code for code, rule in RULES.items() if not valid(tomllib.loads(page.split(rule.text).table))]


@pytest.mark.parametrize(
    "block",
    ['severity = "error"', 'code = "A101"\nseverty = "error"', 'code = "AB101"\n[[fix]]\nreplace = "1"'],
    ids=["no code", "a slip", "a fix without applicability"],
)
def test_the_schema_refuses_what_validation_refuses(block: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(block), schema())
