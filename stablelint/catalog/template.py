"""Fix templates: the Python that replaces a match, with metavariables where the bindings go.

The parsed form only knows which metavariables a template uses and how often; putting text in, parenthesised
where needed, is the rewriter's work.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

from stablelint.catalog.errors import RuleError
from stablelint.catalog.pattern import METAVARIABLE, encode
from stablelint.records import dataclass


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template. `uses` counts the places at which each metavariable is put in."""

    text: str
    tree: ast.Module
    uses: tuple[tuple[str, int], ...]

    @property
    def metavariables(self) -> frozenset[str]:
        """The metavariables to be put in."""
        return frozenset(name for name, _ in self.uses)

    def bound(self, names: Collection[str]) -> str:
        """The template's text without the keyword arguments whose metavariable is not among `names`."""
        text = self.text
        for name in self.metavariables - set(names):
            text = re.sub(rf",\s*\w+\s*=\s*\${name}\b(?=\s*[,)])", "", text)
        return text


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """Parse a fix template; raises RuleError when it is not Python with metavariables."""
    encoded, _, optional = encode(text)
    if optional:
        raise RuleError(
            f"`${min(optional)}?`: `?` belongs in the pattern; a template writes `${min(optional)}`"
        )
    try:
        tree = ast.parse(encoded.strip())
    except SyntaxError as error:
        raise RuleError(f"not Python with metavariables: {error.msg}: `{text.strip()}`") from None
    if not tree.body:
        raise RuleError("the template is empty")
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    if any(isinstance(one, ast.Constant) and one.value is ... for call in calls for one in call.args):
        raise RuleError("`...` belongs in the pattern; a template names the arguments that it keeps")
    uses = Counter(match[1] for match in METAVARIABLE.finditer(text))
    return Template(text, tree, tuple(sorted(uses.items())))
