"""`check --explain`: the words of the findings, in a paragraph each for who meets them first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from stablelint.diagnostic import Diagnostic
from stablelint.report.cells import wrap
from stablelint.report.context import Context

_SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n?)*)", re.MULTILINE)


def explained(found: Iterable[Diagnostic], context: Context) -> str:
    """A paragraph for each word of the glossary that a finding uses; "" where there is none."""
    said = " ".join(text for item in found for text in _texts(item))
    used = {term: text for term, text in _terms().items() if re.search(_pattern(term), said, re.IGNORECASE)}
    width, bold = context.width - 2, context.style.bold
    bodies = {term: "".join(f"  {line}\n" for line in wrap(text, width)) for term, text in used.items()}
    return "".join(f"\n{bold(term)}\n{body}" for term, body in bodies.items())


def _texts(item: Diagnostic) -> Iterator[str]:
    yield item.message
    yield from (step.text for step in item.derivation)
    if item.fix is not None:
        yield item.fix.message


def _pattern(term: str) -> str:
    """The word in its forms: `underflow`, `underflows`; a clamp that is called counts as well."""
    return rf"(?<![a-zA-Z]){re.escape(term)}(?:s|ed|ing)?(?![a-zA-Z])"


def _terms() -> Mapping[str, str]:
    text = Path(__file__).with_suffix(".md").read_text("utf-8")
    return {term: " ".join(body.split()) for term, body in _SECTION.findall(text)}
