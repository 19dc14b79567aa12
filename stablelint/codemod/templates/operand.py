"""What goes into a template: the text, tree and place of each metavariable's value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from stablelint.catalog.pattern import PREFIX
from stablelint.codemod.flow.definition import function_of, takes
from stablelint.codemod.flow.effects import Effect, effect
from stablelint.codemod.flow.nodes import loads, stores
from stablelint.codemod.text.law import same
from stablelint.codemod.text.locate import Tree, parse
from stablelint.codemod.text.source import SourceError
from stablelint.codemod.withheld import Withheld
from stablelint.diagnostic import Binding, Span
from stablelint.records import dataclass
from stablelint.syntax.names import shortened


@dataclass(frozen=True, slots=True)
class Operand:
    """A value to be put in place of `placeholder`.

    `node` is the file's own node where the value stands within the finding, which makes it possible to speak
    of its order of evaluation; `tree` is the value's tree in any case.
    """

    placeholder: str
    text: str
    tree: ast.expr
    node: ast.expr | None = None
    span: Span | None = None
    dtype: str | None = None

    @property
    def effect(self) -> Effect:
        """What evaluating it can do."""
        return effect(self.tree)

    @property
    def shown(self) -> str:
        """Its text on one line, for a message."""
        return shortened(self.text)


def placeholder(name: str) -> str:
    """The identifier that stands for a metavariable while the template is Python."""
    return PREFIX + name


def parse_operand(text: str) -> ast.expr:
    """Tree of an expression that may span lines; Withheld when it is none."""
    try:
        body = parse(f"(\n{text}\n)").body
    except SourceError:
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise Withheld(f"`{' '.join(text.split())}` is not an expression")
    return body[0].value


def bare(text: str) -> str:
    """An operand's text without white space and parentheses that its tree does not need."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        inner = text[1:-1].strip()
        try:
            # In other brackets, the parentheses in `(a) + (b)` are seen not to belong together.
            parse(f"[\n{inner}\n]")
            if not same(parse_operand(inner), parse_operand(text)):
                return text
        except (Withheld, SourceError):
            return text
        text = inner
    return text


def flat(text: str) -> str:
    """A text of several lines on one, where no comment stands in it; strings may be changed, which the law tells."""
    if "#" in text:
        return text
    joined = re.sub(r"\s*\n\s*", " ", text)
    return re.sub(r",? ([)\]}])", r"\1", re.sub(r"([(\[{]) ", r"\1", joined))


def operand_of(name: str, binding: Binding, tree: Tree, inside: Span) -> Operand:
    """The operand for a binding; Withheld where the binding has no text any more.

    `inside` is what the rewrite replaces: a binding's span counts only within it.
    """
    if binding.text is None:
        raise Withheld(f"the value of `{name}` can no longer be written at this place")
    node: ast.expr | None = None
    if binding.span is not None and inside.contains(binding.span):
        found = tree.find(binding.span)
        node = found if isinstance(found, ast.expr) else None
    text = bare(binding.text if node is None else tree.text(node))
    span = binding.span if node is not None else None
    return Operand(placeholder(name), text, parse_operand(text), node, span, binding.dtype)


def check_bound(tree: Tree, site: ast.AST, operand: Operand) -> None:
    """Raise Withheld where an operand from elsewhere reads a local name that has no value yet at `site`."""
    function = function_of(tree, site) if operand.node is None else None
    if function is None or not isinstance(site, ast.expr | ast.stmt):
        return
    end = (site.end_lineno or 0, site.end_col_offset or 0)
    for name in {one.id for one in loads(operand.tree)}:
        bound = stores(function, name)
        if bound and all((one.lineno, one.col_offset) > end for one in bound) and not takes(function, name):
            raise Withheld(f"`{name}` has no value yet at this place")


def check_evaluation(operands: Iterable[Operand], uses: dict[str, int], original: ast.AST) -> None:
    """Raise Withheld where the rewrite would evaluate an operand that acts more or less often than before.

    `uses` counts each placeholder in the template.
    """
    acting = [operand for operand in operands if operand.effect is Effect.ACTS]
    for operand in acting:
        used = uses.get(operand.placeholder, 0)
        if operand.node is None and used:
            raise Withheld(f"`{operand.shown}` would be evaluated once more")
        if operand.node is not None and not used:
            raise Withheld(f"`{operand.shown}` would no longer be evaluated")
        if operand.node is not None and sum(same(one, operand.tree) for one in ast.walk(original)) > 1:
            raise Withheld(f"`{operand.shown}` is evaluated more than once, and the fix would merge them")


def check_computed_once(operands: Iterable[Operand], uses: dict[str, int], removed: str = "") -> None:
    """Raise Withheld where the rewrite would compute a matrix product again; `removed` is text that it deletes."""
    for operand in operands:
        again = operand.node is None and uses.get(operand.placeholder) and operand.text not in removed
        if again and any(isinstance(one, ast.MatMult) for one in ast.walk(operand.tree)):
            raise Withheld(f"`{operand.shown}` would be computed a second time")


def check_order(operands: Iterable[Operand], template_order: list[str]) -> None:
    """Raise Withheld where operands that act would be evaluated in another order than before."""
    placed = sorted(
        (operand.span, index, operand)
        for index, operand in enumerate(operands)
        if operand.span is not None and operand.placeholder in template_order
    )
    for index, (_, _, first) in enumerate(placed):
        for _, _, second in placed[index + 1 :]:
            swapped = template_order.index(first.placeholder) > template_order.index(second.placeholder)
            effects = sorted((first.effect, second.effect))
            if swapped and effects[1] is Effect.ACTS and effects[0] is not Effect.NONE:
                raise Withheld(f"`{second.shown}` would be evaluated before `{first.shown}`")
