"""Patterns: Python with metavariables.

``$x`` stands for any expression, and for the same value wherever it is repeated; ``$x?`` as the value of an
argument stands for an argument that may be absent. ``...`` among arguments stands for any further arguments,
as a statement for any statements. A pattern of several statements is a sequence. Without ``...`` a call
matches only when it is given exactly the arguments that are written. ``($p := torch.softmax($z, ...))`` binds
``$p`` to a part of the match, so that a fix may replace that part alone.

A parsed pattern is the standard `ast` in which a metavariable is the name ``__mv_x`` and the ``...`` at the
end of a call is the keyword argument ``**...``. What a pattern matches is decided by
the engine: it compares canonical operations and the flow of data, not spellings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from stablelint.catalog.errors import RuleError
from stablelint.records import dataclass
from stablelint.syntax.names import dotted
from stablelint.syntax.walk import descendants

PREFIX = "__mv_"
# Packages by the names that everybody gives them; any other stands under its own.
ALIASES: Mapping[str, str] = {"np": "numpy", "F": "torch.nn.functional", "nn": "torch.nn"}
_FURTHER = re.compile(r"\.\.\.\s*,?\s*(?=\))")
METAVARIABLE = re.compile(r"\$([A-Za-z][A-Za-z0-9_]*)(\?)?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: one expression, or a sequence of statements."""

    text: str
    trees: tuple[ast.expr | ast.stmt, ...]
    metavariables: frozenset[str]
    optional: frozenset[str] = frozenset()

    @property
    def is_sequence(self) -> bool:
        """Whether the pattern describes statements and their order."""
        return len(self.trees) > 1 or isinstance(self.trees[0], ast.stmt)


def encode(text: str) -> tuple[str, frozenset[str], frozenset[str]]:
    """Replace metavariables by names: (Python text, metavariables, those of them marked optional)."""
    names: set[str] = set()
    optional: set[str] = set()

    def name(match: re.Match[str]) -> str:
        names.add(match[1])
        if match[2]:
            optional.add(match[1])
        return PREFIX + match[1]

    encoded = METAVARIABLE.sub(name, text)
    if "$" in encoded:
        raise RuleError("`$` must be followed by the name of a metavariable, as in `$x`")
    return encoded, frozenset(names), frozenset(optional)


def metavariable(node: ast.AST) -> str | None:
    """The name of the metavariable that `node` is, or None."""
    if isinstance(node, ast.Name) and node.id.startswith(PREFIX):
        return node.id[len(PREFIX) :]
    return None


def modules_of(tree: ast.AST) -> Iterator[str]:
    """What stands before the dots of a dotted name, as written: `scipy.special` and `scipy`."""
    for node in descendants(tree):
        text = dotted(node.value) if isinstance(node, ast.Attribute) else ""
        if text and not text.startswith(PREFIX):
            yield text


@lru_cache(maxsize=4096)
def parse_pattern(text: str) -> Pattern:
    """Parse a pattern; raises RuleError on a syntax error or an optional metavariable out of place."""
    encoded, names, optional = encode(text)
    try:
        module = ast.parse(_FURTHER.sub("**...", encoded.strip()))
    except SyntaxError as error:
        raise RuleError(f"not Python with metavariables: {error.msg}: `{text.strip()}`") from None
    if not module.body:
        raise RuleError("the pattern is empty")
    _check_optional(module, optional)
    statements = tuple(module.body)
    if len(statements) == 1 and isinstance(statements[0], ast.Expr):
        if metavariable(statements[0].value) or _is_ellipsis(statements[0].value):
            raise RuleError(f"the pattern `{text.strip()}` matches every expression")
        return Pattern(text, (statements[0].value,), names, optional)
    return Pattern(text, statements, names, optional)


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _check_optional(tree: ast.AST, optional: frozenset[str]) -> None:
    if not optional:
        return
    keywords = {metavariable(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    for name in sorted(optional - keywords):
        raise RuleError(f"`${name}?` may only be the value of a keyword argument")
