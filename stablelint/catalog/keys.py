"""Every key that a page's toml block may have: its shape, its values, what it means.

Validation, the reference for authors and the JSON schema all read these tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stablelint.catalog.contract import CONSTANTS, FUNCTIONS
from stablelint.catalog.predicates import FORMS, SIGNATURES
from stablelint.diagnostic import Applicability, Severity
from stablelint.numerics.formats import DTYPES
from stablelint.records import dataclass

EXPECTATIONS = ("non-finite", "inaccurate", "wrong", "structural")
FIX_KINDS = ("replace", "insert-before", "insert-after", "delete", "move-before", "set-keywords", "wrap")


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `shape` is "string", "strings" (one or a list), "boolean", "table" or "tables"."""

    shape: str
    meaning: str
    values: tuple[str, ...] = ()
    required: bool = False
    default: str = ""


PAGE: Mapping[str, Key] = {
    "code": Key(
        "string", "Upper-case letters and a number, unlike any other rule's: `ACME101`.", required=True
    ),
    "severity": Key("string", "How a finding is presented.", tuple(Severity), default="error"),
    "enabled": Key("boolean", "Whether the rule is on by default.", default="true"),
    "replaces": Key("strings", "Codes of rules whose finding at the same place this one's stands for."),
    "message": Key(
        "string", "What a finding says; `$x` is put in as it is written. Without it: what the contract needs."
    ),
    "dtypes": Key("strings", "The element types for which the page speaks.", DTYPES, default="all"),
    "expect": Key(
        "string",
        "What happens at a bad operand: NaN or Inf, lost digits, a finite but wrong value, or nothing that one "
        "evaluation could show.",
        EXPECTATIONS,
        default="non-finite",
    ),
    "pattern": Key("strings", "Python with metavariables that the rule looks for; see *Patterns*."),
    "absent": Key("strings", "Patterns that must not stand between the statements of a sequence."),
    "where": Key("strings", "Conditions on what the pattern has bound; all must hold. See *Conditions*."),
    "matcher": Key("string", "For what no pattern can say: `stablelint.matchers.module:function`."),
    "requires": Key("table", "The contract of the operands: `forward` and `backward`. See *Contracts*."),
    "fix": Key("tables", "Rewrites, the best first; the first whose metavariables are bound is proposed."),
    "operands": Key(
        "tables", "Operands at which it goes wrong, where the contract does not tell: name = value."
    ),
    "sample": Key("table", "Healthy operands by name: `x = [0.01, 100.0]` draws between the two."),
}
REQUIRES: Mapping[str, Key] = {
    "forward": Key("string", "What the operands must fulfil for a finite value: `x > 0`."),
    "backward": Key("string", "What they must fulfil for a finite gradient."),
}
FIX: Mapping[str, Key] = {
    "replace": Key("string", "The new Python; `$x` is put in, with parentheses where they are needed."),
    "applicability": Key(
        "string",
        "`safe`: same value on the whole domain, better computed. `unsafe`: values or gradients change for some "
        "operands. `display`: shown, never applied.",
        tuple(Applicability),
        required=True,
    ),
    "message": Key("string", "What the fix does, in a few words."),
    "when": Key("strings", "Conditions under which this fix is open."),
    "kind": Key("string", "What is done with the text.", FIX_KINDS, default="replace"),
    "target": Key(
        "strings",
        "The metavariable whose expression is replaced; without it, the whole match. A fix for several is written "
        "for the first.",
    ),
    "dtypes": Key(
        "strings", "The element types for which the fix's constants are right.", DTYPES, default="all"
    ),
    "redefines": Key("boolean", "The fix changes healthy values too, on purpose.", default="false"),
    "constructor": Key("string", "The class of which the object that applies the operation is to be made."),
    "reader": Key(
        "string",
        "What the match becomes where `target` is the last step of a model, which `replace` takes away.",
    ),
    "floating": Key("strings", "Metavariables for whose real floating-point operands alone the fix is safe."),
    "single": Key(
        "strings", "Metavariables for whose operands in single precision or better alone it is safe."
    ),
}


def reference() -> str:
    """The reference of a page, in Markdown: keys, conditions and the names of a contract."""
    return "\n".join(_reference()) + "\n"


def _reference() -> Iterator[str]:
    for title, table in (
        ("Keys of a page", PAGE),
        ("Keys of `[requires]`", REQUIRES),
        ("Keys of `[[fix]]`", FIX),
    ):
        yield from (f"## {title}", "", "| key | is | means |", "| --- | --- | --- |")
        for name, key in table.items():
            yield f"| `{name}` | {_described(key)} | {key.meaning} |"
        yield ""
    yield from ("## Conditions", "", "Of `where` and `when`; `not` may stand before each.", "")
    yield from ("| condition | holds where the operand is |", "| --- | --- |")
    for name, signature in SIGNATURES.items():
        places = ["x", "y"][: signature.metavariables + signature.others] + ["0"] * signature.numbers
        compared = {"dtype": " == float16", "form": " == chosen", "number": " >= 0"}.get(
            signature.compared, ""
        )
        yield f"| `{name}({', '.join(places) or 'eps'}){compared}` | {signature.meaning} |"
    yield from ("", "## Forms", "", "Of the condition `form(x) == word`.", "")
    yield from ("| word | the operand is, or may be |", "| --- | --- |")
    yield from (f"| `{word}` | {meaning} |" for word, meaning in FORMS.items())
    yield from ("", "## Contracts", "", "Comparisons of metavariables with constants, joined by `and`.")
    constants = ", ".join(f"`{name}`" for name in sorted(CONSTANTS))
    functions = ", ".join(f"`{name}`" for name in sorted(FUNCTIONS))
    yield f"A constant may speak of the operand's dtype by {constants}, and use {functions}."


def _described(key: Key) -> str:
    shape = {"strings": "string or list", "table": "table", "tables": "array of tables"}.get(
        key.shape, key.shape
    )
    listed = ", ".join(f"`{value}`" for value in key.values)
    parts = [
        listed or shape,
        "required" if key.required else "",
        f"default {key.default}" if key.default else "",
    ]
    return "; ".join(part for part in parts if part)


def schema() -> dict[str, object]:
    """The JSON schema of a page's toml block."""
    tables: dict[str, object] = {
        "requires": _object(REQUIRES),
        "sample": {"type": "object"},
        "fix": {"type": "array", "items": _object(FIX)},
        "operands": {"type": "array", "items": {"type": "object"}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The toml block of a stablelint rule page",
        **_object(PAGE, tables),
    }


def _object(table: Mapping[str, Key], tables: Mapping[str, object] | None = None) -> dict[str, object]:
    properties = {name: (tables or {}).get(name) or _schema_of(key) for name, key in table.items()}
    required = [name for name, key in table.items() if key.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema_of(key: Key) -> dict[str, object]:
    if key.shape == "boolean":
        return {"type": "boolean", "description": key.meaning}
    one: dict[str, object] = {"type": "string"} | ({"enum": list(key.values)} if key.values else {})
    if key.shape == "strings":
        return {"anyOf": [one, {"type": "array", "items": one}], "description": key.meaning}
    return {**one, "description": key.meaning}
