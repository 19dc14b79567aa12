"""Putting operands into a template, with the parentheses that are needed and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.text.law import same_suite, substituted
from stablelint.codemod.text.locate import parse
from stablelint.codemod.text.source import SourceError
from stablelint.codemod.withheld import Withheld

PLACEHOLDER = re.compile(rf"\b{PREFIX}\w+")


def uses(code: str) -> list[str]:
    """The placeholders of a template's code, in order, repeated as they are."""
    return PLACEHOLDER.findall(code)


def instantiate(code: str, operands: Mapping[str, Operand]) -> tuple[str, ast.Module]:
    """The text of a template with its operands, and the tree that the text stands for.

    `code` is an expression or statements with placeholders. An occurrence is parenthesised where the text
    would parse to another tree without. Raises Withheld for a placeholder without an operand, or when no text
    can be found.
    """
    names = uses(code)
    for name in names:
        if name not in operands:
            raise Withheld(f"nothing is known of `${name.removeprefix(PREFIX)}` here")
    try:
        template = parse(code)
    except SourceError as error:
        raise Withheld(f"the fix is not Python: {error}") from error
    expected = substituted(template, {name: operands[name].tree for name in names})
    if not isinstance(expected, ast.Module):
        raise Withheld("the fix is not Python")
    pieces = PLACEHOLDER.split(code)
    texts = [operands[name].text for name in names]
    bare = [False] * len(names)
    text = _filled(pieces, texts, bare)
    if names and _means(_filled(pieces, texts, [True] * len(names)), expected):
        return _filled(pieces, texts, [True] * len(names)), expected
    for index in range(len(names)):
        trial = [position == index for position in range(len(names))]
        bare[index] = _means(_filled(pieces, texts, trial), expected)
    for choice in (bare, [False] * len(names)):
        text = _filled(pieces, texts, choice)
        if _means(text, expected):
            return text, expected
    raise Withheld("the operands do not fit into the fix")


def _filled(pieces: Sequence[str], texts: Sequence[str], bare: Sequence[bool]) -> str:
    filled = [pieces[0]]
    for piece, text, is_bare in zip(pieces[1:], texts, bare, strict=True):
        filled += [text if is_bare else f"({text})", piece]
    return "".join(filled)


def _means(text: str, expected: ast.Module) -> bool:
    wrapped = len(expected.body) == 1 and isinstance(expected.body[0], ast.Expr)
    try:
        actual = parse(f"(\n{text}\n)" if wrapped else text)
    except SourceError:
        return False
    return same_suite(actual.body, expected.body)
