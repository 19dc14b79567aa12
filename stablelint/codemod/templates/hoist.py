"""Binding an operand to a name before its statement, where a fix needs it twice."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stablelint.codemod.flow.effects import Effect, effect, evaluated_before
from stablelint.codemod.flow.scope import Scope
from stablelint.codemod.templates.operand import Operand
from stablelint.codemod.text.locate import Region, Tree
from stablelint.codemod.withheld import Withheld


@dataclass(frozen=True, slots=True)
class Hoisted:
    """An operand that gets a name before its statement."""

    name: str
    value: Operand
    offset: int
    indent: str

    @property
    def operand(self) -> Operand:
        """The name, in place of the value."""
        tree = ast.Name(self.name, ast.Load())
        return Operand(self.value.placeholder, self.name, tree, dtype=self.value.dtype)

    def line(self, wrapping: str) -> str:
        """The assignment's text; `wrapping` is "{}", or "({})" where the value needs parentheses."""
        return f"{self.name} = {wrapping.format(_reindented(self.value.text, self.indent))}"

    @property
    def statement(self) -> ast.Assign:
        """The assignment's tree."""
        return ast.Assign([ast.Name(self.name, ast.Store())], self.value.tree)


def hoist(
    tree: Tree, scope: Scope, operand: Operand, site: ast.expr, region: Region, wish: str | None = None
) -> Hoisted:
    """Give `operand` a name before the statement around `site`: `wish`, or one that says what it is.

    Raises Withheld where that would change when, or how often, something is evaluated.
    """
    refusal = f"`{operand.shown}` would be evaluated twice"
    statement = tree.statement(site)
    at = operand.node or site
    earlier = evaluated_before(tree, at)
    if earlier is None or region.statements[0] is not statement:
        raise Withheld(refusal)
    if isinstance(tree.link(statement).parent, ast.ClassDef):
        raise Withheld(refusal)
    strongest = max((_effect(scope, node, site) for node in earlier), default=Effect.NONE)
    own = operand.effect
    if (strongest is Effect.ACTS and own is not Effect.NONE) or (
        own is Effect.ACTS and strongest is not Effect.NONE
    ):
        raise Withheld(refusal)
    name = scope.fresh(wish or name_for(operand.tree), site)
    return Hoisted(name, operand, tree.start(statement), region.indent)


def _reindented(text: str, indent: str) -> str:
    """A text of several lines moved so that its last line, a closing bracket as a rule, starts at `indent`."""
    first, *others = text.splitlines(keepends=True)
    if not others or others[-1].lstrip()[:1] not in (")", "]", "}") or "'''" in text or '"""' in text:
        return text
    shift = len(others[-1]) - len(others[-1].lstrip()) - len(indent)
    moved = [line[min(shift, len(line) - len(line.lstrip())) :] if shift > 0 else line for line in others]
    return first + "".join(moved)


def _effect(scope: Scope, node: ast.AST, site: ast.AST) -> Effect:
    """As `effect`, with the members of imported modules known to be constant."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and scope.stands_for(root.id, site) is not None:
        return Effect.NONE
    return effect(node)


# What a result is called where nothing else gives it a name.
_RESULTS = {
    "sum": "total",
    "mean": "average",
    "abs": "magnitude",
    "clamp": "clamped",
    "clip": "clamped",
    "exp": "exponential",
    "max": "largest",
    "min": "smallest",
    "item": "number",
    "float": "number",
    "neg": "negated",
    "masked_select": "selected",
    "index_select": "selected",
    "gather": "selected",
    "rand": "noise",
    "randn": "noise",
    "tensor": "values",
    "to": "converted",
    "type": "converted",
}
_WORDS: dict[type[ast.AST], str] = {
    ast.Add: "total",
    ast.Sub: "difference",
    ast.Mult: "product",
    ast.MatMult: "product",
    ast.Div: "ratio",
    ast.Pow: "power",
}


def name_for(tree: ast.expr) -> str:
    """A name that says what the value is: ``x.sum()`` gives ``x_sum``, ``a - b`` gives ``difference``."""
    if isinstance(tree, ast.BinOp):
        return _WORDS.get(type(tree.op), "value")
    if isinstance(tree, ast.Compare):
        return "mask"
    if isinstance(tree, ast.Await | ast.Starred | ast.UnaryOp):
        inner = tree.operand if isinstance(tree, ast.UnaryOp) else tree.value
        return name_for(inner)
    if isinstance(tree, ast.Subscript):
        base = _last_name(tree.value)
        if isinstance(tree.slice, ast.Compare | ast.UnaryOp) or (
            base and isinstance(tree.slice, ast.Name | ast.Attribute | ast.Call)
        ):
            return "selected"
        return f"{base}_item" if base else name_for(tree.value)
    if isinstance(tree, ast.Attribute):
        return tree.attr.strip("_") or "value"
    if isinstance(tree, ast.Call):
        function = _last_name(tree.func)
        owner = tree.func.value if isinstance(tree.func, ast.Attribute) else None
        subject = _last_name(owner) if isinstance(owner, ast.Name) else ""
        is_function = owner is None or _last_name(_root(owner)) in ("self", "torch", "F", "nn", "cls")
        if is_function and function not in _RESULTS:
            subject = _last_name(tree.args[0]) if tree.args else ""
        elif function in ("masked_select", "index_select", "gather"):
            subject = ""
        words = [word for word in (subject, function) if word and word not in ("self", "cls")]
        if not subject:
            return _RESULTS.get(function, f"{function}_value" if function else "value").lower()
        return "_".join(words).lower() or "value"
    return "value"


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _last_name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Name):
        return node.id.strip("_")
    return node.attr.strip("_") if isinstance(node, ast.Attribute) else ""
