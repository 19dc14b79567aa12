"""One file as its rewrites see it, and how they spell what they call there."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cached_property

from stablelint.codemod.flow.nodes import root_name
from stablelint.codemod.flow.scope import Scope
from stablelint.codemod.templates import forms
from stablelint.codemod.templates.imports import import_for, insertion
from stablelint.codemod.text.locate import Tree
from stablelint.diagnostic import Edit
from stablelint.records import dataclass, field

# Functions of `torch` that `torch.nn.functional` holds as well.
_IN_BOTH = ("softmax", "log_softmax")


_DOUBLE = re.compile(r"\b(float64|double|DoubleTensor)\b")
_SCRIPTED = re.compile(r"\bjit\.(script|export|ignore)|\bis_scripting\(|\bScriptModule\b")


@dataclass(frozen=True)
class File:
    """What all rewrites of one file share."""

    tree: Tree
    scope: Scope
    _called: dict[str, bool] = field(default_factory=dict, repr=False)

    def calls(self, spelling: str) -> bool:
        """Whether the file calls what is spelled so, anywhere."""
        if spelling not in self._called:
            call = re.compile(rf"(?<![\w.]){re.escape(spelling)}\(")
            self._called[spelling] = call.search(self.tree.source.text) is not None
        return self._called[spelling]

    @cached_property
    def is_scripted(self) -> bool:
        """Whether TorchScript compiles functions of the file, which knows no `torch.finfo`."""
        return _SCRIPTED.search(self.tree.source.text) is not None

    @cached_property
    def is_double(self) -> bool:
        """Whether the file speaks of double precision."""
        return _DOUBLE.search(self.tree.source.text) is not None

    def qualified(self, function: ast.expr) -> str | None:
        """The name of a function of an imported module, or None."""
        name = root_name(function)
        known = self.scope.stands_for(name, function) if name else None
        return None if known is None else known + ast.unparse(function).removeprefix(name)

    def imported_at(self, site: ast.AST) -> Callable[[str], bool]:
        """Whether a name is an imported module's, or of one, at `site`."""
        return lambda name: self.scope.stands_for(name, site) is not None


def spell_names(file: File, node: ast.AST, site: ast.AST) -> tuple[str, list[Edit]]:
    """The text of a template with qualified names as the file has them at `site`, and the imports that this needs."""
    added: dict[str, Edit] = {}

    def spell(qualified: str) -> str:
        qualified = _preferred(file, qualified, site)
        known = file.scope.reach(qualified, site)
        if known is not None:
            return known
        statement, spelling = import_for(qualified, file.scope, site)
        added[statement] = insertion(file.tree, statement)
        return spelling

    named = forms.with_names(node, spell)
    return forms.code(named, file.tree.source.quote), list(added.values())


def _preferred(file: File, qualified: str, site: ast.AST) -> str:
    """``torch.nn.functional.log_softmax`` for ``torch.log_softmax`` in a file that takes the softmax from there."""
    root, _, name = qualified.rpartition(".")
    if root != "torch" or name not in _IN_BOTH:
        return qualified
    functional = f"torch.nn.functional.{name}"
    used = [
        _is_called(file, f"{place}.{one}", site)
        for place in (functional[: -len(name) - 1], root)
        for one in _IN_BOTH
    ]
    return functional if any(used[: len(_IN_BOTH)]) and not any(used[len(_IN_BOTH) :]) else qualified


def _is_called(file: File, qualified: str, site: ast.AST) -> bool:
    spelling = file.scope.reach(qualified, site)
    return spelling is not None and file.calls(spelling)
